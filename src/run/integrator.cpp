#include "run/integrator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/spelling.hpp"
#include "drive.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "lie/group_info.hpp"
#include "method/correction.hpp"
#include "run/option_fields.hpp"
#include "run/start_up.hpp"
#include "run/step_sequence.hpp"
#include "solve/manifold.hpp"
#include "system/consistency.hpp"

namespace kreisel::run {
namespace {

/// More steps would only end at max_steps.
constexpr double most_constant_steps = 1e9;

/// Of an output step: some hundred gigabytes.
constexpr double most_output_points = 1e8;

class Inspection {
 public:
  void require(bool ok, std::string field, std::string message) {
    if (!ok && std::ranges::count(unreadable_, field) == 0) problems_.push_back({std::move(field), std::move(message)});
  }
  /// A value outside its field is not checked any further.
  void refuse(const std::string& field, std::string message) {
    problems_.push_back({field, std::move(message)});
    unreadable_.push_back(field);
  }
  std::vector<OptionProblem> problems() && { return std::move(problems_); }

 private:
  std::vector<OptionProblem> problems_;
  std::vector<std::string> unreadable_;
};

bool is_same(const Value& a, const Value& b) {
  const auto is_nan = [](const Value& x) {
    return std::holds_alternative<double>(x) && std::isnan(std::get<double>(x));
  };
  return a == b || (is_nan(a) && is_nan(b));
}

/// A quaternion of another length would be a rotation with scaling.
void inspect_rotations(const system::System& system, ConstVectorRef q0, Inspection& check) {
  const std::vector<lie::Block>& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (lie::rotations_of(blocks[b]) != 3) continue;
    const int at = blocks[b].q_at + blocks[b].nq - 4;
    const double length = q0.segment(at, 4).norm();
    check.require(!std::isfinite(length) || std::abs(length - 1.0) <= 1e-6, "initial values",
                  fmt::format("quaternion of length {:g} for '{}', q0[{}] to q0[{}], expected (x, y, z, w) of length 1",
                              length, system.pattern().block_name(static_cast<int>(b)), at, at + 3));
  }
}

void inspect(const system::Event& event, Inspection& check) {
  check.require(static_cast<bool>(event.function), "events", fmt::format("'{}' has no function", event.name));
  check.require(event.terminal_after >= 0, "events",
                fmt::format("'{}' has terminal_after {}, must not be negative", event.name, event.terminal_after));
  check.require(event.acts_from >= 1, "events",
                fmt::format("'{}' has acts_from {}, must be 1 or more", event.name, event.acts_from));
  if (const auto* impact = std::get_if<system::Impact>(&event.action))
    check.require(impact->restitution >= 0.0 && impact->restitution <= 1.0, "events",
                  fmt::format("'{}' has restitution {}, must lie between 0 and 1", event.name, impact->restitution));
  if (const auto* change = std::get_if<system::Switch>(&event.action))
    check.require(static_cast<bool>(change->next), "events",
                  fmt::format("'{}' has no system to switch to", event.name));
  if (const auto* jump = std::get_if<system::Jump>(&event.action))
    check.require(static_cast<bool>(jump->apply), "events",
                  fmt::format("'{}' has no function for its jump", event.name));
}

/// Formulations in which a parameter has an effect.
void inspect_variants(const Options& options, bool has_constraints, Inspection& check) {
  const ParameterValues& parameters = options.method.parameters;
  const auto set_to = [&](const char* name, const char* word) {
    return parameters.has(name) && parameters.word(name) != word;
  };
  if (has_constraints && parameters.is_set("baumgarte"))
    check.require(options.formulation == solve::Formulation::index1, "baumgarte",
                  fmt::format("has an effect only with {} index1", spelled("formulation")));
  if (set_to("ratios", "growth"))
    check.require(options.has_error_control(), "ratios",
                  "bounds steps under error control; it has no effect on given steps");
  if (has_constraints && set_to("derivatives", "plain"))
    check.require(options.formulation == solve::Formulation::index1, "derivatives",
                  fmt::format("has an effect only with {} index1", spelled("formulation")));
}

/// Formulas of starting values exist for some methods and corrections, and have an effect in some forms.
void inspect_starting(const Options& options, bool has_constraints, Inspection& check) {
  const method::MethodInfo& info = options.method.info();
  const std::string_view name = options.starting.name();
  if (options.starting == Starting::v0 || options.starting == Starting::a0)
    check.require(info.name == "generalized-alpha", "starting",
                  fmt::format("'{}' is for generalized-alpha only; {} has corrected and exact", name, info.name));
  if (options.starting != Starting::formula && options.starting != Starting::formula_as_printed) return;
  const bool is_printed = options.starting == Starting::formula_as_printed;
  check.require(info.name == "mkbdf" || (info.name == "bliedf" && !is_printed), "starting",
                is_printed && info.name == "bliedf"
                    ? "'formula-as-printed' is for mkbdf, where the printed formula differs; use formula"
                    : fmt::format("'{}' is for {}; {} has corrected and exact", name,
                                  is_printed ? "mkbdf" : "bliedf and mkbdf", info.name));
  check.require(has_constraints && options.formulation == solve::Formulation::index3 && !options.has_error_control(),
                "starting",
                fmt::format("'{}' has an effect only with {} index3 and given steps; use corrected", name,
                            spelled("formulation")));
  const int order = options.order > 0 ? options.order : info.default_order;
  if (info.name != "bliedf" || order <= 2) return;
  for (const char* without : {"tuned", "tuned-implicit", "implicit", "two-chains", "magnus-taylor", "none"})
    check.require(options.correction != without, "starting",
                  fmt::format("'formula' is available for the corrections published, difference and magnus, not for "
                              "{}; use corrected, which needs no formula",
                              without));
  check.require(!options.correction.starts_with("file:"), "starting",
                "'formula' is not available for a correction from a file; use corrected, which needs no formula");
}

/// Requirements of methods without a solver for general forces.
void inspect_forces(const system::System& system, const std::string& name, Inspection& check) {
  check.require(system.pattern().is_all_dynamic() && system.is_affine_in_multipliers(), "method",
                fmt::format("{} is for mechanical systems without states, unknowns without mass and forces that depend "
                            "on reactions, such as friction; use bliedf or radau",
                            name));
}

void inspect_rigid_bodies(const system::System& system, const system::Start& start, const std::string& name,
                          Inspection& check) {
  inspect_forces(system, name, check);
  check.require(system.pattern().rows() == system.pattern().position_rows(), "method",
                fmt::format("{} does not support nonholonomic constraints; use bliedf", name));
  if (start.q0.size() != system.space().nq()) return;
  system::Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  system::KktBlocks here(system.pattern()), there(system.pattern());
  system.mass_and_jacobian(m, here);
  Vector way(system.space().nv());
  for (Eigen::Index i = 0; i < way.size(); ++i) way[i] = 0.3 + 0.1 * static_cast<double>(i % 7);
  system.space().move(start.q0, way, m.q);
  system.mass_and_jacobian(m, there);
  const double size = here.M.size() > 0 ? here.M.lpNorm<Eigen::Infinity>() : 0.0;
  check.require(!((here.M - there.M).lpNorm<Eigen::Infinity>() > 1e-9 * size), "method",
                fmt::format("{} needs a mass matrix that is constant in the body frame, as for rigid bodies; "
                            "this one depends on q. Use generalized-alpha or bliedf",
                            name));
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
  const std::string advice =
      found.has_too_many_drivers()
          ? ""
          : fmt::format(
                "\n  try: joints with fewer rows in a closed loop (point-on-line for a revolute of a plane mechanism), "
                "{} "
                "least-squares for multipliers of least norm, or another initial position if only this one is singular",
                spelled("linear_solver"));
  throw InvalidInput(fmt::format(
      "the constraints depend on each other at the start: B has rank {}, expected {}; redundant: {}.\n  {}{}",
      system.pattern().rows() - static_cast<int>(found.rows.size()), system.pattern().rows(),
      fmt::join(found.rows, ", "), found.in_words(), advice));
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

std::vector<OptionProblem> problems_in(const Options& options, const system::System& system,
                                       const system::Start& start) {
  Inspection check;
  const auto is_number = [](double x) { return std::isfinite(x); };
  const method::MethodInfo& info = options.method.info();
  const Options usual;
  for (const OptionField& f : option_fields()) {
    const Value value = f.get(options);
    if (is_same(value, f.get(usual))) continue;  // defaults may lie outside, as 0 for "none" does
    try {
      checked(f.field, value);
    } catch (const InvalidInput& e) {
      check.refuse(f.field.name, e.what());
    }
  }
  check.require(is_number(options.event_tolerance) && options.event_tolerance >= 0.0, "event_tolerance",
                fmt::format("is {}, must not be negative", options.event_tolerance));

  const lie::Space& space = system.space();
  check.require(start.q0.size() == space.nq() && start.v0.size() == space.nv(), "initial values",
                fmt::format("{} positions and {} velocities, but the model has {} and {}", start.q0.size(),
                            start.v0.size(), space.nq(), space.nv()));
  check.require(is_number(start.t0) && start.q0.allFinite() && start.v0.allFinite(), "initial values",
                "not all are finite");
  if (start.q0.size() == space.nq()) inspect_rotations(system, start.q0, check);
  for (const std::vector<system::Event>* list : {&system.events(), &options.events})
    for (const system::Event& event : *list) inspect(event, check);

  const double t_end = std::isnan(options.t_end) ? start.t_end : options.t_end;
  check.require(is_number(t_end) && t_end > start.t0, "t_end",
                fmt::format("is {}, must be a number after the start time {}", t_end, start.t0));
  if (options.step > 0.0 && is_number(options.step) && is_number(t_end))
    check.require(
        (t_end - start.t0) / options.step <= std::max(most_constant_steps, static_cast<double>(options.max_steps)),
        "step",
        fmt::format("is {}: {:.3g} steps to t = {}, far more than {} = {} allows", options.step,
                    (t_end - start.t0) / options.step, t_end, spelled("max_steps"), options.max_steps));
  check.require(options.step == 0.0 || !is_given(options.steps), "steps",
                fmt::format("and {} exclude each other; give one of the two", spelled("step")));
  if (is_number(t_end))
    for (const std::string& problem : problems_in(options.steps, t_end - start.t0))
      check.require(false, "steps", problem);
  check.require(!(options.max_step > 0.0) || !(options.min_step > options.max_step), "min_step",
                fmt::format("is {}, above {} = {}", options.min_step, spelled("max_step"), options.max_step));
  if (options.output_step > 0.0 && is_number(t_end))
    check.require(
        (t_end - start.t0) / options.output_step <= most_output_points, "output_step",
        fmt::format("is {}: {:.3g} points to t = {}, more than {:.0e} that can be written; give a larger one",
                    options.output_step, (t_end - start.t0) / options.output_step, t_end, most_output_points));
  for (const double t : options.output_times)
    if (!(t >= start.t0 && t <= t_end)) {
      check.require(false, "output_times",
                    fmt::format("has {}, which is not between the start {} and the end {}", t, start.t0, t_end));
      break;
    }

  const bool has_constraints = system.pattern().rows() > 0;
  for (const auto& [name, times] : {std::pair{"project_position_at", &options.project_position_at},
                                    std::pair{"project_velocity_at", &options.project_velocity_at}}) {
    for (const double t : *times)
      check.require(is_number(t) && t > start.t0 && t <= t_end, name,
                    fmt::format("is {}, must lie after the start time {} and not after {}", t, start.t0, t_end));
    check.require(times->empty() || options.method != "rkmk", name,
                  "has no effect with rkmk, which projects after every step");
    check.require(times->empty() || has_constraints, name, "needs a model with constraints");
  }
  check.require(
      options.restart == Restart::none || !options.project_position_at.empty() || !options.project_velocity_at.empty(),
      "restart",
      fmt::format("has an effect only with {} or {}; give one of them", spelled("project_velocity_at"),
                  spelled("project_position_at")));
  if (!options.conserved.empty())
    check.require(options.method == "projected-bdf" && (!has_constraints || !options.formulation.is_given() ||
                                                        options.formulation == solve::Formulation::projected),
                  "conserve",
                  fmt::format("projects onto invariants: use {} projected-bdf{}", spelled("method"),
                              has_constraints ? " in its projected form" : ""));
  check.require(static_cast<int>(options.conserved.size()) <= solve::max_invariants, "conserve",
                fmt::format("has {} names, at most {} are possible", options.conserved.size(), solve::max_invariants));
  for (const std::string& name : options.conserved) {
    check.require(std::count(options.conserved.begin(), options.conserved.end(), name) == 1, "conserve",
                  fmt::format("names '{}' more than once", name));
    if (!solve::is_invariant_name(name)) continue;  // already reported by the field
    try {
      solve::make_invariant(name, system);
    } catch (const InvalidInput& e) {
      check.require(false, "conserve", e.what());
    }
  }

  if (options.order != 0)
    check.require(std::ranges::count(info.orders(), options.order) > 0, "order",
                  fmt::format("is {}, but {} has {}", options.order, info.name, info.orders_in_words()));
  inspect_variants(options, has_constraints, check);
  inspect_starting(options, has_constraints, check);
  if (info.needs_constant_mass) inspect_rigid_bodies(system, start, info.name, check);
  if (info.name == "half-explicit") inspect_forces(system, info.name, check);
  if (options.formulation.is_given() && has_constraints) {
    const std::string_view formulation = options.formulation.name();
    check.require(
        formulation != "ode", "formulation",
        fmt::format("'ode' needs a model without constraints; this one has {} constraint rows. {} supports {}",
                    system.pattern().rows(), info.name, fmt::join(info.formulations, ", ")));
    check.require(std::ranges::count(info.formulations, formulation) > 0, "formulation",
                  fmt::format("{} does not support '{}'; it supports {}", info.name, formulation,
                              fmt::join(info.formulations, ", ")));
  } else if (has_constraints) {
    check.require(info.formulations != std::vector<std::string>{"ode"}, "method",
                  fmt::format("{} is for systems without constraints; this model has {} constraint rows. "
                              "For the heavy top use {} so3, or choose bliedf, mkbdf or generalized-alpha",
                              info.name, system.pattern().rows(), spelled("group")));
  }
  check.require(
      !is_given(options.steps) || info.takes_step_sequences, "steps",
      fmt::format("{} supports equal steps only; bliedf and generalized-alpha accept given steps", info.name));
  if (options.has_error_control() && info.variable_formulations.empty())
    check.require(false, "method",
                  fmt::format("{} supports constant steps only: give {}, or use bliedf", info.name, spelled("step")));
  if (info.has_corrections && !options.correction.empty() && !options.correction.starts_with("file:")) {
    Counters unused;
    try {
      const int order = options.order > 0 ? options.order : info.default_order;
      const auto correction = method::make_correction(options.correction, std::clamp(order, 1, 6), nullptr,
                                                      system.space(), unused, is_given(options.steps));
      check.require(options.step > 0.0 || correction->serves_variable_steps(), "correction",
                    fmt::format("'{}' requires constant steps; with {} use magnus", options.correction,
                                is_given(options.steps) ? "given steps" : "tolerances"));
    } catch (const InvalidInput& e) {
      check.require(false, "correction", e.what());
    }
  } else if (!info.has_corrections) {
    check.require(options.correction.empty() || options.correction == "magnus", "correction",
                  fmt::format("{} has no correction term; {} is for bliedf only", info.name, spelled("correction")));
  }
  return std::move(check).problems();
}

void refuse_what_cannot_run(const system::System& given, const system::Start& start, const Options& options) {
  const std::vector<OptionProblem> problems = problems_in(options, given, start);
  if (!problems.empty()) {
    std::string text;
    for (const OptionProblem& p : problems) text += (text.empty() ? "" : "\n") + spelled(p.field) + ": " + p.message;
    throw InvalidInput(text);
  }
  const std::shared_ptr<const system::System> ready = made_ready(given, start, options);
  const system::System& system = *ready;
  refuse_poor_derivatives(system, start, options);
  // Inconsistent values are reported, not corrected silently.
  if (const system::Miss miss = system::miss_of(system, start); miss.position_row >= 0 || miss.velocity_row >= 0)
    throw InvalidInput(fmt::format(
        "the initial values violate the constraints: |Phi| = {:.3e}, |B v| = {:.3e}, worst in {}; both must be zero. "
        "Give consistent initial positions and velocities",
        miss.position, miss.velocity,
        system.pattern().row_name(miss.position_row >= 0 ? miss.position_row : miss.velocity_row)));
  if (options.linear_solver != linear::SolverKind::least_squares && system.pattern().rows() <= most_rows_to_inspect)
    refuse_redundant_rows(system, start);
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
