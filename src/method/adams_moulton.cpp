#include "method/adams_moulton.hpp"

#include <cmath>

#include "base/combine.hpp"
#include "coeff/adams_moulton.hpp"
#include "lie/turns.hpp"

namespace kreisel::method {

AdamsMoulton::AdamsMoulton(const lie::Space& space, Counters& counters)
    : Method(space, counters), known_v_(Vector::Zero(space.nv())) {}

void AdamsMoulton::begin_velocity(const History& history, double h, int order) {
  history_ = &history;
  h_ = h;
  k_ = std::min(order - 1, history.size());
  beta0_ = coeff::adams_moulton_beta(k_, 0);
  Combination known;
  known.add(1.0, history[0].motion.v);
  for (int i = 1; i <= k_; ++i) known.add(h * coeff::adams_moulton_beta(k_, i), history[i - 1].motion.a);
  known.assign_to(known_v_);
  differences_.build(history, k_ + 2, h, [](const Entry& e) -> const Vector& { return e.motion.v; });
}

void AdamsMoulton::guess(VectorRef x) { differences_.extrapolate(differences_.points(), x); }

void AdamsMoulton::velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) {
  trial.v = x + dv;
  trial.a = (trial.v - known_v_) / (h_ * beta0_);
}

void AdamsMoulton::linearize_velocity(MotionTangent& out) const {
  out.has_blocks = false;
  out.v_x = out.v_dv = 1.0;
  out.a_x = out.a_dv = 1.0 / (h_ * beta0_);
}

ExponentialProduct::ExponentialProduct(const lie::Space& space, Counters& counters)
    : AdamsMoulton(space, counters),
      tail_(Vector::Zero(space.nv())),
      factor_(Vector::Zero(space.nv())),
      prefix_(Vector::Zero(space.nq())),
      appended_(Vector::Zero(space.nv())) {}

void ExponentialProduct::begin_product(const History& history, double h, int order) {
  begin_velocity(history, h, order);
  prefix_ = history[0].motion.q;
  tail_.setZero();
  appended_.setZero();
}

void ExponentialProduct::append(const Vector& y) {
  ++counters().exponentials;
  appended_ += y;
  space_.move(prefix_, y, prefix_);
}

void ExponentialProduct::position(ConstVectorRef x, VectorRef q) {
  last_exponent(x);
  ++counters().exponentials;
  space_.move(prefix_, factor_, q);
}

void ExponentialProduct::linearize(ConstVectorRef x, MotionTangent& out) {
  last_exponent(x);
  space_.tangent_blocks(factor_, out.q_x);
  out.q_x *= h_ * beta0_;
  linearize_velocity(out);
}

void ExponentialProduct::record(ConstVectorRef x, Entry& entry) {
  last_exponent(x);
  entry.omega = appended_ + factor_;
  // An infinite rotation makes the step fail.
  if (!lie::follow(space_, (*history_)[0].motion.q, entry.motion.q, entry.omega)) entry.omega.setConstant(HUGE_VAL);
}

}  // namespace kreisel::method
