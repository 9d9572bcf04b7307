// When Newton's method of a step continues, needs a new matrix, or fails.
#pragma once

namespace kreisel::solve {

struct NewtonLimits {
  double slow_rate;       ///< convergence slower than this wastes more iterations than a new matrix costs
  double diverging_rate;  ///< slower than this is failure
  double hopeless_rate;   ///< so is one of the first `patience` ratios, which may be large at first, above this
  int patience;
  int max_age;  ///< steps that a matrix is kept
};

/// Of one unknown per coordinate.
inline constexpr NewtonLimits limits_of_steps{
    .slow_rate = 0.1, .diverging_rate = 0.9, .hopeless_rate = 2.0, .patience = 4, .max_age = 40};
/// Of the coupled stages of radau: an iteration costs three residuals, and a new linearisation pays earlier.
inline constexpr NewtonLimits limits_of_stages{
    .slow_rate = 0.03, .diverging_rate = 0.95, .hopeless_rate = 2.0, .patience = 3, .max_age = 40};

}  // namespace kreisel::solve
