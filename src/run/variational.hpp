// RATTLie: a variational integrator for rigid bodies with constraints.
#pragma once

#include "run/dense_equations.hpp"
#include "run/one_step.hpp"
#include "solve/kkt.hpp"

namespace kreisel::run {

/// With G = g + ad_vᵀ M v, the forces without those of inertia, and M constant in the body frame (Hante, Arnold 2021):
///   T(-h x)⁻ᵀ M x = M v_n - (h/2)(G_n + B_nᵀ λ⁺),           q_{n+1} = q_n∘exp(h x),   Φ(q_{n+1}) = 0,
///   M v_{n+1} = T(h x)⁻ᵀ M x - (h/2)(G_{n+1} + B_{n+1}ᵀ λ⁻),   B_{n+1} v_{n+1} = 0.
/// λ⁺ and λ⁻ are means over half a step, of order 1; the reported λ is that of the index-1 equations at (q, v).
class Variational final : public OneStep {
 public:
  Variational(const system::System& system, Counters& counters, double tolerance, std::string_view linear_solver);

  int order() const override { return 2; }
  [[nodiscard]] bool step(const system::Motion& from, double h, system::Motion& to, VectorRef lambda,
                          VectorRef omega) override;

 private:
  /// G into force_, B and M into mechanics_.
  void set_forces(double t, ConstVectorRef q, ConstVectorRef v);
  /// out = T(y)⁻ᵀ p
  void transport(ConstVectorRef y, ConstVectorRef p, VectorRef out);

  const system::System& system_;
  Counters& counters_;
  double tolerance_;
  solve::Kkt kkt_;
  DenseMechanics mechanics_;
  DifferenceNewton newton_;
  DenseSolver end_;
  Matrix M_, B_;
  Vector unknowns_, scale_, force_, first_force_, momentum_, image_, y_, tangent_, right_hand_side_, solution_;
  Vector q_, at_rest_;
};

}  // namespace kreisel::run
