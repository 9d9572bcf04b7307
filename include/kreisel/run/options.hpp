// What a run can be asked, as plain structs with defaults. kreisel/run/option_fields.hpp describes each field as data.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kreisel/base/choice.hpp"
#include "kreisel/coeff/brackets.hpp"
#include "kreisel/linear/solver.hpp"
#include "kreisel/method/catalogue.hpp"
#include "kreisel/run/step_sequence.hpp"
#include "kreisel/system/formulation.hpp"
#include "kreisel/system/event.hpp"

namespace kreisel::run {

/// A file that a run was read from.
struct SourceFile {
  std::string path;               ///< absolute
  std::uint64_t fingerprint = 0;  ///< of its content
  bool operator==(const SourceFile&) const = default;
};

/// How a multistep method gets its first points: starting values corrected such that λ keeps its order; exact ones; those of
/// generalized-alpha with one perturbation only, of v₀ or of a₀.
enum class Starting { corrected, exact, v0, a0 };
/// After a projection that was asked for.
enum class Restart { none, corrected };
/// When Newton's matrix is evaluated: for every step, or when it no longer converges.
enum class NewtonMatrix { every_step, kept };

struct Options {
  /// By name, or as in GeneralizedAlpha{.rho_inf = 0.8}. When none is named, bliedf of variable order gives way to radau where lightly
  /// damped vibrations hold its steps and radau takes far longer ones.
  method::MethodChoice method;
  int order = 0;            ///< 0: the method's default with a step, variable with tolerances
  Choice<system::Formulation> formulation;  ///< none: ode without constraints, stabilized-index2 with
  std::string correction;   ///< empty: magnus with a step, magnus-explicit (a third cheaper) with tolerances
  std::optional<coeff::CorrectionSet> own_correction;  ///< coefficients of `file:PATH`
  Choice<Starting> starting = Starting::corrected;

  double t_end = std::numeric_limits<double>::quiet_NaN();  ///< NaN: the model's
  double step = 0.0;        ///< > 0: constant steps, shrunk so that they end at t_end
  StepSequence steps;       ///< given steps instead; with neither, error control chooses them
  double rtol = 1e-6;       ///< error control, relative, > 0
  double atol = 1e-8;       ///< error control, absolute, ≥ 0
  bool control_lambda = false;  ///< include λ in the error test

  int max_order = 6;            ///< error control, 1…6
  double initial_step = 0.0;    ///< 0: chosen
  double min_step = 0.0;        ///< 0: round-off decides
  double max_step = 0.0;        ///< 0: none
  long max_steps = 10'000'000;  ///< accepted steps

  std::vector<std::string> conserved;  ///< invariants to project onto as well, by name (projected formulation)

  /// Project q onto Φ = 0, v onto B v + Φ_t = 0, in the mass metric, at the first point at or after each of these times.
  std::vector<double> project_position_at, project_velocity_at;
  Choice<Restart> restart = Restart::none;  ///< after such a projection: go on, or corrected starting values as at t0

  double output_step = 0.0;          ///< > 0: show the motion at t0 + i·output_step instead of at every step
  std::vector<double> output_times;  ///< show it at these times as well; neither forces the step

  std::vector<system::Event> events;  ///< beside those of the system, whatever system is in force
  double event_tolerance = 0.0;       ///< of event times [s]; 0: round-off
  std::vector<double> corners;        ///< times at which the equations jump, beside those that the system tells

  double newton_tolerance = 0.0;  ///< 0: 1e-10 with constant steps (radau: 1e-12), tied to the tolerances otherwise
  int newton_iterations = 25;     ///< per matrix, ≥ 1; at most 8 under error control
  Choice<NewtonMatrix> newton_matrix;  ///< none: every step with constant steps, else kept
  Choice<linear::SolverKind> linear_solver = linear::SolverKind::automatic;
  int threads = 1;  ///< that share the assembly of large mechanisms, ≥ 1; results do not depend on it

  std::vector<SourceFile> sources;  ///< of the model and of these options; a checkpoint is refused when one has changed

  bool has_error_control() const { return step == 0.0 && !is_given(steps); }
};

/// One thing wrong with the options.
struct OptionProblem {
  std::string field, message;
};

}  // namespace kreisel::run

namespace kreisel {

template <>
struct Spellings<run::Starting> {
  using enum run::Starting;
  static constexpr std::string_view noun = "starting procedure";
  static constexpr std::array<Spelled<run::Starting>, 4> entries{{{corrected, "corrected"}, {exact, "exact"}, {v0, "v0"}, {a0, "a0"}}};
};
template <>
struct Spellings<run::Restart> {
  using enum run::Restart;
  static constexpr std::string_view noun = "restart";
  static constexpr std::array<Spelled<run::Restart>, 2> entries{{{none, "none"}, {corrected, "corrected"}}};
};
template <>
struct Spellings<run::NewtonMatrix> {
  using enum run::NewtonMatrix;
  static constexpr std::string_view noun = "choice";
  static constexpr std::array<Spelled<run::NewtonMatrix>, 2> entries{{{every_step, "every-step"}, {kept, "kept"}}};
};

}  // namespace kreisel
