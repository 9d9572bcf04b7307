// Methods applied to q̈ + ω²q = 0: the spectral radius of one step, over hω.
#pragma once

#include "coeff/generalized_alpha.hpp"
#include "coeff/runge_kutta.hpp"

namespace kreisel::coeff {

/// Largest |ζ| with Σ αᵢ ζ^{k-i} = ±i hω ζ^k: bliedf, mkbdf and projected-bdf of order k on ℝⁿ. → 0 for hω → ∞.
double bdf_spectral_radius(int k, double h_omega);

/// Largest |ζ| with ζ^k - ζ^{k-1} = ±i hω Σ βᵢ ζ^{k-i}: mkam, crouch-grossman and commutator-free of order k + 1 on ℝⁿ, with k past
/// values. → 1 for k = 1, and above 1 for k > 1.
double adams_moulton_spectral_radius(int k, double h_omega);

/// Of the 3x3 matrix that maps (q_n, h v_n, h² a_n) to the next step; → ρ∞ for hω → ∞.
double alpha_spectral_radius(const GeneralizedAlpha& parameters, double h_omega);

/// |R(i hω)| of the stability function.
double runge_kutta_spectral_radius(const Tableau& tableau, double h_omega);

}  // namespace kreisel::coeff
