// Generalized-α on Lie groups (Arnold, Brüls, Cardona 2015, eq. 9, 58), x = Δq_n, memory = algorithmic acceleration.
#include "kreisel/method/generalized_alpha.hpp"

namespace kreisel::method {

void GeneralizedAlpha::begin_step(const History& history, double h, int) {
  history_ = &history;
  h_ = h;
}

void GeneralizedAlpha::guess(VectorRef x) {
  const Entry& now = (*history_)[0];
  x = now.motion.v + (0.5 * h_) * now.memory;
}

void GeneralizedAlpha::velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) {
  const Entry& now = (*history_)[0];
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters_;
  next_a_ = (x + dv - now.motion.v - ((0.5 - beta) * h_) * now.memory) / (beta * h_);
  trial.v = now.motion.v + ((1.0 - gamma) * h_) * now.memory + (gamma * h_) * next_a_;
  trial.a = ((1.0 - alpha_m) * next_a_ + alpha_m * now.memory - alpha_f * now.motion.a) / (1.0 - alpha_f);
}

void GeneralizedAlpha::linearize(ConstVectorRef x, MotionTangent& out) {
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters_;
  scratch_ = h_ * x;
  space_.tangent_blocks(scratch_, out.q_x);
  out.q_x *= h_;
  out.has_blocks = false;
  out.v_x = out.v_dv = gamma / beta;
  out.a_x = out.a_dv = (1.0 - alpha_m) / ((1.0 - alpha_f) * beta * h_);
}

void GeneralizedAlpha::record(ConstVectorRef x, Entry& entry) {
  // next_a_ is that of the last velocity() call, which made entry.motion.
  entry.omega = h_ * x;
  entry.memory = next_a_;
}

void GeneralizedAlpha::one_step_start(ConstVectorRef jerk, double h, bool shifts_memory, Entry& entry, VectorRef defect) {
  entry.memory = entry.motion.a;
  if (shifts_memory) entry.memory += (parameters_.delta() * h) * jerk;
  bracket(entry.motion.v, entry.motion.a, scratch_);
  defect = (h * h / 6.0) * (parameters_.position_error() * jerk + 0.5 * scratch_);
}

}  // namespace kreisel::method
