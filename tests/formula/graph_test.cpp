// Graphs of formulas: derivatives against differences, and programs against the same arithmetic in C++.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "formula/program.hpp"
#include "kreisel/error.hpp"
#include "support/allocations.hpp"

namespace {

using namespace kreisel;
using formula::Formula;
using formula::Graph;
using formula::Program;

/// Leaves 0 and 1 are called a and b.
Graph::Node built(Graph& graph, std::string_view text) {
  return graph.build(Formula(text, {"a", "b"}),
                     [&](const Formula::Name& name) { return graph.leaf(name.text == "a" ? 0 : 1); });
}
double value(const Graph& graph, Graph::Node node, double a, double b) {
  const Program program(graph, std::array{node});
  std::vector<double> leaves;
  for (const int leaf : program.leaves()) leaves.push_back(leaf == 0 ? a : b);
  double out = 0.0;
  program.evaluate(leaves.data(), &out);
  return out;
}

/// Cubic, so that its derivatives are exact.
class Cubic final : public formula::Curve {
 public:
  double at(double x, int derivative) const override {
    return derivative == 0 ? x * x * x - x : derivative == 1 ? 3 * x * x - 1 : derivative == 2 ? 6 * x : 6;
  }
};

TEST(Graph, ComputesWhatTheFormulaSays) {
  Graph graph;
  const double a = 0.7, b = -1.3;
  EXPECT_EQ(value(graph, built(graph, "a + b*2 - 3/a"), a, b), a + b * 2 - 3 / a);
  EXPECT_EQ(value(graph, built(graph, "-a^2"), a, b), -(a * a));
  EXPECT_EQ(value(graph, built(graph, "max(a, b) - min(a, b)"), a, b), a - b);
  EXPECT_EQ(value(graph, built(graph, "abs(b) + sign(b)"), a, b), -b - 1);
  EXPECT_EQ(value(graph, built(graph, "atan2(a, b)*exp(sin(a))"), a, b), std::atan2(a, b) * std::exp(std::sin(a)));
  EXPECT_EQ(value(graph, built(graph, "2*3 + 4"), a, b), 10.0);
}

TEST(Graph, DerivativesAreThoseOfDifferences) {
  constexpr double h = 1e-3;
  for (const char* text :
       {"a*b", "a/b", "a^3*b^2", "a^b", "(1 + a^2)^(b/3)", "sin(a*b) + cos(a - b)", "tan(a)/b", "exp(-a)*log(2 + b^2)",
        "sqrt(1 + a^2*b^2)", "sinh(a)*cosh(b)*tanh(a*b)", "asin(a/3) - acos(b/4) + atan(a*b)", "abs(a - b)*sign(b)",
        "atan2(a^2 + 1, b - 2)", "min(a^2, b)*max(a, b^2)", "max(0, a - 0.2)^3 - max(0, b)^2"}) {
    Graph graph;
    const Graph::Node f = built(graph, text);
    const double a = 0.7, b = 1.3;
    for (const int leaf : {0, 1}) {
      const auto along = [&](double s) { return leaf == 0 ? value(graph, f, a + s, b) : value(graph, f, a, b + s); };
      // Of order 6: the error is h⁶/140 times the seventh derivative.
      const double slope =
          (45.0 * (along(h) - along(-h)) - 9.0 * (along(2 * h) - along(-2 * h)) + along(3 * h) - along(-3 * h)) /
          (60.0 * h);
      EXPECT_NEAR(value(graph, graph.derivative(f, leaf), a, b), slope, 1e-11 * (1.0 + std::abs(slope)))
          << text << " by leaf " << leaf;
    }
  }
}

TEST(Graph, DerivesCurvesAndRates) {
  Graph graph;
  const Cubic cubic;
  const Graph::Node f = graph.curve(&cubic, 0, built(graph, "a*b"));
  const double a = 0.7, b = 1.3, x = a * b;
  EXPECT_DOUBLE_EQ(value(graph, graph.derivative(f, 0), a, b), (3 * x * x - 1) * b);
  EXPECT_DOUBLE_EQ(value(graph, graph.derivative(graph.derivative(f, 0), 0), a, b), 6 * x * b * b);
  // d/dt with a' = b and b' = -a.
  const Graph::Node rate = graph.rate(built(graph, "a^2 + b^2"), [&](int leaf) {
    return leaf == 0 ? graph.leaf(1) : graph.apply(formula::Operation::negate, graph.leaf(0));
  });
  EXPECT_NEAR(value(graph, rate, a, b), 0.0, 1e-15);
}

TEST(Graph, SplitsWhatDependsOnOneLeafAlone) {
  Graph graph;
  Graph::Node rest = Graph::none;
  const Graph::Node own = graph.part_of_leaf(built(graph, "3*a - (a*b - a^2) - 5*b + 2"), 0, rest);
  EXPECT_DOUBLE_EQ(value(graph, own, 0.7, 1.3), 3 * 0.7 + 0.49 + 2);
  EXPECT_DOUBLE_EQ(value(graph, rest, 0.7, 1.3), -0.7 * 1.3 - 5 * 1.3);
  EXPECT_EQ(graph.leaves_of(own), std::vector<int>{0});
}

TEST(Program, SharesWhatIsEqualAndAllocatesNothing) {
  Graph graph;
  const Graph::Node f = built(graph, "exp(a*b)*sin(a*b) + exp(a*b)");
  const Program program(graph, std::array{f, graph.derivative(f, 0), graph.derivative(f, 1)});
  const double leaves[] = {0.3, 0.4};
  double out[3];
  const long before = support::allocation_count();
  program.evaluate(leaves, out);
  EXPECT_EQ(support::allocation_count(), before);
  const double x = 0.12, by_x = std::exp(x) * (std::sin(x) + std::cos(x) + 1);
  EXPECT_DOUBLE_EQ(out[0], std::exp(x) * (std::sin(x) + 1));
  EXPECT_DOUBLE_EQ(out[1], by_x * 0.4);
  EXPECT_DOUBLE_EQ(out[2], by_x * 0.3);
}

TEST(Program, RefusesFormulasThatAreTooLong) {
  Graph graph;
  Graph::Node sum = graph.leaf(0);
  for (int i = 0; i < Program::max_registers; ++i) sum = graph.apply(formula::Operation::sin, sum);
  EXPECT_THROW(Program(graph, std::array{sum}), InvalidInput);
}

}  // namespace
