// Adams–Moulton on a uniform grid, k = 0…5: the quadrature behind the product-of-exponentials methods.
#pragma once

#include <array>
#include <cstdint>

namespace kreisel::coeff {

/// Most past values an Adams–Moulton row uses here; the order is k + 1.
inline constexpr int adams_moulton_max_steps = 5;

/// One row as integers over a common denominator; entries past i = k are zero.
struct AdamsMoultonRow {
  int over;
  std::array<int, adams_moulton_max_steps + 1> beta;
};

/// Row k: (y_{n+1} - y_n)/h ≈ Σ_{i=0…k} βᵢ ẏ_{n+1-i}, βᵢ = beta[i] / over, order k + 1
/// (Wieloch 2022, eq. 2.17 for k ≤ 3; Hairer, Nørsett, Wanner 1993, section III.1 for k = 4, 5).
inline constexpr std::array<AdamsMoultonRow, adams_moulton_max_steps + 1> adams_moulton_table{
    {{1, {1}},
     {2, {1, 1}},
     {12, {5, 8, -1}},
     {24, {9, 19, -5, 1}},
     {720, {251, 646, -264, 106, -19}},
     {1440, {475, 1427, -798, 482, -173, 27}}}};

/// Σ βᵢ(1-i)ᵖ = 1/(p+1) for p = 0…k, over the integers: exact integration from t_n to t_{n+1}.
constexpr bool every_row_has_its_order(const std::array<AdamsMoultonRow, adams_moulton_max_steps + 1>& table) {
  for (int k = 0; k <= adams_moulton_max_steps; ++k) {
    for (int p = 0; p <= k; ++p) {
      std::int64_t sum = 0;
      for (int i = 0; i <= adams_moulton_max_steps; ++i) {
        std::int64_t power = 1;
        for (int j = 0; j < p; ++j) power *= 1 - i;
        sum += table[k].beta[i] * power;
      }
      if (sum * (p + 1) != table[k].over) return false;
    }
    for (int i = k + 1; i <= adams_moulton_max_steps; ++i)
      if (table[k].beta[i] != 0) return false;
  }
  return true;
}
static_assert(every_row_has_its_order(adams_moulton_table));

/// βᵢ of the k-step formula, i = 0…k, order k + 1.
constexpr double adams_moulton_beta(int k, int i) {
  return static_cast<double>(adams_moulton_table[k].beta[i]) / adams_moulton_table[k].over;
}

}  // namespace kreisel::coeff
