// Explicit Runge-Kutta-Munthe-Kaas as a method of its own, with constant steps or under error control.
#include <fmt/format.h>

#include <limits>

#include "error_control.hpp"
#include "kreisel/run/rkmk.hpp"
#include "kreisel/run/start_up.hpp"
#include "session.hpp"

namespace kreisel::run {

using method::Entry;
using method::History;

namespace {

constexpr double safety = 0.9, largest_growth = 5.0, smallest_cut = 0.2, failure_cut = 0.25;
constexpr int max_failures = 20;

/// The error of the last step in multiples of the tolerance. Of two estimates the higher-order one counts, tamed by the
/// other: e₁²/√(e₁² + e₂²/100) (Hairer, Nørsett, Wanner 1993, section II.10).
double error_of(const Rkmk& rkmk, ErrorNorm& norm, Vector& q_error, Vector& v_error) {
  rkmk.error_estimate(0, q_error, v_error);
  const double first = norm(q_error, v_error);
  if (rkmk.tableau().error_count == 1 || first == 0.0) return first;
  rkmk.error_estimate(1, q_error, v_error);
  const double second = norm(q_error, v_error);
  return first * first / std::sqrt(first * first + 0.01 * second * second);
}

}  // namespace

void run_rkmk(Session& s) {
  const Options& options = s.plan.options;
  Counters& counters = s.report.counters;
  const coeff::Tableau& tableau = s.plan.order == 5 ? coeff::dormand_prince_5() : coeff::dop853();
  const bool projects = s.plan.formulation == solve::Formulation::projected;
  const bool is_adaptive = options.step == 0.0;
  Rkmk rkmk(s.system, tableau, counters, projects, options.linear_solver);
  rkmk.integrate_work();
  s.report.order = tableau.order;

  const method::EntrySizes sizes{s.system.pattern().rows(), s.system.pattern().position_rows(), 0};
  Entry now = History::blank(s.system.space(), sizes), next = now;
  StartUp start_up(s.system, counters, options.linear_solver);
  if (!s.resumes()) {
    if (!start_up.place(s.plan.t0, s.start.q0, s.start.v0, now)) return s.fail_start();
    if (s.is_first_segment()) s.report.energy_initial = s.system.energy(now.motion);
    if (!s.accept(now, true, [](double, Entry&) { return false; })) return;
  }

  const std::vector<Part> parts = parts_of(s.system);
  ErrorNorm norm(parts, options.rtol, options.atol);
  Vector q_error(s.system.space().nv()), v_error(s.system.space().nv());
  const double span = s.plan.t_end - s.plan.t0;
  double h = s.plan.h;
  if (is_adaptive) h = options.initial_step > 0.0 ? options.initial_step : initial_step(now.motion, parts, options.rtol, options.atol, span);
  if (is_adaptive && options.initial_step <= 0.0) h = std::max(h, options.min_step);
  if (options.max_step > 0.0) h = std::min(h, options.max_step);
  int failures = 0;
  Watchdog watchdog(s.plan.t0, s.plan.t_end);
  const auto state = [&](Archive& a) {
    exchange(a, now);
    a.all(h, failures);
    watchdog.exchange(a);
  };
  if (s.resumes()) s.load(state);

  const double begin = cpu_seconds();
  while (now.motion.t < s.plan.t_end) {
    const double t = now.motion.t;
    if (counters.steps >= options.max_steps) {
      s.fail(Status::too_many_steps, fmt::format("max_steps = {} reached at t = {:.10g}", options.max_steps, t));
      break;
    }
    const double remaining = s.plan.t_end - t;
    const bool is_last = is_adaptive ? remaining <= h * (1.0 + 1e-9) : s.points == s.plan.step_count;
    double taken = is_last ? remaining : h;
    if (is_adaptive && !is_last && remaining < 2.0 * h) taken = 0.5 * remaining;
    const double smallest = std::max(options.min_step, 16.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t), 1e-3 * span));
    if (is_adaptive && taken < smallest && !is_last) {
      s.fail(Status::step_too_small,
             fmt::format("at t = {:.10g} the step fell to {:.3g}, below the smallest allowed {:.3g}; the error of the {} asks for it.\n"
                         "  try: looser --rtol/--atol, or bliedf if the system is stiff", t, taken, smallest, name_of(s.system, norm.worst())));
      break;
    }
    next.lambda = now.lambda;
    if (!rkmk.step(now.motion, taken, next.motion, next.lambda, next.omega)) {
      ++counters.rejected_steps;
      ++s.report.rejected_by_newton;
      s.observer.attempted({t, taken, tableau.order, 0, 0.0, 0.0, "stage failed"});
      if (is_adaptive && ++failures <= max_failures) {
        h = failure_cut * taken;
        continue;
      }
      s.fail(Status::newton_failed,
             fmt::format("at t = {:.10g} the step of size {:.6g} failed: a matrix is singular, a stage is not finite or the projection does not contract.\n"
                         "  try: a smaller --step, or bliedf if the system is stiff", t, taken));
      break;
    }
    double error = 0.0;
    if (is_adaptive) {
      norm.set_scale(next.motion);
      error = error_of(rkmk, norm, q_error, v_error);
      const double factor = std::isfinite(error) ? safety * std::pow(std::max(error, 1e-10), -1.0 / tableau.order) : failure_cut;
      if (!(error <= 1.0)) {
        ++counters.rejected_steps;
        ++s.report.rejected_by_error;
        s.observer.attempted({t, taken, tableau.order, 0, error, 0.0, "error too large"});
        h = std::max(smallest_cut, factor) * taken;
        ++failures;
        continue;
      }
      // After a rejection the step must not grow at once.
      h = std::clamp(factor, smallest_cut, failures > 0 ? 1.0 : largest_growth) * taken;
      if (options.max_step > 0.0) h = std::min(h, options.max_step);
    }
    failures = 0;
    next.motion.t = is_last ? s.plan.t_end : is_adaptive ? t + taken : s.plan.t0 + static_cast<double>(s.points) * s.plan.h;
    next.h = taken;
    next.order = tableau.order;
    next.work = rkmk.work();
    ++s.report.steps_at_order[tableau.order];
    std::swap(now, next);
    s.observer.attempted({t, taken, tableau.order, 0, error, 0.0, "accepted"});
    // Wanted points are steps of their own from the last accepted point: full order, and the run does not see them.
    const auto between = [&](double wanted, Entry& out) {
      out.lambda = next.lambda;
      const bool is_done = rkmk.step(next.motion, wanted - next.motion.t, out.motion, out.lambda, out.omega);
      out.motion.t = wanted;
      out.h = now.h;
      out.order = now.order;
      out.work = rkmk.work();
      return is_done;
    };
    if (!s.accept(now, false, between)) break;
    if (is_adaptive && watchdog.barks(now.motion.t)) {
      s.fail(Status::step_too_small, watchdog.message(now.motion.t, name_of(s.system, norm.worst())));
      break;
    }
    s.keep(state);
  }
  s.report.solve_seconds += cpu_seconds() - begin;
}

}  // namespace kreisel::run
