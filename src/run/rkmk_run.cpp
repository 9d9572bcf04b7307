// Explicit Runge-Kutta-Munthe-Kaas as a method of its own.
#include <fmt/format.h>

#include "kreisel/run/rkmk.hpp"
#include "kreisel/run/start_up.hpp"
#include "session.hpp"

namespace kreisel::run {

using method::Entry;
using method::History;

void run_rkmk(Session& s) {
  const Options& options = s.plan.options;
  Counters& counters = s.report.counters;
  const coeff::Tableau& tableau = s.plan.order > 5 ? coeff::dop853() : coeff::dormand_prince_5();
  const bool projects = s.plan.formulation == solve::Formulation::projected;
  Rkmk rkmk(s.system, tableau, counters, projects, options.linear_solver);
  s.report.order = tableau.order;

  const method::EntrySizes sizes{s.system.pattern().rows(), s.system.pattern().position_rows(), 0};
  Entry now = History::blank(s.system.space(), sizes), next = now;
  StartUp start_up(s.system, counters, options.linear_solver);
  if (!start_up.place(s.plan.t0, s.start.q0, s.start.v0, now))
    return s.fail(Status::no_consistent_start, "the initial values admit no accelerations and multipliers: [M B'; B 0] is singular. "
                                               "Run `kreisel check` to see which constraints are redundant");
  s.report.energy_initial = s.system.energy(now.motion);
  if (!s.accept(now, true)) return s.fail(Status::interrupted, "interrupted");

  const double begin = cpu_seconds();
  for (long n = 0; n < s.plan.step_count; ++n) {
    if (counters.steps >= options.max_steps) {
      s.fail(Status::too_many_steps, fmt::format("max_steps = {} reached at t = {:.10g}", options.max_steps, now.motion.t));
      break;
    }
    next.lambda = now.lambda;
    if (!rkmk.step(now.motion, s.plan.h, next.motion, next.lambda, next.omega)) {
      ++counters.rejected_steps;
      s.fail(Status::newton_failed,
             fmt::format("at t = {:.10g} the step of size {:.6g} failed: a stage is not finite or the projection does not contract.\n"
                         "  try: a smaller --step", now.motion.t, s.plan.h));
      break;
    }
    next.motion.t = n + 1 == s.plan.step_count ? s.plan.t_end : s.plan.t0 + static_cast<double>(n + 1) * s.plan.h;
    next.h = s.plan.h;
    next.order = tableau.order;
    ++s.report.steps_at_order[tableau.order];
    std::swap(now, next);
    s.observer.attempted({now.motion.t - s.plan.h, s.plan.h, tableau.order, 0, 0.0, 0.0, "accepted"});
    if (!s.accept(now, false)) {
      s.fail(Status::interrupted, fmt::format("interrupted at t = {:.10g}", now.motion.t));
      break;
    }
  }
  s.report.solve_seconds = cpu_seconds() - begin;
}

}  // namespace kreisel::run
