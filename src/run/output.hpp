// Which points the observer sees.
#pragma once

#include <algorithm>
#include <vector>

#include "base/archive.hpp"
#include "kreisel/observer.hpp"
#include "kreisel/options.hpp"

namespace kreisel::run {

/// Times at which the observer sees the motion.
class OutputSchedule {
 public:
  OutputSchedule(const Options& options, double t0, double t_end)
      : t0_(t0), t_end_(t_end), step_(options.output_step), times_(options.output_times) {
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
  void exchange(Archive& a) {
    a.all(at_, count_, is_done_);
    a.require(at_ <= times_.size() && count_ >= 1);
  }

 private:
  double t0_, t_end_, step_;
  std::vector<double> times_;
  std::size_t at_ = 0;
  long count_ = 1;
  bool is_active_ = false, is_done_ = false;
};

/// Numbers the points and passes them on.
class Output {
 public:
  Output(const Options& options, double t0, double t_end, Observer& observer)
      : schedule_(options, t0, t_end), observer_(observer) {}

  OutputSchedule& schedule() { return schedule_; }
  /// False: the observer requests a stop.
  [[nodiscard]] bool show(const method::Entry& entry, const system::Residual& residual, bool is_start,
                          const system::System& system, const Work& work, int segment, std::string_view method,
                          const Energy* energy = nullptr) {
    return observer_.accept({entry, residual, shown_++, is_start, &system, work, segment, method, energy});
  }
  void exchange(Archive& a) {
    schedule_.exchange(a);
    a(shown_);
    a.require(shown_ >= 0);
  }

 private:
  OutputSchedule schedule_;
  Observer& observer_;
  long shown_ = 0;
};

}  // namespace kreisel::run
