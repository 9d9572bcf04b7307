#include "method/bliedf.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "base/combine.hpp"
#include "coeff/bliedf_defect.hpp"
#include "coeff/starting_defect.hpp"
#include "method/block_diagonal.hpp"

namespace kreisel::method {
namespace {

/// The fixed point v = base - shift(v) contracts with γ₁ h|v|/12 per sweep; beyond this many sweeps the step is far too large and
/// the map returns NaN, which the Newton solver reports as a failed attempt.
constexpr int max_sweeps = 60;
/// A sweep that moved v by less than this fraction of what the Newton iteration moved it leaves an error far below that
/// of the iteration, and the next iteration continues from there.
constexpr double sweep_fraction = 0.1;

}  // namespace

Bliedf::Bliedf(const lie::Space& space, Counters& counters, std::unique_ptr<Correction> correction,
               bool modifies_velocity, DefectSource defect, Linearization linearization)
    : Method(space, counters),
      correction_(std::move(correction)),
      modification_(space, defect),
      modifies_velocity_(modifies_velocity),
      linearization_(linearization) {
  for (Vector* v : {&known_v_, &known_a_, &base_, &shift_, &last_v_, &last_base_, &stabilization_, &v_, &direction_})
    v->setZero(space.nv());
  scratch_.setZero(space.nv());
  if (linearization == Linearization::complete) left_blocks_.setZero(space.block_diagonal_size());
}

void Bliedf::begin_step(const History& history, double h, int order) {
  history_ = &history;
  h_ = h;
  k_ = std::min(order, history.size());
  is_iterating_ = false;
  stabilization_.setZero();

  std::array<double, 7> times;
  times[0] = h;
  history.offsets(k_, times.data() + 1);
  const std::span<const double> grid(times.data(), k_ + 1);
  if (grid_.replace(grid)) bdf_ = coeff::variable_bdf(k_, grid);

  DifferenceCombination velocity, acceleration;
  for (int i = 2; i <= k_; ++i) {
    velocity.add(bdf_.gamma[i] / h, history[i - 2].omega, history[i - 2].memory);
    acceleration.add(bdf_.gamma[i] / h, history[i - 2].motion.v, history[i - 1].motion.v);
  }
  velocity.assign_to(known_v_);
  acceleration.assign_to(known_a_);

  if (constrained_part_ != nullptr && modifies_velocity_)
    modification_.add_to(*correction_, history, h, k_, bdf_, *constrained_part_, known_a_);

  correction_needs_ = correction_->begin(history, h, k_, bdf_.gamma[1]);
  if (correction_needs_ == CorrectionNeeds::nothing) {
    last_v_ = history[0].motion.v;
    correction_->shift(last_v_, last_v_, shift_);
  }
  differences_.build(history, k_ + 2, h, [](const Entry& e) -> const Vector& { return e.motion.v; });
}

void Bliedf::guess(VectorRef x) {
  differences_.extrapolate(std::min(k_ + 1, differences_.points()), last_v_);
  if (correction_needs_ != CorrectionNeeds::nothing) correction_->shift(last_v_, last_v_, shift_);
  x = (last_v_ + shift_ - known_v_) / bdf_.gamma[1];
  last_base_ = last_v_ + shift_;
  is_iterating_ = true;
}

void Bliedf::velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) {
  base_ = known_v_ + bdf_.gamma[1] * x + dv;
  stabilization_ = dv;
  switch (correction_needs_) {
    case CorrectionNeeds::velocity:
    case CorrectionNeeds::both:
      solve_for_velocity(x, trial.v);
      break;
    case CorrectionNeeds::increment:
      correction_->shift(x, last_v_, shift_);
      [[fallthrough]];
    case CorrectionNeeds::nothing:
      trial.v = base_ - shift_;
      break;
  }
  trial.a = known_a_ + (bdf_.gamma[1] / h_) * (trial.v - (*history_)[0].motion.v);
}

void Bliedf::solve_for_velocity(ConstVectorRef x, VectorRef v) {
  const Eigen::Index n = base_.size();
  if (!is_iterating_) last_v_ = last_base_ = base_;
  double moved = 0.0, size = 0.0;  // squared Euclidean norms: NaN stays visible
  for (Eigen::Index i = 0; i < n; ++i) {
    const double d = base_[i] - last_base_[i];
    last_base_[i] = base_[i];
    last_v_[i] += d;
    moved += d * d;
    size += last_v_[i] * last_v_[i];
  }
  const double fine = sweep_tolerance_ * sweep_tolerance_ * size;
  // Where the increment enters as well, one sweep leaves a larger error than Newton's rate predicts.
  const bool may_be_loose = is_iterating_ && correction_needs_ == CorrectionNeeds::velocity;
  const double tolerance = may_be_loose ? std::max(fine, sweep_fraction * sweep_fraction * moved) : fine;
  const bool is_still_solved = is_iterating_ && moved <= fine && correction_needs_ == CorrectionNeeds::velocity;
  double change = is_still_solved ? 0.0 : std::numeric_limits<double>::infinity();
  for (int sweep = 0; sweep < max_sweeps && !(change <= tolerance); ++sweep) {
    correction_->shift(x, last_v_, shift_);
    change = 0.0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double next = base_[i] - shift_[i], d = next - last_v_[i];
      last_v_[i] = next;
      change += d * d;
    }
  }
  if (change <= tolerance) {
    v = last_v_;
  } else {
    v.setConstant(std::numeric_limits<double>::quiet_NaN());
    last_v_ = base_;
  }
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
  if (linearization_ == Linearization::complete && correction_needs_ != CorrectionNeeds::nothing)
    linearize_completely(x, out);
}

/// (1 + ∂s/∂v) ∂v/∂x = γ₁ - ∂s/∂x (Wieloch 2022, D_ω and D_v of L, solved for v).
void Bliedf::linearize_completely(ConstVectorRef x, MotionTangent& out) {
  base_ = known_v_ + bdf_.gamma[1] * x + stabilization_;
  if (correction_needs_ == CorrectionNeeds::increment) {
    correction_->shift(x, last_v_, shift_);
    v_ = base_ - shift_;
  } else {
    solve_for_velocity(x, v_);
  }
  const Vector none = Vector::Zero(space_.nv());
  set_multiple_of_identity(space_, 1.0, left_blocks_);
  add_columns(
      space_, 1.0, [&](const Vector& d, Vector& image) { correction_->shift_derivative(x, v_, none, d, image); },
      direction_, scratch_, left_blocks_);
  out.v_x_blocks.resize(space_.block_diagonal_size());
  set_multiple_of_identity(space_, bdf_.gamma[1], out.v_x_blocks);
  add_columns(
      space_, -1.0, [&](const Vector& d, Vector& image) { correction_->shift_derivative(x, v_, d, none, image); },
      direction_, scratch_, out.v_x_blocks);
  divide_blocks(space_, left_blocks_, out.v_x_blocks);
  out.has_blocks = true;
  out.a_x_blocks = (bdf_.alpha[0] / h_) * out.v_x_blocks;
}

Method::Coefficients Bliedf::coefficients() const { return {bdf_.gamma[1], bdf_.alpha[0]}; }

void Bliedf::record(ConstVectorRef x, Entry& entry) {
  entry.omega = h_ * x;
  correction_->commutator_part(entry.motion.v, shift_, entry.memory);
}

bool Bliedf::leading_defect(int order, double h, std::span<const Vector> derivatives, bool, VectorRef out) {
  if (correction_->has_printed_defect(order)) {
    sum_defect(order, h, coeff::bliedf_starting_defect(order), derivatives, out);
    return true;
  }
  if (!correction_->has_defect(order)) return false;
  std::array<double, coeff::bdf_max_order> steps;
  steps.fill(h);
  correction_->defect_bracket(order, derivatives, out);
  out = correction_->defect_weight(order, steps) * out + coeff::bdf_defect(order, steps) * derivatives[order];
  return true;
}

bool Bliedf::begin_tangents(const Motion& accepted) {
  if (correction_needs_ == CorrectionNeeds::increment || correction_needs_ == CorrectionNeeds::both) return false;
  for (Vector* v : {&known_dv_, &known_da_, &past_dv_}) v->resize(space_.nv());
  return correction_->begin_tangents(accepted.v);
}

void Bliedf::move_past(std::span<const PastChange> past) {
  DifferenceCombination velocity, acceleration;
  for (std::size_t i = 2; i <= static_cast<std::size_t>(k_); ++i) {
    velocity.add(bdf_.gamma[i] / h_, past[i - 2].omega, past[i - 2].memory);
    acceleration.add(bdf_.gamma[i] / h_, past[i - 2].v, past[i - 1].v);
  }
  velocity.assign_to(known_dv_);
  acceleration.assign_to(known_da_);
  past_dv_ = past[0].v;
  correction_->move_past(past);
  if (correction_needs_ == CorrectionNeeds::nothing) {
    correction_->shift_tangent(past_dv_, shift_);
    known_dv_ -= shift_;
  }
}

void Bliedf::tangent(ConstVectorRef dx, ConstVectorRef ddv, VectorRef dv, VectorRef da) {
  if (correction_needs_ == CorrectionNeeds::nothing) {
    dv = known_dv_ + bdf_.gamma[1] * dx + ddv;
  } else {
    // It contracts as the velocity relation itself does.
    constexpr double part = 1e-12;
    base_ = known_dv_ + bdf_.gamma[1] * dx + ddv;
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
      correction_->shift_tangent(dv, shift_);
      shift_ = base_ - shift_;
      const double change = (shift_ - dv).squaredNorm();
      dv = shift_;
      if (!(change > part * part * dv.squaredNorm())) break;
    }
  }
  da = known_da_ + (bdf_.gamma[1] / h_) * (dv - past_dv_);
}

void Bliedf::record_tangent(ConstVectorRef dx, ConstVectorRef dv, VectorRef domega, VectorRef dmemory) {
  domega = h_ * dx;
  correction_->commutator_tangent(dv, dmemory);
}

/// δv = (I + ∂s/∂v)⁻¹(… + γ₁ δx + δ(dv)): the transposed contracts as the relation itself does.
void Bliedf::transpose_tangent(ConstVectorRef v, ConstVectorRef a, ConstVectorRef omega, ConstVectorRef memory,
                               VectorRef dx, VectorRef ddv) {
  correction_->transpose_commutator(memory, shift_);
  base_ = v + (bdf_.gamma[1] / h_) * a + shift_;
  ddv = base_;
  if (correction_needs_ != CorrectionNeeds::nothing) {
    constexpr double part = 1e-15;
    for (int sweep = 0; sweep < max_sweeps; ++sweep) {
      correction_->transpose_shift(ddv, shift_);
      shift_ = base_ - shift_;
      const double change = (shift_ - ddv).squaredNorm();
      ddv = shift_;
      if (!(change > part * part * ddv.squaredNorm())) break;
    }
  }
  dx = bdf_.gamma[1] * ddv + h_ * omega;
}

void Bliedf::transpose_past(ConstVectorRef a, ConstVectorRef memory, ConstVectorRef ddv,
                            std::span<const PastWeight> past) {
  past[0].v -= (bdf_.gamma[1] / h_) * a;
  for (std::size_t i = 2; i <= static_cast<std::size_t>(k_); ++i) {
    const double weight = bdf_.gamma[i] / h_;
    past[i - 2].omega += weight * ddv;
    past[i - 2].memory -= weight * ddv;
    past[i - 2].v += weight * a;
    past[i - 1].v -= weight * a;
  }
  correction_->transpose_past(ddv, memory, past);
}

bool Bliedf::local_errors(int order, const Motion& accepted, VectorRef q_error, VectorRef v_error) {
  if (differences_.points() < order + 1) return false;
  // A defect d of h·(derivative) moves the new point by d/α₀; the α₀ of the current order is used for its neighbours as well.
  const double h = h_ / bdf_.alpha[0];
  differences_.deviation(order, accepted.v, h / (order + 1), q_error);
  differences_.deviation(order + 1, accepted.v, h / (h_ - differences_.offset(order)), v_error);
  return true;
}

}  // namespace kreisel::method
