// The Magnus correction: ω = ∫v + c, c from the interpolation polynomial of recent velocities.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "coeff/bdf_variable.hpp"
#include "method/correction.hpp"

namespace kreisel::method {

/// c = c(A₁, A₂, A₃): k = 3, 4: [A₁, A₂]/12; k = 5, 6: C₁ = -[A₁, A₂], C₂ = [A₁, 2A₃ + C₁]/60,
/// c = [20A₁ + A₃ - C₁, A₂ + C₂]/240. Zero for k < 3.
class MagnusCommutator {
 public:
  explicit MagnusCommutator(const lie::Space& space);
  void operator()(int k, const Vector& A1, const Vector& A2, const Vector& A3, VectorRef out);
  static int brackets(int k) { return k < 3 ? 0 : k <= 4 ? 1 : 3; }

  /// Where `derivative` is taken.
  void move_to(int k, const Vector& A1, const Vector& A2, const Vector& A3);
  void derivative(const Vector& dA1, const Vector& dA2, const Vector& dA3, VectorRef out);
  /// What multiplies δA₁, δA₂, δA₃ where δc is multiplied by z.
  void transposed(ConstVectorRef z, Vector& A1, Vector& A2, Vector& A3);

 private:
  const lie::Space& space_;
  Vector C1_, C2_, sum1_, sum2_;
  int k_ = 0;
  Vector A1_, A2_, inner_, left_,
      right_;  ///< of the point of derivatives: c = [left, right]/240, right = A₂ + [A₁, inner]/60
  Vector dC1_, dC2_, term_;
};

enum class MagnusVariant {
  full,  ///< the polynomial goes through v_{n+1}; order k for k = 1…6
  past,  ///< through old velocities only, c_n being recomputed with v_{n+1} once the step is accepted
  taylor,  ///< like full, with A₂ = h²p'(mid) for k = 5, 6 as well: it lacks [A₁, A₄]/80 and has order 4 for h → 0
};

/// Any grid. For k = 5, 6 A₂ is the slope three Gauss points see (coeff/bdf_variable.hpp).
class MagnusCorrection final : public Correction {
 public:
  MagnusCorrection(MagnusVariant variant, const lie::Space& space, Counters& counters);

  bool serves_variable_steps() const override { return true; }
  CorrectionNeeds begin(const History& history, double h, int k, double gamma1) override;
  void shift(ConstVectorRef x, ConstVectorRef v, VectorRef out) override;
  void commutator_part(ConstVectorRef v, ConstVectorRef shift, VectorRef out) override;
  void shift_derivative(ConstVectorRef x, ConstVectorRef v, ConstVectorRef dx, ConstVectorRef dv,
                        VectorRef out) override;
  void adopt(History& history) override;
  bool begin_tangents(ConstVectorRef v) override;
  void move_past(std::span<const PastChange> past) override;
  void shift_tangent(ConstVectorRef dv, VectorRef out) override;
  void commutator_tangent(ConstVectorRef dv, VectorRef out) override;
  bool has_transposed() const override { return true; }
  void transpose_shift(ConstVectorRef z, VectorRef out) override;
  void transpose_commutator(ConstVectorRef z, VectorRef out) override;
  void transpose_past(ConstVectorRef shift, ConstVectorRef commutator, std::span<const PastWeight> past) override;
  bool has_defect(int k) const override { return k <= 4 || variant_ != MagnusVariant::taylor; }
  double defect_weight(int k, std::span<const double> steps) const override;
  void defect_bracket(int k, std::span<const Vector> v, VectorRef out) override;

 private:
  /// A₁, A₂, A₃ of the past part and the weights of v_{n+1}.
  void freeze(const History& history, bool through_new, double h, int k);
  void sweep(ConstVectorRef v, VectorRef out);  ///< c with v_{n+1} = v
  void commutator(VectorRef out);               ///< c from A1_, A2_, A3_

  MagnusVariant variant_;
  bool is_implicit_;
  int k_ = 0;
  double h_ = 0.0, gamma1_ = 0.0;
  const History* history_ = nullptr;
  struct KeptWeights {
    coeff::KeptNodes grid;
    coeff::MagnusWeights weights;
  };
  KeptWeights through_new_, through_old_;
  double new_weight_[3] = {0, 0, 0};
  Vector past1_, past2_, past3_;  ///< contribution of known velocities to A₁, A₂, A₃
  Vector A1_, A2_, A3_;
  MagnusCommutator brackets_;

  /// Of a polynomial at the accepted point: its brackets, and what the past changes in A₁, A₂, A₃.
  struct Linearized {
    explicit Linearized(const lie::Space& space)
        : brackets(space), d1(Vector::Zero(space.nv())), d2(d1), d3(d1), e1(d1), e2(d1), e3(d1) {}
    MagnusCommutator brackets;
    Vector d1, d2, d3, e1, e2, e3;
    double weight[3] = {0, 0, 0};  ///< of v_{n+1}
  };
  const std::array<double, coeff::bdf_max_order>& slopes(const coeff::MagnusWeights& w) const;
  void linearize(Linearized& at, bool through_new, ConstVectorRef v);
  void move_past(Linearized& at, bool through_new, std::span<const PastChange> past);
  void tangent(Linearized& at, ConstVectorRef dv, VectorRef out);
  void transposed(Linearized& at, ConstVectorRef z, VectorRef out);
  void transpose_past(Linearized& at, bool through_new, ConstVectorRef z, std::span<const PastWeight> past);
  std::unique_ptr<Linearized> of_shift_, of_memory_;  ///< created when derivatives are needed
};

}  // namespace kreisel::method
