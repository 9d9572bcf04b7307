#include "run/controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "coeff/bdf_ratios.hpp"

namespace kreisel::run {
namespace {

/// The next step aims at this fraction of the tolerance.
constexpr double target = 0.05;
/// Smaller changes do not justify a new grid: equal steps keep coefficients and estimates clean.
constexpr double grow_from = 1.15, shrink_from = 0.9;
/// Largest growth: BDF stays zero-stable because the step then rests for at least k+1 steps.
constexpr double max_growth = 2.0;
/// The highest order at which steps may double every time (BDF2 is zero-stable up to a ratio of 1 + √2).
constexpr int doubling_order = 2;
constexpr double smallest_cut = 0.2, newton_cut = 0.25;
/// The expected step of another order must exceed that of the present one by this factor.
constexpr double order_advantage = 1.02;
/// A step whose error, continued with its trend, would exceed this is cut before it fails.
constexpr double alarm = 0.5;
/// A singular position is passed by a step that ends beyond it: the first step that fails after smooth motion is retried with a
/// larger size.
constexpr double leap = 1.4;
/// After so many failures in a row the past no longer predicts the motion: restart from order 1.
constexpr int failures_before_restart = 4;

/// Logarithm of the factor on the step that brings an error of order p+1 to the target: most comparisons need no more.
double log_growth(double error, int order) { return std::log(target / std::max(error, 1e-12)) / (order + 1); }
double growth(double error, int order) { return std::exp(log_growth(error, order)); }

const double log_grow_from = std::log(grow_from), log_shrink_from = std::log(shrink_from),
             log_order_advantage = std::log(order_advantage);

/// Whether `growth` reaches the largest one, without a logarithm.
bool may_double(double error, int order) {
  static_assert(max_growth == 2.0);
  return std::max(error, 1e-12) * static_cast<double>(2 << order) <= target;
}

}  // namespace

Controller::Controller(const ControllerOptions& options, double initial_step, int initial_order) : options_(options) {
  state_.order = std::clamp(initial_order, 1, options.max_order);
  state_.is_starting = state_.order <= doubling_order;
  set_step(initial_step);
}

void Controller::set_step(double h) { state_.h = options_.max_step > 0.0 ? std::min(h, options_.max_step) : h; }

double Controller::largest_ratio(int order) const {
  const coeff::RatioBounds& bounds = coeff::bdf_ratio_bounds[std::min(order, coeff::bdf_max_order)];
  switch (options_.ratios) {
    case method::RatioBound::growth:
      break;
    case method::RatioBound::rested:
      return std::min(max_growth, bounds.rested);
    case method::RatioBound::any:
      return std::min(max_growth, bounds.any);
  }
  return max_growth;
}

double Controller::trend(double error) const {
  return state_.last_error > 0.0 ? std::clamp(error / state_.last_error, 1.0, 2.0) : 1.0;
}

bool Controller::compares_orders(double error) const {
  if (state_.is_starting && may_double(error, state_.order)) return false;
  const double expected = error * trend(error);
  // Bounds for any sequence need no constant steps in between; those of a rested step need all k + 1 of them.
  const int rest = options_.ratios == method::RatioBound::any                                            ? 0
                   : options_.ratios == method::RatioBound::growth && may_double(expected, state_.order) ? 1
                                                                                                         : state_.order;
  return state_.steps_since_change + 1 > rest || !(expected <= alarm);
}

void Controller::accept(const OrderErrors& errors, double taken) {
  const bool compares = compares_orders(errors.current);
  state_.failures = 0;
  state_.is_leaping = false;
  state_.former_order = 0;
  ++state_.steps_since_change;
  if (state_.is_starting) {
    // Every step doubles while twice the step is expected to pass. Beyond order 2 that is not zero-stable: increments of
    // the first steps, which no estimate sees, would grow by a factor of 1e16 over 18 doublings at order 6.
    if (may_double(errors.current, state_.order)) {
      if (state_.order < std::min(doubling_order, options_.max_order)) ++state_.order;
      set_step(max_growth * taken);
      state_.steps_since_change = 0;
      return;
    }
    state_.is_starting = false;
  }
  const double trend = this->trend(errors.current), expected = errors.current * trend;
  state_.last_error = errors.current;
  if (!compares) return;

  int order = state_.order;
  double best = log_growth(expected, order);
  // A fixed order that the start did not reach is approached in steps of one.
  const int lowest = std::min(options_.min_order, state_.order + 1);
  const auto consider = [&](const std::optional<double>& error, int candidate) {
    if (!error || candidate < lowest || candidate > options_.max_order) return;
    const double factor = log_growth(*error * trend, candidate);
    if (factor > log_order_advantage + best) {
      best = factor;
      order = candidate;
    }
  };
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (state_.order < options_.min_order) best = none;
  consider(errors.lower, state_.order - 1);
  consider(errors.higher, state_.order + 1);

  if (best == none) best = log_growth(expected, state_.order);  // no estimate one order up yet
  const bool is_free = options_.ratios == method::RatioBound::growth;
  const double largest = largest_ratio(order), log_largest = is_free ? log_grow_from : std::log(largest);
  const bool changes_step = best >= std::min(log_grow_from, log_largest) || best <= log_shrink_from;
  if (order == state_.order && !changes_step) return;
  if (order != state_.order) {
    state_.former_order = state_.order;
    state_.former_step = taken;
  }
  state_.order = order;
  state_.steps_since_change = 0;
  state_.last_error = 0.0;
  const double smallest =
      options_.ratios == method::RatioBound::any ? std::max(smallest_cut, 1.0 / largest) : smallest_cut;
  if (changes_step) set_step(std::clamp(std::exp(best), smallest, largest) * taken);
}

void Controller::reject_error(double error, double taken) {
  reject(std::isfinite(error) ? std::clamp(growth(error, state_.order), smallest_cut, shrink_from) : newton_cut, taken);
}

void Controller::reject_newton(double taken) { reject(newton_cut, taken); }

void Controller::reject(double factor, double taken) {
  // Where errors oscillate, an estimate of another order that is about to change its sign is too optimistic. The order and step
  // that have passed are better than a shorter step of the order that has failed.
  if (state_.former_order > 0) {
    state_.order = std::exchange(state_.former_order, 0);
    ++state_.failures;
    state_.last_error = 0.0;
    state_.steps_since_change = 0;
    set_step(state_.former_step);
    return;
  }
  const bool was_leap = state_.is_leaping;
  state_.is_leaping =
      state_.failures == 0 && state_.last_error > 0.0 && state_.last_error * std::pow(leap, state_.order + 1) < 1.0;
  ++state_.failures;
  state_.last_error = 0.0;
  state_.is_starting = false;
  state_.steps_since_change = 0;
  set_step(state_.is_leaping ? leap * taken : (was_leap ? factor / leap : factor) * taken);
  if (state_.failures >= failures_before_restart) state_.order = 1;
}

}  // namespace kreisel::run
