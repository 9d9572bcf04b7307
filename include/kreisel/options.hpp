// Options of a run, as plain structs with defaults.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "kreisel/choices.hpp"
#include "kreisel/event.hpp"
#include "kreisel/methods.hpp"

namespace kreisel::coeff {
struct CorrectionSet;
}

namespace kreisel::run {

/// A file that a run was read from.
struct SourceFile {
  std::string path;               ///< absolute
  std::uint64_t fingerprint = 0;  ///< of its content
  bool operator==(const SourceFile&) const = default;
};

// Prescribed steps instead of error control, for studies of variable step sizes.

/// Steps one by one.
struct StepList {
  std::vector<double> steps;
};

/// h until the first point at or after t = at, then ratio·h.
struct OneChange {
  double h = 0.0, at = 0.0, ratio = 2.0;
};

/// h, ratio·h, h, ratio·h, …
struct Alternation {
  double h = 0.0, ratio = 1.5;
};

/// h_{i+1} = max(h_min, min(σ h_i, h_max)), σ uniform in [ratio_min, ratio_max] when i is a multiple of `every` and 1
/// otherwise; h_0 = √(h_min h_max) (Wieloch 2022, Remark 28). Member m of a family has h_min and h_max times 10^(-m/10).
struct RandomSteps {
  double h_min = 0.0, h_max = 0.0;
  double ratio_min = 0.5, ratio_max = 2.0;
  long every = 1;
  std::uint64_t seed = 1;
  int member = 0;
};

using StepSequence = std::variant<std::monostate, StepList, OneChange, Alternation, RandomSteps>;

inline bool is_given(const StepSequence& sequence) { return !std::holds_alternative<std::monostate>(sequence); }

struct Options {
  /// By name, or as in GeneralizedAlpha{.rho_inf = 0.8}. When none is named, bliedf of variable order is replaced by radau where
  /// lightly damped vibrations limit its steps and radau takes far longer ones.
  method::MethodChoice method{};
  int order = 0;                              ///< 0: the method's default with a step, variable with tolerances
  Choice<system::Formulation> formulation{};  ///< none: ode without constraints, stabilized-index2 with
  std::string correction{};  ///< empty: magnus with a step, magnus-explicit (a third cheaper) with tolerances
  std::shared_ptr<const coeff::CorrectionSet> own_correction{};  ///< coefficients of `file:PATH`
  Choice<Starting> starting = Starting::corrected;

  double t_end = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the model's
  double step = 0.0;                                        ///< > 0: constant steps, shrunk so that they end at t_end
  StepSequence steps{};         ///< given steps instead; with neither, error control chooses them
  double rtol = 1e-6;           ///< error control, relative, > 0
  double atol = 1e-8;           ///< error control, absolute, ≥ 0
  bool control_lambda = false;  ///< include λ in the error test

  int max_order = 6;            ///< error control, 1…6
  double initial_step = 0.0;    ///< 0: chosen
  double min_step = 0.0;        ///< 0: limited by round-off
  double max_step = 0.0;        ///< 0: no limit
  long max_steps = 10'000'000;  ///< accepted steps

  std::vector<std::string> conserved{};  ///< invariants to project onto as well, by name (projected formulation)

  /// Project q onto Φ = 0, v onto B v + Φ_t = 0, in the mass metric, at the first point at or after each of these times.
  std::vector<double> project_position_at{}, project_velocity_at{};
  Choice<Restart> restart =
      Restart::none;  ///< after such a projection: continue, or corrected starting values as at t0

  double output_step = 0.0;            ///< > 0: show the motion at t0 + i·output_step instead of at every step
  std::vector<double> output_times{};  ///< show it at these times as well; neither forces the step

  std::vector<system::Event> events{};  ///< beside those of the system, for every system that becomes active
  double event_tolerance = 0.0;         ///< of event times [s]; 0: round-off
  std::vector<double> corners{};        ///< times at which the equations jump, beside those that the system reports

  double newton_tolerance = 0.0;  ///< 0: 1e-10 with constant steps (radau: 1e-12), tied to the tolerances otherwise
  int newton_iterations = 25;     ///< per matrix, ≥ 1; at most 8 under error control
  Choice<NewtonMatrix> newton_matrix{};  ///< none: every step with constant steps, else kept
  Choice<linear::SolverKind> linear_solver = linear::SolverKind::automatic;
  int threads = 1;  ///< that share the assembly of large mechanisms, ≥ 1; results do not depend on it

  std::vector<SourceFile>
      sources{};  ///< of the model and of these options; a checkpoint is refused when one has changed

  bool has_error_control() const { return step == 0.0 && !is_given(steps); }
};

}  // namespace kreisel::run
