// kreisel run --watch: the page of a running simulation. Sliders of parameters restart it, sliders of inputs steer it.
#pragma once

#include <optional>

#include "io/result/result.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::apps {

struct Watching {
  io::RunSpec spec;
  io::ResultRequest result;
  int port = 0;  ///< 0: the default one
  bool opens_browser = true;
};

/// Runs, and serves the page on 127.0.0.1 until a signal ends it. Returns the last run, which is in the folder; nothing
/// if it failed before it began. Steered runs are shown and not kept.
std::optional<io::RunResult> watch(const io::PreparedRun& first, const Watching& request);

}  // namespace kreisel::apps
