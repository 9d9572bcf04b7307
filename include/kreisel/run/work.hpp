// Work of forces and drivers, dissipation: the power of the accepted points, integrated.
#pragma once

#include <array>

#include "kreisel/method/history.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::run {

/// What entered and left since the start [J].
struct Work {
  double forces = 0.0;      ///< applied forces and actuators
  double drivers = 0.0;     ///< joints that depend on time
  double dissipated = 0.0;  ///< dampers and friction
  double total() const { return forces + drivers - dissipated; }
};

/// Integrates the polynomial through the powers of the six newest points over each step: error O(h⁶) as long as the power
/// is smooth. The first five intervals are integrated anew with every point until six are there.
class WorkMeter {
 public:
  /// The next accepted point, later than the last one.
  void push(const system::System& system, const method::Entry& entry);
  /// After an event: the first point of a new polynomial. What the energy lost there, as in an impact, counts as dissipated.
  void begin_anew(const system::System& system, const method::Entry& entry, double energy_before);
  /// Since the first point; t within the newest step.
  Work at(double t) const;

 private:
  static constexpr int capacity = 6;

  int count_ = 0;  ///< 0 as long as nothing does work
  std::array<double, capacity> t_{};  ///< newest first
  std::array<system::Power, capacity> power_{};
  double from_ = 0.0;  ///< where the part of the integral that may still change begins
  Work base_;          ///< up to there
};

}  // namespace kreisel::run
