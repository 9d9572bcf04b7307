// What the drivers of the run room share: the accepted point on its way to report and observer.
#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "kreisel/run/observer.hpp"
#include "kreisel/run/options.hpp"
#include "kreisel/run/report.hpp"
#include "kreisel/run/scaling.hpp"
#include "kreisel/solve/formulation.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::run {

/// Of this thread: studies run several integrations at once.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Options with every default decided.
struct Plan {
  Options options;
  solve::Formulation formulation = solve::Formulation::ode;
  int order = 0;        ///< 0: variable
  double t0 = 0.0, t_end = 0.0;
  double h = 0.0;       ///< constant or first step, already shrunk
  long step_count = 0;  ///< of constant or given steps
  std::vector<double> steps;  ///< given steps, already shrunk by step_factor; empty: constant
  double step_factor = 1.0;

  double step(long n) const { return steps.empty() ? h : steps[n]; }
};

/// When the observer wants to see the motion.
class OutputSchedule {
 public:
  OutputSchedule(const Options& options, double t0, double t_end) : t0_(t0), t_end_(t_end), step_(options.output_step), times_(options.output_times) {
    std::sort(times_.begin(), times_.end());
    while (at_ < times_.size() && times_[at_] <= t0) ++at_;
    is_active_ = step_ > 0.0 || !options.output_times.empty();
  }
  /// False: at every accepted point.
  bool is_active() const { return is_active_; }
  /// The next wanted time; t_end is always wanted.
  double next() const {
    double t = t_end_;
    if (step_ > 0.0) t = std::min(t, t0_ + static_cast<double>(count_) * step_);
    if (at_ < times_.size()) t = std::min(t, times_[at_]);
    return t;
  }
  void advance() {
    const double t = next();
    while (step_ > 0.0 && t0_ + static_cast<double>(count_) * step_ <= t) ++count_;
    while (at_ < times_.size() && times_[at_] <= t) ++at_;
    is_done_ = t >= t_end_;
  }
  bool is_done() const { return is_done_; }

 private:
  double t0_, t_end_, step_;
  std::vector<double> times_;
  std::size_t at_ = 0;
  long count_ = 1;
  bool is_active_ = false, is_done_ = false;
};

struct Session {
  const system::System& system;
  const system::Start& start;
  const Plan& plan;
  Observer& observer;
  Report& report;
  system::Residual residual;
  OutputSchedule schedule;
  method::Entry between;  ///< an interpolated point on its way out
  long points = 0, shown = 0;

  Session(const system::System& s, const system::Start& st, const Plan& p, Observer& o, Report& r)
      : system(s),
        start(st),
        plan(p),
        observer(o),
        report(r),
        residual(s.space().nv(), s.pattern().position_rows(), s.pattern().rows()),
        schedule(p.options, p.t0, p.t_end),
        between(method::History::blank(s.space(), {s.pattern().rows(), s.pattern().position_rows(), 0})) {}

  /// Counts, measures and shows an accepted point; `interpolate(t, entry)` fills a point of the step that ended here
  /// and returns whether it could. False: the observer wants to stop.
  template <class Interpolate>
  bool accept(const method::Entry& entry, bool is_start, Interpolate interpolate) {
    system.residual(entry.motion, entry.lambda, residual);
    if (residual.gap.size() > 0)
      report.position_max = std::max(report.position_max, residual.gap.lpNorm<Eigen::Infinity>());
    if (residual.rate.size() > 0)
      report.velocity_max = std::max(report.velocity_max, residual.rate.lpNorm<Eigen::Infinity>());
    const bool is_first = points++ == 0;
    if (!is_first) ++report.counters.steps;
    report.final = entry;
    if (is_first || !schedule.is_active()) return observer.accept({entry, residual, shown++, is_start});

    const double t = entry.motion.t, round_off = 1e-12 * std::max(std::abs(t), entry.h);
    while (!schedule.is_done() && schedule.next() <= t + round_off) {
      const double wanted = schedule.next();
      schedule.advance();
      const bool is_here = std::abs(wanted - t) <= round_off;
      if (!is_here && !interpolate(wanted, between)) continue;
      const method::Entry& shows = is_here ? entry : between;
      if (!is_here) system.residual(between.motion, between.lambda, residual);
      if (!observer.accept({shows, residual, shown++, is_start})) return false;
    }
    return true;
  }

  void fail_start() {
    fail(Status::no_consistent_start,
         "the initial values admit no accelerations and multipliers: [M B'; B 0] is singular.\n"
         "  try: `kreisel check`, which names redundant constraints and bodies without mass");
  }
  void fail(Status status, std::string message) {
    report.status = status;
    report.message = std::move(message);
  }
};

// One driver per family; each leaves its end in session.report.
void run_constant(Session& session);  ///< implicit methods, constant or given steps
void run_adaptive(Session& session);  ///< implicit methods, error control
void run_rkmk(Session& session);      ///< explicit Runge-Kutta

}  // namespace kreisel::run
