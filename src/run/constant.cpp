// Implicit methods with constant or given steps.
#include <fmt/format.h>

#include <limits>

#include "machine.hpp"

namespace kreisel::run {

namespace {

constexpr double default_newton_tolerance = 1e-10;
/// Newton updates below this many units of round-off in q are noise.
constexpr double round_off_margin = 8.0;
/// An implicit velocity relation is solved to this fraction of Newton's tolerance.
constexpr double sweep_fraction = 0.1;

std::string newton_message(double t, double h, const solve::Closed& closed, const solve::Closer& closer) {
  const char* what = closed.status == solve::CloseStatus::converged        ? "the projection onto the constraints did not converge"
                     : closed.status == solve::CloseStatus::singular_matrix ? "the iteration matrix is singular"
                     : closed.status == solve::CloseStatus::not_finite    ? "the equations gave a value that is not finite"
                                                                          : "Newton's method did not converge";
  return fmt::format(
      "at t = {:.10g} the step of size {:.6g} failed: {} after {} iterations (last update {:.2e} times the tolerance).\n"
      "  largest residuals: {}\n"
      "  try: smaller steps (now {:.6g}), or drop --step and let the error control choose them",
      t, h, what, closed.iterations, closed.update_norm, closer.worst_rows(), h);
}

/// Places the starting points; false: the run ends here.
bool start_constant(Session& s, Machine& machine) {
  const Options& options = s.plan.options;
  method::History& history = machine.history;
  if (!machine.place_first(s)) return false;
  const StartUpOptions starts{options.starting == "corrected" || options.starting == "v0",
                              options.starting == "corrected" || options.starting == "a0"};
  if (!machine.start_up.fill(*machine.method, s.plan.h, s.plan.order, s.plan.formulation, starts, history)) {
    if (!machine.show_start(s, history[history.size() - 1])) return false;
    s.fail(Status::no_consistent_start,
           fmt::format("the starting values at t = {:.10g} + i h, h = {:.6g}, could not be computed: the step is too large for the explicit starter or for the velocity relation of the method.\n"
                       "  try: a smaller --step, or --method rkmk to see where the motion breaks down",
                       s.plan.t0, s.plan.h));
    return false;
  }
  for (int age = history.size() - 1; age >= 0; --age) {
    const int number = history.size() - 1 - age;
    history.edit(age).motion.t = number == s.plan.step_count ? s.plan.t_end : s.plan.t0 + number * s.plan.h;
  }
  if (!machine.show_starts(s, s.plan.step_count)) return false;
  s.report.order = s.plan.order;
  return true;
}

}  // namespace

void run_constant(Session& s) {
  const Options& options = s.plan.options;
  Counters& counters = s.report.counters;
  solve::NewtonOptions newton;
  newton.tolerance = options.newton_tolerance > 0.0 ? options.newton_tolerance : default_newton_tolerance;
  newton.lambda_tolerance = std::max(newton.tolerance, newton.lambda_tolerance);
  newton.max_iterations = options.newton_iterations;
  newton.refresh = options.newton_matrix == "kept" ? solve::RefreshPolicy::when_slow : solve::RefreshPolicy::every_step;
  newton.linear_solver = options.linear_solver;
  Machine machine(s, s.plan.order, newton);
  auto& [method, closer, history, trial, start_up, parts, weight, dense, constrained_part, manifold, projected_x] = machine;
  // A sweep of the velocity relation leaves a tenth of its last change, so that v is ten times as good again.
  method->set_velocity_tolerance(std::max(1e-14, sweep_fraction * newton.tolerance));
  const bool is_constant = s.plan.steps.empty();
  if (!is_constant) method->set_constrained_part(constrained_part.get());
  long n = 0;
  const auto state = [&](Archive& a) {
    a(n);
    exchange(a, history);
    exchange(a, closer);
    exchange(a, manifold.get(), counters);
  };
  if (s.resumes())
    s.load(state);
  else if (!start_constant(s, machine))
    return;
  else
    n = history.size() - 1;

  const double begin = cpu_seconds();
  while (n < s.plan.step_count) {
    if (counters.steps >= options.max_steps) {
      s.fail(Status::too_many_steps, fmt::format("max_steps = {} reached at t = {:.10g}", options.max_steps, history[0].motion.t));
      break;
    }
    const double h = s.plan.step(n);
    // x = ω/h cannot be known better than round-off in q allows.
    const double floor = round_off_margin * std::numeric_limits<double>::epsilon() / (h * newton.tolerance);
    trial.motion.t = n + 1 == s.plan.step_count ? s.plan.t_end
                     : is_constant              ? s.plan.t0 + static_cast<double>(n + 1) * h
                                                : history[0].motion.t + h;
    trial.lambda = history[0].lambda;  // never from a failed attempt
    trial.eta = history[0].eta;
    velocity_weights(parts, history[0].motion, 1.0, 1.0, floor, weight);
    method->begin_step(history, h, s.plan.order);
    const solve::Closed closed = closer.close(*method, history, h, weight, trial);
    s.observer.attempted({history[0].motion.t, h, s.plan.order, closed.iterations, 0.0, closed.update_norm,
                          closed.status == solve::CloseStatus::converged ? "accepted" : "newton failed"});
    const bool is_closed = closed.status == solve::CloseStatus::converged;
    if (!is_closed || !machine.project(h)) {
      ++counters.rejected_steps;
      ++s.report.rejected_by_newton;
      s.fail(closed.status == solve::CloseStatus::singular_matrix ? Status::singular_matrix : Status::newton_failed,
             newton_message(history[0].motion.t, h, closed, closer));
      break;
    }
    trial.order = s.plan.order;
    ++s.report.steps_at_order[s.plan.order];
    history.push(trial);
    ++n;
    if (!machine.project_on_demand(s) || !machine.show_newest(s, s.plan.order) || machine.restarts_here(s)) break;
    s.keep(state);
  }
  s.report.solve_seconds += cpu_seconds() - begin;
}

}  // namespace kreisel::run
