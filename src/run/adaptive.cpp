// Implicit methods under error control: variable step, variable order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kreisel/method/differences.hpp"
#include "kreisel/run/controller.hpp"
#include "error_control.hpp"
#include "machine.hpp"

namespace kreisel::run {

using method::Entry;

namespace {

/// Newton stops at this fraction of the error weights: multipliers see velocity errors magnified by α₀/h.
constexpr double newton_fraction = 0.03;
/// Newton updates below this many units of round-off in q are noise.
constexpr double round_off_margin = 300.0;
/// An implicit velocity relation is solved to this fraction of Newton's tolerance.
constexpr double sweep_fraction = 0.03;
/// Failures in a row after which the run gives up.
constexpr int max_failures = 20;
/// Failures in a row after which multipliers leave the error test.
constexpr int lambda_failures = 3;

}  // namespace

void run_adaptive(Session& s) {
  const Options& options = s.plan.options;
  Counters& counters = s.report.counters;
  const method::MethodInfo& info = method::find_method(options.method);
  const int max_order = s.plan.order > 0 ? s.plan.order : std::min(options.max_order, info.max_order);
  solve::NewtonOptions newton;
  newton.tolerance = options.newton_tolerance > 0.0 ? options.newton_tolerance : newton_fraction;
  // Multipliers under error control are told from noise only if Newton settles them below their tolerance.
  newton.lambda_tolerance =
      std::max(options.control_lambda ? newton_fraction * options.rtol : options.rtol, newton.lambda_tolerance);
  newton.max_iterations = std::min(options.newton_iterations, 8);
  newton.refresh = options.newton_matrix == "every-step" ? solve::RefreshPolicy::every_step : solve::RefreshPolicy::when_slow;
  newton.linear_solver = options.linear_solver;
  Machine machine(s, max_order, newton);
  auto& [method, closer, history, trial, start_up, parts, weight, dense, constrained_part, manifold, projected_x] = machine;
  method->set_velocity_tolerance(std::max(1e-14, sweep_fraction * newton.tolerance * options.rtol));
  if (!s.resumes() && !machine.place_first(s)) return;
  // In index-3 form velocities carry an error that jumps with every change of the step; it would be taken for a local error.
  const bool is_index3 = s.plan.formulation == solve::Formulation::index3;
  if (is_index3)
    s.warn("index3 with variable steps: lambda loses one order after step changes; stabilized-index2 does not");

  const double span = s.plan.t_end - s.plan.t0;
  const int min_order = s.plan.order > 0 ? s.plan.order : info.min_order;
  const bool controls_lambda = options.control_lambda && s.system.pattern().rows() > 0;
  // A first step of order 1 knows λ to O(h) and round-off/h: no step is small enough for both. Exact points are.
  const bool starts_high = controls_lambda && !method->is_one_step();
  const int first_order = starts_high ? max_order : info.min_order;
  double first = span;
  if (!s.resumes()) {
    first = options.initial_step > 0.0 ? options.initial_step : initial_step(history[0].motion, parts, options.rtol, options.atol, span);
    if (starts_high && options.initial_step <= 0.0) first = step_of_order(first_order, first, options.rtol, options.atol);
    if (options.initial_step <= 0.0) first = std::max(first, options.min_step);
    first = std::min(first, starts_high ? span / (2 * method->points_needed(first_order)) : span);
  }
  Controller controller({min_order, max_order, options.max_step}, first, first_order);
  if (!s.resumes()) {
    if (starts_high || method->is_one_step()) {
      if (!start_up.fill(*method, controller.step(), first_order, s.plan.formulation, {}, history)) return s.fail_start();
    }
    if (method->is_one_step()) history.edit(0).h = controller.step();  // what the memory of the first point was made for
    if (!machine.show_starts(s)) return;
  }
  ErrorNorm norm(parts, options.rtol, options.atol);
  const int nv = s.system.space().nv();
  Vector q_error(nv), v_error(nv);
  method::Differences lambda_differences;
  Vector lambda_error(s.system.pattern().rows());
  double lambda_scale = s.resumes() || history[0].lambda.size() == 0 ? 0.0 : history[0].lambda.norm();
  Watchdog watchdog(s.plan.t0, s.plan.t_end);
  const auto state = [&](Archive& a) {
    exchange(a, history);
    exchange(a, closer);
    exchange(a, manifold.get(), counters);
    exchange(a, controller);
    a(lambda_scale);
    watchdog.exchange(a);
  };
  if (s.resumes()) s.load(state);

  const double begin = cpu_seconds();
  while (history[0].motion.t < s.plan.t_end) {
    const double t = history[0].motion.t;
    if (counters.steps >= options.max_steps) {
      s.fail(Status::too_many_steps,
             fmt::format("max_steps = {} reached at t = {:.10g}, {:.1f} % of the way; the step is now {:.3g}.\n"
                         "  try: --max-steps, or looser tolerances", options.max_steps, t, 100.0 * (t - s.plan.t0) / span, controller.step()));
      break;
    }
    const double remaining = s.plan.t_end - t;
    double h = controller.step();
    const bool is_last = remaining <= h * (1.0 + 1e-9);
    if (is_last)
      h = remaining;
    else if (remaining < 2.0 * h)
      h = 0.5 * remaining;  // two equal steps instead of a sliver at the end
    const double smallest = std::max(options.min_step, 16.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t), span * 1e-3));
    if (h < smallest && !is_last) {
      s.fail(Status::step_too_small,
             fmt::format("at t = {:.10g} the step fell to {:.3g}, below the smallest allowed {:.3g}; the error of the {} asks for it.\n"
                         "  try: looser --rtol/--atol, --min-step, or look for an impact, a stop or a singular position at this time",
                         t, h, smallest, name_of(s.system, norm.worst())));
      break;
    }
    const int order = std::min(controller.order(), history.size());

    trial.motion.t = is_last ? s.plan.t_end : t + h;
    trial.eta = history[0].eta;
    lambda_differences.build(history, order + 1, h, [](const Entry& e) -> const Vector& { return e.lambda; });
    lambda_differences.extrapolate(std::min(order, lambda_differences.points()), trial.lambda);
    // x = ω/h cannot be known better than round-off in q allows.
    const double floor = round_off_margin * std::numeric_limits<double>::epsilon() / h;
    // Multipliers balance M v̇, and an error of v is one of v̇ magnified by α₀/h.
    velocity_weights(parts, history[0].motion, options.atol, options.rtol, floor, weight, controls_lambda ? h : 0.0);
    method->begin_step(history, h, order);
    const solve::Closed closed = closer.close(*method, history, h, weight, trial);
    const bool is_closed = closed.status == solve::CloseStatus::converged;
    if (!is_closed || !machine.project(h)) {
      ++counters.rejected_steps;
      ++s.report.rejected_by_newton;
      s.observer.attempted({t, h, order, closed.iterations, 0.0, closed.update_norm, is_closed ? "projection failed" : "newton failed"});
      if (controller.failures() >= max_failures) {
        s.fail(closed.status == solve::CloseStatus::singular_matrix ? Status::singular_matrix : Status::newton_failed,
               fmt::format("at t = {:.10g} no step could be closed, the last of size {:.3g}: {}.\n"
                           "  largest residuals: {}\n"
                           "  try: `kreisel check` at this position; the mechanism may be in a singular position or the forces undefined",
                           t, h, closed.status == solve::CloseStatus::singular_matrix ? "the iteration matrix is singular"
                           : is_closed ? "the projection onto the constraints did not converge" : "Newton's method did not converge",
                           closer.worst_rows()));
        break;
      }
      controller.reject_newton();
      continue;
    }
    norm.set_scale(trial.motion);
    OrderErrors errors;
    const double lambda_noise = controls_lambda ? relative_noise_of_acceleration(parts, trial.motion, h) : 0.0;
    if (controls_lambda) lambda_scale = std::max(lambda_scale, trial.lambda.norm());
    // λ is one order below q and v: the k-th difference, as the error of v is the (k+1)-st.
    const auto lambda_error_at = [&](int candidate) {
      lambda_differences.deviation(candidate, trial.lambda, 1.0, lambda_error);
      return lambda_error.norm() / ((candidate + 1) * (options.atol + (options.rtol + lambda_noise) * lambda_scale));
    };
    const auto error_at = [&](int candidate) -> std::optional<double> {
      if (candidate < 1 || candidate > max_order || !method->local_errors(candidate, trial.motion, q_error, v_error)) return {};
      if (is_index3) v_error.setZero();
      double error = norm(q_error, v_error);
      // Projected values differ from their extrapolation by less than the tangential part of that difference when the
      // projection is not orthogonal in this norm, and by more when it is (Eich 1993, section 4.1): the larger one counts.
      if (manifold != nullptr) {
        manifold->keep_tangential(q_error, v_error);
        error = std::max(error, norm(q_error, v_error));
      }
      // A multiplier that went wrong in the past would reject every step from there, however short.
      if (controls_lambda && controller.failures() < lambda_failures && candidate <= lambda_differences.points())
        error = std::max(error, lambda_error_at(candidate));
      return error;
    };
    // Half of what the first step of order 1 differs from the Taylor polynomial of the initial values.
    const auto first_error = [&] {
      const lie::Motion& before = history[0].motion;
      v_error = 0.5 * (trial.motion.v - before.v - h * before.a);
      q_error = 0.5 * (trial.omega - h * before.v - (0.5 * h * h) * before.a);
      if (is_index3) v_error.setZero();
      return norm(q_error, v_error);
    };
    const std::optional<double> current = error_at(order);
    // Too few points for an estimate: the step is tested with what there is, which says little about the next one.
    const double tested = current ? *current : history.size() > 1 ? error_at(order - 1).value_or(0.0) : first_error();
    errors.current = current.value_or(0.0);
    if (!(tested <= 1.0)) {
      ++counters.rejected_steps;
      ++s.report.rejected_by_error;
      s.observer.attempted({t, h, order, closed.iterations, tested, closed.update_norm, "error too large"});
      // Close to a singular position an old matrix hardly moves what B loses sight of: updates look small, errors stay.
      if (closed.kept_matrix)
        closer.forget_matrix();
      else
        controller.reject_error(tested);
      continue;
    }
    errors.lower = current ? error_at(order - 1) : std::nullopt;
    errors.higher = error_at(order + 1);
    s.observer.attempted({t, h, order, closed.iterations, tested, closed.update_norm, "accepted"});

    trial.order = order;
    ++s.report.steps_at_order[order];
    s.report.order = std::max(s.report.order, order);
    history.push(trial);
    controller.accept(errors, h);
    if (!machine.project_on_demand(s) || !machine.show_newest(s, order) || machine.restarts_here(s)) break;
    if (watchdog.barks(history[0].motion.t)) {
      s.fail(Status::step_too_small, watchdog.message(history[0].motion.t, name_of(s.system, norm.worst())));
      break;
    }
    s.keep(state);
  }
  s.report.solve_seconds += cpu_seconds() - begin;
}

}  // namespace kreisel::run
