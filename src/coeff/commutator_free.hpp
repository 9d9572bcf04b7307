// Commutator-free multistep methods of Adams–Moulton type, order p = 1…4: exponentials of linear combinations.
#pragma once

#include <array>

#include "coeff/adams_moulton.hpp"

namespace kreisel::coeff {

/// One step t_n → t_{n+1} = t_n + h from v_{n+1}, v_n, …, v_{n+1-k} (Wieloch 2022, definition 10, eq. 3.7):
///   q_{n+1} = q_n ∘ exp(h Σᵢ β_i^{m-1} v_{n+1-i}) ∘ … ∘ exp(h Σᵢ β_i^0 v_{n+1-i}),
///   v_{n+1} = v_n + h Σ_{i=0…k} βᵢ v̇_{n+1-i},  βᵢ = Σ_j β_i^j, the Adams–Moulton row of k.
/// The exponential j = m-1 is leftmost. Only the last one, j = 0, contains the unknown v_{n+1}.
struct CommutatorFreeRow {
  int order;         ///< p = k + 1
  int steps;         ///< k, past velocities in use
  int exponentials;  ///< m
  int over;
  std::array<std::array<int, 4>, 2> numerator;  ///< β_i^j = numerator[j][i] / over

  constexpr double beta(int j, int i) const { return static_cast<double>(numerator[j][i]) / over; }
};

/// Row p-1 (Wieloch 2022, section 3.1.2).
inline constexpr std::array<CommutatorFreeRow, 4> commutator_free_table{
    {{1, 0, 1, 1, {{{1}}}},
     {2, 1, 1, 2, {{{1, 1}}}},
     {3, 2, 2, 12, {{{5, 4, -1}, {0, 4}}}},
     {4, 3, 2, 24, {{{9, 4, -1}, {0, 15, -4, 1}}}}}};

/// Σ_j β_i^j = βᵢ (Wieloch 2022, eq. 3.3) over the integers and the new velocity only in the last exponential.
constexpr bool every_row_sums_to_adams_moulton(const std::array<CommutatorFreeRow, 4>& table) {
  for (const CommutatorFreeRow& row : table) {
    const AdamsMoultonRow& quadrature = adams_moulton_table[row.steps];
    for (int i = 0; i < 4; ++i)
      if ((row.numerator[0][i] + row.numerator[1][i]) * quadrature.over != quadrature.beta[i] * row.over) return false;
    if (row.numerator[1][0] != 0) return false;
  }
  return true;
}
static_assert(every_row_sums_to_adams_moulton(commutator_free_table));

}  // namespace kreisel::coeff
