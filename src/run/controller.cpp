#include "kreisel/run/controller.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::run {
namespace {

/// The next step aims at this fraction of the tolerance.
constexpr double target = 0.05;
/// Smaller changes are not worth a new grid: equal steps keep coefficients and estimates clean.
constexpr double grow_from = 1.15, shrink_from = 0.9;
/// Largest growth of all.
constexpr double max_growth = 2.0;
/// The highest order at which steps may double every time (BDF2 is zero-stable up to a ratio of 1 + √2), and every other
/// time (BDF3 up to 2.7).
constexpr int doubling_order = 2, quick_order = 3;
constexpr double smallest_cut = 0.2, newton_cut = 0.25;
/// Another order must promise this much more than the present one.
constexpr double order_advantage = 1.02;
/// A step whose error, continued with its trend, would exceed this is cut before it fails.
constexpr double alarm = 0.5;
/// A singular position is passed by landing beyond it: the first step that fails out of a calm past is tried longer.
constexpr double leap = 1.4;
/// So many failures in a row mean that the past no longer predicts: restart from order 1.
constexpr int failures_before_restart = 4;

/// Amplitudes, in tolerances, below which what limits the step is taken for the method's own making, and above which it is not.
constexpr double quiet = 2.0, loud = 1e3;
/// Weight of the newest amplitude in their mean; errors below this fraction of the tolerance do not limit the step.
constexpr double listening = 0.01, heard = 1e-3;
/// So many steps a bounded order has to prove that it leads to longer ones.
constexpr int quiet_trial = 1500;

/// Factor on the step that brings an error of order p+1 to the target.
double growth(double error, int order) {
  return std::pow(target / std::max(error, 1e-12), 1.0 / (order + 1));
}

/// Growth with which BDF of this order is zero-stable when the step then rests for k steps: the spectral radius of the
/// product of the k + 1 companion matrices is 1 at 3.2, 2.0 and 1.34 for k = 4, 5, 6.
double lasting_growth(int order) { return order <= 4 ? max_growth : order == 5 ? 1.8 : 1.3; }
/// So many times in a row the step may grow faster: perturbations then grow tenfold each time, from round-off.
constexpr int quick_growths = 4;

}  // namespace

Controller::Controller(const ControllerOptions& options, double initial_step, int initial_order) : options_(options) {
  state_.order = std::clamp(initial_order, 1, options.max_order);
  state_.is_starting = state_.order <= doubling_order;
  set_step(initial_step);
}

void Controller::set_step(double h) {
  state_.h = std::min(options_.max_step > 0.0 ? std::min(h, options_.max_step) : h, longest_);
}

void Controller::bound_step(double longest) {
  longest_ = longest;
  // With room to spare: a bound that falls slowly must not change the grid with every step.
  if (state_.h > longest) state_.h = shrink_from * longest;
}

void Controller::bound_order(int stable) {
  stable_order_ = stable;
  if (state_.order > std::max(highest_order(), options_.min_order)) {
    state_.order = std::max(highest_order(), options_.min_order);
    state_.steps_since_change = 0;
    state_.last_error = 0.0;
  }
}

/// A vibration of amplitude A tolerances and θ radians per step has differences A ρᵐ, ρ = 2 sin(θ/2): two estimates give both.
/// Where A is no more than what errors of that size leave, nothing of the motion is lost when the vibration is damped, and an
/// order that does not damp it pays for its own errors.
void Controller::listen(const OrderErrors& errors) {
  if (!errors.lower || state_.order < 2 || errors.current < heard || *errors.lower < heard) return;
  const int k = state_.order;
  const double ratio = errors.current * (k + 1) / (*errors.lower * k);
  const double amplitude = std::log(2.0 * k * *errors.lower) - k * std::log(ratio);
  state_.amplitude += listening * (std::clamp(amplitude, -12.0, 24.0) - state_.amplitude);
  if (!state_.is_quiet) {
    if (state_.quiet_steps < 0) {
      ++state_.quiet_steps;
    } else if (stable_order_ < state_.order && state_.amplitude < std::log(std::min(quiet, 3e-3 / options_.rtol))) {
      state_.is_quiet = true;
      state_.quiet_steps = 0;
      state_.old_step = state_.h;
    }
    return;
  }
  ++state_.quiet_steps;
  const bool is_loud = state_.amplitude > std::log(std::min(loud, 0.1 / options_.rtol));
  const bool has_failed = state_.quiet_steps == quiet_trial && state_.h < state_.old_step;
  if (is_loud || has_failed) {
    state_.is_quiet = false;
    state_.quiet_steps = has_failed ? -10 * quiet_trial : 0;
  }
}

void Controller::accept(const OrderErrors& errors, double taken) {
  state_.failures = 0;
  state_.is_leaping = false;
  ++state_.steps_since_change;
  if (state_.is_starting) {
    // Every step doubles while twice the step is expected to pass. Beyond order 2 that is not zero-stable: increments of
    // the first steps, which no estimate sees, would grow by a factor of 1e16 over 18 doublings at order 6.
    if (growth(errors.current, state_.order) >= max_growth) {
      if (state_.order < std::min(doubling_order, options_.max_order)) ++state_.order;
      set_step(max_growth * taken);
      state_.steps_since_change = 0;
      return;
    }
    state_.is_starting = false;
  }
  listen(errors);
  // The error of the next step if the trend of the last two goes on.
  const double trend = state_.last_error > 0.0 ? std::clamp(errors.current / state_.last_error, 1.0, 2.0) : 1.0;
  const double expected = errors.current * trend;
  state_.last_error = errors.current;
  const bool may_hurry = state_.order <= quick_order || state_.growths < quick_growths;
  const bool is_far_off = may_hurry && growth(expected, state_.order) >= max_growth;
  if (state_.steps_since_change <= (is_far_off ? 1 : state_.order) && expected <= alarm) return;

  int order = state_.order;
  double best = growth(expected, order);
  // A fixed order that the start did not reach is approached one by one.
  const int lowest = std::min(options_.min_order, state_.order + 1);
  const auto consider = [&](const std::optional<double>& error, int candidate) {
    if (!error || candidate < lowest || candidate > std::max(highest_order(), lowest)) return;
    const double factor = growth(*error * trend, candidate);
    if (factor > order_advantage * best) {
      best = factor;
      order = candidate;
    }
  };
  if (state_.order < options_.min_order) best = 0.0;
  consider(errors.lower, state_.order - 1);
  consider(errors.higher, state_.order + 1);

  if (best == 0.0) best = growth(expected, state_.order);  // no estimate one order up yet
  const bool changes_step = best >= grow_from || best <= shrink_from;
  if (best < grow_from) state_.growths = 0;
  if (order == state_.order && !changes_step) return;
  state_.order = order;
  state_.steps_since_change = 0;
  state_.last_error = 0.0;
  if (best >= grow_from && order > quick_order) ++state_.growths;
  if (changes_step) set_step(std::clamp(best, smallest_cut, may_hurry ? max_growth : lasting_growth(order)) * taken);
}

void Controller::reject_error(double error, double taken) {
  reject(std::isfinite(error) ? std::clamp(growth(error, state_.order), smallest_cut, shrink_from) : newton_cut, taken);
}

void Controller::reject_newton(double taken) { reject(newton_cut, taken); }

void Controller::reject(double factor, double taken) {
  const bool was_leap = state_.is_leaping;
  state_.is_leaping = state_.failures == 0 && state_.last_error > 0.0 &&
                      state_.last_error * std::pow(leap, state_.order + 1) < 1.0;
  ++state_.failures;
  state_.last_error = 0.0;
  state_.is_starting = false;
  state_.steps_since_change = 0;
  state_.growths = 0;
  set_step(state_.is_leaping ? leap * taken : (was_leap ? factor / leap : factor) * taken);
  if (state_.failures >= failures_before_restart) state_.order = 1;
}

}  // namespace kreisel::run
