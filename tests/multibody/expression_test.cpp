#include "multibody/expression.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "multibody/signal.hpp"
#include "system/differences.hpp"

namespace {

using namespace kreisel;
using multibody::Expression;
using multibody::Interpolation;
using multibody::Jet;
using multibody::Outside;
using multibody::Signal;

std::string refusal(const std::string& text) {
  try {
    const Expression ignored{std::string_view(text)};
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}

TEST(Expression, KnowsPrecedenceAndAssociativity) {
  EXPECT_EQ(Expression("1 + 2*3").at(0.0).value, 7.0);
  EXPECT_EQ(Expression("2^3^2").at(0.0).value, 512.0);
  EXPECT_EQ(Expression("-2^2").at(0.0).value, -4.0);
  EXPECT_EQ(Expression("8/4/2").at(0.0).value, 1.0);
  EXPECT_EQ(Expression("1 - 2 - 3").at(0.0).value, -4.0);
  EXPECT_EQ(Expression("(1 + t)*.5e1").at(3.0).value, 20.0);
  EXPECT_EQ(Expression("2*-3").at(0.0).value, -6.0);
  EXPECT_DOUBLE_EQ(Expression("0.1*sin(2*pi*t)").at(0.25).value, 0.1);
}

TEST(Expression, DifferentiatesTwice) {
  for (const char* text : {"0.1*sin(2*pi*t)", "exp(-t)*cos(3*t)", "sqrt(1 + t^2)", "tanh(4*(t - 0.3))", "t^t",
                           "1/(2 + t)", "log(2 + t)*atan(t)", "tan(t/3)", "t^3 - 2*t^2 + t - 1", "(1+t)^0.5",
                           "sinh(t)*cosh(2*t)", "asin(t/2) - acos(0.3*t^2)", "abs(sin(5*t))*t", "sign(t - 1)*t^2",
                           "atan2(1 + t^2, sin(t) - 2)", "min(t^2, exp(-2*t)) + max(t^2, 3*t)"}) {
    const Expression f{std::string_view(text)};
    const Jet jet = f.at(0.7);
    const auto value = [&](double s) -> Vector { return Vector::Constant(1, f.at(0.7 + s).value); };
    EXPECT_NEAR(jet.rate, system::slope(value, 1e-2).value[0], 1e-10 * (1.0 + std::abs(jet.rate))) << text;
    EXPECT_NEAR(jet.curve, system::second_slope(value, 1e-2).value[0], 1e-8 * (1.0 + std::abs(jet.curve))) << text;
    EXPECT_FALSE(f.is_constant());
  }
}

TEST(Expression, AtCornersGoesOnAsAfterwards) {
  for (const char* text : {"abs(t)", "max(t, -t)", "max(0, t)", "-min(-t, 0)"}) {
    const Jet jet = Expression{std::string_view(text)}.at(0.0);
    EXPECT_EQ(jet.value, 0.0) << text;
    EXPECT_EQ(jet.rate, 1.0) << text;
  }
  EXPECT_EQ(Expression("sign(t)").at(0.0).value, 1.0) << "as just after it";
  EXPECT_EQ(Expression("sign(-t)").at(0.0).value, -1.0);
  EXPECT_EQ(Expression("sign(0*t)").at(0.0).value, 0.0);
  EXPECT_EQ(Expression("max(0, t - 1)^3").at(1.0).curve, 0.0);
  EXPECT_EQ(Expression("atan2(-1, -1)").at(0.0).value, std::atan2(-1.0, -1.0));
  EXPECT_EQ(Expression("min(1, max(2, 3))").at(0.0).value, 1.0);
  EXPECT_TRUE(Expression("max(1, 2)").is_constant());
  EXPECT_EQ(refusal("min(1)"), "formula 'min(1)', character 6: found ')', expected ','");
  EXPECT_EQ(refusal("sin(1, 2)"), "formula 'sin(1, 2)', character 6: found ', 2)', expected ')'");
}

TEST(Expression, TellsConstantsFromFunctions) {
  EXPECT_TRUE(Expression("2*pi").is_constant());
  EXPECT_FALSE(Expression("0*t").is_constant());
}

TEST(Expression, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(refusal("2*sine(t)"),
            "formula '2*sine(t)', character 3: unknown name 'sine'; did you mean 'sin'? known: t, pi, sin, cos, tan, "
            "exp, log, sqrt, sinh, cosh, tanh, asin, acos, atan, abs, sign, atan2, min, max");
  EXPECT_EQ(refusal("1 +"),
            "formula '1 +', character 4: the formula ends, expected a number, t, pi, a function or '('");
  EXPECT_EQ(refusal("sin 3"), "formula 'sin 3', character 5: found '3', expected '('");
  EXPECT_EQ(refusal("2**3"), "formula '2**3', character 2: found '**'; a power is written x^2");
  EXPECT_EQ(refusal("ln(t)"), "formula 'ln(t)', character 1: there is no function 'ln'; log is the natural logarithm");
  EXPECT_EQ(refusal("(1"), "formula '(1', character 3: the formula ends, expected ')'");
  EXPECT_EQ(refusal("1 2"), "formula '1 2', character 3: '2' is left over, expected an operator or the end");
  EXPECT_NE(refusal("inf").find("unknown name"), std::string::npos);
  EXPECT_NE(refusal("").find("the formula ends"), std::string::npos);
  EXPECT_NE(refusal(std::string(2000, '1')).find("2000 characters"), std::string::npos);
  EXPECT_NE(refusal(std::string(900, '(')).find("nested deeper"), std::string::npos);
  EXPECT_NE(refusal(std::string(900, '-') + "1").find("nested deeper"), std::string::npos);
}

TEST(Signal, PassesThroughItsTableWithTwoContinuousDerivatives) {
  const Signal spline({{0.0, 1.0}, {0.5, 2.0}, {1.0, 0.0}, {3.0, 1.0}}, Interpolation::spline, Outside::straight);
  EXPECT_DOUBLE_EQ(spline.at(0.0).value, 1.0);
  EXPECT_DOUBLE_EQ(spline.at(1.0).value, 0.0);
  EXPECT_DOUBLE_EQ(spline.at(3.0).value, 1.0);
  for (const double knot : {0.0, 0.5, 1.0, 3.0}) {
    const Jet before = spline.at(knot - 1e-9), after = spline.at(knot + 1e-9);
    EXPECT_NEAR(before.value, after.value, 1e-7);
    EXPECT_NEAR(before.rate, after.rate, 1e-6);
    EXPECT_NEAR(before.curve, after.curve, 1e-5);
  }
  EXPECT_NEAR(spline.at(4.0).value, 1.0 + spline.at(3.0).rate, 1e-14);
  EXPECT_THROW(Signal(std::vector<std::pair<double, double>>{{0.0, 1.0}}), InvalidInput);
  EXPECT_THROW(Signal(std::vector<std::pair<double, double>>{{0.0, 1.0}, {0.0, 2.0}}), InvalidInput);
}

using Table = std::vector<std::pair<double, double>>;

TEST(Signal, StaysBetweenThePointsOfItsTable) {
  const Table tables[] = {{{0, 0}, {1, 0}, {1.001, 10}, {3, 10}},
                          {{0, 0}, {1, 10}, {2, 0}},
                          {{0, 1}, {1, -2}},
                          {{-1, 3}, {0, 4}, {0.1, 9}, {5, 9}, {6, -1}, {6.5, -1.01}}};
  for (const Table& table : tables)
    for (const Interpolation how : {Interpolation::linear, Interpolation::monotone}) {
      const Signal signal(table, how);
      for (std::size_t i = 0; i + 1 < table.size(); ++i) {
        const auto& [t, value] = table[i];
        const auto& [next, next_value] = table[i + 1];
        EXPECT_EQ(signal.at(t).value, value);
        double before = value;
        for (int j = 1; j <= 100; ++j) {
          const double here = signal.at(t + (next - t) * j / 100.0).value;
          EXPECT_GE((here - before) * (next_value - value), -1e-13) << "not monotone between " << t << " and " << next;
          EXPECT_GE(here, std::min(value, next_value) - 1e-12);
          EXPECT_LE(here, std::max(value, next_value) + 1e-12);
          before = here;
        }
      }
      EXPECT_EQ(signal.at(table.front().first - 1.0).value, table.front().second);
      EXPECT_NEAR(signal.at(table.back().first + 4.0).value, table.back().second, 1e-12);
      EXPECT_EQ(signal.at(table.back().first + 4.0).rate, 0.0);
    }
}

/// Rates and curves are the derivatives of the values; a monotone table has a continuous rate, and is exact for lines.
TEST(Signal, TablesHaveTheDerivativesTheyClaim) {
  const Table table{{0, 0}, {0.5, 1}, {0.7, 1.2}, {2, 1.3}, {3, 0}};
  for (const Interpolation how : {Interpolation::linear, Interpolation::monotone, Interpolation::spline}) {
    const Signal signal(table, how);
    for (const double t : {0.01, 0.3, 0.49, 0.61, 1.1, 1.9, 2.5, 2.99, -1.0, 4.0}) {
      const double h = 1e-5;
      EXPECT_NEAR(signal.at(t).rate, (signal.at(t + h).value - signal.at(t - h).value) / (2 * h), 1e-8) << t;
      EXPECT_NEAR(signal.at(t).curve, (signal.at(t + h).rate - signal.at(t - h).rate) / (2 * h), 1e-8) << t;
    }
    if (how != Interpolation::linear)
      for (const auto& [t, value] : Table(table.begin() + 1, table.end() - 1))
        EXPECT_NEAR(signal.at(t - 1e-9).rate, signal.at(t + 1e-9).rate, 1e-7) << t;
    EXPECT_NEAR(Signal({{0, 1}, {1, 3}, {4, 9}}, how).at(2.2).value, 5.4, 1e-14);
    EXPECT_EQ(signal.span(), std::pair(0.0, 3.0));
  }
}

}  // namespace
