#include "method/mkbdf.hpp"

#include "method/block_diagonal.hpp"

#include <algorithm>

#include "coeff/bch.hpp"
#include "coeff/starting_defect.hpp"

namespace kreisel::method {

Mkbdf::Mkbdf(const lie::Space& space, Counters& counters, const Variant& variant)
    : Method(space, counters), variant_(variant), canonical_(space, counters, variant.bch) {
  for (Vector* v : {&known_rate_, &known_a_, &omega0_, &rate_, &image_, &bracket_, &argument_}) v->setZero(space.nv());
  for (Vector* v : {&hat_rate_, &hat_omega_, &hat_inner_}) v->setZero(space.block_diagonal_size());
  scratch_.setZero(space.nv());
  for (Vector& v : coordinates_) v.setZero(space.nv());
}

Mkbdf::Mkbdf(const lie::Space& space, Counters& counters, const coeff::Multistep& coefficients)
    : Mkbdf(space, counters, Variant{}) {
  own_ = coefficients;
}

void Mkbdf::begin_step(const History& history, double h, int order) {
  history_ = &history;
  h_ = h;
  k_ = std::min(own_ ? own_->k : order, history.size());
  known_rate_.setZero();
  known_a_.setZero();
  // Nested to the right, BCH(a, BCH(b, …)), from the oldest increment outwards: nested to the left, as printed, λ loses an order for
  // k = 5, exact logarithms do for k = 4, 5, 6. The inner part is known from the step before.
  omega0_ = -history[0].omega;
  for (int i = 0; i + 2 <= k_; ++i) {
    if (i == 0)
      coordinates_[0] = omega0_;
    else
      canonical_.combine(series(), omega0_, history[0].memory.segment((i - 1) * space_.nv(), space_.nv()),
                         coordinates_[i]);
    known_rate_ += (alpha(i + 2) / h) * coordinates_[i];
  }
  if (own_) {
    add_own_terms();
  } else {
    for (int i = 2; i <= k_; ++i)
      known_a_ += (coeff::bdf_gamma(k_, i) / h) * (history[i - 2].motion.v - history[i - 1].motion.v);
  }
  differences_.build(history, k_ + 1, h, [](const Entry& e) -> const Vector& { return e.motion.v; });
}

/// Past velocities in the coordinates about q_n, and past accelerations; both divided by β₀ where the new ones are needed.
void Mkbdf::add_own_terms() {
  for (int i = 1; i <= k_; ++i) {
    const Motion& past = (*history_)[i - 1].motion;
    if (own_->beta[i] != 0.0) {
      if (i == 1)
        image_ = past.v;
      else
        canonical_.dexp_inverse(series(), coordinates_[i - 2], past.v, image_);
      known_rate_ -= own_->beta[i] * image_;
      known_a_ -= own_->beta[i] * past.a;
    }
    known_a_ += (own_->alpha[i] / h_) * past.v;
  }
  known_rate_ /= own_->beta[0];
  known_a_ /= own_->beta[0];
}

void Mkbdf::record(ConstVectorRef x, Entry& entry) {
  Method::record(x, entry);
  for (int i = 0; i + 3 <= k_; ++i) coordinates_in(entry, i) = coordinates_[i];
}

void Mkbdf::adopt(History& history) {
  const int k = history.size();
  Entry& newest = history.edit(0);
  for (int i = 0; i + 3 <= k; ++i) {
    argument_ = -history[i + 1].omega;
    switch (variant_.recursion) {
      case Recursion::nested_right:
        for (int j = i; j >= 1; --j) {
          omega0_ = -history[j].omega;
          canonical_.combine(own_ ? max_order : k, omega0_, argument_, argument_);
        }
        break;
      case Recursion::nested_left_as_printed:
        if (i > 0) {
          omega0_ = coordinates_in(newest, i - 1);
          canonical_.combine(k, omega0_, argument_, argument_);
        }
        break;
      case Recursion::logarithms_as_printed:
        space_.difference(history[1].motion.q, history[i + 2].motion.q, argument_);
        break;
    }
    coordinates_in(newest, i) = argument_;
  }
}

bool Mkbdf::leading_defect(int order, double h, std::span<const Vector> derivatives, bool as_printed, VectorRef out) {
  if (own_) return false;
  sum_defect(order, h, coeff::mkbdf_starting_defect(order, as_printed), derivatives, out);
  return true;
}

void Mkbdf::guess(VectorRef x) {
  // α₀ x ≈ dexp⁻¹(-h x, v) - known: every sweep gains a factor h, so that k sweeps bring x to the accuracy of v.
  differences_.extrapolate(std::min(k_ + 1, differences_.points()), argument_);
  x = (*history_)[0].motion.v;
  for (int sweep = 0; sweep < k_; ++sweep) {
    omega0_ = h_ * x;
    canonical_.dexp_inverse(series(), omega0_, argument_, image_);
    x = (image_ - known_rate_) / (alpha(0) / beta0());
  }
}

void Mkbdf::velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) {
  omega0_ = h_ * x;
  rate_ = known_rate_ + (alpha(0) / beta0()) * x;
  solve_for_velocity(trial.v);
  trial.v += dv;
  if (own_)
    trial.a = known_a_ + (alpha(0) / (beta0() * h_)) * trial.v;
  else
    trial.a = known_a_ + (coeff::bdf_gamma(k_, 1) / h_) * (trial.v - (*history_)[0].motion.v);
}

void Mkbdf::solve_for_velocity(VectorRef v) {
  // dexp_k⁻¹ is T⁻¹ up to a truncation: T is nearly its inverse, so that a few corrections reach round-off. For k ≤ 2 it
  // is the identity.
  const int sweeps = coeff::dexp_inverse_degree(series()) == 0 ? 0 : 8;
  if (sweeps == 0)
    v = rate_;
  else
    space_.tangent(omega0_, rate_, v);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    canonical_.dexp_inverse(series(), omega0_, v, image_);
    image_ = rate_ - image_;
    space_.tangent(omega0_, image_, argument_);
    v += argument_;
    if (argument_.lpNorm<Eigen::Infinity>() <= 1e-15 * v.lpNorm<Eigen::Infinity>()) break;
  }
}

void Mkbdf::linearize(ConstVectorRef x, MotionTangent& out) {
  const double alpha0 = alpha(0) / beta0();
  omega0_ = h_ * x;
  rate_ = known_rate_ + alpha0 * x;
  space_.tangent_blocks(omega0_, out.q_x);
  out.v_dv = 1.0;
  out.a_dv = alpha0 / h_;
  out.has_blocks = coeff::dexp_inverse_degree(series()) > 0;
  if (!out.has_blocks) {
    out.q_x *= h_;
    out.v_x = alpha0;
    out.a_x = alpha0 * alpha0 / h_;
    return;
  }
  out.v_x_blocks.resize(space_.block_diagonal_size());
  if (variant_.linearization == Linearization::complete) {
    linearize_completely(alpha0, out);
    return;
  }
  // v = T(ω)s with T = I - ω̂/2 + ω̂²/6 - …: ∂v/∂x = α₀T + h(ŝ/2 - (ω̂ŝ + [ω,s]^)/6) + O(h²).
  bracket(omega0_, rate_, bracket_);
  space_.hat_blocks(rate_, hat_rate_);
  space_.hat_blocks(omega0_, hat_omega_);
  space_.hat_blocks(bracket_, hat_inner_);
  for (const lie::Block& block : space_.blocks()) {
    const int n = block.nv;
    const ConstMatrixMap T(out.q_x.data() + block.matrix_at, n, n), S(hat_rate_.data() + block.matrix_at, n, n),
        W(hat_omega_.data() + block.matrix_at, n, n), I(hat_inner_.data() + block.matrix_at, n, n);
    MatrixMap v_x(out.v_x_blocks.data() + block.matrix_at, n, n);
    v_x.noalias() = alpha0 * T + (0.5 * h_) * S - (h_ / 6.0) * I;
    v_x.noalias() -= (h_ / 6.0) * W.lazyProduct(S);
  }
  out.a_x_blocks = (alpha0 / h_) * out.v_x_blocks;
  out.q_x *= h_;
}

/// D_v dexp⁻¹ ∂v/∂x = α₀ - h D_ω dexp⁻¹ (Wieloch 2022, D_ω and D_v after eq. 3.57, solved for v).
void Mkbdf::linearize_completely(double alpha0, MotionTangent& out) {
  v_.resize(space_.nv());
  left_blocks_.setZero(space_.block_diagonal_size());
  solve_for_velocity(v_);
  for (const lie::Block& block : space_.blocks())
    if (!has_brackets(block)) MatrixMap(left_blocks_.data() + block.matrix_at, block.nv, block.nv).setIdentity();
  add_columns(
      space_, 1.0, [&](const Vector& d, Vector& image) { canonical_.dexp_inverse(series(), omega0_, d, image); },
      argument_, image_, left_blocks_);
  set_multiple_of_identity(space_, alpha0, out.v_x_blocks);
  add_columns(
      space_, -h_,
      [&](const Vector& d, Vector& image) { canonical_.dexp_inverse_derivative(series(), omega0_, v_, d, image); },
      argument_, image_, out.v_x_blocks);
  divide_blocks(space_, left_blocks_, out.v_x_blocks);
  out.a_x_blocks = (alpha0 / h_) * out.v_x_blocks;
  out.q_x *= h_;
}

}  // namespace kreisel::method
