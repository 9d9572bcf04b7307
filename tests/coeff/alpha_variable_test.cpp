// Generalized-α on grids of unequal steps: consistency of the difference formulas, ratio bounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coeff/alpha_variable.hpp"

namespace {

using namespace kreisel::coeff;

constexpr double rhos[] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};

/// h v̈(t_n) of v̇ = t - t_n and of a constant: the weights must give h and 0.
void expect_consistent(const JerkWeights& A, double delta, double sigma) {
  EXPECT_NEAR(A[0] + A[1] + A[2] + A[3], 0.0, 1e-12);
  EXPECT_NEAR(A[1] + A[2] * delta / sigma + A[3] * (1.0 + delta), 1.0, 1e-12);
}

TEST(JerkWeights, DifferentiateLinearAccelerationsExactly) {
  for (const double rho : rhos)
    for (const double sigma : {0.2, 0.7, 1.0, 1.5, 5.0}) {
      const double delta = GeneralizedAlpha::from_rho_inf(rho).delta();
      for (int n = 1; n <= 4; ++n) expect_consistent(published_jerk_weights(n, delta, sigma), delta, sigma);
      expect_consistent(jerk_weights(delta, sigma, 0.3, -0.7), delta, sigma);
      // The published ones are members of the two-parameter family (Wieloch 2022, eq. 4.6).
      for (int n = 1; n <= 4; ++n) {
        const JerkWeights A = published_jerk_weights(n, delta, sigma), own = jerk_weights(delta, sigma, A[2], A[3]);
        for (int i = 0; i < 4; ++i) EXPECT_NEAR(A[i], own[i], 1e-12 * (1.0 + std::abs(A[i])));
      }
    }
}

TEST(AlphaStep, IsThePlainMethodForEqualSteps) {
  const GeneralizedAlpha p = GeneralizedAlpha::from_rho_inf(0.8);
  const AlphaStep step = alpha_step(p, published_jerk_weights(3, p.delta(), 1.0), 1.0, true, true);
  EXPECT_EQ(step.c, 0.0);
  EXPECT_EQ(step.kappa, 0.0);
  EXPECT_EQ(step.p, 0.0);
  EXPECT_NEAR(step.r, p.beta * (1.0 - p.alpha_f) / (1.0 - p.alpha_m), 1e-15);
  EXPECT_NEAR(step.s / step.r, p.gamma / p.beta, 1e-14);
}

TEST(AmplificationNorm, HasItsClosedFormForEqualSteps) {
  for (const double rho : rhos)
    for (int n = 1; n <= 4; ++n) {
      const double expected = std::max(std::abs(2.0 + 3.0 / (rho - 2.0)), 0.5 * (1.0 + rho));
      EXPECT_NEAR(amplification_norm(AlphaForm::index3, rho, n, 1.0, 1.0), expected, 1e-12) << rho;
      EXPECT_NEAR(amplification_norm(AlphaForm::stabilized_index2, rho, n, 1.0, 1.0), expected, 1e-12) << rho;
    }
}

// (Wieloch 2022, table 4.1) mixes two rules; these are the largest symmetric boxes.
TEST(RatioBound, OfTheIndex3FormIsTheLargestSymmetricBox) {
  constexpr double table[9][4] = {
      {1.2688, 1.5731, 1.5906, 1.2655}, {1.1648, 1.3860, 1.4504, 1.1692}, {1.0890, 1.2491, 1.3229, 1.1094},
      {1.0476, 1.1591, 1.2303, 1.0715}, {1.0242, 1.0983, 1.1598, 1.0458}, {1.0112, 1.0571, 1.1048, 1.0277},
      {1.0044, 1.0298, 1.0584, 1.0152}, {1.0010, 1.0108, 1.0189, 1.0063}, {1.0001, 1.0019, 1.0037, 1.0012}};
  for (int i = 0; i < 9; ++i)
    for (int n = 1; n <= 4; ++n)  // four digits, some of them cut, some rounded
      EXPECT_NEAR(ratio_bound(AlphaForm::index3, rhos[i], n), table[i][n - 1], 1e-4) << rhos[i] << " N" << n;
}

TEST(RatioBound, OfTheStabilizedFormIsWider) {
  for (const double rho : rhos)
    for (int n = 1; n <= 4; ++n) {
      const double s = ratio_bound(AlphaForm::stabilized_index2, rho, n);
      EXPECT_GT(s, ratio_bound(AlphaForm::index3, rho, n)) << rho << " N" << n;
      if (n == 3) {
        EXPECT_GT(s, 5.0) << rho;
      }
    }
}

}  // namespace
