// Intervals with the interval of their rate: what a formula can do between two times.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace kreisel::multibody {

/// All values between two bounds. Bounds are not rounded outwards: decisions at the level of round-off are left to the values at
/// the ends (see ExpressionCorners).
struct Interval {
  double low = 0.0, high = 0.0;

  static constexpr Interval everything() {
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
  bool has(double x) const { return low <= x && x <= high; }
  bool is(double x) const { return low == x && high == x; }
};

/// Bounds that are NaN give no information.
inline Interval bounded(double low, double high) { return low <= high ? Interval{low, high} : Interval::everything(); }
inline Interval hull(const Interval& a, const Interval& b) {
  return bounded(std::min(a.low, b.low), std::max(a.high, b.high));
}
inline Interval operator+(const Interval& a, const Interval& b) { return bounded(a.low + b.low, a.high + b.high); }
inline Interval operator-(const Interval& a) { return {-a.high, -a.low}; }
inline Interval operator-(const Interval& a, const Interval& b) { return a + -b; }
inline Interval operator*(const Interval& a, const Interval& b) {
  if (a.is(0.0) || b.is(0.0)) return {};
  const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  double low = products[0], high = products[0];
  for (const double p : products) {
    if (std::isnan(p)) return Interval::everything();
    low = std::min(low, p);
    high = std::max(high, p);
  }
  return {low, high};
}
inline Interval inverse(const Interval& a) {
  return a.has(0.0) ? Interval::everything() : bounded(1.0 / a.high, 1.0 / a.low);
}
/// f over an interval in which it rises, or falls.
template <class F>
Interval rising(F f, const Interval& a) {
  return bounded(f(a.low), f(a.high));
}
inline Interval squared(const Interval& a) {
  const double x = a.low * a.low, y = a.high * a.high;
  return bounded(a.has(0.0) ? 0.0 : std::min(x, y), std::max(x, y));
}
inline Interval cosine(const Interval& a) {
  if (!(a.high - a.low < 2.0 * M_PI)) return {-1.0, 1.0};
  // A multiple of 2π inside is a maximum, an odd multiple of π a minimum.
  const bool has_top = 2.0 * M_PI * std::ceil(a.low / (2.0 * M_PI)) <= a.high;
  const bool has_bottom = 2.0 * M_PI * (std::ceil(a.low / (2.0 * M_PI) - 0.5) + 0.5) <= a.high;
  const double x = std::cos(a.low), y = std::cos(a.high);
  return {has_bottom ? -1.0 : std::min(x, y), has_top ? 1.0 : std::max(x, y)};
}
inline Interval sine(const Interval& a) { return cosine(a - Interval{0.5 * M_PI, 0.5 * M_PI}); }

}  // namespace kreisel::multibody
