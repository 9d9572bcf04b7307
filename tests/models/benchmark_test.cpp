// The problems of the field that are written in their original coordinates, against published or recomputed figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kreisel/types.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "solve/kkt.hpp"

namespace {

using namespace kreisel;

models::Model model_named(const char* name, const std::vector<std::pair<std::string, std::string>>& settings = {}) {
  const models::ModelInfo& info = models::find_model(name);
  ParameterValues values(info.parameters);
  for (const auto& [key, value] : settings) values.set(name, info.parameters, key, value);
  return models::make_model(info, "", values);
}

run::Report run_to(const models::Model& model, double t_end, double rtol, double atol) {
  run::Options options;
  options.rtol = rtol;
  options.atol = atol;
  options.t_end = t_end;
  run::Observer nobody;
  run::Report report = run::integrate(*model.system, model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

/// Accelerations and multipliers of the initial values.
std::pair<Vector, Vector> accelerations(const models::Model& model) {
  system::Motion m(model.system->space());
  m.t = model.start.t0;
  m.q = model.start.q0;
  m.v = model.start.v0;
  Vector lambda = Vector::Zero(model.system->pattern().rows());
  Counters unused;
  EXPECT_TRUE(solve::Kkt(*model.system, unused).accelerate(m, lambda));
  return {m.a, lambda};
}

/// As many digits as the figure has; half a unit of the last one may be rounded.
void expect_figures(const Vector& found, std::initializer_list<double> figures, double relative) {
  ASSERT_LE(static_cast<Eigen::Index>(figures.size()), found.size());
  Eigen::Index i = 0;
  for (const double figure : figures) {
    EXPECT_NEAR(found[i], figure, relative * std::abs(figure)) << "entry " << i;
    ++i;
  }
}

TEST(BenchmarkProblem, PendulumWithUnitGravity) {
  const run::Report report = run_to(model_named("pendulum", {{"variant", "unit"}}), 1.0, 1e-8, 1e-10);
  expect_figures(report.final.motion.q, {0.8673, 0.4977}, 2e-4);
  expect_figures(report.final.motion.v, {-0.03375, 0.05881}, 2e-4);
  expect_figures(report.final.lambda, {-0.4931}, 2e-4);
  const Vector& v = report.final.motion.v;
  EXPECT_NEAR(report.final.lambda[0], v.squaredNorm() - report.final.motion.q[1], 1e-6);
}

/// λ = |v|² - y, at every point of a run.
TEST(BenchmarkProblem, MultiplierOfThePendulumFollowsItsIdentity) {
  struct Identity final : run::Observer {
    bool accept(const run::Point& p) override {
      const system::Motion& m = p.entry.motion;
      largest = std::max(largest, std::abs(p.entry.lambda[0] - (m.v.squaredNorm() - m.q[1])));
      return true;
    }
    double largest = 0.0;
  } identity;
  const models::Model model = model_named("pendulum", {{"variant", "unit"}});
  run::Options options;
  options.rtol = options.atol = 1e-8;
  options.t_end = 10.0;
  EXPECT_EQ(run::integrate(*model.system, model.start, options, identity).status, run::Status::success);
  EXPECT_LT(identity.largest, 1e-5);
}

/// Centre of mass at three times, energy, L_z and spin, on each group.
TEST(BenchmarkProblem, HeavyTop) {
  const Vector3 J_tip(15.234375, 0.46875, 15.234375);
  const std::pair<double, Vector3> figures[] = {
      {0.5, {-0.7025, -0.0212, -0.7114}}, {1.0, {0.1733, 0.6401, -0.7485}}, {2.0, {-0.1504, -0.7242, -0.6730}}};
  const models::ModelInfo& info = models::find_model("heavy-top");
  for (const std::string& group : info.groups)
    for (const auto& [t, x] : figures) {
      SCOPED_TRACE(testing::Message() << group << " at " << t);
      const models::Model model = models::make_model(info, group, ParameterValues(info.parameters));
      const run::Report report = run_to(model, t, 1e-9, 1e-9);
      const system::Pose pose = model.system->body_pose(0, report.final.motion.q);
      EXPECT_LT((pose.R * Vector3::UnitY() - x).lpNorm<Eigen::Infinity>(), 1e-4);
      EXPECT_LT((pose.x - x).lpNorm<Eigen::Infinity>(), 1e-4);
      const Vector3 w = report.final.motion.v.tail<3>();
      EXPECT_NEAR(w.y(), 150.0, 1e-6);
      EXPECT_NEAR((pose.R * J_tip.cwiseProduct(w)).z(), -70.312, 2e-3);
      EXPECT_NEAR(report.energy_final, 5435.70, 1e-2);
    }
}

TEST(BenchmarkProblem, AndrewsSqueezer) {
  const models::Model model = model_named("andrews");
  const auto [a, lambda] = accelerations(model);
  EXPECT_NEAR(a[0], 14222.4439199541, 1e-6);
  EXPECT_NEAR(a[1], -10666.8329399656, 1e-6);
  EXPECT_LT(a.tail(5).lpNorm<Eigen::Infinity>(), 1e-6);
  EXPECT_NEAR(lambda[0], 98.5668703962, 1e-8);
  EXPECT_NEAR(lambda[1], -6.1226883443, 1e-8);
  EXPECT_LT(lambda.tail(4).lpNorm<Eigen::Infinity>(), 1e-8);
  const run::Report early = run_to(model, 0.02, 1e-7, 1e-8);
  EXPECT_NEAR(early.final.motion.q[0], 8.185, 1e-3);
  EXPECT_NEAR(early.final.motion.q[2], 0.2095, 1e-4);
  EXPECT_NEAR(early.final.motion.v[0], 726.6, 0.1);
  const run::Report report = run_to(model, 0.03, 1e-8, 1e-8);
  expect_figures(report.final.motion.q, {15.811, -15.756, 0.04082, -0.5347, 0.5244, 0.5347, 1.0481}, 2e-4);
  EXPECT_NEAR(report.final.motion.v[0], 1139.9, 0.2);
  EXPECT_NEAR(report.final.motion.v[2], 11.03, 1e-2);
  EXPECT_NEAR(report.final.motion.q[3], -report.final.motion.q[5], 1e-6);
  EXPECT_NEAR(report.energy_initial, 1.437833, 1e-6);
  EXPECT_LT(report.energy_error, 1e-4);
}

/// The test set has Gᵀλ with the other sign.
TEST(BenchmarkProblem, CarAxis) {
  const models::Model model = model_named("car-axis");
  EXPECT_LT(accelerations(model).second.lpNorm<Eigen::Infinity>(), 1e-14);
  expect_figures(run_to(model, 1.0, 1e-7, 1e-9).final.motion.q, {0.02718, 0.49891, 1.0245, 0.42639}, 2e-4);
  const run::Report report = run_to(model, 3.0, 1e-8, 1e-10);
  expect_figures(report.final.motion.q, {0.04935, 0.49699, 1.0417, 0.37391}, 2e-4);
  expect_figures(report.final.motion.v, {-0.0771, 0.00745, 0.01756, 0.7703}, 2e-3);
  expect_figures(report.final.lambda, {4.737e-3, 1.105e-3}, 1e-3);
}

TEST(BenchmarkProblem, SliderCrank) {
  const models::Model model = model_named("slider-crank");
  expect_figures(run_to(model, 1.0, 1e-7, 1e-9).final.motion.q, {1.3154, 1.0015, -0.50497}, 1e-4);
  expect_figures(run_to(model, 5.0, 1e-7, 1e-9).final.motion.q, {-1.4300, 0.93903, 0.51790}, 1e-4);
  expect_figures(run_to(model, 10.0, 1e-7, 1e-9).final.motion.q, {1.2757, 1.0236, -0.49881}, 1e-4);
}

TEST(BenchmarkProblem, FlexibleSliderCrank) {
  const models::Model model = model_named("flexible-slider-crank");
  const run::Report middle = run_to(model, 0.05, 1e-6, 1e-8);
  EXPECT_NEAR(middle.final.motion.q[1], -0.48816, 2e-5);
  EXPECT_NEAR(middle.final.motion.q[3], 1.274e-3, 2e-6);
  const run::Report report = run_to(model, 0.1, 1e-6, 1e-8);
  EXPECT_NEAR(report.final.motion.q[1], -0.33117, 2e-5);
  EXPECT_NEAR(report.final.motion.q[2], 0.16974, 2e-5);
  EXPECT_NEAR(report.final.motion.q[3], 1.893e-4, 1e-6);
  EXPECT_NEAR(report.final.motion.q[4], 2.376e-5, 1e-6);
  EXPECT_NEAR(report.final.motion.q[5], -5.32e-6, 5e-8);
  EXPECT_NEAR(report.final.motion.q[6], -8.36e-6, 5e-8);
  EXPECT_NEAR(report.final.motion.v[1], 60.253, 1e-2);
  EXPECT_NEAR(report.final.motion.v[2], -8.753, 1e-2);
}

}  // namespace
