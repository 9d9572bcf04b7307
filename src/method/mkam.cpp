#include "method/mkam.hpp"

#include <limits>

#include "coeff/adams_moulton.hpp"

namespace kreisel::method {
namespace {

/// A sweep leaves about (h|v|)²/50 of the error; beyond this many the step is far too large and the map returns NaN, which the
/// Newton solver reports as a failed attempt.
constexpr int max_sweeps = 30;
/// The sweep that corrects ω₀ by less than this, relative to its size, is the last: it leaves round-off.
constexpr double last_correction = 1e-12;

}  // namespace

Mkam::Mkam(const lie::Space& space, Counters& counters, Series dexp)
    : AdamsMoulton(space, counters), dexp_(dexp), canonical_(space, counters) {
  for (Vector* v : {&known_, &omega_, &at_, &next_, &image_, &coordinates_, &bracket_}) v->setZero(space.nv());
}

void Mkam::begin_step(const History& history, double h, int order) {
  begin_velocity(history, h, order);
  known_.setZero();
  coordinates_.setZero();
  for (int i = 1; i <= k_; ++i) {
    if (i == 2) coordinates_ = -history[0].omega;
    if (i > 2) {
      next_ = -history[i - 2].omega;
      canonical_.combine(k_, coordinates_, next_, coordinates_);
    }
    const double weight = h * coeff::adams_moulton_beta(k_, i);
    if (i == 1) {
      known_ = weight * past_velocity(1);
    } else {
      canonical_.dexp_inverse(terms(), coordinates_, past_velocity(i), image_);
      known_ += weight * image_;
    }
  }
  at_ = past_velocity(1);
  omega_ = known_ + (h * beta0_) * at_;
}

bool Mkam::solve_for_omega(ConstVectorRef x) {
  const double weight = h_ * beta0_;
  next_ = omega_ + weight * (x - at_);
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    canonical_.dexp_inverse(terms(), next_, x, image_);
    image_ = known_ + weight * image_ - next_;
    // Newton's correction with the leading part of its matrix: ∂/∂ω dexp⁻¹(-ω, x) = -x̂/2 + O(h).
    if (has_brackets()) {
      bracket(x, image_, bracket_);
      image_ -= (0.5 * weight) * bracket_;
    }
    next_ += image_;
    if (image_.lpNorm<Eigen::Infinity>() <= last_correction * next_.lpNorm<Eigen::Infinity>()) {
      omega_ = next_;
      at_ = x;
      return true;
    }
  }
  return false;
}

void Mkam::position(ConstVectorRef x, VectorRef q) {
  if (!solve_for_omega(x)) {
    q.setConstant(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  ++counters().exponentials;
  space_.move((*history_)[0].motion.q, omega_, q);
}

/// Without brackets ∂q = h β₀ T(ω). With them ∂q = T(ω) (1 - h β₀ ∂_ω dexp⁻¹)⁻¹ h β₀ dexp_p⁻¹(-ω), where T and dexp_p⁻¹
/// cancel: ∂q = h β₀ (1 - h β₀ x̂/2) + O(h³).
void Mkam::linearize(ConstVectorRef x, MotionTangent& out) {
  const double weight = h_ * beta0_;
  linearize_velocity(out);
  if (!has_brackets()) {
    next_ = known_ + weight * x;
    space_.tangent_blocks(next_, out.q_x);
    out.q_x *= weight;
    return;
  }
  space_.hat_blocks(x, out.q_x);
  out.q_x *= -0.5 * weight * weight;
  for (const lie::Block& block : space_.blocks())
    MatrixMap(out.q_x.data() + block.matrix_at, block.nv, block.nv).diagonal().array() += weight;
}

void Mkam::record(ConstVectorRef, Entry& entry) {
  entry.omega = omega_;  // that of the last position() call, which made entry.motion
}

}  // namespace kreisel::method
