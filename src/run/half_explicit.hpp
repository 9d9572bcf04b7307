// Half-explicit Runge-Kutta on the index-2 form, in Munthe-Kaas coordinates.
#pragma once

#include <vector>

#include "coeff/half_explicit.hpp"
#include "run/dense_equations.hpp"
#include "run/one_step.hpp"
#include "solve/kkt.hpp"

namespace kreisel::run {

/// u' = T(u)⁻¹ v, M v' = -g - Bᵀλ, B v + Φ_t = 0 with q = q_n∘exp(u): every stage but the first solves
///   [M(q_i)  B(q_i)ᵀ ] (v̇_i)   (-g(q_i, v_i))
///   [B(q_{i+1})   0  ] (λ_i) = (of v_{i+1} without v̇_i)
/// for its λ, such that the next stage satisfies the constraint of velocities. λ_{n+1} is the last one, of order 4.
class HalfExplicit final : public OneStep {
 public:
  HalfExplicit(const system::System& system, const coeff::HalfExplicitTableau& tableau, Counters& counters,
               bool projects, std::string_view linear_solver);

  int order() const override { return tableau_.order; }
  [[nodiscard]] bool step(const system::Motion& from, double h, system::Motion& to, VectorRef lambda,
                          VectorRef omega) override;
  int estimates() const override { return 1; }
  void error_estimate(int which, VectorRef q_error, VectorRef v_error) const override;

 private:
  /// v̇_i of the stage; λ_i such that the constraint holds in the point of row i+1, which becomes `next_`.
  [[nodiscard]] bool close_stage(int i, const system::Motion& from, double h, VectorRef lambda);

  const system::System& system_;
  const coeff::HalfExplicitTableau& tableau_;
  Counters& counters_;
  bool projects_;
  solve::Kkt kkt_;
  DenseMechanics mechanics_;
  DenseSolver solver_;
  double h_ = 0.0;
  std::vector<Vector> q_rate_, v_rate_;
  system::Motion stage_, next_;
  Vector u_, right_hand_side_, solution_;
};

}  // namespace kreisel::run
