// Coefficients of the user's own, and values of defects that runs show through orders only.
#include "coeff/multistep.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>

#include "coeff/alpha_variable.hpp"
#include "coeff/bdf.hpp"
#include "coeff/bliedf_defect.hpp"
#include "coeff/half_explicit.hpp"
#include "coeff/starting_defect.hpp"

namespace {

using namespace kreisel::coeff;

TEST(OwnMultistep, KnowsItsOrder) {
  for (int k = 1; k <= 6; ++k) {
    Multistep bdf{.k = k};
    for (int i = 0; i <= k; ++i) bdf.alpha[i] = bdf_alpha(k, i);
    bdf.beta[0] = 1.0;
    EXPECT_EQ(order_of(bdf), k);
    EXPECT_TRUE(problems_in(bdf).empty()) << k;
  }
  const Multistep trapezoidal{1, {1.0, -1.0}, {0.5, 0.5}};
  EXPECT_EQ(order_of(trapezoidal), 2);
  const Multistep milne{2, {1.0, 0.0, -1.0}, {1.0 / 3, 4.0 / 3, 1.0 / 3}};
  EXPECT_EQ(order_of(milne), 4);
  EXPECT_TRUE(problems_in(milne).empty()) << "weakly stable, simple roots 1 and -1";
  EXPECT_EQ(problems_in(Multistep{2, {1.0, -3.0, 2.0}, {-1.0}}).size(), 1u) << "a root of 2";
  EXPECT_EQ(problems_in(Multistep{2, {1.0, -2.0, 1.0}, {1.0, -1.0}}).size(), 1u) << "a double root of 1";
}

// Σ δᵢ (-i)ᵖ/p! + j [p = 1] = [p = j] for p = 0 … j (Wieloch 2022, eq. 3.59).
TEST(StartingDerivatives, AreConsistent) {
  for (int j = 2; j <= 6; ++j)
    for (int p = 0; p <= j; ++p) {
      double sum = p == 1 ? j : 0.0;
      for (std::size_t i = 0; i < starting_derivative(j).size(); ++i) {
        double term = starting_derivative(j)[i];
        for (int m = 1; m <= p; ++m) term *= -static_cast<double>(i) / m;
        sum += term;
      }
      EXPECT_NEAR(sum, p == j ? 1.0 : 0.0, 1e-12) << "derivative " << j << ", power " << p;
    }
}

TEST(StartingDefect, DiffersFromThePrintedOneInTheLastTermOnly) {
  for (int k = 4; k <= 6; ++k) {
    const auto right = mkbdf_starting_defect(k, false), printed = mkbdf_starting_defect(k, true);
    ASSERT_EQ(right.size(), printed.size());
    for (std::size_t i = 0; i < right.size(); ++i)
      EXPECT_EQ(right[i].weight == printed[i].weight, i + 1 < right.size()) << k << ", term " << i;
  }
}

// (5.36b) at equal steps: weight -h/12, and 1/8 of [v, v''] in the local error, where the set of constant steps has 1/12.
TEST(DifferenceDefect, HasItsValuesAtEqualSteps) {
  const std::array<double, 3> equal{0.1, 0.1, 0.1};
  EXPECT_NEAR(difference_weight(equal), -0.1 / 12.0, 1e-16);
  EXPECT_NEAR(difference_defect(equal), 1e-3 / 8.0, 1e-16);
}

// The printed differences agree with the right ones where steps are equal, and nowhere else.
TEST(PrintedDefectDifference, VanishesAtEqualStepsAndIsWrongElsewhere) {
  const std::array<double, 4> equal{0.1, 0.1, 0.1, 0.1}, changed{0.1, 0.07, 0.08, 0.08};
  for (const int k : {2, 3}) {
    EXPECT_NEAR(printed_defect_difference(k, equal).derivative, 0.0, 1e-15);
    EXPECT_NEAR(printed_defect_difference(k, equal).bracket, 0.0, 1e-15);
    const double right = bdf_defect(k, changed) - bdf_defect(k, std::span<const double>(changed).subspan(1));
    EXPECT_GT(std::abs(printed_defect_difference(k, changed).derivative / right - 1.0), 1e-2) << k;
  }
}

/// Order conditions of the quadrature and its embedded weights; the rows add up to their nodes.
TEST(HalfExplicitTableau, IsConsistent) {
  constexpr int s = HalfExplicitTableau::stages;
  for (int i = 0; i <= s; ++i) {
    double sum = 0.0;
    for (const double a : hedop5.a[i]) sum += a;
    EXPECT_NEAR(sum, hedop5.c[i], 1e-13) << i;
  }
  for (int p = 0; p < 5; ++p) {
    double b = 0.0, e = 0.0;
    for (int i = 0; i < s; ++i) {
      b += hedop5.a[s - 1][i] * std::pow(hedop5.c[i], p);
      e += hedop5.error[i] * std::pow(hedop5.c[i], p);
    }
    EXPECT_NEAR(b, 1.0 / (p + 1), 1e-14) << p;
    if (p < 4) EXPECT_NEAR(e, 0.0, 1e-14) << p;
  }
}

// With γ(σ) the velocity formula is exact for v = t², whatever the ratio; a_n = v̇(t_n + Δα h_{n-1}).
TEST(AlphaWithRatio, IsOfSecondOrder) {
  const GeneralizedAlpha alpha = GeneralizedAlpha::from_rho_inf(0.7);
  for (const double sigma : {0.5, 1.0, 1.7}) {
    const GeneralizedAlpha now = with_ratio(alpha, sigma);
    const double h = 1.0, d = alpha.delta(), before = 2.0 * d * h / sigma, after = 2.0 * (1.0 + d) * h;
    EXPECT_NEAR((1.0 - now.gamma) * before + now.gamma * after, 1.0, 1e-14) << sigma;
  }
  EXPECT_NEAR(with_ratio(alpha, 1.0).beta, alpha.beta, 1e-15);
  EXPECT_NEAR(with_ratio(alpha, 1.0).gamma, alpha.gamma, 1e-15);
}

}  // namespace
