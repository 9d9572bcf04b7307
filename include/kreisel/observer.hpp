// Observation of a run: every accepted point, attempt, event and checkpoint; none of them is stored.
#pragma once

#include <optional>
#include <string_view>

#include "kreisel/options.hpp"
#include "kreisel/report.hpp"

namespace kreisel::run {

/// Energy and, where the system has them, its terms [J].
struct Energy {
  double total = 0.0;  ///< NaN when the system does not define one
  system::EnergyParts parts;
};
Energy energy_of(const system::System& system, const lie::Motion& m);

/// An accepted point with its constraint residuals, in the rows of `System::result_layout` of the system the run was
/// started with; constraints that are switched off have zeros. Valid during the call only.
struct Point {
  const method::Entry& entry;
  const system::Residual& residual;
  long number = 0;                         ///< 0 is the initial point
  bool is_start = false;                   ///< made by the starting procedure, not by the method
  const system::System* system = nullptr;  ///< active, for energies
  Work work{};                             ///< since the start
  int segment = 0;                         ///< number of restarts of the method
  std::string_view method;                 ///< that computed it
  const Energy* energy = nullptr;          ///< where the run has computed it; null: energy_of(*system, entry.motion)
};

/// How an attempt at a step ended.
enum class Outcome {
  accepted,
  newton_failed,      ///< the iteration does not converge
  singular_matrix,    ///< of the iteration
  not_finite,         ///< a value of the equations
  projection_failed,  ///< onto the constraints
  stage_failed,       ///< of a Runge-Kutta method
  turned_too_far,     ///< a rotation that the method cannot represent in one step
  error_too_large,
};
/// As `--log` spells it.
std::string_view name_of(Outcome outcome);

/// One attempt, accepted or not.
struct Attempt {
  double t = 0.0, h = 0.0;  ///< where it began, its size
  int order = 0, iterations = 0;
  double error = 0.0, update_norm = 0.0;  ///< relative to the tolerance
  bool kept_matrix = false;               ///< solved with the matrix of an earlier step
  Outcome outcome = Outcome::accepted;
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// False stops the run with Status::interrupted.
  virtual bool accept(const Point&) { return true; }
  /// Called after every step to `t`, the `steps`-th, whether its point is shown or not, and after every point shown within a
  /// step. False stops the run as well.
  virtual bool goes_on(double /*t*/, long /*steps*/) { return true; }
  virtual void attempted(const Attempt&) {}
  virtual void happened(const Occurrence&) {}
  /// Called after every step: true requests a `checkpoint` with the state of the run, from which `integrate` continues.
  virtual bool wants_checkpoint() { return false; }
  virtual void checkpoint(std::string_view) {}
};

/// Integrates from start.t0 to options.t_end. Throws InvalidInput for options that cannot be used; numerical failures are in the
/// report, and the observer has seen everything accepted so far. With the bytes of a `checkpoint` of the same run it continues
/// from there with bitwise equal results; other bytes throw InvalidInput: truncated, damaged, of another build of kreisel, of
/// other options (`max_steps` and `threads` may differ), of files that have changed, of another start or model.
Report integrate(const system::System& system, const system::Start& start, const Options& options, Observer& observer,
                 std::optional<std::string_view> checkpoint = {});

}  // namespace kreisel::run
