#include "method/magnus.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/combine.hpp"
#include "coeff/bliedf_defect.hpp"

namespace kreisel::method {

MagnusCommutator::MagnusCommutator(const lie::Space& space) : space_(space) {
  for (Vector* v : {&C1_, &C2_, &sum1_, &sum2_}) v->setZero(space.nv());
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
