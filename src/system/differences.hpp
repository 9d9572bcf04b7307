// Derivatives by differences with automatic steps and error estimates.
#pragma once

#include <functional>
#include <vector>

#include "kreisel/groups.hpp"
#include "kreisel/types.hpp"

namespace kreisel::system {

/// A curve ℝ → ℝⁿ.
using Curve = std::function<Vector(double s)>;

/// A derivative at 0, entry by entry.
struct Derivative {
  Vector value;
  /// Estimate of truncation and round-off. The formulas of order 4, 6 and 8 share their points; what the last two differ
  /// by falls from order to order by the factor that the last three show.
  Vector error;
  /// Largest size of the derivative within the stencil: a value that happens to vanish does not show its size.
  Vector size;
};

/// f'(0) from f(±h), …, f(±4h): truncation h⁸f⁽⁹⁾/630, round-off 2.1 u|f|/h.
Derivative slope(const Curve& f, double h);
/// f''(0) from f(0), f(±h), …, f(±4h): truncation h⁸f⁽¹⁰⁾/3150, round-off 6.5 u|f|/h².
Derivative second_slope(const Curve& f, double h);

/// A good step is this part of the length over which a function varies, 1/ω for sin ωs: 2⁻⁶ costs 2e-14 by truncation
/// and 64 times the round-off of the function.
inline constexpr double step_part = 0x1p-6;
/// Of a second derivative: 2⁻⁴ costs 7e-14 by truncation and 1700 times the round-off.
inline constexpr double second_step_part = 0x1p-4;

/// The largest step not above `wanted` of those that are used. Their multiples are exact in binary numbers, so that x + kh
/// has no error as long as h is a thousand units in the last place of x; and they are not round numbers in any unit of time:
/// a step that is a multiple of the period of a driver sees a constant.
double step_below(double wanted);

/// Steps along one argument: the search begins at `smallest`, at which no function is expected to vary, and ends at `largest`.
struct StepRange {
  double smallest = 0x1p-27, largest = step_part;
};

/// For a function that varies over `length`, or over a small part of it, at an argument of the value `at`.
StepRange range_of(double length, double at);
/// The same for times.
StepRange time_range(double time, double at);
/// Per entry of v, for functions of q: lengths are the distances from the origin that q shows, and 1 where it shows none.
std::vector<StepRange> configuration_ranges(const lie::Space& space, const Vector& q);
/// Per entry of v: the distance from the origin of what it moves; 0 for rotations.
Vector distances(const lie::Space& space, const Vector& q);

/// f as a function of several arguments: column(j, s) is f with s added to argument j.
using Columns = std::function<Vector(int j, double s)>;

/// Prior information about a function of several arguments, for its derivatives.
struct Steps {
  std::vector<StepRange> ranges;  ///< per argument
  Vector step;                    ///< per argument
  Matrix noise;     ///< per row and argument, what differences cannot resolve of the function; empty: not known
  Vector roundoff;  ///< per row, that of the function, which its values at one place need not show; empty: not known

  double length(int j) const { return step[j] / step_part; }  ///< over which the function varies
  Vector lengths() const { return step / step_part; }
};

/// Takes the largest step of every range, which suits functions that vary over largest/step_part.
Steps largest_steps(std::vector<StepRange> ranges);

/// Finds the step of every argument with the smallest error, relative to the row. A range that is well chosen costs 16
/// evaluations per argument, another one about 200. `terms`: sizes of the rows, `roundoff`: their round-off, as far as they are
/// known from elsewhere: where a function happens to have round values, steps that are too small look exact.
Steps find_steps(const Columns& f, std::vector<StepRange> ranges, const Vector& terms = {},
                 const Vector& roundoff = {});

/// A matrix of derivatives.
struct Jacobian {
  Matrix value, error, size;  ///< as in Derivative
};

/// Column j is the derivative by argument j: with the given steps if they are accurate enough, 8 evaluations, otherwise with a
/// new search. Depends on its arguments only.
///
/// Accurate enough is an error of `accuracy` relative to the entry, or of accuracy/100 relative to what an entry of its row can
/// be, or round-off. `terms`: sizes of the rows, as far as they are known from elsewhere.
Jacobian differentiate(const Columns& f, const Steps& steps, double accuracy, const Vector& terms = {});

/// The second derivative of a single curve, entry by entry; `step` suits its slope; another one is searched if it is not accurate
/// enough. 9 evaluations, or about 150.
Derivative differentiate_twice(const Curve& f, double step, double accuracy, const Vector& terms = {});

}  // namespace kreisel::system
