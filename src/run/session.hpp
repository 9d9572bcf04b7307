// What the drivers of the run room share: the accepted point on its way to events, report and observer.
#pragma once

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events.hpp"
#include "exchange.hpp"
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
  void exchange(Archive& a) { a.all(at_, count_, is_done_); }

 private:
  double t0_, t_end_, step_;
  std::vector<double> times_;
  std::size_t at_ = 0;
  long count_ = 1;
  bool is_active_ = false, is_done_ = false;
};

/// Where the next segment of a run begins.
struct Restart {
  std::shared_ptr<const system::System> system;  ///< null: the one in force
  system::Start start;
};

/// What lasts over all segments of a run.
struct Course {
  const system::System& layout;  ///< names the rows of results
  Observer& observer;
  Report& report;
  OutputSchedule schedule;
  long shown = 0;
  double span = 0.0;  ///< of the whole run
  int segment = 0;
  EventWatch::Sides sides{};                ///< of the events that began this segment
  std::map<std::string, int, std::less<>> counts{};  ///< occurrences by event
  std::vector<double> changes{};            ///< times of the last events that changed something
  WorkMeter work{};
  double first_energy = 0.0, last_energy = 0.0;  ///< of accepted points
  std::vector<Switched> switches{};         ///< how the system in force came about
  Archive* resume = nullptr;                ///< state from which the first segment goes on

  void exchange(Archive& a);
};

/// One segment: from a consistent start to t_end, or to an event or projection after which the method starts anew. A run
/// without such is one segment.
struct Session {
  const system::System& system;
  const system::Start& start;
  const Plan& plan;
  Course& course;
  Observer& observer;
  Report& report;
  system::Residual residual;
  method::Entry between;  ///< an interpolated point on its way out
  long points = 0;        ///< of this segment
  std::optional<Restart> restart;

  Session(const system::System& s, const system::Start& st, const Plan& p, Course& c);

  bool is_first_segment() const { return course.segment == 0; }
  /// Counts, measures and shows an accepted point, and looks for events on the step that led to it; `interpolate(t, entry)`
  /// fills a point of that step and returns whether it could. False: the driver must leave its loop.
  [[nodiscard]] bool accept(const method::Entry& entry, bool is_start, Interpolant interpolate);
  /// Ends this segment: the next one begins at (t, q, v), which satisfy the constraints, with starting values as those at
  /// t0. The driver must leave its loop.
  void restart_at(double t, ConstVectorRef q, ConstVectorRef v, std::shared_ptr<const system::System> next = nullptr);

  bool resumes() const { return course.resume != nullptr; }
  /// Instead of a start: reads the state of the session, then `driver(archive)` that of the driver.
  template <class Exchange>
  void load(const Exchange& driver) {
    Archive& a = *std::exchange(course.resume, nullptr);
    exchange(a);
    driver(a);
  }
  /// After a step: writes the same, if the observer wants it.
  template <class Exchange>
  void keep(const Exchange& driver) {
    if (!observer.wants_checkpoint()) return;
    Archive a;
    course.exchange(a);
    system::Start from = start;
    kreisel::run::exchange(a, from);
    exchange(a);
    driver(a);
    observer.checkpoint(a.bytes());
  }

  void fail_start();
  void fail(Status status, std::string message) {
    report.status = status;
    report.message = std::move(message);
  }
  void warn(const std::string& text);

 private:
  void exchange(Archive& a);
  [[nodiscard]] bool open(const method::Entry& entry, bool is_start);
  /// Equations of `entry` into `residual`, largest gaps and the last point into the report.
  [[nodiscard]] bool fits_together(const method::Entry& entry);
  void measure(const method::Entry& entry);
  void measure_energy(const method::Entry& entry);
  /// `residual` belongs to the entry.
  [[nodiscard]] bool show(const method::Entry& entry, bool is_start);
  /// Shows what is wanted before t, or until and at t.
  [[nodiscard]] bool show_wanted(const method::Entry& entry, bool is_start, bool includes_entry, Interpolant interpolate);
  const method::Entry& in_layout(const method::Entry& entry);
  const system::Residual& in_layout(const system::Residual& rows);

  [[nodiscard]] bool change_at(std::size_t first, const method::Entry& newest, bool is_start, Interpolant interpolate);
  void note(const Crossing& crossing, const method::Entry& before, const method::Entry& after, bool ends_the_run);
  bool is_terminal(const Crossing& crossing) const;
  int side_after(const Crossing& crossing, const method::Entry& after);
  [[nodiscard]] bool can_go_on(const std::vector<Crossing>& group, const Changed& changed);
  void fail_without_end(const Crossing& crossing);
  double look_ahead() const { return 1e-7 * (plan.t_end - plan.t0); }

  RowMap map_;
  EventWatch watch_;
  std::vector<Crossing> crossings_;
  method::Entry mapped_;
  system::Residual mapped_residual_;
};

// One driver per family; each leaves its end in session.report.
void run_constant(Session& session);  ///< implicit methods, constant or given steps
void run_adaptive(Session& session);  ///< implicit methods, error control
void run_rkmk(Session& session);      ///< explicit Runge-Kutta

}  // namespace kreisel::run
