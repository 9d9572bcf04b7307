#include "method/magnus.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/combine.hpp"
#include "coeff/bliedf_defect.hpp"
#include "lie/coadjoint.hpp"

namespace kreisel::method {

MagnusCommutator::MagnusCommutator(const lie::Space& space) : space_(space) {
  for (Vector* v : {&C1_, &C2_, &sum1_, &sum2_, &A1_, &A2_, &inner_, &left_, &right_, &dC1_, &dC2_, &term_})
    v->setZero(space.nv());
}

void MagnusCommutator::operator()(int k, const Vector& A1, const Vector& A2, const Vector& A3, VectorRef out) {
  if (k < 3) {
    out.setZero();
    return;
  }
  if (k <= 4) {
    space_.bracket(A1, A2, out);
    out *= 1.0 / 12.0;
    return;
  }
  space_.bracket(A1, A2, C1_);
  C1_ = -C1_;
  sum1_ = 2.0 * A3 + C1_;
  space_.bracket(A1, sum1_, C2_);
  sum1_ = 20.0 * A1 + A3 - C1_;
  sum2_ = A2 + C2_ / 60.0;
  space_.bracket(sum1_, sum2_, out);
  out *= 1.0 / 240.0;
}

void MagnusCommutator::move_to(int k, const Vector& A1, const Vector& A2, const Vector& A3) {
  k_ = k;
  A1_ = A1;
  A2_ = A2;
  if (k <= 4) return;
  space_.bracket(A1, A2, C1_);
  C1_ = -C1_;
  inner_ = 2.0 * A3 + C1_;
  space_.bracket(A1, inner_, C2_);
  left_ = 20.0 * A1 + A3 - C1_;
  right_ = A2 + C2_ / 60.0;
}

void MagnusCommutator::derivative(const Vector& dA1, const Vector& dA2, const Vector& dA3, VectorRef out) {
  if (k_ < 3) {
    out.setZero();
    return;
  }
  space_.bracket(dA1, A2_, dC1_);
  space_.bracket(A1_, dA2, term_);
  dC1_ += term_;
  if (k_ <= 4) {
    out = dC1_ / 12.0;
    return;
  }
  dC1_ = -dC1_;
  space_.bracket(dA1, inner_, dC2_);
  sum1_ = 2.0 * dA3 + dC1_;
  space_.bracket(A1_, sum1_, term_);
  dC2_ += term_;
  sum1_ = 20.0 * dA1 + dA3 - dC1_;
  sum2_ = dA2 + dC2_ / 60.0;
  space_.bracket(sum1_, right_, out);
  space_.bracket(left_, sum2_, term_);
  out = (out + term_) / 240.0;
}

void MagnusCommutator::transposed(ConstVectorRef z, Vector& A1, Vector& A2, Vector& A3) {
  const auto subtract = [&](const Vector& a, const Vector& weight, Vector& from) {  // of [δ, a]
    lie::coadjoint(space_, a, weight, term_);
    from -= term_;
  };
  for (Vector* v : {&A1, &A2, &A3}) v->setZero(space_.nv());
  if (k_ < 3) return;
  if (k_ <= 4) {
    dC1_ = z / 12.0;
    subtract(A2_, dC1_, A1);
    lie::coadjoint(space_, A1_, dC1_, A2);
    return;
  }
  dC1_ = z / 240.0;
  lie::coadjoint(space_, left_, dC1_, A2);
  sum1_.setZero();
  subtract(right_, dC1_, sum1_);
  dC2_ = A2 / 60.0;
  lie::coadjoint(space_, A1_, dC2_, sum2_);
  A1 = 20.0 * sum1_;
  subtract(inner_, dC2_, A1);
  A3 = sum1_ + 2.0 * sum2_;
  dC1_ = sum1_ - sum2_;  // multiplies δ[A₁, A₂] = -δC₁
  subtract(A2_, dC1_, A1);
  lie::coadjoint(space_, A1_, dC1_, term_);
  A2 += term_;
}

MagnusCorrection::MagnusCorrection(MagnusVariant variant, const lie::Space& space, Counters& counters)
    : Correction(space, counters), variant_(variant), is_implicit_(variant != MagnusVariant::past), brackets_(space) {
  for (Vector* v : {&past1_, &past2_, &past3_, &A1_, &A2_, &A3_}) v->setZero(space.nv());
}

CorrectionNeeds MagnusCorrection::begin(const History& history, double h, int k, double gamma1) {
  history_ = &history;
  h_ = h;
  k_ = k;
  gamma1_ = gamma1;
  if (k < 3 || space_.is_commutative()) return CorrectionNeeds::nothing;
  freeze(history, is_implicit_, h, k);
  return is_implicit_ ? CorrectionNeeds::velocity : CorrectionNeeds::nothing;
}

void MagnusCorrection::freeze(const History& history, bool through_new, double h, int k) {
  std::array<double, 7> nodes;
  nodes[0] = h;
  history.offsets(k, nodes.data() + 1);
  const int shift = through_new ? 1 : 0;
  auto& [grid, w] = through_new ? through_new_ : through_old_;
  if (grid.replace({nodes.data(), static_cast<std::size_t>(k) + 1 - shift}))
    w = coeff::magnus_weights(k, std::span<const double>(nodes).subspan(1 - shift, k), 0.5 * h, h);
  const auto& slope = k > 4 && variant_ != MagnusVariant::taylor ? w.a2_gauss : w.a2;
  Combination sum1, sum2, sum3;
  for (int i = shift; i < k; ++i) {
    const Vector& v = history[i - shift].motion.v;
    sum1.add(w.a1[i] * h, v);
    sum2.add(slope[i] * h, v);
    sum3.add(w.a3[i] * h, v);
  }
  sum1.assign_to(past1_);
  sum2.assign_to(past2_);
  if (k > 4) sum3.assign_to(past3_);
  new_weight_[0] = through_new ? w.a1[0] * h : 0.0;
  new_weight_[1] = through_new ? slope[0] * h : 0.0;
  new_weight_[2] = through_new ? w.a3[0] * h : 0.0;
}

void MagnusCorrection::commutator(VectorRef out) {
  counters_.brackets += MagnusCommutator::brackets(k_);
  brackets_(k_, A1_, A2_, A3_, out);
}

void MagnusCorrection::shift(ConstVectorRef, ConstVectorRef v, VectorRef out) {
  if (k_ < 3 || space_.is_commutative()) {
    out.setZero();
    return;
  }
  sweep(v, out);
  out *= gamma1_ / h_;
}

void MagnusCorrection::sweep(ConstVectorRef v, VectorRef out) {
  A1_ = past1_ + new_weight_[0] * v;
  A2_ = past2_ + new_weight_[1] * v;
  if (k_ > 4) A3_ = past3_ + new_weight_[2] * v;
  commutator(out);
}

void MagnusCorrection::commutator_part(ConstVectorRef v, ConstVectorRef shift, VectorRef out) {
  if (k_ < 3 || space_.is_commutative()) {
    out.setZero();
  } else if (is_implicit_) {
    out = (h_ / gamma1_) * shift;
  } else {
    freeze(*history_, true, h_, k_);
    sweep(v, out);
  }
}

const std::array<double, coeff::bdf_max_order>& MagnusCorrection::slopes(const coeff::MagnusWeights& w) const {
  return k_ > 4 && variant_ != MagnusVariant::taylor ? w.a2_gauss : w.a2;
}

bool MagnusCorrection::begin_tangents(ConstVectorRef v) {
  if (k_ < 3 || space_.is_commutative()) return true;
  if (of_shift_ == nullptr) of_shift_ = std::make_unique<Linearized>(space_);
  linearize(*of_shift_, is_implicit_, v);
  if (is_implicit_) return true;
  if (of_memory_ == nullptr) of_memory_ = std::make_unique<Linearized>(space_);
  linearize(*of_memory_, true, v);
  return true;
}

void MagnusCorrection::linearize(Linearized& at, bool through_new, ConstVectorRef v) {
  freeze(*history_, through_new, h_, k_);
  A1_ = past1_ + new_weight_[0] * v;
  A2_ = past2_ + new_weight_[1] * v;
  if (k_ > 4) A3_ = past3_ + new_weight_[2] * v;
  at.brackets.move_to(k_, A1_, A2_, A3_);
  std::copy_n(new_weight_, 3, at.weight);
}

void MagnusCorrection::move_past(std::span<const PastChange> past) {
  if (k_ < 3 || space_.is_commutative()) return;
  move_past(*of_shift_, is_implicit_, past);
  if (!is_implicit_) move_past(*of_memory_, true, past);
}

void MagnusCorrection::move_past(Linearized& at, bool through_new, std::span<const PastChange> past) {
  const coeff::MagnusWeights& w = (through_new ? through_new_ : through_old_).weights;
  const auto& slope = slopes(w);
  const int shift = through_new ? 1 : 0;
  Combination sum1, sum2, sum3;
  for (int i = shift; i < k_; ++i) {
    const Vector& dv = past[static_cast<std::size_t>(i - shift)].v;
    sum1.add(w.a1[i] * h_, dv);
    sum2.add(slope[i] * h_, dv);
    sum3.add(w.a3[i] * h_, dv);
  }
  sum1.assign_to(at.d1);
  sum2.assign_to(at.d2);
  if (k_ > 4) sum3.assign_to(at.d3);
}

void MagnusCorrection::tangent(Linearized& at, ConstVectorRef dv, VectorRef out) {
  at.e1 = at.d1 + at.weight[0] * dv;
  at.e2 = at.d2 + at.weight[1] * dv;
  if (k_ > 4) at.e3 = at.d3 + at.weight[2] * dv;
  at.brackets.derivative(at.e1, at.e2, at.e3, out);
}

void MagnusCorrection::shift_tangent(ConstVectorRef dv, VectorRef out) {
  if (k_ < 3 || space_.is_commutative()) {
    out.setZero();
    return;
  }
  tangent(*of_shift_, dv, out);
  out *= gamma1_ / h_;
}

void MagnusCorrection::shift_derivative(ConstVectorRef, ConstVectorRef v, ConstVectorRef, ConstVectorRef dv,
                                        VectorRef out) {
  out.setZero();
  if (!is_implicit_ || k_ < 3 || space_.is_commutative()) return;
  if (of_shift_ == nullptr) of_shift_ = std::make_unique<Linearized>(space_);
  linearize(*of_shift_, true, v);
  for (Vector* d : {&of_shift_->d1, &of_shift_->d2, &of_shift_->d3}) d->setZero();
  tangent(*of_shift_, dv, out);
  out *= gamma1_ / h_;
}

void MagnusCorrection::commutator_tangent(ConstVectorRef dv, VectorRef out) {
  if (k_ < 3 || space_.is_commutative())
    out.setZero();
  else
    tangent(is_implicit_ ? *of_shift_ : *of_memory_, dv, out);
}

void MagnusCorrection::transposed(Linearized& at, ConstVectorRef z, VectorRef out) {
  at.brackets.transposed(z, at.e1, at.e2, at.e3);
  out = at.weight[0] * at.e1 + at.weight[1] * at.e2 + at.weight[2] * at.e3;
}

void MagnusCorrection::transpose_shift(ConstVectorRef z, VectorRef out) {
  if (k_ < 3 || space_.is_commutative()) {
    out.setZero();
    return;
  }
  transposed(*of_shift_, z, out);
  out *= gamma1_ / h_;
}

void MagnusCorrection::transpose_commutator(ConstVectorRef z, VectorRef out) {
  if (k_ < 3 || space_.is_commutative())
    out.setZero();
  else
    transposed(is_implicit_ ? *of_shift_ : *of_memory_, z, out);
}

void MagnusCorrection::transpose_past(Linearized& at, bool through_new, ConstVectorRef z,
                                      std::span<const PastWeight> past) {
  at.brackets.transposed(z, at.e1, at.e2, at.e3);
  const coeff::MagnusWeights& w = (through_new ? through_new_ : through_old_).weights;
  const auto& slope = slopes(w);
  const int first = through_new ? 1 : 0;
  for (int i = first; i < k_; ++i) {
    Vector& v = past[static_cast<std::size_t>(i - first)].v;
    v += (w.a1[i] * h_) * at.e1 + (slope[i] * h_) * at.e2;
    if (k_ > 4) v += (w.a3[i] * h_) * at.e3;
  }
}

void MagnusCorrection::transpose_past(ConstVectorRef shift, ConstVectorRef commutator,
                                      std::span<const PastWeight> past) {
  if (k_ < 3 || space_.is_commutative()) return;
  Vector z = (-gamma1_ / h_) * shift;
  if (is_implicit_) z += commutator;
  transpose_past(*of_shift_, is_implicit_, z, past);
  if (!is_implicit_) transpose_past(*of_memory_, true, commutator, past);
}

double MagnusCorrection::defect_weight(int k, std::span<const double> steps) const {
  return coeff::magnus_defect(k).empty() ? 0.0 : coeff::increment_defect(k, k + 1, steps);
}

void MagnusCorrection::defect_bracket(int k, std::span<const Vector> v, VectorRef out) {
  out.setZero();
  for (const coeff::NestedBracket& term : coeff::magnus_defect(k)) {
    Vector* inner = &A1_;
    Vector* outer = &A2_;
    *inner = v[term.order[term.count - 1]];
    for (int i = term.count - 2; i >= 0; --i) {
      bracket(v[term.order[i]], *inner, *outer);
      std::swap(inner, outer);
    }
    out += term.weight * *inner;
  }
}

void MagnusCorrection::adopt(History& history) {
  const int k = std::min(history.size(), 6);
  k_ = k;
  for (int age = 0; age < history.size(); ++age) history.edit(age).memory.setZero();
  if (k < 3 || space_.is_commutative()) return;
  std::array<double, 6> nodes;
  for (int i = 0; i < k; ++i) nodes[i] = history.offset(i);
  for (int age = 0; age + 1 < history.size(); ++age) {
    const double h = history[age].h;
    const coeff::MagnusWeights w =
        coeff::magnus_weights(k, std::span<const double>(nodes.data(), k), history.offset(age) - 0.5 * h, h);
    const auto& slope = k > 4 && variant_ != MagnusVariant::taylor ? w.a2_gauss : w.a2;
    Combination sum1, sum2, sum3;
    for (int i = 0; i < k; ++i) {
      const Vector& v = history[i].motion.v;
      sum1.add(w.a1[i] * h, v);
      sum2.add(slope[i] * h, v);
      sum3.add(w.a3[i] * h, v);
    }
    sum1.assign_to(A1_);
    sum2.assign_to(A2_);
    sum3.assign_to(A3_);
    commutator(history.edit(age).memory);
  }
}

}  // namespace kreisel::method
