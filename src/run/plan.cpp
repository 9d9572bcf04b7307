#include "plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "coeff/bdf_ratios.hpp"
#include "corners.hpp"
#include "method/generalized_alpha.hpp"
#include "method/parameters.hpp"
#include "method/variants.hpp"
#include "run/integrator.hpp"
#include "run/step_sequence.hpp"
#include "system/consistency.hpp"

namespace kreisel::run {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// The explicit form is unstable in index-3 form for k = 5, 6 and h |v| > 0.15, hence not there.
std::string default_correction(const Options& options) {
  return !options.has_error_control() || options.formulation == solve::Formulation::index3 ? "magnus"
                                                                                           : "magnus-explicit";
}

solve::RefreshPolicy refresh_of(const Choice<NewtonMatrix>& asked, solve::RefreshPolicy otherwise) {
  return asked == NewtonMatrix::kept         ? solve::RefreshPolicy::on_request
         : asked == NewtonMatrix::every_step ? solve::RefreshPolicy::every_step
                                             : otherwise;
}

/// With given steps Newton's method uses a fixed small tolerance, relative to velocities of size 1.
Closeness with_given_steps(const Options& options) {
  constexpr double default_tolerance = 1e-10;
  constexpr double round_off_margin = 8.0;  // updates below this many units of round-off in q are noise
  // A sweep of the velocity relation leaves a tenth of its last change: v is ten times as accurate again.
  constexpr double sweep_fraction = 0.1;
  Closeness c;
  c.newton.tolerance = options.newton_tolerance > 0.0 ? options.newton_tolerance : default_tolerance;
  c.newton.lambda_tolerance = std::max(c.newton.tolerance, c.newton.lambda_tolerance);
  c.newton.max_iterations = options.newton_iterations;
  c.newton.refresh = refresh_of(options.newton_matrix, solve::RefreshPolicy::every_step);
  c.floor = round_off_margin * epsilon / c.newton.tolerance;
  c.velocity_tolerance = std::max(1e-14, sweep_fraction * c.newton.tolerance);
  return c;
}

/// Under error control its tolerance is a fraction of the error weights.
Closeness with_error_control(const Options& options) {
  // Velocity errors enter multipliers magnified by α₀/h.
  constexpr double newton_fraction = 0.03;
  constexpr double round_off_margin = 300.0;
  constexpr double sweep_fraction = 0.03;
  constexpr int most_iterations = 8;  // a shorter step is cheaper than more
  Closeness c;
  c.newton.tolerance = options.newton_tolerance > 0.0 ? options.newton_tolerance : newton_fraction;
  // Multipliers under error control are distinguished from noise only if Newton solves them below their tolerance.
  c.newton.lambda_tolerance =
      std::max(options.control_lambda ? newton_fraction * options.rtol : options.rtol, c.newton.lambda_tolerance);
  c.newton.max_iterations = std::min(options.newton_iterations, most_iterations);
  c.newton.refresh = refresh_of(options.newton_matrix, solve::RefreshPolicy::when_slow);
  c.absolute = options.atol;
  c.relative = options.rtol;
  c.floor = round_off_margin * epsilon;
  c.velocity_tolerance = std::max(1e-14, sweep_fraction * c.newton.tolerance * options.rtol);
  c.extrapolates_lambda = true;
  c.weighs_values_of_states = true;
  return c;
}

void set_constant_steps(Plan& plan) {
  // A step that divides the span up to round-off is kept.
  plan.step_count = std::max(1L, std::lround(std::ceil(plan.span() / plan.options.step * (1.0 - 1e-12))));
  plan.h = plan.span() / static_cast<double>(plan.step_count);
}

/// Of radau. Iteration errors accumulate over the steps, and those in stiff directions excite the others (Hairer, Wanner
/// 1996, section IV.8): its tolerances are tighter, with given steps so that they do not hide order 5.
Closeness of_radau(const Options& options) {
  constexpr double tolerance_of_given_steps = 1e-12;
  constexpr double round_off_margin = 8.0;
  Closeness c = options.has_error_control() ? with_error_control(options) : with_given_steps(options);
  if (options.newton_tolerance <= 0.0)
    c.newton.tolerance = options.has_error_control()
                             ? std::max(10.0 * epsilon / options.rtol, std::min(0.03, std::sqrt(options.rtol)))
                             : tolerance_of_given_steps;
  c.floor = round_off_margin * epsilon / c.newton.tolerance;
  return c;
}

}  // namespace

solve::Formulation formulation_in_use(const Options& options, const system::System& system) {
  using solve::Formulation;
  // Without constraints every formulation is the ordinary differential equation.
  if (system.pattern().rows() == 0) return Formulation::ode;
  // An event may have added constraints.
  if (options.formulation.is_given() && options.formulation != Formulation::ode)
    return options.formulation.value_or(Formulation::ode);
  const std::vector<std::string>& served = options.method.info().formulations;
  for (const Formulation usual : {Formulation::stabilized_index2, Formulation::projected})
    if (std::ranges::count(served, solve::info_of(usual).name) > 0) return usual;
  return solve::formulation_named(served.front()).id;
}

std::string growth_problem(const Plan& plan) {
  // From step to step. A single growth is harmless: amplified errors are damped later.
  constexpr double round_off = 1.01;
  const double largest = plan.order <= coeff::bdf_max_order ? coeff::bdf_ratio_bounds[plan.order].constant : HUGE_VAL;
  int in_a_row = 0;
  for (std::size_t i = 1; i < plan.steps.size(); ++i) {
    in_a_row = plan.steps[i] > round_off * largest * plan.steps[i - 1] ? in_a_row + 1 : 0;
    if (in_a_row > 2 * plan.order)
      return fmt::format(
          "given steps grow by more than {:g} repeatedly; a BDF method of order {} is unstable on such a grid", largest,
          plan.order);
  }
  return {};
}

std::string damping_problem(const Plan& plan, const system::System& system) {
  // Conditions for ordinary differential equations may not suffice where a row is solved for λ: undamped errors alternate
  // permanently (Arnold, Brüls, Cardona 2015, eq. 50 with < and >). The index-1 form has no memory of λ.
  if (plan.method->name != "generalized-alpha" || system.pattern().rows() == 0 ||
      system::info_of(plan.formulation).lambda_row == system::ConstraintLevel::acceleration)
    return {};
  const auto chosen = method::parameters_in<method::choices::GeneralizedAlpha>(plan.options.method.parameters);
  const std::vector<std::string> violated =
      coeff::violated_conditions(method::coefficients_of(chosen), coeff::AlphaStability::contractive);
  if (violated.empty()) return {};
  return fmt::format(
      "generalized-alpha does not damp errors of the constraint forces with these parameters: they alternate from step "
      "to step and never decay.\n  violated: {}\n  try: rho_inf below 1, such as 0.9",
      fmt::join(violated, "; "));
}

Plan make_plan(const Options& given, const system::System& system, const system::Start& start) {
  Plan plan;
  plan.options = given;
  Options& options = plan.options;
  const method::MethodInfo& info = options.method.info();
  plan.method = &info;
  plan.formulation = formulation_in_use(options, system);
  options.formulation = plan.formulation;
  if (options.correction.empty()) options.correction = default_correction(options);
  plan.t0 = start.t0;
  plan.t_end = plan.run_end = plan.after_end = std::isnan(options.t_end) ? start.t_end : options.t_end;
  plan.order = options.order > 0 ? options.order : !options.has_error_control() ? info.default_order : 0;
  plan.max_order = plan.order > 0 ? plan.order : std::min(options.max_order, info.max_order);
  plan.controls_lambda = options.has_error_control() && options.control_lambda && system.pattern().rows() > 0;
  plan.may_give_way = !options.method.is_named() && info.name == "bliedf" && options.has_error_control() &&
                      options.order == 0 && options.max_order >= info.max_order &&
                      method::find_method("radau").serves(options.formulation.name());
  plan.closeness = info.name == "radau"          ? of_radau(options)
                   : options.has_error_control() ? with_error_control(options)
                                                 : with_given_steps(options);
  plan.closeness.newton.linear_solver = options.linear_solver.name();
  if (plan.formulation == solve::Formulation::index1)
    plan.closeness.newton.baumgarte =
        method::parameters_in<method::variants::Bliedf>(options.method.parameters).baumgarte.value_or(0.0);
  // Given steps of the other methods keep the stabilization of the papers, whatever the unit of length.
  if (options.has_error_control() || info.name == "radau") {
    system::Motion m(system.space());
    m.q = start.q0;
    m.t = start.t0;
    plan.closeness.newton.length = system::length_scale(system, m);
  }
  if (options.step > 0.0) set_constant_steps(plan);
  if (is_given(options.steps)) {
    // Multistep methods start from equidistant points; one more equal step belongs to the correction of their velocities.
    const int equal = info.is_one_step ? 1 : plan.order;
    Steps steps = steps_of(options.steps, plan.t0, plan.t_end - plan.t0, equal);
    plan.step_factor = steps.factor;
    plan.steps = std::move(steps.sizes);
    plan.step_count = static_cast<long>(plan.steps.size());
    plan.h = plan.steps.front();
  }
  return plan;
}

void end_at_corner(Plan& plan, const system::System& system) {
  const Stop stop = Corners(system, plan.options, plan.t0, plan.run_end).next_restart(plan.t0);
  if (!stop.is_corner) return;
  plan.t_end = stop.t;
  plan.after_end = stop.after;
  set_constant_steps(plan);
}

}  // namespace kreisel::run
