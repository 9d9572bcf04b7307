// Crouch–Grossman multistep methods of Adams–Moulton type, order p = 1…4: one exponential per velocity.
#pragma once

#include <array>

#include "coeff/adams_moulton.hpp"

namespace kreisel::coeff {

/// One step t_n → t_{n+1} = t_n + h from v_{n+1}, v_n, …, v_{n+1-k} (Wieloch 2022, definition 9, eq. 3.4):
///   q_{n+1} = q_n ∘ block_{m-1} ∘ … ∘ block_1 ∘ block_0,
///   block_j = exp(h β_k^j v_{n+1-k}) ∘ … ∘ exp(h β_1^j v_n) ∘ exp(h β_0^j v_{n+1}),
///   v_{n+1} = v_n + h Σ_{i=0…k} βᵢ v̇_{n+1-i},  βᵢ = Σ_j β_i^j, the Adams–Moulton row of k.
/// So, left to right, the block index falls from m-1 to 0 and inside a block the velocities run from old to
/// new. Factors with β = 0 are absent. Only the last factor contains the unknown v_{n+1}: β_0^j = 0 for j > 0.
struct CrouchGrossmanRow {
  int order;                                  ///< p = k + 1
  int steps;                                  ///< k, past velocities in use
  int blocks;                                 ///< m
  std::array<std::array<double, 4>, 3> beta;  ///< beta[j][i] = β_i^j
};

namespace detail {
inline constexpr double sqrt_42351 = 205.79358590587802866;
}

/// Row p-1 (Wieloch 2022, section 3.1.1). The conjugate root -√42351 gives an order-4 method as well.
inline constexpr std::array<CrouchGrossmanRow, 4> crouch_grossman_table{
    {{1, 0, 1, {{{1.0}}}},
     {2, 1, 1, {{{1.0 / 2, 1.0 / 2}}}},
     {3, 2, 2, {{{5.0 / 12, 7.0 / 12, -1.0 / 12}, {0.0, 1.0 / 12}}}},
     {4,
      3,
      3,
      {{{3.0 / 8, (923 + detail::sqrt_42351) / 1176, (155 - detail::sqrt_42351) / 1176, 1.0 / 24},
        {0.0, (-204 - detail::sqrt_42351) / 1176, (-400 + detail::sqrt_42351) / 1176},
        {0.0, 53.0 / 294}}}}}};

/// Σ_j β_i^j = βᵢ to round-off (Wieloch 2022, eq. 3.3) and the new velocity only in the last factor.
constexpr bool every_row_sums_to_adams_moulton(const std::array<CrouchGrossmanRow, 4>& table) {
  for (const CrouchGrossmanRow& row : table)
    for (int i = 0; i < 4; ++i) {
      double sum = 0.0;
      for (const auto& block : row.beta) sum += block[i];
      const double error = sum - (i <= row.steps ? adams_moulton_beta(row.steps, i) : 0.0);
      if (error > 1e-15 || error < -1e-15) return false;
      if (row.beta[1][0] != 0.0 || row.beta[2][0] != 0.0) return false;
    }
  return true;
}
static_assert(every_row_sums_to_adams_moulton(crouch_grossman_table));

}  // namespace kreisel::coeff
