// Leading local errors of the velocity relation of BLieDF on any grid. Steps are listed newest first: h_m, h_{m-1}, …
#pragma once

#include <array>
#include <span>

namespace kreisel::coeff {

/// Coefficient of v⁽ᵏ⁾ in the local error of BDF: -Π_{j=1…k}(t_{m+1} - t_{m+1-j})/(k+1)!. Uses k steps.
double bdf_defect(int k, std::span<const double> steps);

/// (1/h_m) Σ_{i=1…k} γᵢ h_{m+1-i}^p: the contribution of a term of size h^p, left out of every increment, to the velocity relation.
double increment_defect(int k, int p, std::span<const double> steps);

/// weight · [v⁽ᵃ⁾, [v⁽ᵇ⁾, … v⁽ᶻ⁾]], nested to the right.
struct NestedBracket {
  int count;                 ///< letters, ≥ 2
  std::array<int, 6> order;  ///< of the derivatives a, b, …, z
  double weight;
};

/// The terms of size h^{k+1} that an increment with c of order k lacks, with derivatives at its midpoint: exact logarithm minus
/// ∫v - c. Empty for odd k, where the missing terms are of higher order: increments are odd in h about the midpoint.
std::span<const NestedBracket> magnus_defect(int k);

/// Coefficient of [v, v''] in the local error of the variable-step difference correction of order 3, h_m³ s(σ_m, σ_{m-1})
/// (Wieloch 2022, eq. 5.32). Uses three steps.
double difference_defect(std::span<const double> steps);

/// What the printed formulas (Wieloch 2022, eq. 5.33) give for l_m - l_{m-1} of orders 2 and 3, as coefficients of v⁽ᵏ⁾ and of the
/// bracket; powers of step ratios are missing there, and with them λ loses the order that the modification is to keep.
struct PrintedDefect {
  double derivative, bracket;
};
PrintedDefect printed_defect_difference(int k, std::span<const double> steps);

/// Coefficient of [v_n, v_{n-1}] in that correction (Wieloch 2022, eq. 5.36b). Uses three steps.
double difference_weight(std::span<const double> steps);

}  // namespace kreisel::coeff
