// Generalized-α on Lie groups (Arnold, Brüls, Cardona 2015), any step size (Wieloch 2022, chapter 4).
#pragma once

#include <functional>

#include "coeff/alpha_variable.hpp"
#include "kreisel/methods.hpp"
#include "method/method.hpp"

namespace kreisel::method {

/// The parameters of rho_inf, replaced by those that are set directly.
coeff::GeneralizedAlpha coefficients_of(const choices::GeneralizedAlpha& chosen);

/// What happens to velocity and acceleration where the step size changes.
struct AlphaModification {
  bool velocity = true;      ///< v̄ in index-3 form: without it λ drops to order 1 at every change
  bool acceleration = true;  ///< ā: a_n belongs to t_n + Δα h_{n-1}
  bool parameters = false;   ///< β(σ), γ(σ) instead: order 2 in q and v, but not in λ
  /// h v̈(t_n) in terms of accelerations, for σ = h_n/h_{n-1}.
  std::function<coeff::JerkWeights(double sigma)> jerk;
};

///   x + dv = v̄ + (½-β)h ā + βh a_{n+1},  v_{n+1} = v̄ + (1-γ)h ā + γh a_{n+1},
///   (1-αm)a_{n+1} + αm ā = (1-αf)v̇_{n+1} + αf v̇,  dv = B(q_n)ᵀη,
/// with v̄ = v, ā = a unless the step size has changed (Wieloch 2022, eq. 4.11).
class GeneralizedAlpha final : public Method {
 public:
  GeneralizedAlpha(const lie::Space& space, Counters& counters, const coeff::GeneralizedAlpha& parameters,
                   AlphaModification modification);

  int memory_size() const override { return space_.nv(); }
  int points_needed(int) const override { return 1; }
  StabilizationPoint stabilization_point() const override { return StabilizationPoint::previous; }
  void begin_step(const History& history, double h, int order) override;
  void guess(VectorRef x) override;
  void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) override;
  void linearize(ConstVectorRef x, MotionTangent& out) override;
  void record(ConstVectorRef x, Entry& entry) override;
  bool is_one_step() const override { return true; }
  /// From the leading terms of the local error, v̈ and v⃛ by differences of v̇.
  bool local_errors(int order, const Motion& accepted, VectorRef q_error, VectorRef v_error) override;
  void one_step_start(ConstVectorRef jerk, double h, bool shifts_memory, Entry& entry, VectorRef defect) override;

  const coeff::GeneralizedAlpha& parameters() const { return parameters_; }

 private:
  coeff::GeneralizedAlpha parameters_;
  AlphaModification modification_;
  coeff::GeneralizedAlpha in_use_;  ///< of this step
  coeff::AlphaStep step_;
  Vector known_a_, known_x_, known_v_;  ///< a_{n+1}, x and v_{n+1} of v̇_{n+1} = 0
  Vector next_a_, y_, Cy_;
};

}  // namespace kreisel::method
