#include "run/kinks.hpp"

#include <algorithm>
#include <cmath>

#include "solve/kkt.hpp"

namespace kreisel::run {
namespace {

/// How far before a knot a step may end, relative to the change of the coordinate in the step, and the target as a part of that.
/// Implicit methods use the force at the end of a step, which must not be that behind the knot. The remaining distance causes a
/// proportional error of the next step.
constexpr double farthest_of_all = 1e-3, farthest_over_tolerance = 1e3, aim_over_farthest = 1e-2;
constexpr int most_tries = 6;
/// A step shorter than this part of the attempted one is not taken.
constexpr double shortest = 1e-2;
/// Knots of one coordinate in a step that are looked at, and the surprise that counts, in tolerances.
constexpr int most_knots = 16;
constexpr double significant = 10.0;
/// A step that has to end at less than this part is not worth it.
constexpr double nearest = 1e-6;
/// After fewer steps than this between two knots, so many times in a row, the search is suspended for the next steps.
constexpr int close_by = 8, most_crowded = 4, length_of_pause = 100;

int one_more(int count) { return count == std::numeric_limits<int>::max() ? count : count + 1; }

}  // namespace

Kinks::Kinks(const system::System& system, double rtol, std::string_view linear_solver)
    : system_(system),
      farthest_(std::clamp(farthest_over_tolerance * rtol, 1e-9, farthest_of_all)),
      moved_(system.space()),
      linear_solver_(linear_solver) {
  const auto* kinked = dynamic_cast<const system::KinkedSystem*>(&system);
  if (kinked == nullptr) return;
  for (int i = 0; i < kinked->kink_count(); ++i) jumps_.push_back(kinked->jumps(i));
  if (std::ranges::find(jumps_, false) == jumps_.end()) return;
  of_ = kinked;
  for (Vector* x : {&x_, &x_trial_, &x_moved_}) x->setZero(kinked->kink_count());
  way_.setZero(system.space().nv());
}

Kinks::~Kinks() = default;

void Kinks::inherit(const Kinks& before) {
  if (of_ != before.of_) return;
  landed_ = before.landed_;
  since_landing_ = before.since_landing_;
  crowded_ = before.crowded_;
  pause_ = before.pause_;
}

/// By central differences along the parabola of the motion.
Kinks::Rates Kinks::rates(int kink, double x, const lie::Motion& m, double h) {
  const double s = 1e-4 * h;
  std::array<double, 2> beside{};
  for (const std::size_t i : {0, 1}) {
    const double way = i == 0 ? -s : s;
    way_ = way * m.v + (0.5 * way * way) * m.a;
    system_.space().move(m.q, way_, moved_.q);
    moved_.t = m.t + way;
    moved_.v = m.v + way * m.a;
    moved_.a = m.a;
    of_->kinks(moved_, x_moved_);
    beside[i] = x_moved_[kink];
  }
  return {(beside[1] - beside[0]) / (2.0 * s), (beside[1] - 2.0 * x + beside[0]) / (s * s)};
}

Kinks::Crossing Kinks::first_between_ends() const {
  Crossing first;
  double earliest = nowhere;
  for (int i = 0; i < x_.size(); ++i) {
    const double from = x_[i], to = x_trial_[i];
    if (jumps_[static_cast<std::size_t>(i)] || !std::isfinite(from) || !std::isfinite(to)) continue;
    const std::optional<double> knot = of_->knot_between(i, from, to);
    if (!knot || (landed_.kink == i && landed_.knot == *knot)) continue;
    const double part = (*knot - from) / (to - from);
    if (part < earliest) earliest = part, first = {i, *knot};
  }
  return first;
}

void Kinks::count_restart() {
  crowded_ = since_landing_ < close_by ? crowded_ + 1 : 0;
  since_landing_ = 0;
  if (crowded_ < most_crowded) return;
  crowded_ = 0;
  pause_ = length_of_pause;
}

void Kinks::forget_landing() { landing_ = beyond_ = nowhere, tries_ = 0; }

/// The time at which the coordinate is just before the knot, from the values at the point `at`.
double Kinks::time_of_knot(const lie::Motion& at, double x, double whole, double h) {
  const auto [rate, curve] = rates(target_.kink, x, at, h);
  const double way = target_.knot - aim_over_farthest * farthest_ * whole - x;
  const double straight = way / rate;
  // The zero of way = rate s + curve s²/2 that is next to the straight one.
  const double square = 1.0 + 2.0 * curve * way / (rate * rate);
  return at.t + (square > 0.0 ? 2.0 * straight / (1.0 + std::sqrt(square)) : straight);
}

Kinks::Advice Kinks::rejected(const lie::Motion& now, const lie::Motion& trial, int order) {
  if (of_ == nullptr || pause_ > 0) return Advice::none;
  if (trial.t == landing_ && misses(now, trial)) return Advice::land;
  if (t_ != now.t) of_->kinks(now, x_), t_ = now.t;
  of_->kinks(trial, x_trial_);
  const Crossing crossing = first_between_ends();
  if (crossing.kink < 0) {
    if (age_ > order) return Advice::none;
    age_ = std::numeric_limits<int>::max();
    count_restart();
    return Advice::restart;
  }
  if (std::isfinite(landing_) || is_given_up_) {
    forget_landing();
    is_given_up_ = true;
    return Advice::none;
  }
  const double h = trial.t - now.t, from = x_[crossing.kink], whole = x_trial_[crossing.kink] - from;
  target_ = crossing;
  // Only the first end of the step is not affected by the force behind the knot.
  double t = time_of_knot(now, from, whole, h);
  if (!(t > now.t && t < trial.t)) t = now.t + (crossing.knot - from) / whole * h;
  if (t - now.t < shortest * h) {
    landed_ = crossing;
    count_restart();
    return Advice::restart;
  }
  landing_ = t;
  beyond_ = trial.t;
  tries_ = 0;
  return Advice::land;
}

bool Kinks::misses(const lie::Motion& now, const lie::Motion& trial) {
  if (of_ == nullptr || trial.t != landing_) return false;
  of_->kinks(trial, x_trial_);
  const double x = x_trial_[target_.kink], whole = x - x_[target_.kink];
  const double left = (target_.knot - x) / whole;
  if ((left >= 0.0 && left <= farthest_) || ++tries_ > most_tries) return false;
  if (left < 0.0) beyond_ = trial.t;
  const double before = left < 0.0 ? now.t : trial.t;
  double t = time_of_knot(trial, x, whole, trial.t - now.t);
  if (!(t > before && t < beyond_)) t = 0.5 * (before + beyond_);
  landing_ = t;
  return true;
}

bool Kinks::accelerate_at(int kink, double x, const lie::Motion& end, double s, double whole, double h) {
  constexpr int corrections = 4;
  for (int n = 0; n <= corrections; ++n) {
    way_ = s * end.v + (0.5 * s * s) * end.a;
    system_.space().move(end.q, way_, moved_.q);
    moved_.t = end.t + s;
    moved_.v = end.v + s * end.a;
    of_->kinks(moved_, x_moved_);
    const double miss = x - x_moved_[kink];
    if (std::abs(miss) <= 1e-9 * std::abs(whole)) break;
    s += miss / whole * h;
  }
  moved_.a = end.a;
  if (kkt_ == nullptr) kkt_ = std::make_unique<solve::Kkt>(system_, counters_, linear_solver_);
  lambda_.setZero(system_.pattern().rows());
  return kkt_->accelerate(moved_, lambda_);
}

bool Kinks::surprises(int kink, double x, const lie::Motion& now, const lie::Motion& trial, ErrorNorm& norm) {
  const double h = trial.t - now.t, from = x_[kink], whole = x_trial_[kink] - from, part = (x - from) / whole;
  const bool is_first_nearer = part <= 0.5;
  const auto accelerated_from = [&](bool is_first) {
    return accelerate_at(kink, x, is_first ? now : trial, (is_first ? part : part - 1.0) * h, whole, h);
  };
  // What velocities would change by if these accelerations lasted over the step, and rates of states.
  const auto change = [&](const Vector& v, const Vector& a, const Vector& v0, const Vector& a0) {
    q_error_ = h * (v - v0);
    v_error_ = h * (a - a0);
    return norm(q_error_, v_error_);
  };
  if (!accelerated_from(is_first_nearer)) return false;
  near_a_ = moved_.a;
  near_v_ = moved_.v;
  // Of dynamic coordinates v is that of the motion, of states the rate that the forces give.
  const lie::Motion& near = is_first_nearer ? now : trial;
  const double known = (moved_.t - now.t) / h;
  const Vector a_between = now.a + known * (trial.a - now.a), v_between = near.v + (moved_.t - near.t) * near.a;
  const double surprise =
      change(near_v_, near_a_, v_between, a_between) - 2.0 * change(trial.v, trial.a, trial.v, now.a);
  if (!(surprise > significant)) return false;
  // Seen from the other end, stiff forces differ as much as that; a force between the knots does not.
  if (!accelerated_from(!is_first_nearer)) return false;
  return surprise > significant + 3.0 * change(near_v_, near_a_, near_v_, moved_.a);
}

bool Kinks::hides(const lie::Motion& now, const lie::Motion& trial, ErrorNorm& norm) {
  if (of_ == nullptr || std::isfinite(landing_)) return false;
  if (t_ != now.t) of_->kinks(now, x_), t_ = now.t;
  of_->kinks(trial, x_trial_);
  for (int i = 0; i < x_.size(); ++i) {
    const double from = x_[i], to = x_trial_[i];
    if (jumps_[static_cast<std::size_t>(i)] || !std::isfinite(from) || !std::isfinite(to)) continue;
    double last = from;
    for (int n = 0; n < most_knots; ++n) {
      const std::optional<double> knot = of_->knot_between(i, last, to);
      if (!knot) break;
      for (const double x : {0.5 * (last + *knot), *knot}) {
        const double part = (x - from) / (to - from);
        if ((n == 0 && x != *knot) || part < nearest || !surprises(i, x, now, trial, norm)) continue;
        if (hidden_++ > 0) return true;
        target_ = {i, x};
        landing_ = now.t + part * (trial.t - now.t);
        beyond_ = trial.t;
        tries_ = 0;
        return true;
      }
      last = *knot;
    }
  }
  return false;
}

void Kinks::accept(const lie::Motion& now, const lie::Motion& trial) {
  if (of_ == nullptr) return;
  if (pause_ > 0) --pause_;
  since_landing_ = one_more(since_landing_);
  age_ = one_more(age_);
  if (t_ != now.t) of_->kinks(now, x_);
  of_->kinks(trial, x_trial_);
  if (trial.t == landing_) {
    age_ = std::numeric_limits<int>::max();
    landed_ = target_;
    count_restart();
  } else {
    if (first_between_ends().kink >= 0) age_ = 0;
    if (landed_.kink >= 0 && (x_[landed_.kink] - landed_.knot) * (x_trial_[landed_.kink] - landed_.knot) <= 0.0)
      landed_ = {};  // already passed
  }
  forget_landing();
  is_given_up_ = false;
  hidden_ = 0;
  x_.swap(x_trial_);
  t_ = trial.t;
}

void Kinks::exchange(Archive& a) {
  if (of_ == nullptr) return;
  a.all(age_, since_landing_, crowded_, pause_, landed_.kink, landed_.knot);
  a.require(landed_.kink < static_cast<int>(x_.size()));
}

}  // namespace kreisel::run
