#include "coeff/bdf.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace kreisel::coeff {
namespace {

TEST(Bdf, GammaAgreesWithThePrintedTable) {  // (Wieloch 2022, eq. 2.16)
  const std::array<std::array<double, 6>, 6> printed{
      {{1.0},
       {3.0 / 2, -1.0 / 2},
       {11.0 / 6, -7.0 / 6, 1.0 / 3},
       {25.0 / 12, -23.0 / 12, 13.0 / 12, -1.0 / 4},
       {137.0 / 60, -163.0 / 60, 137.0 / 60, -21.0 / 20, 1.0 / 5},
       {49.0 / 20, -71.0 / 20, 79.0 / 20, -163.0 / 60, 31.0 / 30, -1.0 / 6}}};
  for (int k = 1; k <= bdf_max_order; ++k)
    for (int i = 1; i <= k; ++i) EXPECT_DOUBLE_EQ(bdf_gamma(k, i), printed[k - 1][i - 1]) << "k = " << k;
}

TEST(Bdf, GammaSatisfiesItsOwnConsistencyConditions) {  // (Wieloch 2022, eq. 2.15), from t_{n+1-k}
  for (int k = 1; k <= bdf_max_order; ++k)
    for (int power = 1; power <= k; ++power) {
      double sum = 0.0;
      for (int i = 1; i <= k; ++i)
        sum += bdf_gamma(k, i) * (std::pow(k + 1 - i, power) - std::pow(k - i, power)) / std::pow(k, power - 1);
      EXPECT_NEAR(sum, power, 1e-13) << "k = " << k;
    }
}

TEST(Bdf, RefusesATableWithOneWrongEntry) {
  auto table = bdf_table;
  table[4].alpha[2] += 1;
  EXPECT_FALSE(every_row_has_its_order(table));
}

}  // namespace
}  // namespace kreisel::coeff
