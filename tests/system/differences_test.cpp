// Differences that find their step and know their error.
#include "kreisel/system/differences.hpp"

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
  const Jacobian kink = differentiate([](int, double s) { return one(std::max(0.0, s)); }, largest_steps({range_of(1.0, 0.0)}), 1e-10);
  EXPECT_GT(kink.error(0, 0), 1e-3) << "there is no derivative";
  const Jacobian beside = differentiate([](int, double s) { return one(std::max(0.0, s + 1e-4)); }, largest_steps({range_of(1.0, 0.0)}), 1e-10);
  EXPECT_NEAR(beside.value(0, 0), 1.0, 1e-10) << "smaller steps do not see the kink";
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
