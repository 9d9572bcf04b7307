// Generalized-α on grids of unequal steps: difference formulas for v̈ and the step ratios that keep errors bounded.
#pragma once

#include <array>

#include "coeff/generalized_alpha.hpp"

namespace kreisel::coeff {

/// h_n v̈(t_n) ≈ A₁v̇_n + A₂v̇_{n+1} + A₃a_n + A₄a_{n+1}, a_n ≈ v̇(t_n + Δα h_{n-1}) (Wieloch 2022, eq. 4.8).
using JerkWeights = std::array<double, 4>;

/// A₃, A₄ are free, A₁, A₂ follow (Wieloch 2022, eq. 4.6); sigma = h_n/h_{n-1} > 0.
JerkWeights jerk_weights(double delta, double sigma, double a3, double a4);

/// The published approximations 1…4 (Wieloch 2022, eq. 4.9a-d). The first one needs Δα ≠ 0, that is ρ∞ < 1.
JerkWeights published_jerk_weights(int approximation, double delta, double sigma);

/// One step of size h with modified velocity and acceleration
///     ā = a + c h v̈,  v̄ = v + C(κ h² v̈ + μ h² [v, v̇])            (Wieloch 2022, eq. 4.7, 4.10)
/// solved for the quantities that Newton's method needs: with the known parts a⁰ = αf·v̇ - αm(a + c(A₁v̇ + A₃a)) etc.
///     a_{n+1} = w v̇_{n+1} + …,  h v̈ = j v̇_{n+1} + …,
///     Δq_n = … + h(pC + r)v̇_{n+1},  v_{n+1} = … + h(pC + s)v̇_{n+1}.
struct AlphaStep {
  double c = 0.0, kappa = 0.0, mu = 0.0;
  JerkWeights A{};
  double e = 1.0;  ///< 1 - αm + αm c A₄, divides the known part of a_{n+1}
  double w = 1.0, j = 0.0, p = 0.0, r = 1.0, s = 1.0;
};
AlphaStep alpha_step(const GeneralizedAlpha& parameters, const JerkWeights& weights, double sigma,
                     bool modifies_velocity, bool modifies_acceleration);

/// Error recursions of constrained systems, both modifications on.
enum class AlphaForm {
  index3,             ///< (e^{Pa}, r^B, e^{Sλ}, e^{Ba}) (Wieloch 2022, eq. 4.43c)
  stabilized_index2,  ///< (e^{Pa}, e^{Sλ}, e^{Ba}): B v = 0 holds at every point, velocities are not modified
};

/// ‖T_{z,n}‖_* (Wieloch 2022, eq. 4.45) for σ_n, σ_{n+1}: the norm that makes (1+ρ∞)/2 of the Jordan block of equal
/// steps. Chung-Hulbert parameters, 0 ≤ ρ∞ < 1. The stabilized form does not depend on σ_{n+1}.
double amplification_norm(AlphaForm form, double rho_inf, int approximation, double sigma, double sigma_next);

/// Largest s ≤ 100 with ‖T_{z,n}‖_* < 1 for all ratios in [1/s, s]: enough for convergence, far from necessary.
double ratio_bound(AlphaForm form, double rho_inf, int approximation);

/// β and γ for a step σ times the one before, such that a_n, which belongs to t_n + Δα h_{n-1}, needs no modification:
///   γ(σ) = (½ - Δα/σ)/(1 + Δα - Δα/σ),   β(σ) = (β + Δα/2 (1 - 1/σ))/(1 + Δα - Δα/σ).
/// The first keeps order 2 of v, the second the coefficient of v̈ in the local error of q.
GeneralizedAlpha with_ratio(const GeneralizedAlpha& alpha, double sigma);

}  // namespace kreisel::coeff
