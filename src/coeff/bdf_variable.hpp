// BDF and Magnus weights on arbitrary grids. Times are always listed newest first.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "coeff/bdf.hpp"

namespace kreisel::coeff {

/// Most nodes an interpolation polynomial may have here: order 6 needs 7, an extrapolation one more.
inline constexpr int max_nodes = 8;

/// Highest derivative `derivative_weights` delivers.
inline constexpr int max_derivative_order = 6;

/// Weights of the 0th … max_derivative-th derivative at `at` of the polynomial through the nodes:
/// p⁽ᵐ⁾(at) = Σᵢ out[m·count + i] y(nodes[i]), count = nodes.size() (Fornberg 1988).
/// Requires 1 ≤ count ≤ max_nodes, 0 ≤ max_derivative ≤ max_derivative_order, distinct nodes and
/// out.size() ≥ (max_derivative + 1)·count. Derivatives of order ≥ count have zero weights.
void derivative_weights(std::span<const double> nodes, double at, int max_derivative, std::span<double> out);

/// Values at `at` of the Lagrange polynomials of the nodes: p(at) = Σ out[i] y(nodes[i]).
void extrapolation_weights(std::span<const double> nodes, double at, std::span<double> out);

/// The grid weights were last computed on. Steps of equal size give equal offsets, and most steps repeat the last grid.
class KeptNodes {
 public:
  static constexpr int capacity = 10;

  /// Whether the nodes differ from those of the last call; remembers them.
  bool replace(std::span<const double> nodes) {
    bool is_same = static_cast<int>(nodes.size()) == count_;
    for (int i = 0; is_same && i < count_; ++i) is_same = nodes[i] == nodes_[i];
    if (is_same) return false;
    count_ = static_cast<int>(nodes.size());
    for (int i = 0; i < count_; ++i) nodes_[i] = nodes[i];
    return true;
  }
  std::span<const double> nodes() const { return {nodes_.data(), static_cast<std::size_t>(count_)}; }

 private:
  std::array<double, capacity> nodes_{};
  int count_ = -1;
};

/// BDF of order k on one grid: entries past k are zero, gamma[0] is unused and zero.
struct BdfCoefficients {
  std::array<double, bdf_max_order + 1> alpha{};  ///< h_n ẏ_{n+1} ≈ Σ_{i=0…k} αᵢ y_{n+1-i}
  std::array<double, bdf_max_order + 1> gamma{};  ///< γᵢ = α₀ + … + α_{i-1}, i = 1…k
};

/// αᵢ = h_n ℓᵢ'(t_{n+1}) with h_n = t_{n+1} - t_n and the Lagrange polynomials ℓᵢ of
/// t_{n+1}, t_n, …, t_{n+1-k} (Wieloch 2022, eq. 5.28, 5.29). Requires 1 ≤ k ≤ 6, k+1 strictly
/// decreasing times. The uniform grid reproduces bdf_table up to round-off.
BdfCoefficients variable_bdf(int k, std::span<const double> times_newest_first);

/// Weights of the scaled Taylor coefficients at the midpoint of a step; entries past k-1 are zero.
///
/// The commutator part of the increment is [A₁, A₂]/12 for k = 3, 4. For k = 5, 6 the three-bracket formula
///   C₁ = -[A₁, A₂],  C₂ = [A₁, 2A₃ + C₁]/60,  c = [20A₁ + A₃ - C₁, A₂ + C₂]/240
/// needs A₂ from a2_gauss: with the plain derivative it lacks [A₁, A₄]/80, A₄ = h⁴p'''(mid)/6, and the
/// velocity relation is only consistent of order 4.
struct MagnusWeights {
  std::array<double, bdf_max_order> a1{};        ///< A₁ = h p(mid)      = Σ a1[i]·h vᵢ
  std::array<double, bdf_max_order> a2{};        ///< A₂ = h² p'(mid)    = Σ a2[i]·h vᵢ
  std::array<double, bdf_max_order> a2_gauss{};  ///< A₂ + (3/20) A₄, the slope seen by three Gauss points
  std::array<double, bdf_max_order> a3{};        ///< A₃ = h³ p''(mid)/2 = Σ a3[i]·h vᵢ
};

/// Weights for the polynomial p of degree k-1 through k velocities at `nodes` (newest first), for the
/// step of size h with midpoint `mid`. Requires 1 ≤ k ≤ 6 and k distinct nodes.
MagnusWeights magnus_weights(int k, std::span<const double> nodes, double mid, double h);

}  // namespace kreisel::coeff
