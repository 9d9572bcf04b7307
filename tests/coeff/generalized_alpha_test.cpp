#include "coeff/generalized_alpha.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace kreisel::coeff {
namespace {

struct Peak {
  double value = 0.0;
  int n = 0;
};

template <class Measure>
Peak largest(double rho_inf, int last, Measure measure) {
  const auto T = error_amplification(GeneralizedAlpha::from_rho_inf(rho_inf));
  Peak peak;
  for (int n = 1; n <= last; ++n)
    if (const double value = measure(power(T, n)); value > peak.value) peak = {value, n};
  return peak;
}

auto entry_of_second_row(int j) {
  return [j](const SmallMatrix<3>& T) { return std::abs(T[1][j]); };
}

// v̇ = t²/2, so that v⃛ = 1: the recursion of a is run until its start is forgotten, and what one step then adds to v is compared
// with the exact change (Arnold, Brüls, Cardona 2015, eq. 14).
TEST(GeneralizedAlpha, LocalErrorOfTheVelocityIsThatOfTheRecursion) {
  for (const double rho : {0.0, 0.3, 0.6, 0.9}) {
    const auto p = GeneralizedAlpha::from_rho_inf(rho);
    const auto rate = [](double t) { return 0.5 * t * t; };
    double a = 0.0, error = 0.0;
    for (int n = 0; n < 400; ++n) {
      const double t = 0.01 * n, h = 0.01;
      const double next = ((1.0 - p.alpha_f) * rate(t + h) + p.alpha_f * rate(t) - p.alpha_m * a) / (1.0 - p.alpha_m);
      const double exact = (std::pow(t + h, 3) - t * t * t) / 6.0;
      error = ((1.0 - p.gamma) * h * a + p.gamma * h * next - exact) / (h * h * h);
      a = next;
    }
    EXPECT_NEAR(std::abs(error), std::abs(p.velocity_error()), 1e-6 * std::abs(p.velocity_error()) + 1e-8) << rho;
  }
}

TEST(GeneralizedAlpha, FromRhoInfGivesTheKnownSpecialCases) {
  const auto trapezoidal = GeneralizedAlpha::from_rho_inf(1.0);
  EXPECT_DOUBLE_EQ(trapezoidal.alpha_m, 0.5);
  EXPECT_DOUBLE_EQ(trapezoidal.alpha_f, 0.5);
  EXPECT_DOUBLE_EQ(trapezoidal.gamma, 0.5);
  EXPECT_DOUBLE_EQ(trapezoidal.beta, 0.25);
  const auto annihilating = GeneralizedAlpha::from_rho_inf(0.0);
  EXPECT_DOUBLE_EQ(annihilating.alpha_m, -1.0);
  EXPECT_DOUBLE_EQ(annihilating.alpha_f, 0.0);
  EXPECT_DOUBLE_EQ(annihilating.gamma, 1.5);
  EXPECT_DOUBLE_EQ(annihilating.beta, 1.0);
}

TEST(GeneralizedAlpha, FromRhoInfMeetsAllConditionsOfConstrainedSystems) {
  for (double rho = 0.0; rho < 0.995; rho += 0.01)
    EXPECT_TRUE(violated_conditions(GeneralizedAlpha::from_rho_inf(rho), AlphaStability::contractive).empty()) << rho;
}

TEST(GeneralizedAlpha, UndampedParametersAreUnconditionallyStableButNotContractive) {
  const auto parameters = GeneralizedAlpha::from_rho_inf(1.0);
  EXPECT_TRUE(violated_conditions(parameters, AlphaStability::unconditional).empty());
  EXPECT_EQ(violated_conditions(parameters, AlphaStability::contractive).size(), 3u);
}

TEST(GeneralizedAlpha, EveryViolatedConditionIsNamedWithItsValues) {
  const GeneralizedAlpha wrong{.alpha_m = 0.7, .alpha_f = 0.6, .beta = 0.1, .gamma = 0.5};
  const auto violated = violated_conditions(wrong, AlphaStability::unconditional);
  ASSERT_EQ(violated.size(), 4u);
  EXPECT_EQ(violated[0], "order 2: gamma = 1/2 + alpha_f - alpha_m (gamma is 0.5, expected 0.4)");
  EXPECT_EQ(violated[1], "stability: alpha_m <= alpha_f (alpha_m is 0.7, alpha_f is 0.6)");
  EXPECT_EQ(violated[2], "stability: alpha_f <= 1/2 (alpha_f is 0.6)");
  EXPECT_EQ(violated[3], "stability: beta >= 1/4 + (alpha_f - alpha_m)/2 (beta is 0.1, bound is 0.2)");
}

TEST(GeneralizedAlpha, NotANumberViolatesEverything) {
  const GeneralizedAlpha wrong{NAN, NAN, NAN, NAN};
  EXPECT_EQ(violated_conditions(wrong, AlphaStability::contractive).size(), 4u);
}

TEST(ErrorAmplification, SolvesItsDefiningEquation) {
  const auto p = GeneralizedAlpha::from_rho_inf(0.37);
  const SmallMatrix<3> plus{{{0, 0, -p.beta}, {1, 0, -p.gamma}, {0, 1 - p.alpha_f, 1 - p.alpha_m}}};
  const SmallMatrix<3> zero{{{1, 0, 0.5 - p.beta}, {1, 0, 1 - p.gamma}, {0, -p.alpha_f, -p.alpha_m}}};
  const auto T = error_amplification(p);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double sum = 0.0;
      for (int l = 0; l < 3; ++l) sum += plus[i][l] * T[l][j];
      EXPECT_NEAR(sum, zero[i][j], 1e-14);
    }
  const SmallMatrix<2> plus2{{{0, -p.gamma}, {1 - p.alpha_f, 1 - p.alpha_m}}};
  const SmallMatrix<2> zero2{{{0, 1 - p.gamma}, {-p.alpha_f, -p.alpha_m}}};
  const auto T2 = stabilized_error_amplification(p);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) EXPECT_NEAR(plus2[i][0] * T2[0][j] + plus2[i][1] * T2[1][j], zero2[i][j], 1e-14);
}

TEST(ErrorAmplification, HasOneTripleEigenvalueMinusRhoInf) {
  for (const double rho : {0.0, 0.3, 0.6, 0.9}) {
    auto T = error_amplification(GeneralizedAlpha::from_rho_inf(rho));
    for (int i = 0; i < 3; ++i) T[i][i] += rho;
    EXPECT_NEAR(norm2(power(T, 3)), 0.0, 1e-12);
    EXPECT_GT(norm2(power(T, 2)), 0.1);
  }
}

TEST(ErrorAmplification, HasTheJordanBasisOfThePaper) {  // entry (1,2) as (1+μ)/(2(1-μ))
  const double rho = 0.8, mu = -rho;
  const auto T = error_amplification(GeneralizedAlpha::from_rho_inf(rho));
  const SmallMatrix<3> X{
      {{0, (1 + mu) / (2 * (1 - mu)), -1 / ((1 - mu) * (1 - mu))}, {1 - mu * mu, -(2 + mu), 0}, {0, 1, 0}}};
  const SmallMatrix<3> J{{{mu, 1, 0}, {0, mu, 1}, {0, 0, mu}}};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double left = 0.0, right = 0.0;
      for (int l = 0; l < 3; ++l) {
        left += T[i][l] * X[l][j];
        right += X[i][l] * J[l][j];
      }
      EXPECT_NEAR(left, right, 1e-13);
    }
}

// In directions without mass r^B and e^a go on without e^λ: -ρ∞ is a double eigenvalue there, and errors contract for γ > 1/2, β > γ/2
// (Arnold, Cardona, Brüls 2015, eq. 27). The recursion is written down again here from eq. 25b, 26b.
TEST(ErrorAmplification, OfDirectionsWithoutMassHasADoubleEigenvalue) {
  const auto massless = [](const GeneralizedAlpha& p) {
    // -β a₊ = r + (1/2 - β) a,  r₊ - γ a₊ = r + (1 - γ) a
    const double from_r = -1.0 / p.beta, from_a = -(0.5 - p.beta) / p.beta;
    return SmallMatrix<2>{{{1.0 + p.gamma * from_r, 1.0 - p.gamma + p.gamma * from_a}, {from_r, from_a}}};
  };
  const auto radius = [](const SmallMatrix<2>& T) {
    const double half = 0.5 * (T[0][0] + T[1][1]), determinant = T[0][0] * T[1][1] - T[0][1] * T[1][0];
    const double square = half * half - determinant;
    return square < 0.0 ? std::sqrt(determinant) : std::abs(half) + std::sqrt(square);
  };
  for (const double rho : {0.0, 0.3, 0.6, 0.9}) {
    const auto p = GeneralizedAlpha::from_rho_inf(rho);
    const SmallMatrix<2> T = massless(p);
    EXPECT_NEAR(T[0][0] + T[1][1], -2.0 * rho, 1e-13);
    EXPECT_NEAR(T[0][0] * T[1][1] - T[0][1] * T[1][0], rho * rho, 1e-13);
    const SmallMatrix<3> whole = error_amplification(p);
    for (const auto& [i, row] : {std::pair{0, 0}, std::pair{1, 2}}) {
      EXPECT_NEAR(T[i][0], whole[row][0], 1e-13);
      EXPECT_NEAR(T[i][1], whole[row][2], 1e-13);
      EXPECT_EQ(whole[row][1], 0.0) << "without the error of lambda";
    }
  }
  for (const double gamma : {0.45, 0.55, 0.8, 1.2})
    for (const double part : {0.9, 1.1, 2.0}) {
      const GeneralizedAlpha p{0.0, 0.0, 0.5 * part * gamma, gamma};
      EXPECT_EQ(radius(massless(p)) < 1.0, gamma > 0.5 && part > 1.0) << gamma << ", " << part;
    }
}

// Printed: 34.3 at n = 14 and 7.4 at n = 3 (Arnold, Brüls, Cardona 2015, section 4.1); more digits by matrix powers.
TEST(ErrorAmplification, PowersReachTheirLargestNormsWhereThePaperSays) {
  const Peak little_damping = largest(0.9, 200, norm2), strong_damping = largest(0.6, 200, norm2);
  EXPECT_NEAR(little_damping.value, 34.2653, 1e-5 * 34.2653);
  EXPECT_EQ(little_damping.n, 14);
  EXPECT_NEAR(strong_damping.value, 7.38579, 1e-5 * 7.38579);
  EXPECT_EQ(strong_damping.n, 3);
}

// Printed: 31.91, 0.81 and 0.31, which are the maxima over even n.
TEST(ErrorAmplification, SecondRowReachesItsMaximaOverAllSteps) {
  const std::array<double, 3> value{31.93295, 0.9, 0.30943};
  const std::array<int, 3> at{15, 1, 25};
  for (int j = 0; j < 3; ++j) {
    const Peak peak = largest(0.9, 200, entry_of_second_row(j));
    EXPECT_NEAR(peak.value, value[j], 2e-5 * value[j]);
    EXPECT_EQ(peak.n, at[j]);
  }
}

TEST(ErrorAmplification, GivesTheMultiplierErrorsOfTheCubicExample) {  // (T^n)_{21}, Example 2
  const std::array<double, 3> rho{0.6, 0.9, 0.99}, value{6.819840, 31.932952, 334.307571};
  const std::array<int, 3> at{3, 15, 161};
  for (int i = 0; i < 3; ++i) {
    const Peak peak = largest(rho[i], 2000, entry_of_second_row(0));
    EXPECT_NEAR(peak.value, value[i], 1e-6 * value[i]);
    EXPECT_EQ(peak.n, at[i]);
  }
}

// Printed: 2.2, 28.5, 2.7e3; exact by n(n-1)ρⁿ⁻²/2 at n = 4, 20 and 200.
TEST(TransientGrowth, HasThePrintedValues) {
  EXPECT_NEAR(transient_growth(0.6), 2.16, 1e-5 * 2.16);
  EXPECT_NEAR(transient_growth(0.9), 28.518, 1e-5 * 28.518);
  EXPECT_NEAR(transient_growth(0.99), 2720.33, 1e-5 * 2720.33);
  EXPECT_EQ(transient_growth(0.0), 1.0);
}

TEST(Norm2, OfADiagonalAndOfARankOneMatrix) {
  EXPECT_DOUBLE_EQ(norm2({{{-3, 0, 0}, {0, 2, 0}, {0, 0, 1}}}), 3.0);
  EXPECT_NEAR(norm2({{{2, 4, 4}, {1, 2, 2}, {2, 4, 4}}}), 9.0, 1e-14);
}

}  // namespace
}  // namespace kreisel::coeff
