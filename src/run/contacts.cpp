#include "contacts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kreisel/error.hpp"
#include "lcp.hpp"

namespace kreisel::run {

using method::Entry;
using system::GapState;
using system::LimitedSystem;

namespace {

/// Limits that are reached within this fraction of the run belong to one impact, and so do those that touch.
constexpr double at_once = 1e-9;
/// Approaches slower than this part of the mean rate at which the step would have left the limit are round-off.
constexpr double slowest_approach = 1e-9;
/// Rebounds that are slower than this part of the fastest impact of a limit, or lower than this many roundings of its gap,
/// count as rest where forces press on the limit.
constexpr double slowest_rebound = 1e-7, lowest_rebound = 16.0;
/// Round-off of a rate, relative to the velocities it is composed of.
constexpr double rate_round_off = 1e-13;
/// Contact forces below this part of the largest multiplier are recomputed, and so are those below the second part of the largest
/// one of the same limit so far. Below the third part they are zero.
constexpr double close_push = 0.05, falling_push = 0.5, zero_push = 1e-13;
/// A contact force above this part of the largest multiplier, and of the largest one of the limit so far, keeps it closed.
constexpr double firm_push = 1e-6;

/// By what the gap that counts as zero grows when a limit closes and opens at one time, and up to which part of the gap at the end of
/// the step.
constexpr double widening = 32.0, widest_zero = 1e-2;

const LimitedSystem* limits_of(const system::System& system) {
  const auto* limited = dynamic_cast<const LimitedSystem*>(&system);
  return limited == nullptr || limited->limit_count() == 0 ? nullptr : limited;
}

}  // namespace

bool has_closed_limits(const system::System& system) {
  const LimitedSystem* limits = limits_of(system);
  for (int i = 0; limits != nullptr && i < limits->limit_count(); ++i)
    if (limits->is_closed(i)) return true;
  return false;
}

void Contacts::begin_segment(const system::System& system, Counters& counters) {
  events_.clear();
  numbers_.clear();
  kkt_.reset();
  limited_ = limits_of(system);
  if (limited_ == nullptr) return;
  dead_.assign(static_cast<std::size_t>(limited_->limit_count()), 0.0);
  firmest_ = dead_;
  is_solved_ = false;
  for (int i = 0; i < limited_->limit_count(); ++i) {
    if (!limited_->is_in_force(i)) continue;
    system::Event event;
    event.name = limited_->limit_name(i);
    event.direction = system::Direction::falling;
    if (limited_->is_closed(i)) {
      if (kkt_ == nullptr) {
        kkt_ = std::make_unique<solve::Kkt>(system, counters, linear_solver_);
        lambda_ = Vector::Zero(system.pattern().rows());
      }
      event.function = [this, i](double t, const Vector& q, const Vector& v, const Vector& lambda) {
        return push_of(i, t, q, v, lambda);
      };
    } else {
      event.function = [this, i](double t, const Vector& q, const Vector& v, const Vector&) {
        motion_.t = t;
        motion_.q = q;
        motion_.v = v;
        const double gap = limited_->gap(i, motion_).value;
        return std::abs(gap) <= dead_[static_cast<std::size_t>(i)] ? 0.0 : gap;
      };
    }
    events_.push_back(std::move(event));
    numbers_.push_back(i);
  }
  motion_ = solved_ = lie::Motion(system.space());
}

void Contacts::open(const Entry& first, int repeated) {
  const double part = std::min(std::numeric_limits<double>::epsilon() * std::pow(widening, repeated), widest_zero);
  reach_.resize(dead_.size(), 0.0);
  for (const int i : numbers_) {
    if (limited_->is_closed(i)) continue;
    const auto k = static_cast<std::size_t>(i);
    const double gap = limited_->gap(i, first.motion).value;
    dead_[k] = std::max(limited_->round_off_of_gap(i, first.motion), gap < 0.0 ? -2.0 * gap : 0.0);
    if (repeated > 0 && std::abs(gap) <= part * reach_[k]) dead_[k] = std::max(dead_[k], part * reach_[k]);
  }
}

void Contacts::reach(const Entry& newest) {
  reach_.resize(dead_.size(), 0.0);
  for (const int i : numbers_) reach_[static_cast<std::size_t>(i)] = std::abs(limited_->gap(i, newest.motion).value);
}

int Contacts::passed(const Entry& entry) const {
  for (const int i : numbers_) {
    if (limited_->is_closed(i)) continue;
    const double round_off = system::start_tolerance * limited_->round_off_of_gap(i, entry.motion);
    if (limited_->gap(i, entry.motion).value < -std::max(round_off, dead_[static_cast<std::size_t>(i)])) return i;
  }
  return -1;
}

bool Contacts::solve_multipliers(double t, const Vector& q, const Vector& v, const Vector& lambda) {
  if (is_solved_ && solved_.t == t && solved_.q == q && solved_.v == v) return true;
  solved_.t = t;
  solved_.q = q;
  solved_.v = v;
  solved_.a.setZero();
  lambda_ = lambda;
  is_solved_ = kkt_->factorize(solved_) && kkt_->accelerate(solved_, lambda_);
  return is_solved_;
}

/// The multiplier of the point, and where it falls the one that the equations give for its q and v: multipliers of a method may be
/// less accurate than its motion, above all where nothing moves and steps are long.
double Contacts::push_of(int i, double t, const Vector& q, const Vector& v, const Vector& lambda) {
  double& firmest = firmest_[static_cast<std::size_t>(i)];
  double largest = lambda.size() > 0 ? lambda.lpNorm<Eigen::Infinity>() : 0.0;
  double push = limited_->push(i, lambda);
  if (push <= std::max(close_push * largest, falling_push * firmest) && solve_multipliers(t, q, v, lambda)) {
    push = limited_->push(i, lambda_);
    largest = std::max(largest, lambda_.lpNorm<Eigen::Infinity>());
  }
  firmest = std::max(firmest, push);
  return std::abs(push) <= zero_push * std::max(largest, firmest) ? 0.0 : push;
}

Settled Contacts::settle(const system::System& system, Entry& entry, const std::vector<bool>& touched,
                         Counters& counters) {
  Settled out;
  const LimitedSystem& limits = *limits_of(system);
  const auto count = static_cast<std::size_t>(limits.limit_count());
  const int nv = system.space().nv();
  out.closed.assign(count, false);
  firmest_.resize(count, 0.0);
  std::vector<int> at;  // limits involved
  std::vector<GapState> gaps;
  for (std::size_t i = 0; i < count; ++i) {
    const int limit = static_cast<int>(i);
    if (!limits.is_in_force(limit)) continue;
    const GapState gap = limits.gap(limit, entry.motion);
    const bool is_reached =
        gap.value <=
        std::max(system::start_tolerance * limits.round_off_of_gap(limit, entry.motion), at_once * span_ * -gap.rate);
    if (!limits.is_closed(limit) && !touched[i] && !is_reached) continue;
    at.push_back(limit);
    gaps.push_back(gap);
  }
  const auto n = static_cast<Eigen::Index>(at.size());
  if (n == 0) return out;

  // With all of them open: the response of each to an impulse.
  const bool has_closed = std::ranges::any_of(at, [&](int i) { return limits.is_closed(i); });
  const std::shared_ptr<const system::System> opened =
      has_closed ? limits.with_closed(std::vector<bool>(count, false)) : nullptr;
  const system::System& free = opened != nullptr ? *opened : system;
  const LimitedSystem& free_limits = *limits_of(free);
  solve::Kkt kkt(free, counters, linear_solver_);
  if (!kkt.factorize(entry.motion)) {
    out.problem = "the matrix [M B'; B 0] is singular";
    return out;
  }
  Matrix N(nv, n), jumps(nv, n);
  Vector still(n);  // rates of this size are zero
  for (Eigen::Index k = 0; k < n; ++k) {
    const int limit = at[static_cast<std::size_t>(k)];
    Vector normal(nv), jump(nv);
    limits.normal(limit, entry.motion, normal);
    kkt.jump_by(normal, jump);
    N.col(k) = normal;
    jumps.col(k) = jump;
    still[k] = rate_round_off * normal.cwiseAbs().dot(entry.motion.v.cwiseAbs());
    if (normal.dot(jump) > 1e-14 * normal.norm() * jump.norm()) continue;
    out.problem = fmt::format("joints and drivers move '{}' against its limit, which no force can hold",
                              limits.limit_name(limit));
    return out;
  }
  const Matrix compliance = 0.5 * (N.transpose() * jumps + jumps.transpose() * N);

  // Impact.
  Vector q(n), before(n), impulses;
  std::vector<bool> strikes(at.size(), false), grazes(at.size(), false);
  for (Eigen::Index k = 0; k < n; ++k) {
    const auto j = static_cast<std::size_t>(k);
    const int limit = at[j];
    const bool was_closed = limits.is_closed(limit);
    double rate = gaps[j].rate;
    if (was_closed || std::abs(rate) <= still[k]) rate = 0.0;
    strikes[j] = !was_closed && rate < 0.0;
    // A limit that has just opened without any speed is touched again by round-off: nobody would call that an impact.
    const double reach = reach_.empty() ? 0.0 : reach_[static_cast<std::size_t>(limit)];
    grazes[j] = !was_closed && -rate <= slowest_approach * reach / span_;
    if (was_closed) {
      double& firmest = firmest_of_all_[limits.limit_name(limit)];
      firmest = std::max(firmest, firmest_[static_cast<std::size_t>(limit)]);
    }
    double restitution = strikes[j] ? limits.restitution(limit) : 0.0;
    if (strikes[j]) {
      double& fastest = fastest_[limits.limit_name(limit)];
      fastest = std::max(fastest, -rate);
      const double rebound = -restitution * rate, pressed = -gaps[j].acceleration;
      const double lowest = lowest_rebound * limits.round_off_of_gap(limit, entry.motion);
      if (pressed > 0.0 && (rebound <= slowest_rebound * fastest || rebound * rebound <= 2.0 * pressed * lowest))
        restitution = 0.0;
    }
    before[k] = rate;
    q[k] = rate + restitution * std::min(rate, 0.0);
  }
  if (!solve_lcp(compliance, q, impulses)) {
    out.problem = "no impulses satisfy all limits that are reached at once";
    return out;
  }
  entry.motion.v += jumps * impulses;

  // Rest.
  Vector lambda = Vector::Zero(free.pattern().rows());
  lie::Motion moving = entry.motion;
  if (!kkt.accelerate(moving, lambda)) {
    out.problem = "the accelerations after it are undefined";
    return out;
  }
  // Rates from the impulses, not from the velocities: the rate of a closed limit is zero, its velocities have the errors of the method,
  // and with nothing else to compare them with they would look like a motion.
  const Vector after = before + compliance * impulses, pushed = compliance.cwiseAbs() * impulses.cwiseAbs();
  std::vector<Eigen::Index> resting;
  for (Eigen::Index k = 0; k < n; ++k) {
    const double size = std::max({std::abs(before[k]), pushed[k], N.col(k).cwiseAbs().dot(moving.v.cwiseAbs())});
    if (after[k] <= std::max(still[k], 1e-12 * size)) resting.push_back(k);
  }
  const auto r = static_cast<Eigen::Index>(resting.size());
  Matrix W(r, r);
  Vector accelerations(r), pushes;
  for (Eigen::Index a = 0; a < r; ++a) {
    const auto ka = resting[static_cast<std::size_t>(a)];
    accelerations[a] = free_limits.gap(at[static_cast<std::size_t>(ka)], moving).acceleration;
    for (Eigen::Index b = 0; b < r; ++b) W(a, b) = compliance(ka, resting[static_cast<std::size_t>(b)]);
  }
  if (!solve_lcp(W, accelerations, pushes)) {
    out.problem = "no forces satisfy all limits that are touched at once";
    return out;
  }
  const double largest =
      std::max({r > 0 ? pushes.maxCoeff() : 0.0, lambda.size() > 0 ? lambda.lpNorm<Eigen::Infinity>() : 0.0,
                entry.lambda.size() > 0 ? entry.lambda.lpNorm<Eigen::Infinity>() : 0.0});
  for (Eigen::Index a = 0; a < r; ++a) {
    const auto j = static_cast<std::size_t>(resting[static_cast<std::size_t>(a)]);
    const auto limit = static_cast<std::size_t>(at[j]);
    const bool lets_go = touched[limit] && limits.is_closed(static_cast<int>(limit));
    double least = zero_push * largest;
    if (lets_go) least = firm_push * std::max(largest, firmest_[limit]);
    if (grazes[j]) least = std::max(least, firm_push * firmest_of_all_[limits.limit_name(at[j])]);
    out.closed[limit] = pushes[a] > least;
  }
  bool is_changed = false;
  for (std::size_t j = 0; j < at.size(); ++j) {
    const auto limit = static_cast<std::size_t>(at[j]);
    const bool was_closed = limits.is_closed(at[j]);
    is_changed = is_changed || was_closed != out.closed[limit];
    if (strikes[j] && !grazes[j] && !out.closed[limit]) out.outcomes.push_back({limits.limit_name(at[j]), "impact"});
    if (!was_closed && out.closed[limit]) out.outcomes.push_back({limits.limit_name(at[j]), "close"});
    if (was_closed && !out.closed[limit]) out.outcomes.push_back({limits.limit_name(at[j]), "open"});
  }
  if (is_changed) out.system = limits.with_closed(out.closed);
  return out;
}

Settled Contacts::settle_start(const system::System& system, Entry& entry, Counters& counters) {
  const LimitedSystem* limits = limits_of(system);
  if (limits == nullptr) return {};
  std::vector<bool> touched(static_cast<std::size_t>(limits->limit_count()), false);
  for (int i = 0; i < limits->limit_count(); ++i) {
    if (!limits->is_in_force(i)) continue;
    const double gap = limits->gap(i, entry.motion).value, round_off = limits->round_off_of_gap(i, entry.motion);
    if (gap < -system::start_tolerance * round_off)
      throw InvalidInput(fmt::format("limit '{}' is violated at the start by {:.6g}; move the limit or the start",
                                     limits->limit_name(i), -gap));
    touched[static_cast<std::size_t>(i)] = gap <= round_off;
  }
  if (std::ranges::none_of(touched, [](bool is) { return is; })) return {};
  solve::Kkt kkt(system, counters, linear_solver_);
  if (!kkt.factorize(entry.motion) || !kkt.accelerate(entry.motion, entry.lambda)) return {};  // reported by the start
  return settle(system, entry, touched, counters);
}

void Contacts::exchange(Archive& a) {
  for (auto* by_limit : {&fastest_, &firmest_of_all_}) {
    std::vector<std::pair<std::string, double>> list(by_limit->begin(), by_limit->end());
    a(list, [](Archive& archive, auto& entry) {
      archive(entry.first);
      archive(entry.second);
    });
    *by_limit = {list.begin(), list.end()};
  }
}

}  // namespace kreisel::run
