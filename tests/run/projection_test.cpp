// Coordinate projection after each step (projected-bdf), and projections at a chosen time.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "method/catalogue.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Errors;
using support::Experiment;
using support::Trajectory;
using Settings = std::vector<std::pair<std::string, std::string>>;

Experiment projected(const std::string& model, const std::string& formulation, const Settings& method_settings = {}) {
  Experiment e;
  e.model = model;
  if (model == "pendulum") e.model_settings = {{"variant", "eich"}};
  e.options.method = "projected-bdf";
  e.options.formulation = formulation;
  for (const auto& [key, value] : method_settings) e.options.method.set(key, value);
  return e;
}

Errors final_errors(const Experiment& e) {
  const models::Model model = support::make_model(e);
  const Trajectory run = support::integrate(model, e.options);
  EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
  return support::errors_of(model, run, support::reference(e, static_cast<long>(run.points.size()) - 1),
                            {support::Entries::euclidean, support::Span::end});
}

/// Eich 1993, table 3.1: x, y, xdot, ydot, λ (with the sign and scale of Φ = (x² + y² - 1)/2), after 50 periods at 1e-9.
struct EichRow {
  double x, y, u, v, lambda, residual;
};
EichRow eich_row(const Experiment& e) {
  const Trajectory run = support::integrate(e);
  EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
  const method::Entry& end = run.report.final;
  return {std::abs(end.motion.q[0] - 1.0), std::abs(end.motion.q[1]), std::abs(end.motion.v[0]),
          std::abs(end.motion.v[1]),       std::abs(end.lambda[0]),   std::abs(end.motion.q.squaredNorm() - 1.0)};
}

TEST(ProjectedBdf, ReachesTheAccuracyOfEichsTable) {
  Experiment e = projected("pendulum", "projected");
  e.options.rtol = e.options.atol = 1e-9;
  const EichRow with = eich_row(e);
  EXPECT_LT(with.x, 10 * 5.0e-15);
  EXPECT_LT(with.u, 10 * 1.4e-12);
  EXPECT_LT(with.y, 10 * 9.8e-8);
  EXPECT_LT(with.v, 10 * 1.6e-5);
  EXPECT_LT(with.lambda, 10 * 1.3e-6);
  EXPECT_LT(with.residual, 4e-15);

  e.options.formulation = "index1";
  const EichRow without = eich_row(e);
  EXPECT_LT(without.u, 10 * 3.3e-7);
  EXPECT_LT(without.x, 10 * 1.7e-5);
  EXPECT_LT(without.y, 10 * 2.3e-5);
  EXPECT_LT(without.v, 10 * 1.6e-3);
  EXPECT_LT(without.lambda, 10 * 3.1e-4);
  EXPECT_GT(without.residual, 1e-6) << "positions drift";
  EXPECT_LT(without.residual, 10 * 3.3e-5);
}

// On the circle and its tangent two numbers decide the error at a turning point: x = y²/2, u = y v, λ = |g y - v²|. The printed
// rows obey it to their two digits; where they do not, x is round-off or a digit was lost.
TEST(ProjectedBdf, LeavesTwoFreeErrorsInEichsTable) {
  constexpr double g = 13.750371636040745655;
  const auto expect = [](const EichRow& row, double tolerance) {
    EXPECT_NEAR(row.x / (0.5 * row.y * row.y), 1.0, tolerance);
    EXPECT_NEAR(row.u / (row.y * row.v), 1.0, tolerance);
    const double sum = std::abs(g * row.y + row.v * row.v), difference = std::abs(g * row.y - row.v * row.v);
    EXPECT_LT(std::min(std::abs(row.lambda / sum - 1.0), std::abs(row.lambda / difference - 1.0)), tolerance);
  };
  // Two digits of three numbers: 5 % of 1.0 at worst each, 9.1e-12 and 7.2e-11 are off by 10 and 23 %.
  expect({2.4e-8, 2.2e-4, 3.6e-5, 1.6e-1, 2.4e-2, 0}, 0.1);
  expect({9.7e-9, 1.4e-4, 3.9e-6, 2.8e-2, 1.1e-3, 0}, 0.1);
  expect({5.0e-15, 9.8e-8, 1.4e-12, 1.6e-5, 1.3e-6, 0}, 0.12);
  Experiment e = projected("pendulum", "projected");
  e.options.rtol = e.options.atol = 1e-6;
  e.options.t_end = 20;  // ten periods
  expect(eich_row(e), 2e-3);
  e.options.formulation = "index1";
  const EichRow off = eich_row(e);
  EXPECT_GT(std::abs(off.x / (0.5 * off.y * off.y) - 1.0), 0.1) << "not on the circle";
}

TEST(ProjectedBdf, KeepsNamedInvariantsToRoundOff) {
  Experiment e = projected("heavy-top", "projected");
  e.options.t_end = 0.5;
  const models::Model model = support::make_model(e);
  const auto vertical_momentum = [&](const method::Entry& point) {
    // R³×SO(3): x × m u + R J Ω.
    const Vector3 x = point.motion.q.head<3>(), u = point.motion.v.head<3>(), Omega = point.motion.v.tail<3>();
    const Matrix3 R = model.system->body_pose(0, point.motion.q).R;
    return x.cross(15.0 * u)[2] + (R * Vector3(0.234375 * Omega[0], 0.46875 * Omega[1], 0.234375 * Omega[2]))[2];
  };
  const auto change = [&](const std::vector<std::string>& conserved,
                          const std::function<double(const method::Entry&)>& quantity) {
    e.options.conserved = conserved;
    const Trajectory run = support::integrate(model, e.options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    double largest = 0.0;
    for (const method::Entry& point : run.points)
      largest = std::max(largest, std::abs(quantity(point) / quantity(run.points.front()) - 1.0));
    return largest;
  };
  const auto energy = [&](const method::Entry& point) { return model.system->energy(point.motion); };
  EXPECT_GT(change({}, energy), 1e-7);
  EXPECT_LT(change({"energy"}, energy), 1e-12);
  EXPECT_GT(change({"energy"}, vertical_momentum), 1e-9);
  EXPECT_LT(change({"energy", "angular-momentum-z"}, energy), 1e-12);
  EXPECT_LT(change({"energy", "angular-momentum-z"}, vertical_momentum), 1e-11);

  e.options.conserved = {"energi"};
  EXPECT_THROW(support::integrate(e), InvalidInput);
  e.options.conserved = {"energy"};
  e.options.formulation = "index1";
  EXPECT_THROW(support::integrate(e), InvalidInput) << "nothing is projected there";
  e = projected("pendulum", "projected");
  e.options.conserved = {"angular-momentum-z"};
  EXPECT_THROW(support::integrate(e), InvalidInput) << "no axes in R^n";
}

// The plain case of (Eich 1993, eq. 1.1, 2.1): an ordinary differential equation with invariants.
TEST(ProjectedBdf, KeepsInvariantsOfUnconstrainedSystems) {
  Experiment e = projected("heavy-top", "");
  e.group = "so3";
  e.options.t_end = 0.5;
  const auto change = [&] {
    const Trajectory run = support::integrate(e);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    EXPECT_EQ(run.report.formulation, "ode");
    return std::abs(run.report.energy_final / run.report.energy_initial - 1.0);
  };
  EXPECT_GT(change(), 1e-8);
  e.options.conserved = {"energy", "angular-momentum-z"};
  EXPECT_LT(change(), 1e-13);
  e.options.conserved = {"output.total"};
  EXPECT_THROW(support::integrate(e), InvalidInput) << "the top has no outputs";
  e.options.conserved = {"energy"};
  e.options.method = "bliedf";
  EXPECT_THROW(support::integrate(e), InvalidInput) << "bliedf projects onto nothing";
}

// Kepler's ellipse, with its spin and energy as functions of the user.
TEST(ProjectedBdf, KeepsWhatFunctionsOfTheUserName) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, 2}};
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return q / std::pow(q.norm(), 3); };
  f.outputs = {
      {.name = "spin", .value = [](double, const Vector& q, const Vector& v) { return q[0] * v[1] - q[1] * v[0]; }},
      {.name = "energy",
       .value = [](double, const Vector& q, const Vector& v) { return 0.5 * v.squaredNorm() - 1.0 / q.norm(); }}};
  const system::Start start{.t_end = 20.0, .q0 = Eigen::Vector2d(0.5, 0.0), .v0 = Eigen::Vector2d(0.0, std::sqrt(3.0))};
  const models::Model planet{"planet", "own", std::make_shared<system::FunctionSystem>(f, start), start};
  run::Options options;
  options.method = "projected-bdf";
  options.rtol = options.atol = 1e-6;
  const auto change = [&](const std::vector<std::string>& conserved) {
    options.conserved = conserved;
    const Trajectory run = support::integrate(planet, options);
    EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
    double largest = 0.0;
    Vector first(2), now(2);
    planet.system->evaluate_outputs(run.points.front().motion, Vector(), first);
    for (const method::Entry& point : run.points) {
      planet.system->evaluate_outputs(point.motion, Vector(), now);
      largest = std::max(largest, (now - first).lpNorm<Eigen::Infinity>());
    }
    return largest;
  };
  EXPECT_GT(change({}), 1e-6);
  EXPECT_LT(change({"output.spin", "output.energy"}), 1e-11);
  EXPECT_THROW(change({"output.spn"}), InvalidInput);

  f.outputs.push_back(f.outputs[0]);
  EXPECT_THROW(system::FunctionSystem{f}, InvalidInput) << "two of one name";
  f.outputs.back() = {.name = "nothing", .value = {}};
  EXPECT_THROW(system::FunctionSystem{f}, InvalidInput);
}

// Euclidean projection makes the errors of the heavy top larger than none, the mass metric makes them smaller.
TEST(ProjectedBdf, GainsAccuracyInTheMassMetricOnly) {
  for (const int k : {2, 4}) {
    const auto error = [&](const char* formulation, const char* metric) {
      Experiment e = projected("heavy-top", formulation, {{"metric", metric}});
      e.options.order = k;
      e.options.t_end = 0.1;
      e.options.step = 5e-4;
      return final_errors(e);
    };
    const Errors none = error("index1", "mass"), mass = error("projected", "mass"),
                 euclidean = error("projected", "euclidean");
    EXPECT_LT(mass.q, 0.3 * none.q) << k;
    EXPECT_GT(euclidean.q, 1.5 * none.q) << k;
  }
}

TEST(ProjectedBdf, JointProjectionReachesBothManifoldsWithErrorsOfTheSameSize) {
  for (const int k : {2, 6}) {
    const auto error = [&](const char* projection) {
      Experiment e = projected("pendulum", "projected", {{"projection", projection}});
      e.options.order = k;
      e.options.t_end = 2.0;
      e.options.step = k == 2 ? 1e-3 : 1e-2;
      const Trajectory run = support::integrate(e);
      EXPECT_LT(run.report.position_max, 1e-14);
      EXPECT_LT(run.report.velocity_max, 1e-13);
      return final_errors(e);
    };
    const Errors joint = error("joint"), sequential = error("position-then-velocity");
    EXPECT_GT(joint.v, 0.2 * sequential.v) << k;
    EXPECT_LT(joint.v, 5.0 * sequential.v) << k;
    EXPECT_NE(joint.v, sequential.v) << k;
  }
}

// Less than one factorisation per step, those of Newton's method included. The joint matrix contains H and lasts for two steps.
TEST(ProjectedBdf, ReusesTheFactorisationOfItsProjection) {
  // A projection with a matrix of its own would make one per step, beside those of Newton's method.
  for (const char* projection : {"position-then-velocity", "joint"}) {
    Experiment e = projected("pendulum", "projected", {{"projection", projection}});
    e.options.rtol = e.options.atol = 1e-8;
    e.options.t_end = 10.0;
    const run::Report report = support::integrate(e).report;
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    EXPECT_LT(report.counters.factorizations, report.counters.steps) << projection;
    EXPECT_LT(report.position_max, 1e-14) << projection;
  }
}

TEST(ProjectedBdf, ShortensTheStepWhenAProjectionFails) {
  Experiment e = projected("pendulum", "projected");
  e.options.t_end = 2.0;
  e.options.rtol = e.options.atol = 0.9;
  struct Watcher final : run::Observer {
    void attempted(const run::Attempt& attempt) override { outcomes.insert(std::string(name_of(attempt.outcome))); }
    std::set<std::string> outcomes;
  } watcher;
  const models::Model model = support::make_model(e);
  for (const double step : {0.3, 0.4, 0.5, 0.6, 0.7, 0.8}) {  // of which some are closed but cannot be projected
    e.options.initial_step = step;
    const run::Report report = run::integrate(*model.system, model.start, e.options, watcher);
    EXPECT_EQ(report.status, run::Status::success) << report.message;
  }
  EXPECT_TRUE(watcher.outcomes.contains("projection failed"));
}

// |B v| of these BDF runs stays bounded over periodic motion, so that only generalized-α shows the quadratic growth.
// (Eich 1993, section 4.1) tests d = P d̃ alone, which is never stricter and, as the error of the projected point, costs no accuracy.
TEST(ProjectedBdf, TestsTheTangentialPartAloneWhenAsked) {
  const auto run = [](const char* tested) {
    Experiment e = projected("pendulum", "projected", {{"tested_error", tested}});
    e.options.rtol = e.options.atol = 1e-7;
    e.options.t_end = 20;  // ten periods: back at the start
    const Trajectory t = support::integrate(e);
    EXPECT_EQ(t.report.status, run::Status::success) << t.report.message;
    return std::pair{static_cast<double>(t.report.counters.steps), std::abs(t.report.final.motion.q[1])};
  };
  const auto larger = run("larger"), tangential = run("tangential-as-printed");
  EXPECT_LT(tangential.first, larger.first) << "never stricter";
  EXPECT_GT(tangential.first, 0.85 * larger.first);
  EXPECT_LT(tangential.second, 10.0 * larger.second);
}

TEST(Drift, IsLinearInIndex2AndQuadraticInIndex1) {
  Experiment e;
  e.model = "pendulum";
  e.model_settings = {{"variant", "eich"}};
  e.options.step = 5e-3;
  const auto gap = [&](double t_end) {
    e.options.t_end = t_end;
    return support::integrate(e).report.position_max;
  };
  e.options.method = "bliedf";
  e.options.order = 2;
  e.options.formulation = "index2";
  const double first = gap(12.3), second = gap(24.6), third = gap(49.2);
  EXPECT_GT((third - second) / (second - first), 1.6)
      << "beyond what one swing leaves, twice the time is twice the drift";
  EXPECT_LT((third - second) / (second - first), 2.4);
  e.options.method = "mkbdf";
  e.options.order = 3;
  for (const double t_end : {12.3, 24.6}) EXPECT_NEAR(std::log2(gap(2.0 * t_end) / gap(t_end)), 1.0, 0.1);
  e.options.method = "generalized-alpha";
  e.options.order = 0;
  e.options.formulation = "index1";
  for (const double t_end : {12.3, 24.6}) EXPECT_NEAR(std::log2(gap(2.0 * t_end) / gap(t_end)), 2.0, 0.15);
}

/// 004 figures: heavy top, inertial constraints, generalized-alpha, ρ∞ = 0.9.
Experiment inertial_top(const std::string& formulation, double h) {
  Experiment e;
  e.model_settings = {{"constraint", "inertial"}};
  e.options.method = "generalized-alpha";
  e.options.formulation = formulation;
  e.options.t_end = 1.0;
  e.options.step = h;
  return e;
}

/// Largest relative error of λ before t = 0.7 and on [0, 1].
std::pair<double, double> relative_lambda_errors(const Experiment& e) {
  const Trajectory run = support::integrate(e);
  const Trajectory& exact = support::reference(e, std::lround(1.0 / e.options.step));
  double before = 0.0, all = 0.0;
  for (std::size_t n = 0; n < run.points.size(); ++n) {
    const double error = (run.points[n].lambda - exact.points[n].lambda).norm() / exact.points[n].lambda.norm();
    all = std::max(all, error);
    if (run.points[n].motion.t < 0.7 - 1e-9) before = std::max(before, error);
  }
  return {before, all};
}

// (Arnold, Cardona, Brüls 2015, figures 1 and 2): the velocity error that a projection removes was needed.
TEST(VelocityProjection, CostsGeneralizedAlphaAnOrderOfLambdaInIndex3Form) {
  const double before[] = {3.242e-2, 8.017e-3, 2.000e-3}, after[] = {0.6066, 0.2777, 0.1331};
  const double steps[] = {2e-3, 1e-3, 5e-4};
  for (int i = 0; i < 3; ++i) {
    Experiment e = inertial_top("index3", steps[i]);
    e.options.project_velocity_at = {0.7};
    const auto [early, all] = relative_lambda_errors(e);
    EXPECT_NEAR(early / before[i], 1.0, 2e-3) << steps[i];
    EXPECT_NEAR(all / after[i], 1.0, 2e-3) << steps[i];
  }
}

TEST(VelocityProjection, KeepsTheOrderWithCorrectedRestarts) {
  double previous = 0.0;
  for (const double h : {1e-3, 5e-4}) {
    Experiment e = inertial_top("index3", h);
    e.options.project_velocity_at = {0.7};
    e.options.restart = "corrected";
    const double all = relative_lambda_errors(e).second;
    EXPECT_LT(all, h == 1e-3 ? 1.2e-2 : 3e-3) << "against 0.28 and 0.13 without";
    if (previous > 0.0) {
      EXPECT_NEAR(std::log2(previous / all), 2.0, 0.2);
    }
    previous = all;
  }
  for (const char* method : {"bliedf", "mkbdf"}) {
    Experiment e = inertial_top("index3", 1e-3);
    e.options.method = method;
    e.options.project_velocity_at = {0.7};
    e.options.restart = "corrected";
    e.options.order = 3;
    const double coarse = relative_lambda_errors(e).second;
    e.options.step = 5e-4;
    EXPECT_NEAR(std::log2(coarse / relative_lambda_errors(e).second), 3.0, 0.2) << method;
  }
}

TEST(VelocityProjection, SetsTheVelocityResidualToZeroAtThatPoint) {
  Experiment e = inertial_top("index3", 1e-3);
  e.options.project_velocity_at = {0.7};
  const Trajectory run = support::integrate(e);
  double amplitude = 0.0;
  for (std::size_t n = 0; n < 700; ++n) amplitude = std::max(amplitude, std::abs(run.residuals[n].rate[0]));
  EXPECT_NEAR(amplitude, 2.1991e-2, 1e-3 * 2.1991e-2);
  EXPECT_LT(run.residuals[700].rate.lpNorm<Eigen::Infinity>(), 1e-13);
}

TEST(VelocityProjection, DoesNotHurtTheStabilizedForm) {
  for (const double h : {1e-3, 5e-4}) {
    Experiment e = inertial_top("stabilized-index2", h);
    const double plain = relative_lambda_errors(e).second;
    e.options.project_velocity_at = {0.7};
    EXPECT_NEAR(relative_lambda_errors(e).second / plain, 1.0, 1e-6);
  }
}

TEST(PositionProjection, RemovesTheDriftOfIndex1) {
  Experiment e = inertial_top("index1", 1e-3);
  e.options.project_position_at = {0.5};
  e.options.project_velocity_at = {0.5};
  const Trajectory run = support::integrate(e);
  EXPECT_GT(run.residuals[499].gap.lpNorm<Eigen::Infinity>(), 1e-8);
  EXPECT_LT(run.residuals[500].gap.lpNorm<Eigen::Infinity>(), 1e-14);
  EXPECT_LT(run.residuals[500].rate.lpNorm<Eigen::Infinity>(), 1e-12);
}

TEST(ProjectionAtATime, IsRefusedWhereItMakesNoSense) {
  Experiment e = inertial_top("index3", 1e-3);
  e.options.project_velocity_at = {1.5};
  EXPECT_THROW(support::integrate(e), InvalidInput) << "after the end";
  e.options.project_velocity_at = {0.5};
  e.options.method = "rkmk";
  e.options.formulation = {};
  EXPECT_THROW(support::integrate(e), InvalidInput);
  Experiment free;
  free.model = "oscillator";
  free.options.step = 1e-2;
  free.options.project_velocity_at = {0.5};
  EXPECT_THROW(support::integrate(free), InvalidInput) << "no constraints";
}

}  // namespace
