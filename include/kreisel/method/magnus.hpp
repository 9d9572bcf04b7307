// The Magnus correction: ω = ∫v + c, c from the interpolation polynomial of recent velocities.
#pragma once

#include "kreisel/coeff/bdf_variable.hpp"
#include "kreisel/method/correction.hpp"

namespace kreisel::method {

/// Any grid, any order 1…6. Implicit: the polynomial goes through v_{n+1}. Explicit: through the past only, c_n being
/// recomputed with v_{n+1} once the step is accepted.
class MagnusCorrection final : public Correction {
 public:
  MagnusCorrection(bool is_implicit, const lie::Space& space, Counters& counters);

  bool serves_variable_steps() const override { return true; }
  bool begin(const History& history, double h, int k, double gamma1) override;
  void shift(ConstVectorRef x, ConstVectorRef v, VectorRef out) override;
  void commutator_part(ConstVectorRef v, VectorRef out) override;
  void adopt(History& history) override;

 private:
  /// A₁, A₂, A₃ of the past part and the weights of v_{n+1}.
  void freeze(const History& history, bool through_new, double h, int k);
  void commutator(VectorRef out);  ///< c from A1_, A2_, A3_

  bool is_implicit_;
  int k_ = 0;
  double h_ = 0.0, gamma1_ = 0.0;
  const History* history_ = nullptr;
  double new_weight_[3] = {0, 0, 0};
  Vector past1_, past2_, past3_;  ///< contribution of known velocities to A₁, A₂, A₃
  Vector A1_, A2_, A3_, C1_, C2_, sum1_, sum2_;
};

}  // namespace kreisel::method
