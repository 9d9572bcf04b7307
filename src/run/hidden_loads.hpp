// Loads that constraints carry while nothing moves: how long steps may be because of them.
#pragma once

#include <array>
#include <vector>

#include "base/archive.hpp"
#include "kreisel/system.hpp"
#include "run/scaling.hpp"

namespace kreisel::run {

/// A load that changes with time and lies on a limit, or on a body that constraints keep at rest, moves nothing. No error of the
/// motion shows it, and the limit has to open where its multiplier vanishes between two points of a step, an event of a reaction has to
/// happen where the load reaches it. So steps end soon enough that interpolation follows such loads.
class HiddenLoads {
 public:
  HiddenLoads(const system::System& system, double rtol, double atol);

  /// The part of h within which interpolation tells what loads do behind `now`: of this degree through points before, or, with 0, by
  /// a cubic through points of the step.
  double resolved(const lie::Motion& now, ConstVectorRef lambda, double h, int degree);

  /// Inputs may have been set: loads that were constant need not be so any more.
  void look_again() { idle_ = 0; }

  /// State kept when a method restarts.
  void inherit(const HiddenLoads& before) { largest_ = before.largest_; }

  void exchange(Archive& a);

 private:
  enum class Course { constant, followed, unknown };
  /// Whether they have changed.
  bool find_resting(const lie::Motion& now, double h);
  Course course(const lie::Motion& now, ConstVectorRef lambda, double h);

  const system::System& system_;
  bool has_closed_limits_;
  double rtol_, atol_;
  int degree_ = 0;
  std::array<double, 2> largest_{};  ///< force and torque of constraints so far
  double tolerance_;                 ///< relative to the largest force or torque of the constraints
  std::vector<Part> held_, parts_;   ///< that constraints act on; of these, those that are looked at
  std::vector<Part> before_;         ///< those that were looked at before
  int idle_ = 0;                     ///< steps in a row in which loads were constant, or could not be followed
  lie::Motion moved_;
  system::Residual residual_;
  Vector load_, change_, difference_, other_, carried_;
};

}  // namespace kreisel::run
