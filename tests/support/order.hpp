// Observed orders: a pair of runs, one with half the step of the other, against the same reference.
#pragma once

#include <limits>
#include <ostream>
#include <string>

#include "support/experiment.hpp"

namespace kreisel::support {

/// Between two steps h and h/2 the observed slope of C hᵏ + D hᵏ⁺¹ misses k by about (D/C) h/(2 ln 2). The grids below are
/// chosen so that this and the distance to round-off stay within the tolerance; a wrong order misses by 1.
inline constexpr double slope_tolerance = 0.2;

/// The coarse run: [t0, t_end] in `steps` steps; the fine one has twice as many.
struct Grid {
  double t_end = 0.25;
  long steps = 500;
};

struct OrderCase {
  std::string method = "bliedf";
  int order = 4;
  std::string group, formulation;
  std::string starting = "corrected", correction = "magnus";
  Grid grid{};

  // Expected slopes of maxima over time; those at the end are the same. NaN: not judged (said where it is set).
  double q = 0.0, v = 0.0, lambda = 0.0;
  /// Expected slope of the maximum of λ over the first 3k+3 steps; +∞: at least `lambda`.
  double first_lambda = std::numeric_limits<double>::infinity();
};

/// "bliedf_4_r3xso3_index3_corrected_magnus", what gtest and ctest show.
std::string name_of(const OrderCase& order_case);
void PrintTo(const OrderCase& order_case, std::ostream* out);

Experiment experiment_of(const OrderCase& order_case);

/// Errors at which halving the step stops helping in double precision, measured on the heavy top with
/// k = 6, and for rkmk, which solves no nonlinear equations, with order 8.
Errors roundoff_floor(const OrderCase& order_case, double h);

/// Runs the pair and adds a gtest failure for every slope that is off, for every error too near to round-off and for
/// every run that fails.
void expect_orders(const OrderCase& order_case);

/// The grid on which a method of this order shows it on the heavy top.
Grid grid_for(int order, const std::string& group, const std::string& formulation);

}  // namespace kreisel::support
