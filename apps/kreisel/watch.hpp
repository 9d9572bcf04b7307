// kreisel run --watch: the page of a run that goes on. Sliders of parameters run the model anew, sliders of inputs steer it.
#pragma once

#include <optional>

#include "io/result/result.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::apps {

struct Watching {
  io::RunSpec spec;
  io::ResultRequest result;
  int port = 0;  ///< 0: the usual one
  bool opens_browser = true;
};

/// Runs, and serves the page on 127.0.0.1 until a signal ends it. The folder holds the run that was made last; none: the last one
/// failed before it began. Runs that were steered are shown and not kept.
std::optional<io::RunResult> watch(const io::PreparedRun& first, const Watching& request);

}  // namespace kreisel::apps
