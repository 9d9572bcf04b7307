// Generalized-α on Lie groups (Arnold, Brüls, Cardona 2015, eq. 9, 58), x = Δq_n, memory = algorithmic acceleration.
#include "method/generalized_alpha.hpp"

#include <cmath>
#include <tuple>
#include <utility>

namespace kreisel::method {

namespace {

/// Ratios that differ from 1 by less are equal steps with round-off.
constexpr double equal_steps = 1e-9;

}  // namespace

coeff::GeneralizedAlpha coefficients_of(const choices::GeneralizedAlpha& chosen) {
  const coeff::GeneralizedAlpha usual = coeff::GeneralizedAlpha::from_rho_inf(chosen.rho_inf);
  return {chosen.alpha_m.value_or(usual.alpha_m), chosen.alpha_f.value_or(usual.alpha_f),
          chosen.beta.value_or(usual.beta), chosen.gamma.value_or(usual.gamma)};
}

GeneralizedAlpha::GeneralizedAlpha(const lie::Space& space, Counters& counters,
                                   const coeff::GeneralizedAlpha& parameters, AlphaModification modification)
    : Method(space, counters), parameters_(parameters), modification_(std::move(modification)) {
  for (Vector* v : {&known_a_, &known_x_, &known_v_, &next_a_, &y_, &Cy_, &scratch_}) v->setZero(space.nv());
}

void GeneralizedAlpha::begin_step(const History& history, double h, int) {
  history_ = &history;
  h_ = h;
  const Entry& now = history[0];
  const double sigma = now.h > 0.0 ? h / now.h : 1.0;
  const bool has_changed = std::abs(sigma - 1.0) > equal_steps;
  in_use_ = has_changed && modification_.parameters ? coeff::with_ratio(parameters_, sigma) : parameters_;
  const auto& [alpha_m, alpha_f, beta, gamma] = in_use_;
  const bool modifies_velocity = has_changed && modification_.velocity && constrained_part_ != nullptr;
  step_ = coeff::alpha_step(in_use_, has_changed ? modification_.jerk(sigma) : coeff::JerkWeights{}, sigma,
                            modifies_velocity, has_changed && modification_.acceleration);
  const auto& [A1, A2, A3, A4] = step_.A;

  // y_: known part of h v̈.
  y_ = A1 * now.motion.a + A3 * now.memory;
  known_a_ = (alpha_f * now.motion.a - alpha_m * (now.memory + step_.c * y_)) / step_.e;
  y_ += A4 * known_a_;
  next_a_ = now.memory + step_.c * y_;
  known_x_ = now.motion.v + ((0.5 - beta) * h) * next_a_ + (beta * h) * known_a_;
  known_v_ = now.motion.v + ((1.0 - gamma) * h) * next_a_ + (gamma * h) * known_a_;
  if (modifies_velocity) {
    constrained_part_->move_to(now.motion);
    bracket(now.motion.v, now.motion.a, scratch_);
    y_ = (step_.kappa * h) * y_ + (step_.mu * h * h) * scratch_;
    constrained_part_->apply(y_, Cy_);
    known_x_ += Cy_;
    known_v_ += Cy_;
  }
}

void GeneralizedAlpha::guess(VectorRef x) {
  const Entry& now = (*history_)[0];
  x = now.motion.v + (0.5 * h_) * now.memory;
}

/// x + dv = known + h(pC + r)v̇ is inverted with C² = C: v̇ = (y - p/(p+r) Cy)/(hr).
void GeneralizedAlpha::velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) {
  const auto& [p, r, s] = std::tie(step_.p, step_.r, step_.s);
  y_ = x + dv - known_x_;
  trial.a = y_ / (h_ * r);
  trial.v = known_v_ + (s / r) * y_;
  if (p != 0.0) {
    constrained_part_->apply(y_, Cy_);
    trial.a -= (p / ((p + r) * h_ * r)) * Cy_;
    trial.v += (p * (r - s) / (r * (p + r))) * Cy_;
  }
  next_a_ = step_.w * trial.a + known_a_;
}

/// C is left out: it meets δx in its range only as far as B δx ≠ 0, which the constraint rows forbid.
void GeneralizedAlpha::linearize(ConstVectorRef x, MotionTangent& out) {
  scratch_ = h_ * x;
  space_.tangent_blocks(scratch_, out.q_x);
  out.q_x *= h_;
  out.has_blocks = false;
  out.v_x = out.v_dv = step_.s / step_.r;
  out.a_x = out.a_dv = 1.0 / (h_ * step_.r);
}

void GeneralizedAlpha::record(ConstVectorRef x, Entry& entry) {
  // next_a_ is that of the last velocity() call, which made entry.motion.
  entry.omega = h_ * x;
  entry.memory = next_a_;
}

bool GeneralizedAlpha::local_errors(int order, const Motion& accepted, VectorRef q_error, VectorRef v_error) {
  if (order != 2) return false;
  const Entry& now = (*history_)[0];
  y_ = (accepted.a - now.motion.a) / h_;
  bracket(accepted.v, accepted.a, scratch_);
  const double h3 = h_ * h_ * h_;
  q_error = (h3 / 6.0) * (parameters_.position_error() * y_ + 0.5 * scratch_);
  v_error.setZero();
  if (history_->size() > 1)
    v_error = (2.0 * h3 * parameters_.velocity_error() / (h_ + now.h)) *
              (y_ - (now.motion.a - (*history_)[1].motion.a) / now.h);
  return true;
}

void GeneralizedAlpha::one_step_start(ConstVectorRef jerk, double h, bool shifts_memory, Entry& entry,
                                      VectorRef defect) {
  entry.memory = entry.motion.a;
  if (shifts_memory) entry.memory += (parameters_.delta() * h) * jerk;
  bracket(entry.motion.v, entry.motion.a, scratch_);
  defect = (h * h / 6.0) * (parameters_.position_error() * jerk + 0.5 * scratch_);
}

}  // namespace kreisel::method
