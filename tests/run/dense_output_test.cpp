// What is shown between the steps is as good as the steps.
#include <gtest/gtest.h>

#include "method/catalogue.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;

const std::vector<double> times{0.0173, 0.0537, 0.0801, 0.1};

run::Options at_times(const std::string& method, const std::string& formulation, int order, double step) {
  run::Options options;
  options.method = method;
  options.formulation = formulation;
  options.order = order;
  options.step = step;
  options.t_end = 0.1;
  options.output_times = times;
  return options;
}

/// Largest errors over the output times.
support::Errors errors_at_times(const models::Model& model, const run::Options& options,
                                const support::Trajectory& exact) {
  const support::Trajectory shown = support::integrate(model, options);
  EXPECT_EQ(shown.report.status, run::Status::success) << shown.report.message;
  EXPECT_EQ(shown.points.size(), times.size() + 1);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(shown.points[i + 1].motion.t, times[i]);
  return support::errors_of(model, shown, exact, {support::Entries::largest, support::Span::all});
}

/// rkmk shows what is wanted by steps of its own, so it is exact there.
const support::Trajectory& exact_at_times(const models::Model& model) {
  static const support::Trajectory exact =
      support::integrate(model, at_times("rkmk", "", 8, support::reference_substep));
  return exact;
}

TEST(DenseOutput, HasTheOrderOfTheMethodBetweenTheSteps) {
  const models::Model model = support::make_model({});
  for (const char* formulation : {"index3", "stabilized-index2"})
    for (int order = 2; order <= 5; ++order) {
      const double h = order < 4 ? 5e-4 : 1e-3;
      const support::Errors coarse =
          errors_at_times(model, at_times("bliedf", formulation, order, h), exact_at_times(model));
      const support::Errors fine =
          errors_at_times(model, at_times("bliedf", formulation, order, h / 2), exact_at_times(model));
      const support::Errors slope = support::slopes_of(coarse, fine);
      EXPECT_GT(slope.q, order - 0.3) << formulation << order;
      EXPECT_GT(slope.v, order - 0.3) << formulation << order;
      EXPECT_GT(slope.lambda, order - 0.3) << formulation << order;
    }
}

TEST(DenseOutput, GeneralizedAlphaKeepsOrderTwoBetweenTheSteps) {
  const models::Model model = support::make_model({});
  const support::Errors coarse =
      errors_at_times(model, at_times("generalized-alpha", "stabilized-index2", 2, 5e-4), exact_at_times(model));
  const support::Errors fine =
      errors_at_times(model, at_times("generalized-alpha", "stabilized-index2", 2, 2.5e-4), exact_at_times(model));
  const support::Errors slope = support::slopes_of(coarse, fine);
  EXPECT_GT(slope.q, 1.7);
  EXPECT_GT(slope.v, 1.7);
  EXPECT_GT(slope.lambda, 1.7);
}

TEST(DenseOutput, FollowsTheToleranceUnderErrorControl) {
  const models::Model model = support::make_model({});
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    run::Options options = at_times("bliedf", "", 0, 0.0);
    options.rtol = options.atol = tolerance;
    const support::Errors error = errors_at_times(model, options, exact_at_times(model));
    EXPECT_LT(error.q, 100.0 * tolerance);
    EXPECT_LT(error.v, 100.0 * tolerance * 150.0) << "|v| is 150";
    EXPECT_LT(error.lambda, 1000.0 * tolerance * 450.0) << "|lambda| is 450";
  }
}

}  // namespace
