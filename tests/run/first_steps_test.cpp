// The beginning of a run under error control, where little is known of the motion, and points between starting points.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "kreisel/own_system.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Trajectory;

/// q'' = ω² sin(ωt), at rest where no force acts: q = ωt - sin(ωt). Nothing at the start says how fast it will move.
models::Model at_rest(double omega) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [omega](double t, const Vector&, const Vector&) -> Vector {
    return Vector::Constant(1, -omega * omega * std::sin(omega * t));
  };
  models::Model model;
  model.name = "at-rest";
  model.system = std::make_shared<system::FunctionSystem>(f);
  model.start = {0.0, 50.0, Vector::Zero(1), Vector::Zero(1)};
  return model;
}

TEST(FirstSteps, AreTestedWhereTheMotionBeginsAtRest) {
  const double omega = 10.0;
  const models::Model model = at_rest(omega);
  for (const char* method : {"bliedf", "projected-bdf", "generalized-alpha", "rkmk"}) {
    run::Options options;
    options.method = method;
    options.t_end = 50.0;
    options.rtol = options.atol = 1e-7;
    options.max_steps = 30;
    const Trajectory run = support::integrate(model, options);
    for (const method::Entry& point : run.points) {
      const double t = point.motion.t;
      EXPECT_NEAR(point.motion.q[0], omega * t - std::sin(omega * t), 1e-5) << method << " at t = " << t;
    }
  }
}

/// The force on the tip by the equations of the top in minimal coordinates: (J - m X̃²) Ω̇ = m X x Rᵀγ - Ω x (J - m X̃²)Ω, then
/// λ = m(ẍ - γ).
Vector3 force_on_tip(const method::Entry& point) {
  const double mass = 15.0;
  const Vector3 X(0.0, 1.0, 0.0), gravity(0.0, 0.0, -9.81), about_tip(15.234375, 0.46875, 15.234375);
  const Eigen::Quaterniond turn(point.motion.q[6], point.motion.q[3], point.motion.q[4], point.motion.q[5]);
  const Matrix3 R = turn.toRotationMatrix();
  const Vector3 w = point.motion.v.tail<3>();
  const Vector3 momentum = about_tip.cwiseProduct(w);
  const Vector3 torque = mass * X.cross(R.transpose() * gravity) - w.cross(momentum);
  const Vector3 w_dot = torque.cwiseQuotient(about_tip);
  return mass * (R * (w_dot.cross(X) + w.cross(w.cross(X))) - gravity);
}

TEST(FirstSteps, KnowMultipliersAsWellAsLaterOnes) {
  support::Experiment experiment{
      .model = "heavy-top", .group = "r3xso3", .model_settings = {{"constraint", "inertial"}}};
  const models::Model model = support::make_model(experiment);
  for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
    experiment.options.t_end = 0.02;
    experiment.options.rtol = experiment.options.atol = tolerance;
    const Trajectory run = support::integrate(model, experiment.options);
    ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
    double largest = 0.0, error = 0.0;
    for (const method::Entry& point : run.points) {
      const Vector3 expected = force_on_tip(point);
      largest = std::max(largest, expected.norm());
      error = std::max(error, (point.lambda - expected).norm());
    }
    EXPECT_LT(error, 300.0 * tolerance * largest) << tolerance;
  }
}

/// A rod of 1 m and 1 kg that falls onto a stop and bounces: the force of its hinge from angle and speed alone, at every point, those right
/// behind the start and behind the impacts included.
TEST(FirstSteps, KnowReactionsBehindImpacts) {
  const io::ModelFile file = io::read_model(io::JsonSource("rod.json", R"({"gravity": [0, 0, -9.81],
    "bodies": [{"name": "rod", "mass": 1, "inertia": [0.001, 0.08333333333333333, 0.08333333333333333], "position": [0.5, 0, 0]}],
    "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0],
                "limits": {"to": 2.0, "restitution": 0.8}}]})"));
  struct Points final : run::Observer {
    bool accept(const run::Point& point) override {
      list.push_back(point.entry);
      return true;
    }
    std::vector<method::Entry> list;
  };
  for (const char* method : {"bliedf", "radau", "projected-bdf"})
    for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
      run::Options options;
      options.method = method;
      options.rtol = options.atol = tolerance;
      options.t_end = 3.0;
      Points points;
      const run::Report report = run::integrate(*file.assembly, file.model.start, options, points);
      ASSERT_EQ(report.status, run::Status::success) << report.message;
      EXPECT_EQ(report.events.size(), 3U);
      double largest = 0.0, error = 0.0;
      for (const method::Entry& point : points.list) {
        const double c = 2.0 * point.motion.q[0], s = -2.0 * point.motion.q[2], w = point.motion.v[4];
        const double faster = 1.5 * 9.81 * c;
        const Vector3 force(0.5 * (-s * faster - c * w * w), 0.0, 0.5 * (-c * faster + s * w * w) + 9.81);
        const Vector3 found = point.lambda.head<3>();
        largest = std::max(largest, force.norm());
        error = std::max(error, std::min((found - force).norm(), (found + force).norm()));
      }
      EXPECT_LT(error, 1000.0 * tolerance * largest) << method << " " << tolerance;
    }
}

TEST(FirstSteps, AreTestedWhenTheUserChoosesThem) {
  support::Experiment experiment{.model = "pendulum", .model_settings = {{"x0", "0.2"}}};
  experiment.options.t_end = 1.0;
  experiment.options.rtol = experiment.options.atol = 1e-6;
  const models::Model model = support::make_model(experiment);
  const Trajectory automatic = support::integrate(model, experiment.options);
  for (const double step : {0.1, 5.0}) {
    experiment.options.initial_step = step;
    const Trajectory run = support::integrate(model, experiment.options);
    ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
    EXPECT_GT(run.report.rejected_by_error, 0);
    EXPECT_LT((run.report.final.motion.q - automatic.report.final.motion.q).norm(), 2e-6) << step;
  }
}

/// λ between starting points is as good as at them; later between steps of order 6.
TEST(FirstSteps, OfConstantSizeHaveTheFullOrderBetweenStartingPoints) {
  support::Experiment experiment;
  experiment.options.order = 6;
  experiment.options.step = 5e-4;
  experiment.options.t_end = 0.01;
  for (int i = 0; i < 12; ++i) experiment.options.output_times.push_back((i + 0.5) * experiment.options.step);
  const models::Model model = support::make_model(experiment);
  const Trajectory run = support::integrate(model, experiment.options);
  const Trajectory exact = support::reference_at(model, run.points);
  int between = 0;
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    EXPECT_LT((run.points[i].lambda - exact.points[i].lambda).norm(), run.is_start[i] ? 1e-9 : 2e-5)
        << "t = " << run.points[i].motion.t;
    between += run.is_start[i] ? 1 : 0;
  }
  EXPECT_GE(between, 5);
}

/// With its default settings, by every method that has error control.
class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, RunsByDefault) {
  const models::Model model = support::make_model({.model = GetParam()});
  for (const char* method : {"bliedf", "rkmk", "projected-bdf", "generalized-alpha"}) {
    run::Options options;
    options.method = method;
    if (std::string_view(method) == "generalized-alpha") options.rtol = options.atol = 1e-4;
    // Explicit stages solve for four contact coordinates and the slip by differences, 80 ms a step.
    if (GetParam() == "wheelset" && std::string_view(method) == "rkmk") options.t_end = 0.1;
    // Explicit stages cannot pass the singular positions of the four-bar mechanism.
    if (GetParam() == "four-bar" && std::string_view(method) == "rkmk") continue;
    const Trajectory run = support::integrate(model, options);
    EXPECT_EQ(run.report.status, run::Status::success) << method << ": " << run.report.message;
  }
}

std::vector<std::string> built_in() {
  std::vector<std::string> names;
  for (const models::ModelInfo& info : models::catalogue()) names.push_back(info.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryModel, testing::ValuesIn(built_in()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
