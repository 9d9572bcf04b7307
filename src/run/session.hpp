// What the drivers of the run room share: the accepted point on its way to report and observer.
#pragma once

#include <cmath>
#include <ctime>
#include <string>

#include "kreisel/run/observer.hpp"
#include "kreisel/run/options.hpp"
#include "kreisel/run/report.hpp"
#include "kreisel/run/scaling.hpp"
#include "kreisel/solve/formulation.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::run {

inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Options with every default decided.
struct Plan {
  Options options;
  solve::Formulation formulation = solve::Formulation::ode;
  int order = 0;        ///< 0: variable
  double t0 = 0.0, t_end = 0.0;
  double h = 0.0;       ///< constant step, already shrunk
  long step_count = 0;  ///< of constant steps
};

struct Session {
  const system::System& system;
  const system::Start& start;
  const Plan& plan;
  Observer& observer;
  Report& report;
  system::Residual residual;
  Vector zero_lambda;
  long points = 0;

  Session(const system::System& s, const system::Start& st, const Plan& p, Observer& o, Report& r)
      : system(s),
        start(st),
        plan(p),
        observer(o),
        report(r),
        residual(s.space().nv(), s.pattern().position_rows(), s.pattern().rows()) {}

  /// Counts, measures and shows an accepted point. False: the observer wants to stop.
  bool accept(const method::Entry& entry, bool is_start) {
    system.residual(entry.motion, entry.lambda, residual);
    if (residual.gap.size() > 0)
      report.position_max = std::max(report.position_max, residual.gap.lpNorm<Eigen::Infinity>());
    if (residual.rate.size() > 0)
      report.velocity_max = std::max(report.velocity_max, residual.rate.lpNorm<Eigen::Infinity>());
    if (points > 0) ++report.counters.steps;
    report.final = entry;
    return observer.accept({entry, residual, points++, is_start});
  }

  void fail(Status status, std::string message) {
    report.status = status;
    report.message = std::move(message);
  }
};

// One driver per family; each leaves its end in session.report.
void run_constant(Session& session);  ///< implicit methods, constant steps
void run_adaptive(Session& session);  ///< implicit methods, error control
void run_rkmk(Session& session);      ///< explicit Runge-Kutta

}  // namespace kreisel::run
