// BDF on a uniform grid, k = 1..6: the rows α and their partial sums γ.
#pragma once

#include <array>
#include <cstdint>

namespace kreisel::coeff {

/// Highest order of the BDF family (k = 7 is not zero-stable).
inline constexpr int bdf_max_order = 6;

/// One BDF row as integers over a common denominator; entries past i = k are zero.
struct BdfRow {
  int over;
  std::array<int, bdf_max_order + 1> alpha;
};

/// Row k-1: h ẏ_{n+1} ≈ Σ αᵢ y_{n+1-i}, αᵢ = alpha[i] / over (Wieloch 2022, eq. 2.7).
inline constexpr std::array<BdfRow, bdf_max_order> bdf_table{{{1, {1, -1}},
                                                              {2, {3, -4, 1}},
                                                              {6, {11, -18, 9, -2}},
                                                              {12, {25, -48, 36, -16, 3}},
                                                              {60, {137, -300, 300, -200, 75, -12}},
                                                              {60, {147, -360, 450, -400, 225, -72, 10}}}};

/// Σ αᵢ(-i)ᵖ = [p = 1] for p = 0…k, over the integers (Wieloch 2022, eq. 2.6 about t_{n+1}).
constexpr bool every_row_has_its_order(const std::array<BdfRow, bdf_max_order>& table) {
  for (int k = 1; k <= bdf_max_order; ++k) {
    const BdfRow& row = table[k - 1];
    for (int p = 0; p <= k; ++p) {
      std::int64_t sum = 0;
      for (int i = 0; i <= bdf_max_order; ++i) {
        std::int64_t power = 1;
        for (int j = 0; j < p; ++j) power *= -i;
        sum += row.alpha[i] * power;
      }
      if (sum != (p == 1 ? row.over : 0)) return false;
    }
    for (int i = k + 1; i <= bdf_max_order; ++i)
      if (row.alpha[i] != 0) return false;
  }
  return true;
}
static_assert(every_row_has_its_order(bdf_table));

/// αᵢ of the k-step formula, i = 0…k.
constexpr double bdf_alpha(int k, int i) {
  return static_cast<double>(bdf_table[k - 1].alpha[i]) / bdf_table[k - 1].over;
}

/// γᵢ = α₀ + … + α_{i-1}, i = 1…k: h ẏ_{n+1} ≈ Σ γᵢ (y_{n+2-i} - y_{n+1-i}) (Wieloch 2022, eq. 2.12, 2.16).
constexpr double bdf_gamma(int k, int i) {
  int sum = 0;
  for (int j = 0; j < i; ++j) sum += bdf_table[k - 1].alpha[j];
  return static_cast<double>(sum) / bdf_table[k - 1].over;
}

static_assert(bdf_gamma(3, 2) == -7.0 / 6 && bdf_gamma(5, 5) == 12.0 / 60 && bdf_gamma(6, 4) == -163.0 / 60);

}  // namespace kreisel::coeff
