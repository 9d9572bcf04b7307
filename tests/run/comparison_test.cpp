// Methods that the papers compare themselves with, and what they promise beside their order.
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "lie/so3.hpp"
#include "support/experiment.hpp"

namespace {

using namespace kreisel;
using support::Experiment;
using support::Trajectory;

Trajectory heavy_top(const std::string& method, const std::string& group, double step, double t_end) {
  Experiment e;
  e.group = group;
  if (group != "so3") e.model_settings = {{"constraint", "inertial"}};
  e.options.method = method;
  e.options.step = step;
  e.options.t_end = t_end;
  e.options.newton_tolerance = 1e-13;
  return support::integrate(e);
}

/// Kinetic and potential energy of the top on R3xSO(3), by hand.
double energy(const method::Entry& point) {
  const Vector3 J(0.234375, 0.46875, 0.234375), u = point.motion.v.head<3>(), w = point.motion.v.tail<3>();
  return 0.5 * 15.0 * u.squaredNorm() + 0.5 * w.dot(J.cwiseProduct(w)) + 15.0 * 9.81 * point.motion.q[2];
}
/// Angular momentum about the vertical through the fixed point.
double vertical_momentum(const method::Entry& point) {
  const Vector3 J(0.234375, 0.46875, 0.234375), x = point.motion.q.head<3>(), u = point.motion.v.head<3>(),
                                                w = point.motion.v.tail<3>();
  const Vector3 spin = lie::rotate(point.motion.q.data() + 3, J.cwiseProduct(w));
  return spin[2] + 15.0 * (x[0] * u[1] - x[1] * u[0]);
}

double spread(const Trajectory& run, double (*value)(const method::Entry&)) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const method::Entry& point : run.points) {
    low = std::min(low, value(point));
    high = std::max(high, value(point));
  }
  return high - low;
}

TEST(EnergyMomentum, KeepsEnergyAndMomentumToRoundOff) {
  const Trajectory run = heavy_top("energy-momentum", "r3xso3", 2e-3, 1.0);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  EXPECT_LT(spread(run, energy), 1e-7) << "of 5.3 kJ";
  EXPECT_LT(spread(run, vertical_momentum), 1e-9) << "of 72 N m s";
  EXPECT_LT(run.report.position_max, 1e-12);
  const Trajectory other = heavy_top("generalized-alpha", "r3xso3", 2e-3, 1.0);
  EXPECT_GT(spread(other, energy), 1e-3) << "another method of order 2 does not";
}

TEST(EnergyMomentum, KeepsTheEnergyOnEveryGroup) {
  for (const char* group : {"so3", "se3"}) {
    const Trajectory run = heavy_top("energy-momentum", group, 1e-3, 0.5);
    ASSERT_EQ(run.report.status, run::Status::success) << group << ": " << run.report.message;
    EXPECT_LT(std::abs(run.report.energy_final - run.report.energy_initial), 1e-7) << group;
  }
}

// A variational method has no drift: the error of the energy oscillates, with h², and does not grow.
TEST(Rattlie, HasNoDriftOfEnergyAndStaysOnTheConstraints) {
  const auto largest_error = [](const Trajectory& run, double from, double to) {
    double most = 0.0;
    for (const method::Entry& point : run.points)
      if (point.motion.t >= from && point.motion.t <= to)
        most = std::max(most, std::abs(energy(point) - energy(run.points[0])));
    return most;
  };
  const Trajectory run = heavy_top("rattlie", "r3xso3", 1e-3, 4.0);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  EXPECT_LT(run.report.position_max, 1e-12);
  EXPECT_LT(run.report.velocity_max, 1e-10);
  EXPECT_LT(largest_error(run, 3.0, 4.0), 1.5 * largest_error(run, 0.0, 1.0)) << "no drift";
  const Trajectory finer = heavy_top("rattlie", "r3xso3", 5e-4, 1.0);
  EXPECT_NEAR(std::log2(largest_error(run, 0.0, 1.0) / largest_error(finer, 0.0, 1.0)), 2.0, 0.3);
  EXPECT_LT(spread(run, vertical_momentum), 1e-8) << "the symmetry about the vertical is that of the Lagrangian";
}

TEST(HalfExplicit, SatisfiesTheConstraintsOfVelocityAtEveryPoint) {
  Experiment e;
  e.options.method = "half-explicit";
  e.options.formulation = "index2";
  e.options.step = 2e-3;
  e.options.t_end = 0.5;
  const Trajectory run = support::integrate(e);
  ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
  EXPECT_LT(run.report.velocity_max, 1e-9);
  EXPECT_GT(run.report.position_max, 1e-12) << "the index-2 form drifts in q";
  e.options.step = 0.0;
  e.options.rtol = e.options.atol = 1e-6;
  const Trajectory controlled = support::integrate(e);
  ASSERT_EQ(controlled.report.status, run::Status::success) << controlled.report.message;
  EXPECT_LT(controlled.report.counters.steps, 2000);
}

TEST(RigidBodyMethods, RefuseWhatTheyDoNotServe) {
  for (const char* method : {"rattlie", "energy-momentum"}) {
    Experiment e;
    e.model = "andrews";
    e.options.method = method;
    e.options.step = 1e-3;
    try {
      support::integrate(e);
      ADD_FAILURE() << method << " ran";
    } catch (const InvalidInput& problem) {
      EXPECT_NE(std::string(problem.what()).find("constant in the body frame"), std::string::npos) << problem.what();
    }
    e.model = "rolling-disk";
    EXPECT_THROW(support::integrate(e), InvalidInput) << method << ": nonholonomic";
  }
}

// ---- Eich's competitors

double worst_gap(const std::string& method, const std::string& formulation, const char* parameter, const char* value) {
  Experiment e;
  e.options.method = method;
  e.options.formulation = formulation;
  if (parameter != nullptr) e.options.method.set(parameter, std::string(value));
  e.options.rtol = e.options.atol = 1e-5;
  e.options.t_end = 2.0;
  const Trajectory run = support::integrate(e);
  EXPECT_EQ(run.report.status, run::Status::success) << run.report.message;
  return run.report.position_max;
}

TEST(Baumgarte, LetsErrorsOfConstraintsDecayInsteadOfGrow) {
  const double plain = worst_gap("bliedf", "index1", nullptr, nullptr);
  const double regularized = worst_gap("bliedf", "index1", "baumgarte", "20");
  EXPECT_LT(regularized, 0.1 * plain);
  EXPECT_GT(regularized, 1e-9) << "an asymptotic approximation, not a projection";
}

// Φ̈ + 2aΦ̇ + a²Φ = 0 from Φ = δ at rest: δ(1 + at)e^{-at}. δ is below what initial values may miss; the coordinates are linear, so that
// nothing else moves Φ.
TEST(Baumgarte, LetsAnErrorDecayInClosedForm) {
  constexpr double delta = 5e-9, a = 50.0;
  system::SystemFunctions f;
  f.name = "off";
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return Eigen::Vector2d(0.0, q[1]); };
  f.constraint = [](double, const Vector& q) -> Vector { return Vector::Constant(1, q[0]); };
  const system::Start start{.t_end = 0.1, .q0 = Eigen::Vector2d(delta, 1.0), .v0 = Eigen::Vector2d(0.0, 0.0)};
  const system::FunctionSystem off(f, start);
  struct Points final : run::Observer {
    bool accept(const run::Point& point) override {
      list.emplace_back(point.entry.motion.t, point.entry.motion.q[0]);
      return true;
    }
    std::vector<std::pair<double, double>> list;
  };
  for (const auto& [method, order] : {std::pair{"bliedf", 1}, {"generalized-alpha", 2}}) {
    run::Options options;
    options.method = method;
    options.method.set("baumgarte", a);
    options.order = order;
    options.formulation = "index1";
    options.step = 2e-5;
    Points points;
    const run::Report report = run::integrate(off, start, options, points);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    // Of order 1 the relative error is about a²ht/2. That of order 2 starts with v̇ of the plain form, which costs a²ht/2 over 1 + at.
    for (const std::size_t n : {500u, 2000u, 5000u}) {
      const auto [t, gap] = points.list.at(n);
      const double expected = delta * (1.0 + a * t) * std::exp(-a * t);
      EXPECT_NEAR(gap, expected, (order == 1 ? 5e-3 : 5e-4) * expected) << method << " at " << t;
    }
  }
}

TEST(DerivativeProjection, DriftsLessThanTheIndexOneFormAndMoreThanProjection) {
  const double plain = worst_gap("rkmk", "index1", nullptr, nullptr);
  const double derivative = worst_gap("rkmk", "index1", "derivatives", "projected");
  const double projected = worst_gap("rkmk", "projected", nullptr, nullptr);
  EXPECT_LT(derivative, 0.5 * plain);
  EXPECT_GT(derivative, 1e3 * projected);
}

TEST(Baumgarte, IsRefusedWhereItHasNoEffect) {
  Experiment e;
  e.options.method = "bliedf";
  e.options.method.set("baumgarte", 10.0);
  EXPECT_THROW(support::integrate(e), InvalidInput);
}

// (Eich 1993, eq. 2.7): for a linear invariant H y + z(t) = 0 the projection gives -H⁺z + P ỹ, which leaves the rest alone.
TEST(Projection, OntoAnInvariantThatChangesWithTimeIsExact) {
  system::SystemFunctions f;
  f.name = "guided";
  f.space = {{lie::GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return Eigen::Vector2d(0.0, q[1]); };
  f.constraint = [](double t, const Vector& q) -> Vector { return Vector::Constant(1, q[0] - std::sin(t)); };
  const system::Start start{.t_end = 3.0, .q0 = Eigen::Vector2d(0.0, 1.0), .v0 = Eigen::Vector2d(1.0, 0.0)};
  const system::FunctionSystem guided(f, start);
  run::Options options;
  options.method = "projected-bdf";
  options.method.set("metric", std::string("euclidean"));
  options.order = 2;
  options.step = 0.01;
  struct Last final : run::Observer {
    bool accept(const run::Point& point) override {
      entry = point.entry;
      worst = std::max({worst, std::abs(entry.motion.q[0] - std::sin(entry.motion.t)),
                        std::abs(entry.motion.v[0] - std::cos(entry.motion.t))});
      return true;
    }
    method::Entry entry;
    double worst = 0.0;
  } projected, plain;
  options.formulation = "projected";
  run::integrate(guided, start, options, projected);
  options.formulation = "index1";
  run::integrate(guided, start, options, plain);
  EXPECT_LT(projected.worst, 1e-10);
  EXPECT_GT(plain.worst, 1e-6) << "without projection x follows sin t to the order of the method only";
  EXPECT_NEAR(projected.entry.motion.q[1], plain.entry.motion.q[1], 1e-12) << "y has no part in it";
}

}  // namespace
