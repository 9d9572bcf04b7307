#include "kreisel/method/bliedf.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "kreisel/base/combine.hpp"

namespace kreisel::method {
namespace {

/// The fixed point v = base - shift(v) contracts with γ₁ h|v|/12 per sweep; beyond this many sweeps the step is far too
/// large and the map says so with NaN, which the Newton solver reports as a failed attempt.
constexpr int max_sweeps = 60;

}  // namespace

Bliedf::Bliedf(const lie::Space& space, Counters& counters, std::unique_ptr<Correction> correction, bool modifies_velocity)
    : Method(space, counters),
      correction_(std::move(correction)),
      differences_(space.nv()),
      modification_(space),
      modifies_velocity_(modifies_velocity) {
  for (Vector* v : {&known_v_, &known_a_, &base_, &shift_, &next_, &last_v_, &last_base_}) v->setZero(space.nv());
  scratch_.setZero(space.nv());
}

void Bliedf::begin_step(const History& history, double h, int order) {
  history_ = &history;
  h_ = h;
  k_ = std::min(order, history.size());

  std::array<double, 7> times;
  times[0] = h;
  for (int i = 1; i <= k_; ++i) times[i] = history.offset(i - 1);
  bdf_ = coeff::variable_bdf(k_, std::span<const double>(times.data(), k_ + 1));

  DifferenceCombination velocity, acceleration;
  for (int i = 2; i <= k_; ++i) {
    velocity.add(bdf_.gamma[i] / h, history[i - 2].omega, history[i - 2].memory);
    acceleration.add(bdf_.gamma[i] / h, history[i - 2].motion.v, history[i - 1].motion.v);
  }
  velocity.assign_to(known_v_);
  acceleration.assign_to(known_a_);

  if (constrained_part_ != nullptr && modifies_velocity_)
    modification_.add_to(*correction_, history, h, k_, bdf_, *constrained_part_, known_a_);

  is_implicit_correction_ = correction_->begin(history, h, k_, bdf_.gamma[1]);
  if (!is_implicit_correction_) {
    next_ = history[0].motion.v;
    correction_->shift(next_, next_, shift_);
  }
  differences_.build(history, k_ + 2, h, [](const Entry& e) -> const Vector& { return e.motion.v; });
}

void Bliedf::guess(VectorRef x) {
  differences_.extrapolate(std::min(k_ + 1, differences_.points()), last_v_);
  if (is_implicit_correction_) correction_->shift(last_v_, last_v_, shift_);
  x = (last_v_ + shift_ - known_v_) / bdf_.gamma[1];
  last_base_ = last_v_ + shift_;
}

void Bliedf::velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) {
  base_ = known_v_ + bdf_.gamma[1] * x + dv;
  if (is_implicit_correction_)
    solve_for_velocity(x, trial.v);
  else
    trial.v = base_ - shift_;
  trial.a = known_a_ + (bdf_.gamma[1] / h_) * (trial.v - (*history_)[0].motion.v);
}

void Bliedf::solve_for_velocity(ConstVectorRef x, VectorRef v) {
  next_ = last_v_ + (base_ - last_base_);
  for (int sweep = 0; sweep < max_sweeps; ++sweep) {
    correction_->shift(x, next_, shift_);
    v = base_ - shift_;
    const double change = (v - next_).lpNorm<Eigen::Infinity>();
    next_ = v;
    if (change <= sweep_tolerance_ * v.lpNorm<Eigen::Infinity>() || change == 0.0) {
      last_v_ = v;
      last_base_ = base_;
      return;
    }
  }
  v.setConstant(std::numeric_limits<double>::quiet_NaN());
}

void Bliedf::linearize(ConstVectorRef x, MotionTangent& out) {
  scratch_ = h_ * x;
  space_.tangent_blocks(scratch_, out.q_x);
  out.q_x *= h_;
  out.has_blocks = false;
  out.v_x = bdf_.gamma[1];
  out.a_x = bdf_.alpha[0] * bdf_.gamma[1] / h_;
  out.v_dv = 1.0;
  out.a_dv = bdf_.alpha[0] / h_;
}

Method::Coefficients Bliedf::coefficients() const { return {bdf_.gamma[1], bdf_.alpha[0]}; }

void Bliedf::record(ConstVectorRef x, Entry& entry) {
  entry.omega = h_ * x;
  correction_->commutator_part(entry.motion.v, entry.memory);
}

bool Bliedf::local_errors(int order, const Motion& accepted, VectorRef q_error, VectorRef v_error) {
  if (differences_.points() < order + 1) return false;
  differences_.deviation(order, accepted.v, h_ / (order + 1), q_error);
  differences_.deviation(order + 1, accepted.v, h_ / (h_ - history_->offset(order)), v_error);
  return true;
}

}  // namespace kreisel::method
