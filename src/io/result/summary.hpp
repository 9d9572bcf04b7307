// The JSON object that ends every run: on standard output with --json, and as summary.json beside the trajectory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/report.hpp"

namespace kreisel::io {

/// How a run can end, with the exit code of the program. Those of run::statuses(), and endings outside the loop.
struct Ending {
  std::string_view id, meaning;
  int exit_code = 0;
};
const std::vector<Ending>& endings();
const Ending& ending_of(run::Status status);

// Ids of endings that are not in run::Status.
inline constexpr std::string_view running = "running";
inline constexpr std::string_view invalid_input = "invalid-input";
inline constexpr std::string_view environment_error = "environment-error";
inline constexpr std::string_view internal_error = "internal-error";

/// Where the result went.
struct OutputInfo {
  std::string folder, log;
  TrajectoryInfo trajectory;
};

/// Numbers that are not finite become null; field names as in the command line contract.
Json summarize(const PreparedRun& run, const run::Report& report, const OutputInfo& output, std::string_view command);

/// The known data of a run that has no report; empty: unknown.
struct RunLabel {
  std::string model, group, method, formulation, correction, starting;
};
RunLabel label_of(const RunSpec& spec);
RunLabel label_of(const PreparedRun& run);

/// The same fields for a run that has no report: known fields are filled in, the rest is null.
Json summarize(const RunLabel& label, std::string_view status, std::string_view message, std::string_view command);

/// What --assemble moved.
Json to_json(const std::vector<solve::Change>& changes);
/// "rod moved by 0.01 m and 0.002 rad, its velocity by 0.1 m/s and 0 rad/s".
std::string described(const solve::Change& change);

/// Indented text with a line end; bytes that are not UTF-8 are replaced.
std::string to_text(const Json& json);

}  // namespace kreisel::io
