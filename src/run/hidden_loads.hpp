// Loads that constraints carry while nothing moves: how long steps may be because of them.
#pragma once

#include <vector>

#include "kreisel/system.hpp"
#include "run/scaling.hpp"

namespace kreisel::run {

/// A load that changes with time and lies on a limit moves nothing. No error of the motion shows it, and the limit has to open where
/// its multiplier vanishes between two points of a step. So steps end soon enough that a cubic follows such loads between the ends.
class HiddenLoads {
 public:
  HiddenLoads(const system::System& system, double rtol);

  /// The part of h within which a cubic tells what loads do behind `now`.
  double resolved(const lie::Motion& now, ConstVectorRef lambda, double h);

 private:
  enum class Course { constant, cubic, unknown };
  Course course(const lie::Motion& now, ConstVectorRef lambda, double h);

  const system::System& system_;
  bool is_watching_;
  double tolerance_;         ///< relative to the largest force or torque of the constraints
  std::vector<Part> parts_;  ///< that constraints act on
  lie::Motion moved_;
  system::Residual residual_;
  Vector load_, change_, difference_, carried_;
};

}  // namespace kreisel::run
