// Leading local errors of the velocity relations on equal steps, as the starting values of the papers use them.
#pragma once

#include <span>

#include "coeff/bliedf_defect.hpp"

namespace kreisel::coeff {

/// l = h^k (-v⁽ᵏ⁾/(k+1) + Σ brackets) of BLieDF with the published corrections, derivatives at the beginning of the step; k = 1…6
/// (Wieloch 2022, theorem 6; Wieloch & Arnold 2019, theorem 1).
std::span<const NestedBracket> bliedf_starting_defect(int k);

/// The same for Munthe-Kaas BDF, k = 1…6. `as_printed`: from exact logarithms (Wieloch 2022, eq. 5.3c), which differ from what
/// BCH_k gives in the last term for k ≥ 4.
std::span<const NestedBracket> mkbdf_starting_defect(int k, bool as_printed);

/// Weights of v_{k-1}, v_{k-2}, … in h^j v⁽ʲ⁾(t_{k-1}), where j h v̇(t_{k-1}) is to be added; j = 2…6 (Wieloch 2022, eq. 3.59).
std::span<const double> starting_derivative(int j);

}  // namespace kreisel::coeff
