// Starting velocities by the formulas of the papers, printed variants of Munthe-Kaas BDF and Adams-Moulton, own coefficients.
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Errors;
using support::Experiment;

struct Variant {
  std::string method, correction = "magnus";
  std::vector<std::pair<std::string, std::string>> set{};
  run::Starting starting = run::Starting::corrected;
};
using enum run::Starting;

/// Slope of λ over the first steps, or of q at the end without constraints.
Errors slopes(const Variant& variant, int order, double t_end, long steps, const std::string& group = "r3xso3") {
  Experiment e;
  e.group = group;
  e.options.method = variant.method;
  for (const auto& [key, value] : variant.set) e.options.method.set(key, value);
  e.options.starting = variant.starting;
  e.options.order = variant.method == "mk-multistep" ? 0 : order;
  e.options.correction = variant.method == "bliedf" ? variant.correction : "";
  if (group != "so3") e.options.formulation = "index3";
  e.options.t_end = t_end;
  const models::Model model = support::make_model(e);
  Errors found[2];
  for (const int refinement : {1, 2}) {
    e.options.step = t_end / static_cast<double>(refinement * steps);
    const support::Trajectory run = support::integrate(model, e.options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    found[refinement - 1] = support::errors_of(model, run, support::reference(e, 2 * steps),
                                               {support::Entries::euclidean, support::Span::all});
  }
  return support::slopes_of(found[0], found[1]);
}

TEST(StartByFormula, KeepsTheOrderOfLambda) {
  for (int k = 2; k <= 5; ++k) {
    const long steps = k <= 3 ? 400 : 125;  // rounding of q is ε/h² in λ
    EXPECT_NEAR(slopes({"mkbdf", "", {}, formula}, k, 0.1, steps).lambda, k, 0.25) << "mkbdf " << k;
    if (k < 5) {
      EXPECT_NEAR(slopes({"bliedf", "published", {}, formula}, k, 0.1, steps).lambda, k, 0.25) << "bliedf " << k;
    }
  }
  EXPECT_NEAR(slopes({"bliedf", "magnus", {}, formula}, 4, 0.1, 125).lambda, 4.0, 0.3);
}

// (Wieloch 2022, eq. 5.3c) takes exact logarithms where the scheme has BCH_k: one order of λ for k = 4.
TEST(StartByFormula, AsPrintedLosesAnOrderOfLambda) {
  EXPECT_LT(slopes({"mkbdf", "", {}, formula_as_printed}, 4, 0.1, 125).lambda, 3.5);
}

// Formulas exist for two methods, some corrections, index-3 form and given steps. Elsewhere the words would have no effect.
TEST(StartByFormula, IsRefusedWhereThereIsNone) {
  const auto problem = [](const char* method, const char* starting, const char* formulation, const char* correction,
                          double step, int order) -> std::string {
    Experiment e;
    e.options.method = method;
    e.options.starting = starting;
    e.options.formulation = formulation;
    e.options.correction = correction;
    e.options.step = step;
    e.options.order = order;
    e.options.t_end = 0.01;
    try {
      support::integrate(e);
    } catch (const InvalidInput& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_EQ(problem("bliedf", "formula", "index3", "magnus", 1e-3, 3), "");
  EXPECT_EQ(problem("mkbdf", "formula-as-printed", "index3", "", 1e-3, 3), "");
  EXPECT_NE(problem("bliedf", "formula-as-printed", "index3", "magnus", 1e-3, 3).find("is for mkbdf"),
            std::string::npos);
  EXPECT_NE(problem("generalized-alpha", "formula", "index3", "", 1e-3, 0).find("is for bliedf and mkbdf"),
            std::string::npos);
  EXPECT_NE(problem("bliedf", "formula", "stabilized-index2", "magnus", 1e-3, 3).find("has an effect only with"),
            std::string::npos);
  EXPECT_NE(problem("bliedf", "formula", "index3", "", 0.0, 0).find("has an effect only with"), std::string::npos);
  EXPECT_NE(problem("bliedf", "formula", "index3", "tuned", 1e-3, 3).find("is available for the corrections"),
            std::string::npos);
}

TEST(StartingCoordinatesOfMkbdf, AsPrintedCostLambda) {
  EXPECT_NEAR(slopes({"mkbdf", "", {}}, 5, 0.1, 125).lambda, 5.0, 0.3);
  EXPECT_LT(slopes({"mkbdf", "", {{"recursion", "logarithms-as-printed"}}}, 5, 0.1, 125).lambda, 4.5);
}

// With dexp_k⁻¹ Munthe-Kaas Adams-Moulton has order k instead of k + 1 for k = 2.
TEST(DexpOfMkam, AsPrintedHasOneOrderLess) {
  EXPECT_NEAR(slopes({"mkam", "", {}}, 3, 0.25, 500, "so3").q, 3.0, 0.2);
  EXPECT_NEAR(slopes({"mkam", "", {{"dexp", "as-printed"}}}, 3, 0.1, 800, "so3").q, 2.0, 0.2);
}

TEST(MkMultistep, HasTheOrderOfItsCoefficients) {
  // BDF of order 3, and Adams-Moulton of order 3: 5/12, 8/12, -1/12.
  const Variant bdf{
      "mk-multistep",
      "",
      {{"alpha0", "1.8333333333333333"}, {"alpha1", "-3"}, {"alpha2", "1.5"}, {"alpha3", "-0.33333333333333331"}}};
  EXPECT_NEAR(slopes(bdf, 3, 0.25, 500).q, 3.0, 0.2);
  EXPECT_NEAR(slopes(bdf, 3, 0.25, 500).lambda, 3.0, 0.25);
  const Variant adams{"mk-multistep",
                      "",
                      {{"alpha0", "1"},
                       {"alpha1", "-1"},
                       {"beta0", "0.41666666666666669"},
                       {"beta1", "0.66666666666666663"},
                       {"beta2", "-0.083333333333333329"}}};
  EXPECT_NEAR(slopes(adams, 3, 0.25, 500, "so3").q, 3.0, 0.2);
}

TEST(MkMultistep, RefusesWhatIsNoMethod) {
  const auto run = [](std::vector<std::pair<std::string, std::string>> set) {
    Experiment e;
    e.options.method = "mk-multistep";
    for (const auto& [key, value] : set) e.options.method.set(key, value);
    e.options.step = 1e-3;
    support::integrate(e);
  };
  EXPECT_THROW(run({{"alpha0", "1"}, {"alpha1", "-2"}}), InvalidInput) << "constants are not kept";
  EXPECT_THROW(run({{"alpha0", "1"}, {"alpha1", "-1"}, {"beta1", "1"}}), InvalidInput) << "explicit";
  EXPECT_THROW(run({{"alpha0", "1"}, {"alpha1", "-3"}, {"alpha2", "2"}, {"beta0", "-1"}}), InvalidInput)
      << "not zero-stable: a root of 2";
}

// β(σ), γ(σ) keep order 2 of q and v where steps alternate; λ needs the modification of velocities.
TEST(CoefficientsOfRatio, KeepOrderTwoOfPositionsAndVelocities) {
  const auto at = [](const char* coefficients, double h) {
    Experiment e;
    e.group = "r3xso3";
    e.options.method = "generalized-alpha";
    e.options.method.set("modification", std::string("none"));
    e.options.method.set("coefficients", std::string(coefficients));
    e.options.formulation = "stabilized-index2";
    e.options.steps = run::Alternation{h, 1.5};
    e.options.t_end = 0.2;
    const models::Model model = support::make_model(e);
    const support::Trajectory run = support::integrate(model, e.options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    return support::errors_of(model, run, support::reference_at(model, run.points),
                              {support::Entries::euclidean, support::Span::all});
  };
  const Errors coarse = at("of-ratio", 4e-4), fine = at("of-ratio", 2e-4), slope = support::slopes_of(coarse, fine);
  EXPECT_NEAR(slope.q, 2.0, 0.2);
  EXPECT_NEAR(slope.v, 2.0, 0.2);
}

}  // namespace
