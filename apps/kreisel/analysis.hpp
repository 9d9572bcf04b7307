// Shared by static, modes and related subcommands: ranges of a parameter, printing of a point, plots.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/report/report.hpp"
#include "io/result/operating_point.hpp"
#include "io/result/prepare.hpp"
#include "io/result/tuning.hpp"

namespace kreisel::apps {

/// Exit code of a computation that failed.
inline constexpr int analysis_failed = 3;

/// Modes about a point, or a text that says why there are none.
struct SmallMotions {
  std::optional<std::vector<analysis::Mode>> modes;
  std::string why_none;
};
SmallMotions small_motions(const io::OperatingPoint& point);

/// "stable", "unstable".
std::string word_of(const std::vector<analysis::Mode>& modes);
std::string in_words(const std::vector<analysis::Mode>& modes);

/// "omega=0:100" or "omega=0:100:51".
struct Along {
  std::string parameter;
  double from = 0.0, to = 1.0;
  std::optional<int> points{};
};
Along read_along(const std::string& text);
/// "L [m]" of a parameter of the model.
std::string label_of(const io::PreparedRun& run, const std::string& parameter);
/// Where plots go: a page, a folder of pictures; empty: nowhere.
struct PlotFiles {
  std::string page, pictures;

  void add_to(CLI::App& parser);
  bool are_wanted() const { return !page.empty() || !pictures.empty(); }
  /// Writes the requested files; prints their paths unless the output is JSON.
  void write(const io::ReportData& data, bool is_quiet) const;
};

void print_outputs(const system::System& system, const system::Motion& m, const Vector& lambda);
void print_poses(const system::System& system, const system::Motion& m);
void print_reactions(const system::System& system, const system::Motion& m, const Vector& lambda);

}  // namespace kreisel::apps
