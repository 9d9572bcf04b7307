// Work of forces and drivers, dissipation: the power of the accepted points, integrated.
#pragma once

#include <array>

#include "base/archive.hpp"
#include "kreisel/report.hpp"
#include "run/interpolant.hpp"
#include "system/kinks.hpp"

namespace kreisel::run {

/// Integrates the polynomial through the powers of the six newest points over each step: error O(h⁶) as long as the power
/// is smooth. The first five intervals are integrated again with every point until there are six. Where points contain the work
/// of their step, it is summed: no polynomial approximates the power over the long steps of a one-step method. Where a force has a
/// kink within a step, the power is integrated over the dense output on either side of it, and a new polynomial begins.
class WorkMeter {
 public:
  /// The next accepted point, later than the last one.
  void push(const system::System& system, const method::Entry& entry, Interpolant interpolate);
  /// After an event: the first point of a new polynomial. Energy lost there, as in an impact, counts as dissipated.
  void begin_anew(const system::System& system, const method::Entry& entry, double energy_before);
  /// From the first point to one within the newest step.
  Work at(const method::Entry& entry) const {
    return entry.work ? Work(before_).add(1.0, *entry.work) : at(entry.motion.t);
  }
  /// To the newest point.
  Work now() const { return at(t_[0]); }
  void exchange(Archive& a) {
    a.all(count_, t_, from_, base_.forces, base_.drivers, base_.dissipated, before_.forces, before_.drivers,
          before_.dissipated, broken_from_, kinks_);
    a.require(count_ >= 0 && count_ <= capacity);
    for (system::Power& power : power_) a.all(power.forces, power.drivers, power.dissipated);
  }

 private:
  static constexpr int capacity = 6;

  Work at(double t) const;
  /// The times of kinks in the step that ends at `entry`, in order, into breaks_.
  void find_breaks(const system::System& system, const method::Entry& entry, Interpolant interpolate);
  /// Over the step that ends at `entry`.
  Work between_breaks(const system::System& system, const method::Entry& entry, Interpolant interpolate);

  int count_ = 0;                     ///< 0 as long as nothing does work
  std::array<double, capacity> t_{};  ///< newest first
  std::array<system::Power, capacity> power_{};
  double from_ = 0.0;         ///< begin of the part of the integral that may still change
  Work base_;                 ///< up to there
  Work before_;               ///< before the newest step, if that contains its work or a kink
  double broken_from_ = 0.0;  ///< begin of the newest step that contains a kink
  Vector kinks_;              ///< coordinates with kinks, at the newest point
  Vector kinks_before_, kinks_between_;
  std::vector<double> breaks_;
  method::Entry between_;
};

}  // namespace kreisel::run
