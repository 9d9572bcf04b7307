#include "coeff/bdf_variable.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace kreisel::coeff {
namespace {

/// Times newest first, step ratios in [1/2, 2], the newest step of size h.
std::vector<double> random_grid(std::mt19937& random, int count, double newest, double h) {
  std::uniform_real_distribution<double> exponent(-1.0, 1.0);
  std::vector<double> times{newest};
  for (int i = 1; i < count; ++i) {
    times.push_back(times.back() - h);
    h *= std::exp2(exponent(random));
  }
  return times;
}

/// m-th derivative of t^p.
double derivative_of_power(int p, int m, double t) {
  double factor = 1.0;
  for (int j = 0; j < m; ++j) factor *= p - j;
  return factor == 0.0 ? 0.0 : factor * std::pow(t, p - m);
}

TEST(DerivativeWeights, AreExactOnPolynomialsOfDegreeBelowTheNodeCount) {
  std::mt19937 random(1);
  for (int repeat = 0; repeat < 50; ++repeat)
    for (int count = 1; count <= max_nodes; ++count) {
      const auto nodes = random_grid(random, count, 0.0, 1.0);
      const double at = std::uniform_real_distribution<double>(nodes.back() - 0.5, 1.0)(random);
      std::vector<double> weights((max_derivative_order + 1) * count);
      derivative_weights(nodes, at, max_derivative_order, weights);
      for (int m = 0; m <= max_derivative_order; ++m)
        for (int p = 0; p < count; ++p) {
          double sum = 0.0, size = 1.0;
          for (int i = 0; i < count; ++i) {
            const double term = weights[m * count + i] * std::pow(nodes[i], p);
            sum += term;
            size += std::abs(term);
          }
          EXPECT_NEAR(sum, derivative_of_power(p, m, at), 1e-12 * size)
              << count << " nodes, m = " << m << ", p = " << p;
        }
    }
}

TEST(DerivativeWeights, OfAnOrderTheNodesCannotGiveAreZero) {
  const std::array<double, 2> nodes{0.0, -1.0};
  std::array<double, 8> weights;
  derivative_weights(nodes, 0.3, 3, weights);
  for (int i = 4; i < 8; ++i) EXPECT_EQ(weights[i], 0.0);
}

TEST(ExtrapolationWeights, AgreeWithTheZerothDerivative) {
  std::mt19937 random(2);
  for (int count = 1; count <= max_nodes; ++count) {
    const auto nodes = random_grid(random, count, 0.0, 1.0);
    std::vector<double> expected(count), weights(count);
    derivative_weights(nodes, 1.0, 0, expected);
    extrapolation_weights(nodes, 1.0, weights);
    for (int i = 0; i < count; ++i) EXPECT_NEAR(weights[i], expected[i], 1e-13 * (1.0 + std::abs(expected[i])));
  }
}

TEST(VariableBdf, ReproducesTheTableOnTheUniformGrid) {
  for (const double h : {1.0, 0.125, 1e-3})
    for (int k = 1; k <= bdf_max_order; ++k) {
      std::array<double, 7> times;
      for (int i = 0; i <= k; ++i) times[i] = -i * h;
      const BdfCoefficients c = variable_bdf(k, std::span(times).first(k + 1));
      for (int i = 0; i <= bdf_max_order; ++i) EXPECT_NEAR(c.alpha[i], i <= k ? bdf_alpha(k, i) : 0.0, 2e-14);
      EXPECT_EQ(c.gamma[0], 0.0);
      for (int i = 1; i <= bdf_max_order; ++i) EXPECT_NEAR(c.gamma[i], i <= k ? bdf_gamma(k, i) : 0.0, 2e-14);
    }
}

TEST(VariableBdf, AgreesWithTheTableToRoundOffOfTheTimesFarFromTheOrigin) {
  const double h = 1e-3, newest = 1000.0;
  std::array<double, 7> times;
  for (int i = 0; i <= 6; ++i) times[i] = newest - i * h;
  const double grid_error = 2.0 * 0x1p-43 / h;  // half a unit in the last place of 1000 at both ends, over h
  const BdfCoefficients c = variable_bdf(6, times);
  for (int i = 0; i <= 6; ++i) EXPECT_NEAR(c.alpha[i], bdf_alpha(6, i), 100.0 * grid_error);
}

TEST(VariableBdf, DifferentiatesPolynomialsOfDegreeKExactly) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 100; ++repeat)
    for (int k = 1; k <= bdf_max_order; ++k) {
      const auto times = random_grid(random, k + 1, 0.7, 0.3);
      const double h = times[0] - times[1];
      const BdfCoefficients c = variable_bdf(k, times);
      for (int p = 0; p <= k; ++p) {
        double by_alpha = 0.0, by_gamma = 0.0, size = 1.0;
        for (int i = 0; i <= k; ++i) {
          by_alpha += c.alpha[i] * std::pow(times[i], p);
          size += std::abs(c.alpha[i] * std::pow(times[i], p));
        }
        for (int i = 1; i <= k; ++i) by_gamma += c.gamma[i] * (std::pow(times[i - 1], p) - std::pow(times[i], p));
        const double exact = h * derivative_of_power(p, 1, times[0]);
        EXPECT_NEAR(by_alpha, exact, 1e-12 * size);
        EXPECT_NEAR(by_gamma, exact, 1e-12 * size);
      }
    }
}

TEST(VariableBdf, MatchesThePublishedFormOfOrderTwo) {
  // s = h_n / h_{n-1}: α = ((1+2s)/(1+s), -(1+s), s²/(1+s)) (Wieloch 2022, eq. 5.28)
  const double s = 1.7;
  const std::array<double, 3> times{s, 0.0, -1.0};
  const BdfCoefficients c = variable_bdf(2, times);
  EXPECT_NEAR(c.alpha[0], (1 + 2 * s) / (1 + s), 1e-15);
  EXPECT_NEAR(c.alpha[1], -(1 + s), 1e-15);
  EXPECT_NEAR(c.alpha[2], s * s / (1 + s), 1e-15);
}

TEST(MagnusWeights, AreExactOnPolynomialsOfDegreeBelowK) {
  std::mt19937 random(4);
  for (int repeat = 0; repeat < 100; ++repeat)
    for (int k = 1; k <= bdf_max_order; ++k)
      for (const bool includes_new_velocity : {true, false}) {
        const auto times = random_grid(random, k + 1, 0.9, 0.2);
        const double h = times[0] - times[1], mid = 0.5 * (times[0] + times[1]);
        const auto nodes = std::span(times).subspan(includes_new_velocity ? 0 : 1, k);
        const MagnusWeights w = magnus_weights(k, nodes, mid, h);
        for (int p = 0; p < k; ++p) {
          double A1 = 0.0, A2 = 0.0, A2_gauss = 0.0, A3 = 0.0, size = 1.0;
          for (int i = 0; i < k; ++i) {
            const double hv = h * std::pow(nodes[i], p);
            A1 += w.a1[i] * hv;
            A2 += w.a2[i] * hv;
            A2_gauss += w.a2_gauss[i] * hv;
            A3 += w.a3[i] * hv;
            size += std::abs(w.a3[i] * hv) + std::abs(w.a2[i] * hv);
          }
          EXPECT_NEAR(A1, h * std::pow(mid, p), 1e-12 * size);
          EXPECT_NEAR(A2, h * h * derivative_of_power(p, 1, mid), 1e-12 * size);
          const double A4 = h * h * h * h * derivative_of_power(p, 3, mid) / 6.0;
          EXPECT_NEAR(A2_gauss, h * h * derivative_of_power(p, 1, mid) + 0.15 * A4, 1e-12 * size);
          EXPECT_NEAR(A3, 0.5 * h * h * h * derivative_of_power(p, 2, mid), 1e-12 * size);
        }
        for (int i = k; i < bdf_max_order; ++i) EXPECT_EQ(w.a1[i], 0.0);
      }
}

TEST(MagnusWeights, GaussSlopeIsTheDifferenceOfTheValuesAtTheOuterGaussPoints) {
  const std::array<double, 4> nodes{1.0, 0.0, -0.7, -1.9};
  const double offset = std::sqrt(15.0) / 10.0;
  for (int k = 1; k <= 4; ++k) {  // up to cubic p the two are equal
    const auto used = std::span(nodes).first(k);
    std::array<double, 4> right{}, left{};
    extrapolation_weights(used, 0.5 + offset, right);
    extrapolation_weights(used, 0.5 - offset, left);
    const MagnusWeights w = magnus_weights(k, used, 0.5, 1.0);
    for (int i = 0; i < k; ++i) EXPECT_NEAR(w.a2_gauss[i], (right[i] - left[i]) / (2.0 * offset), 1e-14);
  }
}

TEST(MagnusWeights, OfTheUniformGridAreTheKnownFractions) {
  const std::array<double, 3> nodes{1.0, 0.0, -1.0};  // v_{n+1}, v_n, v_{n-1}
  const MagnusWeights w = magnus_weights(3, nodes, 0.5, 1.0);
  const std::array<double, 3> a1{3.0 / 8, 3.0 / 4, -1.0 / 8}, a2{1, -1, 0}, a3{0.5, -1, 0.5};
  for (int i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(w.a1[i], a1[i]);
    EXPECT_DOUBLE_EQ(w.a2[i], a2[i]);
    EXPECT_DOUBLE_EQ(w.a3[i], a3[i]);
  }
}

}  // namespace
}  // namespace kreisel::coeff
