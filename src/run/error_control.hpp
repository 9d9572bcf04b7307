// How errors are measured against rtol and atol, and where error control begins.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/archive.hpp"
#include "base/spelling.hpp"
#include "kreisel/system.hpp"
#include "run/scaling.hpp"

namespace kreisel::run {

/// Errors in multiples of the tolerance: translations atol + rtol |x|, rotations atol + rtol, velocities
/// atol + rtol |v|, each by the Euclidean norm of its part; the largest counts. First-order states have no velocity of their
/// own; algebraic unknowns follow from the other coordinates, and their past rates may be wrong: they do not count.
/// Round-off in q is not an error: shorter steps would only make it worse.
class ErrorNorm {
 public:
  ErrorNorm(const std::vector<Part>& parts, double rtol, double atol, double length)
      : parts_(parts), rtol_(rtol), atol_(atol), length_(length) {}

  /// `h`: the step over which velocities are differences of positions; 0: they are not.
  void set_scale(const lie::Motion& m, double h) {
    // Differences of noisy points are noisier by 2^(k+1)/(k+1); Newton's method leaves some units of round-off.
    constexpr double units = 64.0;
    // Where round-off exceeds the tolerance by this factor, as near a pole, a step is too short for an error estimate.
    constexpr double most = 10.0;
    scale_q_.resize(parts_.size());
    scale_v_.resize(parts_.size());
    const double span = span_of_bodies(parts_, m);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const double size = part.q_at < 0 ? 1.0 : norm_of(m.q.data() + part.q_at, part.n);
      const double noise = units * std::numeric_limits<double>::epsilon() * reach_of(part, size, span, length_);
      const auto allowed = [&](double tolerance, double floor) {
        return std::min(tolerance + floor, most * tolerance);
      };
      scale_q_[i] = 1.0 / allowed(atol_ + rtol_ * size, noise);
      scale_v_[i] = 1.0 / allowed(atol_ + rtol_ * norm_of(m.v.data() + part.v_at, part.n), h > 0.0 ? noise / h : 0.0);
    }
  }
  double operator()(ConstVectorRef q_error, ConstVectorRef v_error) {
    double largest = 0.0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      if (part.kind == system::CoordinateKind::algebraic) continue;
      const bool has_velocity = part.kind == system::CoordinateKind::dynamic;
      const double error = std::max(scale_q_[i] * norm_of(q_error.data() + part.v_at, part.n),
                                    has_velocity ? scale_v_[i] * norm_of(v_error.data() + part.v_at, part.n) : 0.0);
      if (!(error <= largest)) {  // NaN wins
        largest = error;
        worst_ = static_cast<int>(i);
      }
    }
    return largest;
  }
  const Part& worst() const { return parts_[worst_]; }

 private:
  const std::vector<Part>& parts_;
  double rtol_, atol_, length_;
  std::vector<double> scale_q_, scale_v_;
  int worst_ = 0;
};

/// A first step at order 1 whose error h²|v̇|/2 meets a tenth of the tolerance in q and v.
inline double initial_step(const lie::Motion& m, const std::vector<Part>& parts, double rtol, double atol,
                           double span) {
  double h = 1e-3 * span;
  const double reach = span_of_bodies(parts, m);
  for (const Part& part : parts) {
    const double a = m.a.segment(part.v_at, part.n).norm();
    const double v = m.v.segment(part.v_at, part.n).norm();
    const double size = part.q_at < 0 ? 1.0 : m.q.segment(part.q_at, part.n).norm();
    const double allowed = 0.1 * (atol + rtol * size);
    if (a > 0.0) h = std::min(h, std::sqrt(2.0 * allowed / a));
    // Velocities turn on the time scale |v|/|v̇|, positions on |v|.
    if (v > 0.0 && a > 0.0) h = std::min(h, 0.1 * std::sqrt(rtol + atol / v) * v / a);
    if (const double way = std::max(size, 1e-3 * reach); v > 0.0 && way > 0.0)
      h = std::min(h, 0.1 * std::sqrt(rtol + atol / way) * way / v);
  }
  return std::max(h, 1e-12 * span);
}

/// The first step at order k for a given one at order 1, if multipliers, one order below, are to meet the tolerance as well.
inline double step_of_order(int order, double first_order_step, double rtol, double atol) {
  const double time_scale = first_order_step / (0.1 * std::sqrt(rtol + atol));
  return 0.5 * time_scale * std::pow(0.05 * (rtol + atol), 1.0 / order);
}

/// Round-off in q enters v̇ divided by h² and, relative to their size, into the multipliers that balance M v̇;
/// extrapolation adds up several points.
inline double relative_noise_of_acceleration(const std::vector<Part>& parts, const lie::Motion& m, double h) {
  constexpr double units = 64.0;
  double size = 0.0, acceleration = 0.0;
  for (const Part& part : parts) {
    size = std::max(size, part.q_at < 0 ? 1.0 : m.q.segment(part.q_at, part.n).norm());
    acceleration = std::max(acceleration, m.a.segment(part.v_at, part.n).norm());
  }
  return units * std::numeric_limits<double>::epsilon() * size / (h * h * (acceleration + size));
}

/// Detects accepted steps without progress.
class Watchdog {
 public:
  explicit Watchdog(double t0, double t_end) : t_(t0), span_(t_end - t0) {}

  /// After an accepted step to t; true when the last `patience` steps have covered less than a ten-millionth of the run.
  bool barks(double t) {
    if (++steps_ < patience) return false;
    const bool is_stuck = t - t_ < 1e-7 * span_;
    from_ = t_;
    t_ = t;
    steps_ = 0;
    return is_stuck;
  }
  void exchange(Archive& a) { a.all(t_, from_, steps_); }
  std::string message(double t, const std::string& worst) const {
    return fmt::format(
        "no progress: the last {} steps advanced t only from {:.12g} to {:.12g}, limited by the error of the {}.\n"
        "  try: looser {}/{}, or look for a force that jumps or a singular position at this time",
        patience, from_, t, worst, spelled("rtol"), spelled("atol"));
  }

 private:
  static constexpr int patience = 2000;
  double t_, span_, from_ = 0.0;
  int steps_ = 0;
};

inline const std::string& body_of(const system::System& system, const Part& part) {
  const auto& blocks = system.space().blocks();
  std::size_t b = blocks.size() - 1;
  while (b > 0 && part.v_at < blocks[b].v_at) --b;
  return system.pattern().block_name(static_cast<int>(b));
}

inline std::string name_of(const system::System& system, const Part& part) {
  return fmt::format("{} of '{}'", part.q_at < 0 ? "rotation" : "translation", body_of(system, part));
}

}  // namespace kreisel::run
