// Differences that find their step and know their error.
#include "system/differences.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace {

using namespace kreisel;
using namespace kreisel::system;

Vector one(double value) { return Vector::Constant(1, value); }

/// Relative to the largest derivative.
constexpr double good = 1e-12;

TEST(Differences, FindTheStepOverFourteenDecades) {
  for (double length = 1e-7; length < 2e7; length *= 10.0) {
    const auto f = [=](double s) { return one(length * std::sin(0.7 + s / length)); };
    const Steps steps = find_steps([&](int, double s) { return f(s); }, {range_of(1.0, 0.0)});
    const Jacobian J = differentiate([&](int, double s) { return f(s); }, steps, 1e-10);
    EXPECT_NEAR(J.value(0, 0), std::cos(0.7), good) << length;
    EXPECT_LE(J.error(0, 0), 10.0 * good) << length;
    const Derivative second = differentiate_twice(f, steps.step[0], 1e-10);
    EXPECT_NEAR(length * second.value[0], -std::sin(0.7), 1e-9) << length;
  }
}

TEST(Differences, AnEvenFunctionShowsItsLengthToo) {
  for (const double length : {1e-5, 1e-2, 1.0}) {
    const Steps steps =
        find_steps([=](int, double s) { return one(1.0 - std::cos(s / length)); }, {range_of(1.0, 0.0)});
    EXPECT_GT(steps.length(0), 0.1 * length);
    EXPECT_LT(steps.length(0), 10.0 * length);
  }
}

TEST(Differences, APeriodThatFitsTheStepIsNoConstant) {
  for (const double hertz : {1.0, 2.0, 50.0, 64.0, 128.0, 1000.0}) {
    const double omega = 2.0 * 3.14159265358979323846 * hertz;
    const auto f = [=](int, double s) { return one(std::sin(omega * s)); };
    const Jacobian J = differentiate(f, largest_steps({time_range(64.0, 0.0)}), 1e-10);
    EXPECT_NEAR(J.value(0, 0) / omega, 1.0, 1e-11) << hertz;
  }
}

TEST(Differences, EachArgumentHasItsOwnStep) {
  const auto f = [](int j, double s) -> Vector {
    const double x = 1.0 + (j == 0 ? s : 0.0), y = 2e-5 + (j == 1 ? s : 0.0);
    return Eigen::Vector2d(std::sin(x) + 1e-5 * std::exp(y / 1e-5), 1e3 * x + std::log(y));
  };
  const Jacobian J = differentiate(f, find_steps(f, {range_of(1.0, 1.0), range_of(1.0, 0.0)}), 1e-10);
  EXPECT_NEAR(J.value(0, 0), std::cos(1.0), good);
  // A change of 1e-5 in a sum of size 1 has eleven digits.
  EXPECT_NEAR(J.value(0, 1), std::exp(2.0), 1e-9 * std::exp(2.0));
  EXPECT_NEAR(J.value(1, 0), 1e3, 1e3 * good);
  EXPECT_NEAR(J.value(1, 1), 5e4, 5e4 * 1e-10);
}

/// Noise, kinks and jumps: the estimate is never far below the error.
TEST(Differences, TheEstimateBoundsTheError) {
  const auto noisy = [](double s) { return one(static_cast<double>(static_cast<float>(std::exp(s)))); };
  const Columns column = [&](int, double s) { return noisy(s); };
  const Jacobian J = differentiate(column, find_steps(column, {range_of(1.0, 0.0)}), 1e-10);
  EXPECT_LE(std::abs(J.value(0, 0) - 1.0), 10.0 * J.error(0, 0));
  EXPECT_GT(J.error(0, 0), 1e-8);
  EXPECT_LT(J.error(0, 0), 1e-4);
  const Jacobian kink =
      differentiate([](int, double s) { return one(std::max(0.0, s)); }, largest_steps({range_of(1.0, 0.0)}), 1e-10);
  EXPECT_GT(kink.error(0, 0), 1e-3) << "there is no derivative";
  const Jacobian beside = differentiate([](int, double s) { return one(std::max(0.0, s + 1e-4)); },
                                        largest_steps({range_of(1.0, 0.0)}), 1e-10);
  EXPECT_NEAR(beside.value(0, 0), 1.0, 1e-10) << "smaller steps do not see the kink";
}

/// 1 - cos of tiny steps has few digits, which may lie on a parabola by chance: a perfect fit with a step far too small.
TEST(Differences, LuckyDigitsAreNoLength) {
  for (double omega = 1e-3; omega < 2e5; omega *= 1.37)
    for (const double t0 : {0.0, -3.0, 17.0, 1e3, 1e6}) {
      const auto f = [=](int, double s) { return one(1e-3 * (1.0 - std::cos(omega * ((t0 + s) - t0)))); };
      const Steps steps = find_steps(f, {time_range(10.0 / omega, t0)});
      EXPECT_GT(omega * steps.length(0), 0.02) << omega << " " << t0;
      EXPECT_LT(omega * steps.length(0), 20.0) << omega << " " << t0;
    }
}

TEST(Differences, AConstantIsNotFollowedFarAway) {
  double farthest = 0.0;
  const auto f = [&](int j, double s) -> Vector {
    farthest = std::max(farthest, std::abs(s));
    return Eigen::Vector2d(0.3 + (j == 0 ? s : 0.0), 0.7 + (j == 1 ? std::sin(s) : 0.0));
  };
  const StepRange range = range_of(1.0, 0.0);
  const Steps steps = find_steps(f, {range, range});
  EXPECT_LE(farthest, 4.0 * range.largest);
  EXPECT_LE(steps.step.maxCoeff(), range.largest);
}

/// A sum x + sin y: long steps suit x, and their round-off is none of y.
TEST(Differences, EachArgumentHasItsOwnNoise) {
  const auto f = [](int j, double s) { return one((j == 0 ? s : 0.0) + std::sin(0.2 + (j == 1 ? s : 0.0))); };
  const Steps steps = find_steps(f, {range_of(1e9, 0.0), range_of(1.0, 0.0)});
  const Jacobian J = differentiate(f, steps, 1e-10);
  EXPECT_LE(J.error(0, 1), 1e-11);
  // Ten times steeper than at the start: the old step does not do.
  const auto steeper = [](int j, double s) {
    return one((j == 0 ? s : 0.0) + std::sin(10.0 * (0.2 + (j == 1 ? s : 0.0))));
  };
  EXPECT_NEAR(differentiate(steeper, steps, 1e-10).value(0, 1), 10.0 * std::cos(2.0), 1e-9);
}

/// Near a singularity at distance R the corrections of single orders pass through zero; the estimate does not.
TEST(Differences, TheEstimateOfASecondDerivativeBoundsItsError) {
  for (double angle = 0.0; angle < 3.1; angle += 0.01) {
    // Re e^{iφ} log(1 + s/R e^{iψ})
    const double R = 0.5, c = std::cos(0.7), s = std::sin(0.7), p = std::cos(angle), q = std::sin(angle);
    const Curve f = [=](double x) {
      const double re = 1.0 + x / R * c, im = x / R * s;
      return one(p * 0.5 * std::log(re * re + im * im) - q * std::atan2(im, re));
    };
    const double exact = -(p * std::cos(1.4) - q * std::sin(1.4)) / (R * R);
    const double h = 0.04, truncation = std::pow(h / R, 8) * 362880.0 / (3150.0 * R * R);  // h⁸f⁽¹⁰⁾/3150
    const Derivative d = second_slope(f, h);
    EXPECT_LE(std::abs(d.value[0] - exact), 10.0 * d.error[0]) << angle;
    EXPECT_LE(d.error[0], 100.0 * truncation) << angle;
  }
}

TEST(Differences, AFunctionMayEndNearby) {
  for (const double reach : {1e-6, 1e-3, 0.01}) {
    const auto f = [=](int, double s) -> Vector {
      if (s <= -reach) throw std::runtime_error("outside");
      return one(std::log1p(s / reach));
    };
    const Jacobian J = differentiate(f, find_steps(f, {range_of(1.0, 0.0)}), 1e-10);
    EXPECT_NEAR(J.value(0, 0) * reach, 1.0, 1e-11) << reach;
  }
}

TEST(Differences, MultiplesOfAStepAreExact) {
  for (const double x : {1.0, 1e6, -3.0})
    for (int k = -4; k <= 4; ++k) {
      const double h = step_below(time_range(1.0, x).smallest);
      EXPECT_EQ((x + k * h) - x, k * h);
    }
}

}  // namespace
