// Adams–Moulton, Crouch–Grossman, commutator-free and Munthe-Kaas rows: order of the step on any group.
#include <gtest/gtest.h>

#include <cmath>

#include "coeff/bch.hpp"
#include "coeff/commutator_free.hpp"
#include "coeff/crouch_grossman.hpp"
#include "coeff/free_algebra.hpp"

namespace kreisel::coeff {
namespace {

using Series = FreeSeries;

/// Factors from left to right as documented in the header.
Series increment_of(const CrouchGrossmanRow& row) {
  Series q = Series::constant(1.0);
  for (int j = row.blocks - 1; j >= 0; --j)
    for (int i = row.steps; i >= 0; --i)
      if (row.beta[j][i] != 0.0) q = q * exponential(row.beta[j][i] * velocity(1.0 - i));
  return logarithm(q);
}

Series increment_of(const CommutatorFreeRow& row) {
  Series q = Series::constant(1.0);
  for (int j = row.exponentials - 1; j >= 0; --j) {
    Series exponent;
    for (int i = 0; i <= row.steps; ++i) exponent += row.beta(j, i) * velocity(1.0 - i);
    q = q * exponential(exponent);
  }
  return logarithm(q);
}

/// ω₀ = Σ βᵢ dexp⁻¹(-ωᵢ, h v_{n+1-i}) of Munthe-Kaas Adams–Moulton with k past velocities (Wieloch 2022, eq. 3.14),
/// ωᵢ = BCH_k(ω_{i-1}, -ω^{(n+1-i)}) from exact increments, as in method::Mkam.
Series munthe_kaas_increment(int k, int dexp_index) {
  const auto dexp = [&](const Series& omega, double s) {
    return dexp_inverse(dexp_index, -1.0 * omega, velocity(s), bracket);
  };
  Series known, omega;
  for (int i = 1; i <= k; ++i) {
    const Series back = i > 1 ? -1.0 * increment(1.0 - i) : Series{};
    omega = i > 2 ? bch(k, omega, back, bracket) : back;
    known += adams_moulton_beta(k, i) * dexp(omega, 1.0 - i);
  }
  Series next = known;
  for (int sweep = 0; sweep < Series::max_degree; ++sweep) next = known + adams_moulton_beta(k, 0) * dexp(next, 1.0);
  return next;
}

/// The step agrees with the exact increment up to h^p and not beyond (Wieloch 2022, eq. 3.5, 3.8).
void expect_order(const Series& step, int p) {
  const Series error = step - increment(0.0);
  for (std::uint32_t word = 0; word < (1u << p); ++word)
    EXPECT_NEAR(error.coefficient[word], 0.0, 1e-14) << word_name(word) << ", p = " << p;
  double next = 0.0;
  for (std::uint32_t word = 1u << p; word < (2u << p); ++word) next = std::max(next, std::abs(error.coefficient[word]));
  EXPECT_GT(next, 1e-4) << p;
}

TEST(AdamsMoulton, BetaAgreesWithThePrintedTable) {  // (Wieloch 2022, eq. 2.17)
  EXPECT_DOUBLE_EQ(adams_moulton_beta(1, 1), 1.0 / 2);
  EXPECT_DOUBLE_EQ(adams_moulton_beta(2, 1), 2.0 / 3);
  EXPECT_DOUBLE_EQ(adams_moulton_beta(3, 0), 3.0 / 8);
  EXPECT_DOUBLE_EQ(adams_moulton_beta(3, 2), -5.0 / 24);
}

TEST(AdamsMoulton, RefusesATableWithOneWrongEntry) {
  auto table = adams_moulton_table;
  table[5].beta[5] = 28;
  EXPECT_FALSE(every_row_has_its_order(table));
}

TEST(CrouchGrossman, EveryRowHasItsOrderOnAnyGroup) {
  for (int p = 1; p <= 4; ++p) {
    const CrouchGrossmanRow& row = crouch_grossman_table[p - 1];
    EXPECT_EQ(row.order, p);
    EXPECT_EQ(row.steps, p - 1);
    expect_order(increment_of(row), p);
  }
}

TEST(CrouchGrossman, TheConjugateRootGivesOrderFourAsWell) {
  CrouchGrossmanRow row = crouch_grossman_table[3];
  const double root = -std::sqrt(42351.0);
  row.beta[0][1] = (923 + root) / 1176;
  row.beta[0][2] = (155 - root) / 1176;
  row.beta[1][1] = (-204 - root) / 1176;
  row.beta[1][2] = (-400 + root) / 1176;
  expect_order(increment_of(row), 4);
}

TEST(CrouchGrossman, FactorOrderMatters) {
  const CrouchGrossmanRow& row = crouch_grossman_table[2];
  Series reversed = Series::constant(1.0);
  for (int j = 0; j < row.blocks; ++j)
    for (int i = 0; i <= row.steps; ++i) reversed = reversed * exponential(row.beta[j][i] * velocity(1.0 - i));
  const Series error = logarithm(reversed) - increment(0.0);
  EXPECT_GT(std::abs(error.coefficient[0b110]), 1e-2);  // h³ [v, v']
}

TEST(CommutatorFree, EveryRowHasItsOrderOnAnyGroup) {
  for (int p = 1; p <= 4; ++p) {
    const CommutatorFreeRow& row = commutator_free_table[p - 1];
    EXPECT_EQ(row.order, p);
    EXPECT_EQ(row.steps, p - 1);
    expect_order(increment_of(row), p);
  }
}

TEST(MuntheKaasAdamsMoulton, HasItsOrderOnAnyGroup) {
  for (int p = 1; p <= 6; ++p) expect_order(munthe_kaas_increment(p - 1, p), p);
}

// The printed index k of dexp⁻¹ in definition 11 costs an order, except where dexp_k⁻¹ and dexp_{k+1}⁻¹ are the same.
TEST(MuntheKaasAdamsMoulton, LosesAnOrderWithThePrintedSeries) {
  for (const int k : {2, 3, 5}) expect_order(munthe_kaas_increment(k, k), k);
  for (const int k : {1, 4}) expect_order(munthe_kaas_increment(k, k), k + 1);
}

}  // namespace
}  // namespace kreisel::coeff
