// The observed error of a run: the same run once more, more accurately, compared at every output time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"
#include "kreisel/observer.hpp"
#include "kreisel/report.hpp"

namespace kreisel::io {

/// Of one quantity, at the body, joint or column where it is largest relative to the tolerance.
struct ObservedError {
  std::string quantity, unit, where;
  double error = 0.0;       ///< largest over the output times
  double t = 0.0;           ///< when
  double scale = 0.0;       ///< size of the quantity in the run
  double tolerances = 0.0;  ///< error/(atol + rtol·scale); NaN with given steps, which have no tolerance
  bool is_state = false;    ///< position or velocity, which the error test sees
  bool is_zero = false;     ///< always and everywhere, in both runs

  double relative() const { return scale > 0.0 ? error / scale : 0.0; }
};

/// The time of an event in both runs.
struct EventShift {
  std::string event;
  double t = 0.0, shift = 0.0;  ///< [s]; shift: in the repeated run minus in the run
};

struct Verification {
  std::string status, message;                ///< of the repeated run
  double rtol = 0.0, atol = 0.0, step = 0.0;  ///< of the repeated run; step > 0: given steps, by their mean
  double factor = 1.0;    ///< by which differences were multiplied: 2^p/(2^p - 1) with half the steps at order p
  bool is_bound = false;  ///< repeated with ten times the tolerances: differences are bounds of the errors
  long steps = 0;
  double t_compared = 0.0;        ///< up to here
  long points = 0, left_out = 0;  ///< compared; not compared, because the runs are on different sides of an event
  std::vector<ObservedError> errors;
  std::vector<EventShift> events;
  double growth = 1.0;  ///< of the differences of positions and velocities, from the middle of the run to its end
  std::vector<std::string>
      warnings;  ///< errors far above the tolerance, other events, sensitive motion, a failed repetition
};

/// Errors above this many tolerances, the aim of error control on long runs (docs/adaptive.md), cause a warning.
inline constexpr double expected_tolerances = 1000.0;

/// Repeats a run with a tenth of its tolerances, with ten times as much where a tenth is below round-off, or with half its
/// steps. `rows` are the points that it showed, in the columns of TrajectoryLayout. `spectator` sees the repetition and
/// may stop it. A repetition that fails is compared as far as it went.
Verification verify(const PreparedRun& run, const run::Report& report, const Matrix& rows, run::Observer& spectator);

/// Differences of two runs of one model that showed the same times, row by row, in the tolerances of the first.
std::vector<ObservedError> differences_between(const PreparedRun& run, const Matrix& rows, const PreparedRun& other,
                                               const Matrix& other_rows);

/// Collects the rows of the points that it observes, for `verify`.
class RowCollector final : public run::Observer {
 public:
  explicit RowCollector(const PreparedRun& run);
  ~RowCollector() override;
  bool accept(const run::Point& point) override;
  Matrix rows() const;

 private:
  struct Kept;
  std::unique_ptr<Kept> kept_;
};

/// "verification" of summary.json.
Json to_json(const Verification& verification);
/// For the terminal: how the run was repeated, then one line per quantity, then events.
std::vector<std::string> lines_of(const Verification& verification);

}  // namespace kreisel::io
