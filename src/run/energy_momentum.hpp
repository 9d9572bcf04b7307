// An energy-momentum method for rigid bodies with constraints.
#pragma once

#include "run/dense_equations.hpp"
#include "run/one_step.hpp"
#include "solve/kkt.hpp"

namespace kreisel::run {

/// With v̄ = (v_n + v_{n+1})/2, G = g + ad_vᵀ M v the forces without those of inertia, M constant in the body frame:
///   M (v_{n+1} - v_n)/h = ad_v̄ᵀ M v̄ - Ḡ - B̄ᵀλ̄,   q_{n+1} = q_n∘cay(h v̄),   Φ(q_{n+1}) = 0.
/// cay is the Cayley map of rotations, so that momentum in space is conserved; on SE(3) it is exp, and energy alone is.
/// Ḡ and B̄ are means of both ends and a multiple of M v̄ that makes h v̄·Ḡ the change of the potential and h B̄ v̄ that of Φ
/// (Gonzalez 1996). λ̄ belongs to the middle of the step; the reported λ is that of the index-1 equations at (q, v).
class EnergyMomentum final : public OneStep {
 public:
  EnergyMomentum(const system::System& system, Counters& counters, double tolerance, std::string_view linear_solver);

  int order() const override { return 2; }
  [[nodiscard]] bool step(const system::Motion& from, double h, system::Motion& to, VectorRef lambda,
                          VectorRef omega) override;

 private:
  /// omega such that exp(omega) = cay(y).
  void cayley(ConstVectorRef y, VectorRef omega) const;
  /// Of forces at both ends: the mean in space, in the frame of R̄ = (R_n + R_{n+1})/2, ½((1 - Â)f_n + (1 + Â)f_{n+1}), A = h ω̄/2.
  void set_mean(double h, ConstVectorRef first, ConstVectorRef last, VectorRef out) const;
  /// Adds the multiple of M v̄ that makes h v̄·force equal `change`, unless the difference is round-off.
  void complete(double h, double change, double size, VectorRef force);

  const system::System& system_;
  Counters& counters_;
  double tolerance_;
  solve::Kkt kkt_;
  DenseMechanics mechanics_;
  DifferenceNewton newton_;
  Matrix M_, first_B_;
  Vector unknowns_, scale_, first_force_, first_gap_, force_, mean_, momentum_, row_, row_first_, row_last_;
  system::Motion end_;
};

}  // namespace kreisel::run
