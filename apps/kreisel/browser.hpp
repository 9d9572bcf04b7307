// Browsers: the default one of the desktop, and headless chromium, which renders pictures and videos.
#pragma once

#include <limits>
#include <string>

#include "io/files/files.hpp"
#include "io/report/report.hpp"

namespace kreisel::apps {

/// Path of a program of PATH; empty: not found.
std::string program_named(const std::string& name);
/// Path of chromium; empty: not found. The variable CHROMIUM overrides the search.
std::string chromium();
/// Whether a browser could show something here.
bool has_screen();
/// Hands the address to the desktop; whether a browser opens is not checked.
void open_browser(const std::string& address);

struct Film {
  int width = 960, height = 720;  ///< [pixels]
  double seconds = 6.0, rate = 30.0;
  double at = std::numeric_limits<double>::quiet_NaN();  ///< time of a still; NaN: the start
};

/// Draws the page of the result in chromium and writes the PNG or WebM that it sends back. Throws InvalidInput when the
/// result has no bodies, EnvironmentError when chromium is missing or fails.
void take_picture(const io::ReportData& data, const Film& film, bool is_still, const io::Path& file);

}  // namespace kreisel::apps
