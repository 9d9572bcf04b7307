// Commutator corrections L of BLieDF, k = 3…6: (1/h) Σ γᵢ ω^{(n+1-i)} = v_{n+1} + L.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coeff/bdf.hpp"

namespace kreisel::coeff {

/// lin = h Σ_{i=0…k} aᵢ v_{n+1-i} + Σ_{i=1…k} bᵢ ω^{(n+1-i)}, where ω^{(m)} is the increment of the step
/// t_m → t_{m+1}; b[0] is unused (Wieloch 2022, eq. 3.35a).
struct LinearForm {
  std::array<double, bdf_max_order + 1> a{};
  std::array<double, bdf_max_order + 1> b{};
};

/// A correction by nested brackets of linear forms (Wieloch 2022, eq. 3.34), lin[0] = lin₁:
///   k = 3, 4:  hL = [lin₁, lin₂]
///   k = 5:     hL = [lin₁, lin₂ + [lin₃, lin₄]]
///   k = 6:     hL = [lin₁, lin₂ + [lin₃, lin₄ + [lin₅, lin₆]]]
/// or, with eight forms, k = 5: hL = [lin₁, lin₂ + [lin₃, lin₄]] + [lin₅, lin₆ + [lin₇, lin₈]] (ibid., before lemma 7).
struct CorrectionSet {
  int k;
  int count;  ///< linear forms in use: 2, 2, 4 (or 8), 6
  std::array<LinearForm, 8> lin;
  std::string_view name;

  constexpr bool has_two_chains() const { return k == 5 && count == 8; }

  /// No form contains v_{n+1} or ω^{(n)}: L is known before the step (Wieloch 2022, eq. 3.36).
  constexpr bool is_explicit() const {
    for (int j = 0; j < count; ++j)
      if (lin[j].a[0] != 0.0 || lin[j].b[1] != 0.0) return false;
    return true;
  }
};

/// Number of linear forms of eq. 3.34 for k = 3…6.
constexpr int linear_form_count(int k) { return k <= 4 ? 2 : 2 * (k - 3); }

/// All built-in sets: "difference" (k = 3, 4), "published" (k = 3…6), "two-chains" (k = 5), "tuned" and "tuned-implicit" (k = 3, 4).
std::span<const CorrectionSet> correction_sets();

/// The built-in set, or nullptr if there is none of that name for this k.
const CorrectionSet* find_correction_set(std::string_view name, int k);

/// A correction by differences of velocities, with coefficients of h v_{n+1-i}:
///   V, D1, D2, D3 ≈ h v, h² v', h³ v'', h⁴ v''' at t_{n+1};  C = [V, D1]
///   k = 3, 4:  hL = C/12
///   k = 5, 6:  hL = C/12 + [V, -D3/720 + [V, D2 - C]/720] + [D1, -D2/180 - C/240]
/// Derived from the expansion (1/h) Σ γᵢ νᵢ = v + (h²/12)[v, v'] + h⁴E₄ at t_{n+1}.
struct DifferenceSet {
  int k;
  std::array<double, bdf_max_order + 1> V, D1, D2, D3;
  std::string_view name;

  constexpr bool is_explicit() const { return V[0] == 0.0 && D1[0] == 0.0 && D2[0] == 0.0 && D3[0] == 0.0; }
};

/// "implicit" and "explicit", k = 3…6.
std::span<const DifferenceSet> difference_sets();

/// The built-in set, or nullptr if there is none of that name for this k.
const DifferenceSet* find_difference_set(std::string_view name, int k);

/// Each violated consistency condition as one sentence with its values, empty if the set keeps order k.
/// k = 3, 4: (Wieloch 2022, eq. 3.41a-f), with 7/6 in 3.41e. k = 5, 6: the coefficients of
/// (1/h) Σ γᵢ νᵢ - v(t_{n+1}) - L (Wieloch 2022, eq. 3.32) up to h^{k-1} on every Lyndon word.
std::vector<std::string> violated_conditions(const CorrectionSet& set, double tolerance);

}  // namespace kreisel::coeff
