// The wheelset against the reference solution of the IVP Test Set (DASSL, 58,510 steps, tolerance 1e-9).
#include <gtest/gtest.h>

#include <array>

#include "support/experiment.hpp"

namespace {

using namespace kreisel;

support::Trajectory wheelset(double t_end, double tolerance) {
  support::Experiment e;
  e.model = "wheelset";
  e.model_settings = {{"contact", "velocity"}};
  e.options.formulation = "index2";
  e.options.t_end = t_end;
  e.options.rtol = tolerance;
  e.options.atol = 1e-3 * tolerance;
  return support::integrate(e);
}

TEST(Wheelset, StartsWithThePublishedAccelerationsAndMultipliers) {
  const support::Trajectory run = wheelset(1e-3, 1e-6);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  const method::Entry& start = run.points[0];
  // The published multipliers have five digits, and the accelerations follow from them.
  EXPECT_NEAR(start.lambda[0], 83.593, 5e-3);
  EXPECT_NEAR(start.lambda[1], 74.144, 5e-3);
  const std::array<double, 6> published{-1.975258894, -1.0898e-3, 7.88551e-2, -5.533362822, -0.348702149, -2.132968724};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(start.motion.a[i], published[i], 2e-3) << i;
}

TEST(Wheelset, EndsWhereTheTestSetSays) {
  const support::Trajectory run = wheelset(10.0, 1e-6);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  const Vector& q = run.report.final.motion.q;
  const auto expect = [&](int i, double published) { EXPECT_NEAR(q[i], published, 1e-3 * std::abs(published)) << i; };
  expect(0, 0.86355386965811e-02);
  expect(1, 0.13038281022727e-04);
  expect(2, -0.93635784016818e-04);
  expect(3, -0.13642299804033e-01);
  expect(4, 0.15292895005422e-02);
  expect(6, 0.37839614386969e-03);
  expect(7, 0.14173214964613);
  expect(8, -0.33666751972196e-03);
  expect(9, -0.15949425684022);
  EXPECT_NEAR(run.report.final.lambda[0], 0.10124044903201e+03, 0.2);
  EXPECT_NEAR(run.report.final.lambda[1], 0.56285630573753e+02, 0.2);
}

}  // namespace
