// Corners of functions of time: all of them, in order, with what jumps there.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kreisel/error.hpp"
#include "multibody/signal.hpp"

namespace {

using namespace kreisel;
using multibody::Expression;
using multibody::Interpolation;
using multibody::Signal;
using Table = std::vector<std::pair<double, double>>;

constexpr int smooth_peak = 8;

std::vector<system::Corner> corners_of(const Signal& signal, double begin, double end, int derivative = 0,
                                       double resolution = 1e-7) {
  std::vector<system::Corner> found;
  for (system::Corner c = signal.next_corner(begin, end, derivative, resolution); c.exists();
       c = signal.next_corner(c.t, end, derivative, resolution))
    found.push_back(c);
  return found;
}

std::vector<system::Corner> corners_of(const char* formula, double begin, double end, int derivative = 0) {
  std::vector<system::Corner> found = corners_of(Signal(Expression(std::string_view(formula))), begin, end, derivative);
  std::erase_if(found, [](const system::Corner& corner) { return corner.smooth >= smooth_peak; });
  return found;
}

/// Where the function is far larger than at both ends.
std::vector<double> peaks_of(const char* formula, double begin, double end) {
  std::vector<double> found;
  for (const system::Corner& corner : corners_of(Signal(Expression(std::string_view(formula))), begin, end))
    if (corner.smooth >= smooth_peak) found.push_back(corner.t);
  return found;
}

void expect(const std::vector<system::Corner>& found, const std::vector<std::pair<double, int>>& expected,
            const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].t, expected[i].first, 1e-14 * (1.0 + std::abs(expected[i].first))) << what;
    EXPECT_EQ(found[i].smooth, expected[i].second) << what << " at " << found[i].t;
  }
}

TEST(CornersOfFormulas, AreWhereBranchesChange) {
  expect(corners_of("abs(t - 1)", 0, 3), {{1, 0}}, "abs");
  expect(corners_of("sign(t - 1)", 0, 3), {{1, -1}}, "sign");
  expect(corners_of("min(1, max(0, 10*(t - 0.3)))", 0, 3), {{0.3, 0}, {0.4, 0}}, "ramp");
  expect(corners_of("max(sin(t), cos(t))", 0, 5), {{M_PI_4, 0}, {1.25 * M_PI, 0}}, "max");
  expect(corners_of("sign(t - 1)*sign(t - 2)", -1, 3), {{1, -1}, {2, -1}}, "product");
  expect(corners_of("abs(max(0, t - 1) - 0.5)", 0, 3), {{1, 0}, {1.5, 0}}, "nested");
  expect(corners_of("sign(exp(-((t - 1)/0.001)^2) - 0.5)", -200, 500),
         {{1 - 0.001 * std::sqrt(std::log(2.0)), -1}, {1 + 0.001 * std::sqrt(std::log(2.0)), -1}},
         "a narrow pulse in a long run");
  expect(corners_of("sign(tan(t))", 0, 4), {{M_PI_2, -1}, {M_PI, -1}}, "poles");
  expect(corners_of("sin(5*t)*exp(-t)", 0, 100), {}, "smooth");
}

TEST(PeaksOfFormulas, AreSeenHoweverNarrow) {
  for (const double width : {1e-1, 1e-3, 1e-6, 1e-9})
    for (const char* shape : {"exp(-((t - 1.3)/{})^2)", "1/(1 + ((t - 1.3)/{})^2)^2",
                              "tanh((t - 1.3)/{} + 1) - tanh((t - 1.3)/{} - 1)", "-1/cosh((t - 1.3)/{})"}) {
      std::string formula = shape;
      for (std::size_t at; (at = formula.find("{}")) != std::string::npos;)
        formula.replace(at, 2, fmt::format("{:.17g}", width));
      const std::vector<double> found = peaks_of(formula.c_str(), -100.0, 100.0);
      ASSERT_FALSE(found.empty()) << formula;
      EXPECT_NEAR(found[0], 1.3, 2.0 * width) << formula;
    }
  const std::vector<double> two = peaks_of("exp(-((t - 1)/0.01)^2) + 20*max(0, t - 2)", 0.0, 3.0);
  ASSERT_FALSE(two.empty());
  EXPECT_NEAR(two[0], 1.0, 0.01) << "before a corner";
  const std::vector<double> low = peaks_of("exp(-((t - 0.5)/1e-3)^2) + 3*exp(-((t - 1.5)/1e-4)^2)", 0.0, 2.0);
  ASSERT_FALSE(low.empty());
  EXPECT_NEAR(low[0], 0.5, 2e-3) << "before a higher one";
}

TEST(PeaksOfFormulas, AreNotThoseThatTheEndsShow) {
  for (const char* formula : {"sin(t)", "t*(3 - t)", "exp(-t)", "1 + exp(-((t - 1)/0.1)^2)", "0*t", "t - t"})
    EXPECT_TRUE(peaks_of(formula, 0.2, 2.9).empty()) << formula;
}

TEST(CornersOfFormulas, KnowWhichDerivativeJumps) {
  expect(corners_of("max(0, t - 1)^2", 0, 3), {{1, 1}}, "curvature");
  expect(corners_of("max(0, t - 1)^3", 0, 3), {{1, 2}}, "more");
  expect(corners_of("max(0, t - 1)^3", 0, 3, 2), {{1, 0}}, "slope of the acceleration of a driver");
  expect(corners_of("abs(t - 1)", 0, 3, 2), {{1, -2}}, "velocity of a driver");
  expect(corners_of("(t - 1)^2*sign(t - 1)", 0, 3), {{1, 1}}, "a jump times a double zero");
}

TEST(CornersOfFormulas, AreNotWhereAnArgumentTouchesZeroOrStaysThere) {
  expect(corners_of("abs(sin(3*t)^2)", 0, 20), {}, "touches");
  expect(corners_of("abs((t - 1)^2)", 0, 3), {}, "touches");
  expect(corners_of("abs(0*t)", 0, 3), {}, "zero");
  expect(corners_of("abs(t - t)", 0, 3), {}, "zero, but not seen to be");
}

TEST(CornersOfFormulas, OfPeriodicOnesAreAllFound) {
  const auto found = corners_of("sign(sin(50*t))", 0, 1000);
  ASSERT_EQ(found.size(), static_cast<std::size_t>(std::floor(1000 * 50 / M_PI)));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i].t, static_cast<double>(i + 1) * M_PI / 50, 2e-13 * (1 + found[i].t));
}

TEST(CornersOfFormulas, HaveTheRightSideAtTheirTimeAndTheLeftSideBeforeIt) {
  for (const char* formula : {"sign(t - 1)", "sign(sin(50*t))", "sign(t^3 - 0.1)"}) {
    const Expression e{std::string_view(formula)};
    const auto corner = e.next_corner(0.01, 2.0);
    ASSERT_TRUE(corner);
    EXPECT_EQ(e.at(corner->t).value, corner->after.value);
    EXPECT_EQ(e.at(std::nextafter(corner->t, 0.0)).value, corner->before.value);
    EXPECT_EQ(corner->after.value, -corner->before.value);
  }
}

TEST(CornersOfTables, AreThePointsOfAPulse) {
  const Table pulse{{0, 0}, {1, 0}, {1.005, 200}, {1.01, 0}, {2, 0}};
  expect(corners_of(Signal(pulse, Interpolation::linear), -1, 3), {{1, 0}, {1.005, 0}, {1.01, 0}}, "linear");
  expect(corners_of(Signal(pulse, Interpolation::monotone), -1, 3), {{1, 1}, {1.005, 1}, {1.01, 1}}, "monotone");
  expect(corners_of(Signal(pulse, Interpolation::spline), 0.5, 1.5), {{1, 2}, {1.005, 2}, {1.01, 2}}, "spline");
}

TEST(CornersOfTables, OfTwoPointsOfOneTimeAreJumps) {
  const Signal pulse({{0, 0}, {1, 0}, {1, 100}, {1.01, 100}, {1.01, 0}, {2, 0}}, Interpolation::linear);
  expect(corners_of(pulse, 0, 2), {{1, -1}, {1.01, -1}}, "rectangle");
  EXPECT_EQ(pulse.at(std::nextafter(1.0, 0.0)).value, 0.0);
  EXPECT_EQ(pulse.at(1.0).value, 100.0);
  EXPECT_EQ(pulse.at(1.005).value, 100.0);
  EXPECT_EQ(pulse.at(1.01).value, 0.0);
  EXPECT_THROW(Signal({{0, 0}, {1, 0}, {1, 100}, {2, 0}}, Interpolation::spline), InvalidInput);
  EXPECT_THROW(Signal({{0, 0}, {1, 0}, {1, 100}, {1, 50}, {2, 0}}, Interpolation::linear), InvalidInput);
  EXPECT_THROW(Signal({{0, 0}, {0, 1}, {1, 100}, {2, 0}}, Interpolation::linear), InvalidInput);
}

TEST(CornersOfTables, IncludeTheEndsWhereTheValueIsHeldFromThereOn) {
  expect(corners_of(Signal({{1, 0}, {2, 5}}, Interpolation::linear), 0, 3), {{1, 0}, {2, 0}}, "ramp");
  expect(corners_of(Signal({{1, 5}, {2, 5}}, Interpolation::linear), 0, 3), {}, "constant");
}

Table measured(int rows, double length) {
  Table table;
  for (int i = 0; i <= rows; ++i) {
    const double t = length * i / rows;
    table.push_back({t, std::sin(3 * t) + 0.3 * std::cos(7 * t)});
  }
  return table;
}

TEST(CornersOfTables, OfManyPointsOfASmoothFunctionDoNotHoldStepsBack) {
  for (const Interpolation interpolation : {Interpolation::linear, Interpolation::monotone, Interpolation::spline}) {
    const Signal signal(measured(20'000, 10), interpolation);
    int stops = 0, steps = 0;
    const double h = 0.05;
    for (double t = 0.1; t < 9.8; ++steps) {
      const system::Corner corner = signal.next_corner(t, t + h, 0, 1e-7);
      EXPECT_TRUE(!corner.exists() || corner.smooth > 0);
      stops += corner.exists();
      t = corner.exists() ? corner.t : t + h;
    }
    EXPECT_LE(stops, steps / 50) << static_cast<int>(interpolation);
  }
}

TEST(CornersOfTables, OfASmoothFunctionKeepTheOneKink) {
  Table table;
  for (int i = 0; i <= 10'000; ++i) table.push_back({1e-3 * i, i < 5000 ? 0.0 : std::sin(1e-3 * (i - 5000))});
  const auto found = corners_of(Signal(table, Interpolation::linear), 0, 10);
  ASSERT_FALSE(found.empty());
  EXPECT_NEAR(found[0].t, 5.0, 2e-3);
  EXPECT_EQ(found[0].smooth, 0);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const system::Corner& c) { return c.smooth <= 0; }), 1);
}

TEST(CornersOfTables, DoNotDependOnUnitsOfValueAndTime) {
  const Table pulse{{0, 0}, {1, 0}, {1.005, 200}, {1.01, 0}, {2, 0}};
  for (const double unit : {1e-9, 1e9})
    for (const double second : {1e-6, 1e6}) {
      Table scaled;
      for (const auto& [t, value] : pulse) scaled.push_back({second * t, unit * value});
      const auto found = corners_of(Signal(scaled, Interpolation::linear), 0, 2 * second);
      ASSERT_EQ(found.size(), 3u);
      for (const system::Corner& c : found) EXPECT_EQ(c.smooth, 0);
    }
}

}  // namespace
