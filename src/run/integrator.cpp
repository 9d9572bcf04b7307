#include "kreisel/run/integrator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kreisel/base/error.hpp"
#include "kreisel/linear/solver.hpp"
#include "kreisel/method/catalogue.hpp"
#include "kreisel/method/correction.hpp"
#include "kreisel/run/start_up.hpp"
#include "kreisel/solve/formulation.hpp"
#include "kreisel/solve/manifold.hpp"
#include "kreisel/system/consistency.hpp"
#include "kreisel/system/ranks.hpp"
#include "drive.hpp"

namespace kreisel::run {
namespace {

/// More could only be computed to --max-steps in vain.
constexpr double most_constant_steps = 1e9;

/// Of an output step: some hundred gigabytes.
constexpr double most_output_points = 1e8;

constexpr int most_threads = 256;

class Inspection {
 public:
  void require(bool ok, std::string field, std::string message) {
    if (!ok) problems_.push_back({std::move(field), std::move(message)});
  }
  std::vector<OptionProblem> problems() && { return std::move(problems_); }

 private:
  std::vector<OptionProblem> problems_;
};

/// A quaternion of another length would be taken for a rotation that also stretches.
void inspect_rotations(const system::System& system, ConstVectorRef q0, Inspection& check) {
  const std::vector<lie::Block>& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].group == lie::GroupId::rn) continue;
    const int at = blocks[b].q_at + blocks[b].nq - 4;
    const double length = q0.segment(at, 4).norm();
    check.require(!std::isfinite(length) || std::abs(length - 1.0) <= 1e-6, "start",
                  fmt::format("has a quaternion of length {:g} for '{}', q0[{}] to q0[{}], expected (x, y, z, w) of length 1", length,
                              system.pattern().block_name(static_cast<int>(b)), at, at + 3));
  }
}

void inspect(const system::Event& event, Inspection& check) {
  check.require(static_cast<bool>(event.function), "events", fmt::format("'{}' has no function", event.name));
  check.require(event.terminal_after >= 0, "events", fmt::format("'{}' has terminal_after {}, must not be negative", event.name, event.terminal_after));
  if (const auto* impact = std::get_if<system::Impact>(&event.action))
    check.require(impact->restitution >= 0.0 && impact->restitution <= 1.0, "events",
                  fmt::format("'{}' has restitution {}, must lie between 0 and 1", event.name, impact->restitution));
  if (const auto* change = std::get_if<system::Switch>(&event.action))
    check.require(static_cast<bool>(change->next), "events", fmt::format("'{}' has no system to switch to", event.name));
  if (const auto* jump = std::get_if<system::Jump>(&event.action))
    check.require(static_cast<bool>(jump->apply), "events", fmt::format("'{}' has no function for its jump", event.name));
}

/// Above this the dense factorisation that names redundant rows would cost more than the start of a run.
constexpr int most_rows_to_inspect = 100;

void refuse_redundant_rows(const system::System& system, const system::Start& start) {
  system::Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  const system::Redundancy found = system::redundancy(system, m);
  if (found.rows.empty()) return;
  const std::string advice = found.has_too_many_drivers()
                                 ? ""
                                 : "\n  try: joints with fewer rows in a closed loop (point-on-line for a revolute of a plane mechanism), --redundant "
                                   "least-squares for multipliers of least norm, or another initial position if only this one is singular";
  throw InvalidInput(fmt::format("the constraints depend on each other at the start: B has rank {}, expected {}; redundant: {}.\n  {}{}",
                                 system.pattern().rows() - static_cast<int>(found.rows.size()), system.pattern().rows(), fmt::join(found.rows, ", "),
                                 found.in_words(), advice));
}

void refuse_poor_derivatives(const system::System& system, const system::Start& start, const Options& options) {
  system::Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  system::Residual residual(system.space().nv(), system.pattern().position_rows(), system.pattern().rows());
  const std::string doubt =
      system.examine(m, Vector(Vector::Zero(system.pattern().rows())), {options.rtol, options.atol}, residual);
  if (!doubt.empty()) throw InvalidInput(doubt);
}

}  // namespace

std::vector<OptionProblem> problems_in(const Options& options, const system::System& system, const system::Start& start) {
  Inspection check;
  const auto is_number = [](double x) { return std::isfinite(x); };
  const method::MethodInfo* info = nullptr;
  try {
    info = &method::find_method(options.method);
  } catch (const InvalidInput& e) {
    check.require(false, "method", e.what());
  }
  const lie::Space& space = system.space();
  check.require(start.q0.size() == space.nq() && start.v0.size() == space.nv(), "start",
                fmt::format("has {} positions and {} velocities, but the model has {} and {}", start.q0.size(), start.v0.size(),
                            space.nq(), space.nv()));
  check.require(is_number(start.t0) && start.q0.allFinite() && start.v0.allFinite(), "start", "has values that are not finite");
  if (start.q0.size() == space.nq()) inspect_rotations(system, start.q0, check);
  const double t_end = std::isnan(options.t_end) ? start.t_end : options.t_end;
  check.require(is_number(t_end) && t_end > start.t0, "t-end",
                fmt::format("is {}, must be a number after the start time {}", t_end, start.t0));
  check.require(is_number(options.step) && options.step >= 0.0, "step", fmt::format("is {}, must be positive", options.step));
  if (options.step > 0.0 && is_number(t_end))
    check.require((t_end - start.t0) / options.step <= std::max(most_constant_steps, static_cast<double>(options.max_steps)), "step",
                  fmt::format("is {}: {:.3g} steps to t = {}, far more than --max-steps = {} allows", options.step,
                              (t_end - start.t0) / options.step, t_end, options.max_steps));
  check.require(options.step == 0.0 || !is_given(options.steps), "steps", "and --step exclude each other; give one of the two");
  if (is_number(t_end))
    for (const std::string& problem : problems_in(options.steps, t_end - start.t0)) check.require(false, "steps", problem);
  if (options.has_error_control()) {
    check.require(is_number(options.rtol) && options.rtol > 0.0 && options.rtol < 1.0, "rtol",
                  fmt::format("is {}, must lie between 0 and 1", options.rtol));
    check.require(is_number(options.atol) && options.atol >= 0.0, "atol",
                  fmt::format("is {}, must not be negative", options.atol));
  }
  check.require(is_number(options.newton_tolerance) && options.newton_tolerance >= 0.0, "newton-tolerance",
                fmt::format("is {}, must be positive", options.newton_tolerance));
  const std::vector<std::string> matrices{"every-step", "kept"};
  if (!options.newton_matrix.empty() && std::ranges::count(matrices, options.newton_matrix) == 0)
    check.require(false, "newton-matrix", unknown_name("choice", options.newton_matrix, matrices));
  check.require(options.newton_iterations >= 1, "newton-iterations",
                fmt::format("is {}, must be at least 1", options.newton_iterations));
  check.require(options.max_steps >= 1, "max-steps", fmt::format("is {}, must be at least 1", options.max_steps));
  check.require(options.max_order >= 1 && options.max_order <= 6, "max-order",
                fmt::format("is {}, must lie between 1 and 6", options.max_order));
  for (const auto& [name, value] : {std::pair{"initial-step", options.initial_step}, std::pair{"min-step", options.min_step},
                                    std::pair{"max-step", options.max_step}})
    check.require(is_number(value) && value >= 0.0, name, fmt::format("is {}, must be positive", value));
  check.require(!(options.max_step > 0.0) || options.min_step <= options.max_step, "min-step",
                fmt::format("is {}, above --max-step = {}", options.min_step, options.max_step));
  check.require(is_number(options.output_step) && options.output_step >= 0.0, "output-step",
                fmt::format("is {}, must be positive", options.output_step));
  if (options.output_step > 0.0 && is_number(t_end))
    check.require(
        (t_end - start.t0) / options.output_step <= most_output_points, "output-step",
        fmt::format("is {}: {:.3g} points to t = {}, more than {:.0e} that can be written; give a larger one",
                    options.output_step, (t_end - start.t0) / options.output_step, t_end, most_output_points));
  for (const double t : options.output_times)
    if (!(t >= start.t0 && t <= t_end)) {
      check.require(false, "output-times", fmt::format("has {}, which is not between the start {} and the end {}", t, start.t0, t_end));
      break;
    }
  check.require(is_number(options.event_tolerance) && options.event_tolerance >= 0.0, "event-tolerance",
                fmt::format("is {}, must not be negative", options.event_tolerance));
  for (const double t : options.corners)
    check.require(is_number(t), "corners", fmt::format("has {}, expected finite times", t));
  for (const std::vector<system::Event>* list : {&system.events(), &options.events})
    for (const system::Event& event : *list) inspect(event, check);
  const std::vector<std::string> solvers = linear::solver_names();
  if (std::find(solvers.begin(), solvers.end(), options.linear_solver) == solvers.end())
    check.require(false, "linear-solver", unknown_name("linear solver", options.linear_solver, solvers));
  check.require(options.threads >= 1 && options.threads <= most_threads, "threads",
                fmt::format("is {}, must be between 1 and {}", options.threads, most_threads));
  const std::vector<std::string> startings{"corrected", "exact", "v0", "a0"};
  const bool starting_is_known = std::find(startings.begin(), startings.end(), options.starting) != startings.end();
  if (!starting_is_known) check.require(false, "starting", unknown_name("starting procedure", options.starting, startings));

  for (const auto& [name, times] : {std::pair{"project-position-at", &options.project_position_at},
                                    std::pair{"project-velocity-at", &options.project_velocity_at}}) {
    for (const double t : *times)
      check.require(is_number(t) && t > start.t0 && t <= t_end, name,
                    fmt::format("is {}, must lie after the start time {} and not after {}", t, start.t0, t_end));
    check.require(times->empty() || options.method != "rkmk", name, "has no use with rkmk, which projects after every step");
    check.require(times->empty() || system.pattern().rows() > 0, name, "needs a model with constraints");
  }
  const std::vector<std::string> restarts{"none", "corrected"};
  if (std::find(restarts.begin(), restarts.end(), options.restart) == restarts.end())
    check.require(false, "restart", unknown_name("restart", options.restart, restarts));
  check.require(options.restart == "none" || !options.project_position_at.empty() || !options.project_velocity_at.empty(), "restart",
                "belongs to --project-velocity-at or --project-position-at; give one of them");
  if (!options.conserved.empty())
    check.require(options.method == "projected-bdf" && (options.formulation.empty() || options.formulation == "projected") &&
                      system.pattern().rows() > 0,
                  "conserve", "projects onto invariants: use --method projected-bdf with a constrained model");
  for (const std::string& name : options.conserved) {
    check.require(std::count(options.conserved.begin(), options.conserved.end(), name) == 1, "conserve",
                  fmt::format("names '{}' more than once", name));
    try {
      solve::make_invariant(name, system);
    } catch (const InvalidInput& e) {
      check.require(false, "conserve", e.what());
    }
  }

  if (info != nullptr) {
    if (options.order != 0)
      check.require(std::ranges::count(info->orders(), options.order) > 0, "order",
                    fmt::format("is {}, but {} has {}", options.order, info->name, info->orders_in_words()));
    const bool is_alpha = info->name == "generalized-alpha";
    check.require(is_alpha || (options.starting != "v0" && options.starting != "a0"), "starting",
                  fmt::format("'{}' belongs to generalized-alpha; {} knows corrected and exact", options.starting, info->name));
    std::string formulation = options.formulation;
    if (!formulation.empty()) {
      try {
        solve::formulation_named(formulation);
        const bool has_constraints = system.pattern().rows() > 0;
        if (has_constraints) {
          check.require(formulation != "ode", "formulation",
                        fmt::format("'ode' needs a model without constraints; this one has {} constraint rows. {} can do {}",
                                    system.pattern().rows(), info->name, fmt::join(info->formulations, ", ")));
          check.require(std::find(info->formulations.begin(), info->formulations.end(), formulation) != info->formulations.end(),
                        "formulation",
                        fmt::format("{} does not serve '{}'; it serves {}", info->name, formulation, fmt::join(info->formulations, ", ")));
        }
      } catch (const InvalidInput& e) {
        check.require(false, "formulation", e.what());
      }
    } else if (system.pattern().rows() > 0) {
      check.require(info->formulations != std::vector<std::string>{"ode"}, "method",
                    fmt::format("{} is for systems without constraints; this model has {} constraint rows. "
                                "For the heavy top use --group so3, or choose bliedf, mkbdf or generalized-alpha",
                                info->name, system.pattern().rows()));
    }
    check.require(!is_given(options.steps) || info->takes_step_sequences, "steps",
                  fmt::format("{} runs with equal steps only; bliedf and generalized-alpha take given steps", info->name));
    if (options.has_error_control() && info->variable_formulations.empty())
      check.require(false, "method", fmt::format("{} runs with constant steps only: give --step, or use bliedf", info->name));
    if (info->has_corrections && !options.correction.empty() && options.correction.rfind("file:", 0) != 0) {
      Counters unused;
      try {
        const int order = options.order > 0 ? options.order : info->default_order;
        const auto correction = method::make_correction(options.correction, std::clamp(order, 1, 6), nullptr, system.space(), unused,
                                                        is_given(options.steps));
        check.require(options.step > 0.0 || correction->serves_variable_steps(), "correction",
                      fmt::format("'{}' belongs to constant steps; with {} use magnus", options.correction,
                                  is_given(options.steps) ? "given steps" : "tolerances"));
      } catch (const InvalidInput& e) {
        check.require(false, "correction", e.what());
      }
    } else if (!info->has_corrections) {
      check.require(options.correction.empty() || options.correction == "magnus", "correction",
                    fmt::format("{} has no correction term; --correction belongs to bliedf", info->name));
    }
  }
  return std::move(check).problems();
}

void refuse_what_cannot_run(const system::System& given, const system::Start& start, const Options& options) {
  const std::vector<OptionProblem> problems = problems_in(options, given, start);
  if (!problems.empty()) {
    std::string text;
    for (const OptionProblem& p : problems) text += (text.empty() ? "" : "\n") + p.field + ": " + p.message;
    throw InvalidInput(text);
  }
  const std::shared_ptr<const system::System> ready = made_ready(given, start, options);
  const system::System& system = *ready;
  refuse_poor_derivatives(system, start, options);
  // Not silently repaired.
  if (const system::Miss miss = system::miss_of(system, start); miss.position_row >= 0 || miss.velocity_row >= 0)
    throw InvalidInput(fmt::format("the initial values miss the constraints: |Phi| = {:.3e}, |B v| = {:.3e}, most in {}; both should vanish. "
                                   "Give consistent initial positions and velocities", miss.position, miss.velocity,
                                   system.pattern().row_name(miss.position_row >= 0 ? miss.position_row : miss.velocity_row)));
  if (options.linear_solver != "least-squares" && system.pattern().rows() <= most_rows_to_inspect) refuse_redundant_rows(system, start);
}

Report integrate(const system::System& system, const system::Start& start, const Options& options, Observer& observer,
                 std::optional<std::string_view> checkpoint) {
  refuse_what_cannot_run(system, start, options);
  Drive drive(system, start, options, observer, checkpoint);
  drive.advance_to(std::numeric_limits<double>::infinity());
  return drive.report();
}

void check_checkpoint(std::string_view checkpoint, const system::System& system, const system::Start& start,
                      const Options& options) {
  static_cast<void>(Identity(options, system, start).state_in(checkpoint));
}

}  // namespace kreisel::run
