#include "corners.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kreisel::run {

using system::Corner;

namespace {

/// Under error control inputs may be missed by this part of the tolerance; constant steps are compared with each other down to
/// round-off.
constexpr double part_of_tolerance = 0.1;
constexpr double resolution_of_constant_steps = 1e-11;
/// Reduction of the step size at once that makes the past useless.
constexpr double much_shorter = 0.1;
/// In steps.
constexpr double far = 8.0;
/// Time plus step differs from the end of the step by less than this many units of round-off.
constexpr double units_of_round_off = 4.0;

}  // namespace

Corners::Corners(const system::System& system, const Options& options, double t0, double t_end)
    : system_(system),
      asked_(options.corners),
      t_end_(t_end),
      round_off_(units_of_round_off * std::numeric_limits<double>::epsilon() * std::max(std::abs(t0), std::abs(t_end))),
      resolution_(options.has_error_control() ? part_of_tolerance * options.rtol : resolution_of_constant_steps) {
  std::sort(asked_.begin(), asked_.end());
}

Corner Corners::next(double t, double until) const {
  const Corner own = system_.next_corner(t, until, resolution_);
  const auto asked = std::upper_bound(asked_.begin(), asked_.end(), t);
  return asked == asked_.end() || *asked >= until ? own : earlier(own, Corner{*asked, -1});
}

Stop Corners::stop_at(double t, double until) const {
  until = std::min(until, t_end_ - 4.0 * round_off_);
  Corner corner = next(t, until);
  if (!corner.exists()) return {t_end_, t_end_, 0, false};
  const double first = corner.t;
  int smooth = corner.smooth;
  double last = first;
  while ((corner = next(last, std::min(last + 4.0 * round_off_, until))).exists()) {
    last = corner.t;
    smooth = std::min(smooth, corner.smooth);
  }
  // Implicit methods evaluate forces at the end of the step: at a jump they must see its left side.
  const bool needs_left_side = smooth < 0 || last > first;
  const double left = first - round_off_;
  return {needs_left_side && left > t ? left : first, last, smooth, true};
}

Stop Corners::ahead(double t, double h) const {
  // Short steps miss little at a corner; a longer look-ahead still finds it.
  const Stop corner = stop_at(t, t + far * h);
  if (!corner.is_corner) return corner;
  if (corner.restarts() && corner.t < t + 2.0 * h) return corner;
  return stop_at(t, t + 2.0 * h);
}

Stop Corners::next_restart(double t) const {
  while (true) {
    const Stop stop = stop_at(t, t_end_);
    if (!stop.is_corner || stop.restarts()) return stop;
    t = stop.after;
  }
}

bool Corners::restarts_at(const Stop& stop, double h) const {
  if (!stop.is_corner || stop.restarts()) return stop.is_corner;
  const Stop next = stop_at(stop.after, stop.after + h);
  return next.is_corner && next.t - stop.after < much_shorter * h;
}

long Corners::restarts_after(double t, long most) const {
  long count = 0;
  for (Stop stop = next_restart(t); stop.is_corner && count <= most; stop = next_restart(stop.after)) ++count;
  return count;
}

bool Corners::is_just_behind(double t, double reach) const { return next(t - reach, t + reach).t <= t + round_off_; }

}  // namespace kreisel::run
