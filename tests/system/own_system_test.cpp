// Systems made of functions: the same as those written by hand, whatever is left to numerical differentiation.
#include "kreisel/own_system.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "lie/so3.hpp"
#include "models/catalogue.hpp"
#include "random_motion.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::system;
using lie::GroupId;

/// The example of the header.
SystemFunctions pendulum_functions(double mass = 1.0, double length = 1.0, double gravity = 9.81) {
  SystemFunctions f;
  f.name = "pendulum";
  f.space = {{GroupId::rn, 2}};
  f.position_rows = 1;
  f.mass = [=](const Vector&) -> Matrix { return mass * Matrix::Identity(2, 2); };
  f.force = [=](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, mass * gravity); };
  f.constraint = [=](double, const Vector& q) -> Vector {
    return Vector::Constant(1, 0.5 * (q.squaredNorm() - length * length));
  };
  return f;
}

/// The heavy top with its tip at the origin, from Φ alone.
SystemFunctions heavy_top_functions(GroupId group, bool is_body) {
  const bool is_se3 = group == GroupId::se3;
  const double mass = 15.0;
  const Vector3 J(0.234375, 0.46875, 0.234375), X(0.0, 1.0, 0.0), gravity(0.0, 0.0, -9.81);
  SystemFunctions f;
  f.name = "heavy top";
  f.space = {{group}};
  f.position_rows = 3;
  f.mass = [=](const Vector&) -> Matrix {
    Vector diagonal(6);
    diagonal << Vector3::Constant(mass), J;
    return diagonal.asDiagonal();
  };
  f.force = [=](double, const Vector& q, const Vector& v) -> Vector {
    const Vector3 u = v.head<3>(), w = v.tail<3>();
    const Matrix3 R = lie::rotation_matrix(q.data() + 3);
    Vector g(6);
    if (is_se3)
      g.head<3>() = mass * (w.cross(u) - R.transpose() * gravity);
    else
      g.head<3>() = -mass * gravity;
    g.tail<3>() = w.cross(Vector3(J.cwiseProduct(w)));
    return g;
  };
  f.constraint = [=](double, const Vector& q) -> Vector {
    const Matrix3 R = lie::rotation_matrix(q.data() + 3);
    const Vector3 x = q.head<3>();
    if (is_body) return X - R.transpose() * x;
    return R * X - x;
  };
  return f;
}

std::shared_ptr<const System> built_in(const char* name, const char* group = "", const char* constraint = nullptr) {
  const models::ModelInfo& info = models::find_model(name);
  ParameterValues parameters(info.parameters);
  if (constraint != nullptr) parameters.set(name, info.parameters, "constraint", constraint);
  return models::make_model(info, group, parameters).system;
}

void expect_near(const Matrix& got, const Matrix& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.rows(), expected.rows()) << what;
  ASSERT_EQ(got.cols(), expected.cols()) << what;
  if (got.size() == 0) return;
  const double size = std::max(1.0, expected.cwiseAbs().maxCoeff());
  EXPECT_LE((got - expected).cwiseAbs().maxCoeff(), tolerance * size) << what;
}

/// `equations` bounds what enters them, `derivatives` what only steers Newton, both relative.
void expect_same(const System& got, const System& expected, const Motion& m, const Vector& lambda, double equations,
                 double derivatives) {
  const Pattern& pattern = expected.pattern();
  ASSERT_EQ(got.pattern().rows(), pattern.rows());
  Residual r(expected.space().nv(), pattern.position_rows(), pattern.rows()), s = r;
  got.residual(m, lambda, r);
  expected.residual(m, lambda, s);
  expect_near(r.force, s.force, equations, "force");
  expect_near(r.gap, s.gap, equations, "gap");
  expect_near(r.rate, s.rate, equations, "rate");
  Vector z = Vector::Zero(pattern.rows()), y = z;
  got.acceleration_gap(m, z);
  expected.acceleration_gap(m, y);
  expect_near(z, y, equations, "acceleration_gap");

  KktBlocks b(got.pattern()), c(pattern);
  got.linearize(m, lambda, b);
  expected.linearize(m, lambda, c);
  expect_near(dense_coupling(got, b.M), dense_coupling(expected, c.M), equations, "M");
  expect_near(dense_rows(got, b.B), dense_rows(expected, c.B), equations, "B");
  expect_near(dense_forces(got, b.F), dense_forces(expected, c.F), derivatives, "F");
  expect_near(dense_coupling(got, b.D), dense_coupling(expected, c.D), derivatives, "D");
  expect_near(dense_coupling(got, b.K), dense_coupling(expected, c.K), derivatives, "K");
  expect_near(dense_rows(got, b.H), dense_rows(expected, c.H), derivatives, "H");
}

void expect_audit_passes(const System& system, double speed = 1.0) {
  samples::Source source;
  const Motion m = samples::random_motion(source, system.space(), speed);
  for (const AuditFinding& finding : audit(system, m, samples::random_vector(source, system.pattern().rows())))
    EXPECT_TRUE(finding.ok()) << finding.what << ": " << finding.error << " > " << finding.tolerance << " at "
                              << finding.where;
}

Vector one(double value) { return Vector::Constant(1, value); }

// ---- against the models

TEST(Adapter, PendulumIsTheBuiltInPendulum) {
  const FunctionSystem system(pendulum_functions());
  const auto expected = built_in("pendulum");
  samples::Source source;
  for (const double speed : {0.0, 1.0, 30.0}) {
    const Motion m = samples::random_motion(source, system.space(), speed);
    expect_same(system, *expected, m, samples::random_vector(source, 1, 1.0 + speed), 1e-10, 1e-9);
  }
  expect_audit_passes(system);
}

TEST(Adapter, ConstraintWithTimeIsTheBuiltInCubic) {
  SystemFunctions f;
  f.space = {{GroupId::rn, 1}};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(1, 1); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return one(0.0); };
  f.constraint = [](double t, const Vector& q) -> Vector { return one(q[0] - t * t * t); };
  const FunctionSystem system(f);
  samples::Source source;
  for (int i = 0; i < 5; ++i)
    expect_same(system, *built_in("cubic"), samples::random_motion(source, system.space()),
                samples::random_vector(source, 1), 1e-10, 1e-9);
}

class HeavyTopFromItsConstraint : public testing::TestWithParam<std::tuple<GroupId, bool>> {};

TEST_P(HeavyTopFromItsConstraint, IsTheBuiltInOne) {
  const auto [group, is_body] = GetParam();
  const FunctionSystem system(heavy_top_functions(group, is_body));
  const auto expected = built_in("heavy-top", std::string(name_of(group)).c_str(), is_body ? "body" : "inertial");
  samples::Source source;
  for (const double speed : {0.0, 1.0, 1.0, 30.0, 150.0}) {
    const Motion m = samples::random_motion(source, system.space(), speed);
    expect_same(system, *expected, m, samples::random_vector(source, 3, 1.0 + speed), 1e-10, 1e-8);
  }
  expect_audit_passes(system);
  expect_audit_passes(system, 30.0);
}

INSTANTIATE_TEST_SUITE_P(GroupsAndConventions, HeavyTopFromItsConstraint,
                         testing::Combine(testing::Values(GroupId::r3xso3, GroupId::se3), testing::Bool()));

TEST(Adapter, GivenDerivativesReplaceTheNumericalOnes) {
  const auto expected = built_in("pendulum");
  samples::Source source;
  const Motion m = samples::random_motion(source, expected->space(), 10.0);
  const Vector lambda = samples::random_vector(source, 1);
  SystemFunctions f = pendulum_functions();
  f.jacobian = [](double, const Vector& q) -> Matrix { return q.transpose(); };
  expect_same(FunctionSystem(f), *expected, m, lambda, 1e-10, 1e-9);
  f.constraint_rate = [](double, const Vector&) -> Vector { return one(0.0); };
  expect_same(FunctionSystem(f), *expected, m, lambda, 1e-12, 1e-9);
  f.curvature = [](double, const Vector&, const Vector& v) -> Vector { return one(v.squaredNorm()); };
  expect_same(FunctionSystem(f), *expected, m, lambda, 1e-14, 1e-9);

  f.jacobian = [](double, const Vector& q) -> Matrix { return 2.0 * q.transpose(); };
  f.curvature = [](double, const Vector&, const Vector&) -> Vector { return one(7.0); };
  const FunctionSystem odd(f);
  Vector z(1);
  odd.acceleration_gap(m, z);
  EXPECT_DOUBLE_EQ(z[0], 2.0 * m.q.dot(m.a) + 7.0) << "what is given is used, right or wrong";
}

// ---- beyond the models

/// Chaplygin's sleigh (x, y, θ): the blade does not slip, sinθ ẋ - cosθ ẏ = slip(t).
SystemFunctions sleigh_functions() {
  SystemFunctions f;
  f.name = "sleigh";
  f.space = {{GroupId::rn, 3}};
  f.velocity_rows = 1;
  f.mass = [](const Vector& q) -> Matrix {
    Matrix M = Vector3(2.0, 2.0, 0.7).asDiagonal();
    M(0, 2) = M(2, 0) = -std::sin(q[2]);
    M(1, 2) = M(2, 1) = std::cos(q[2]);
    return M;
  };
  f.force = [](double, const Vector& q, const Vector& v) -> Vector {
    return -v[2] * v[2] * Vector3(std::cos(q[2]), std::sin(q[2]), 0.0);
  };
  f.velocity_constraint = [](double t, const Vector& q, const Vector& v) -> Vector {
    return one(std::sin(q[2]) * v[0] - std::cos(q[2]) * v[1] - std::sin(t));
  };
  return f;
}

TEST(Adapter, VelocityRowsGiveTheirJacobianAndTheirRate) {
  const FunctionSystem system(sleigh_functions());
  EXPECT_EQ(system.pattern().position_rows(), 0);
  EXPECT_EQ(system.pattern().rows(), 1);
  samples::Source source;
  const Motion m = samples::random_motion(source, system.space(), 3.0);
  const Vector lambda = samples::random_vector(source, 1);
  const double s = std::sin(m.q[2]), c = std::cos(m.q[2]);
  const Eigen::RowVector3d A(s, -c, 0.0);

  KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  expect_near(dense_rows(system, blocks.B), A, 1e-15, "A");
  expect_near(dense_rows(system, blocks.H), Eigen::RowVector3d(0.0, 0.0, c * m.v[0] + s * m.v[1]), 1e-10, "H");
  Vector z(1);
  system.acceleration_gap(m, z);
  const double exact = A * m.a + m.v[2] * (c * m.v[0] + s * m.v[1]) - std::cos(m.t);
  EXPECT_NEAR(z[0], exact, 1e-12 * std::abs(exact));
  Vector force(3);
  system.constraint_force(m, lambda, force);
  EXPECT_EQ(force, Vector::Zero(3)) << "position rows only";
  expect_audit_passes(system);
}

TEST(Adapter, ForcesMayDependOnTheMultipliers) {
  SystemFunctions f = pendulum_functions();
  f.multiplier_force = [](double, const Vector&, const Vector& v, const Vector& lambda) -> Vector {
    return 0.3 * std::sqrt(lambda[0] * lambda[0] + 1e-4) * v;  // friction in the pivot
  };
  const FunctionSystem system(f);
  EXPECT_FALSE(system.is_affine_in_multipliers());
  EXPECT_TRUE(FunctionSystem(pendulum_functions()).is_affine_in_multipliers());
  expect_audit_passes(system);

  samples::Source source;
  const Motion m = samples::random_motion(source, system.space());
  const double lambda = 0.4;
  KktBlocks blocks(system.pattern());
  system.linearize(m, one(lambda), blocks);
  const Vector exact = m.q + 0.3 * lambda / std::sqrt(lambda * lambda + 1e-4) * m.v;
  expect_near(dense_forces(system, blocks.F), exact, 1e-10, "F");
}

/// A mass pulled by an actuator with a first-order state z and an algebraic flow w = z³; the mass is held in y.
SystemFunctions actuator_functions() {
  SystemFunctions f;
  f.name = "actuator";
  f.space = {{GroupId::rn, 2}, {GroupId::rn, 1}, {GroupId::rn, 1}};
  f.kinds = {CoordinateKind::dynamic, CoordinateKind::state, CoordinateKind::algebraic};
  f.block_names = {"mass", "pressure", "flow"};
  f.position_rows = 1;
  f.mass = [](const Vector&) -> Matrix { return Eigen::Vector4d(2.0, 2.0, 0.0, 0.0).asDiagonal(); };
  f.force = [](double t, const Vector& q, const Vector& v) -> Vector {
    const double x = q[0], z = q[2], w = q[3];
    return Eigen::Vector4d(x - w, 0.0, v[2] - (std::sin(t) - z + v[0]), w - z * z * z);
  };
  f.constraint = [](double, const Vector& q) -> Vector { return one(q[1] + 0.5 * q[2]); };
  return f;
}

TEST(Adapter, HasFirstOrderStatesAndAlgebraicUnknowns) {
  const FunctionSystem system(actuator_functions());
  EXPECT_FALSE(system.pattern().is_all_dynamic());
  EXPECT_EQ(system.pattern().kind(2), CoordinateKind::algebraic);
  samples::Source source;
  const Motion m = samples::random_motion(source, system.space());
  const Vector lambda = one(3.0);
  Residual r(4, 1, 1);
  system.residual(m, lambda, r);
  EXPECT_NEAR(r.force[1], 2.0 * m.a[1] + 3.0, 1e-12);
  EXPECT_NEAR(r.force[2], m.v[2] - (std::sin(m.t) - m.q[2] + m.v[0]), 1e-12) << "no constraint force on a state";
  EXPECT_NEAR(r.force[3], m.q[3] - std::pow(m.q[2], 3), 1e-12);

  KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  EXPECT_EQ(dense_coupling(system, blocks.M).bottomRows(2), Matrix::Zero(2, 4));
  expect_near(dense_coupling(system, blocks.D).row(2), Eigen::RowVector4d(-1.0, 0.0, 1.0, 0.0), 1e-10,
              "D of the state");
  expect_near(dense_coupling(system, blocks.K).row(3), Eigen::RowVector4d(0.0, 0.0, -3.0 * m.q[2] * m.q[2], 1.0), 1e-10,
              "K of the unknown");
  expect_near(dense_forces(system, blocks.F), Eigen::Vector4d(0.0, 1.0, 0.0, 0.0), 1e-10, "F");
  expect_audit_passes(system);

  KktBlocks short_cut(system.pattern());
  system.mass_and_jacobian(m, short_cut);
  expect_near(short_cut.D, blocks.D, 1e-10, "D, which the accelerations need");
}

TEST(Adapter, CouplesSeveralBlocks) {
  SystemFunctions f;
  f.space = {{GroupId::so3}, {GroupId::rn, 2}, {GroupId::se3}};
  f.position_rows = 2;
  f.velocity_rows = 1;
  f.row_names = {"tie", "clock", "wheel"};
  f.mass = [](const Vector& q) -> Matrix {
    Matrix M = 2.0 * Matrix::Identity(11, 11);
    M(1, 7) = M(7, 1) = std::sin(q[4]);
    return M;
  };
  f.force = [](double t, const Vector& q, const Vector& v) -> Vector {
    return v.cwiseProduct(v) * q[0] + Vector::Constant(11, t * q[5] * q[8]);
  };
  f.constraint = [](double t, const Vector& q) -> Vector {
    return Eigen::Vector2d(q[1] * q[4] + q[7] * q[9], q[6] - std::sin(2.0 * t) * q[3]);
  };
  f.velocity_constraint = [](double, const Vector& q, const Vector& v) -> Vector { return one(q[5] * v[0] - v[10]); };
  const FunctionSystem system(f);
  EXPECT_EQ(system.pattern().couplings().size(), 9u);
  EXPECT_EQ(system.pattern().touches().size(), 9u);
  expect_audit_passes(system);
}

// ---- accuracy and scales

/// A rod as a distance, not as a square, somewhere in the world.
SystemFunctions rod_functions(double length, double far) {
  SystemFunctions f = pendulum_functions();
  f.name = "rod";
  f.constraint = [=](double, const Vector& q) -> Vector { return one(std::hypot(q[0] - far, q[1]) - length); };
  return f;
}

/// B, rate and curvature of the rod at several angles, relative.
double error_of_rod(const FunctionSystem& system, double length, double far) {
  double worst = 0.0;
  for (int i = 0; i < 20; ++i) {
    const double angle = 0.3 * i;
    Motion m(system.space());
    m.q << far + length * std::sin(angle), -length * std::cos(angle);
    m.v << 3.0 * length * std::cos(angle), 3.0 * length * std::sin(angle);
    KktBlocks blocks(system.pattern());
    system.mass_and_jacobian(m, blocks);
    const Eigen::RowVector2d B(std::sin(angle), -std::cos(angle));
    worst = std::max(worst, (dense_rows(system, blocks.B) - B).cwiseAbs().maxCoeff());
    Residual r(2, 1, 1);
    system.residual(m, one(0.0), r);
    worst = std::max(worst, std::abs(r.rate[0]) / (3.0 * length));
    Vector z(1);
    system.acceleration_gap(m, z);
    worst = std::max(worst, 0.01 * std::abs(z[0] - 9.0 * length) / (9.0 * length));
  }
  return worst;
}

TEST(Adapter, LengthsAreFoundAtTheStart) {
  for (const double length : {1e-6, 1e-3, 1.0, 1e3, 1e6})
    for (const double distance : {0.0, 1e3}) {
      const double far = distance * length;
      const FunctionSystem system(rod_functions(length, far),
                                  {0.0, 1.0, Eigen::Vector2d(far + 0.8 * length, -0.6 * length), Vector::Zero(2)});
      EXPECT_LE(error_of_rod(system, length, far), 1e-11) << length << " " << far;
    }
}

TEST(Adapter, LengthsAreFoundWithoutAStartToo) {
  for (const double length : {1e-6, 1e-3, 1.0})
    EXPECT_LE(error_of_rod(FunctionSystem(rod_functions(length, 0.0)), length, 0.0), 1e-11) << length;
}

TEST(Adapter, ARunPreparesTheSystemForItsStart) {
  const double length = 1e6;
  const Start start{0.0, 1.0, Eigen::Vector2d(0.8 * length, -0.6 * length), Vector::Zero(2)};
  FunctionSystem system(rod_functions(length, 0.0));
  system.set_events({Event{.name = "event", .function = {}}});
  const auto prepared = system.prepared_for(start);
  ASSERT_NE(prepared, nullptr);
  EXPECT_LE(error_of_rod(dynamic_cast<const FunctionSystem&>(*prepared), length, 0.0), 1e-11);
  EXPECT_EQ(prepared->events().size(), 1u);
  EXPECT_EQ(prepared->prepared_for(start), nullptr) << "it is";
}

TEST(Adapter, TimesAreFoundAtTheStart) {
  const double amplitude = 1e-3;
  for (const double omega : {1e-3, 1.0, 50.0, 314.0, 1e5})
    for (const double t0 : {0.0, -3.0, 1e6}) {
      SystemFunctions f = pendulum_functions();
      f.constraint = [=](double t, const Vector& q) -> Vector {
        return one(q[0] - amplitude * (1.0 - std::cos(omega * (t - t0))));
      };
      const FunctionSystem system(f, {t0, t0 + 20.0 / omega, Eigen::Vector2d(0.0, 1.0), Vector::Zero(2)});
      for (int i = 0; i < 40; ++i) {
        Motion m(system.space());
        m.t = t0 + 0.5 * i / omega;
        const double phase = omega * (m.t - t0);
        m.q << amplitude * (1.0 - std::cos(phase)), 1.0;
        m.v << amplitude * omega * std::sin(phase), 0.0;
        Residual r(2, 1, 1);
        EXPECT_EQ(system.examine(m, one(0.0), {1e-8, 1e-10}, r), "") << omega << " " << t0;
        EXPECT_LE(std::abs(r.rate[0]), 1e-11 * amplitude * omega) << omega << " " << t0;
        Vector z(1);
        system.acceleration_gap(m, z);
        EXPECT_NEAR(z[0], -amplitude * omega * omega * std::cos(phase), 1e-9 * amplitude * omega * omega) << omega;
      }
    }
}

/// Round-off of Φ over the square of a time is no curvature of a system that hardly moves.
TEST(Adapter, ASlowMotionHasTheCurvatureOfItsSpeed) {
  const double far = std::sqrt(0.5);
  for (const bool has_jacobian : {false, true})
    for (const double speed : {0.0, 1e-9, 1e-3, 1.0}) {
      SystemFunctions f = pendulum_functions();
      f.constraint = [](double, const Vector& q) -> Vector { return one(std::hypot(q[0], q[1]) - 1.0); };
      if (has_jacobian) f.jacobian = [](double, const Vector& q) -> Matrix { return q.transpose() / q.norm(); };
      const FunctionSystem system(f, {0.0, 1.0, Eigen::Vector2d(far, -far), Vector::Zero(2)});
      Motion m(system.space());
      m.q << far, -far;
      m.v << speed * far, speed * far;
      Vector z(1);
      system.acceleration_gap(m, z);
      EXPECT_NEAR(z[0], speed * speed, 1e-10 * speed * speed) << speed << " " << has_jacobian;
    }
}

/// What is found at the start need not hold later.
TEST(Adapter, ADriverThatSpeedsUpIsFollowed) {
  SystemFunctions f = pendulum_functions();
  const auto phase = [](double t) {
    return t < 1.0 ? 0.0 : 128.0 * 2.0 * 3.14159265358979323846 * std::pow(t - 1.0, 3);
  };
  f.constraint = [=](double t, const Vector& q) -> Vector { return one(q[0] - std::sin(phase(t))); };
  const FunctionSystem system(f, {0.0, 4.0, Eigen::Vector2d(0.0, 1.0), Vector::Zero(2)});
  for (const double t : {1.25, 1.5, 2.0, 3.0, 4.0}) {
    Motion m(system.space());
    m.t = t;
    Residual r(2, 1, 1);
    EXPECT_EQ(system.examine(m, one(0.0), {1e-6, 1e-8}, r), "") << t;
    const double omega = 3.0 * phase(t) / (t - 1.0);
    EXPECT_NEAR(r.rate[0], -omega * std::cos(phase(t)), 1e-10 * omega) << t;
  }
}

TEST(Adapter, HintsHelpWhereNothingElseTells) {
  const double length = 1e-12;
  SystemFunctions f = rod_functions(length, 0.0);
  f.scale = Vector::Constant(2, length);
  EXPECT_LE(error_of_rod(FunctionSystem(f), length, 0.0), 1e-11);
}

TEST(Adapter, PoorDerivativesAreNamed) {
  // Seven digits of Φ do not give six of its derivatives.
  const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  SystemFunctions f = pendulum_functions();
  f.constraint = [=](double t, const Vector& q) -> Vector {
    return one(rounded(std::hypot(q[0], q[1])) - rounded(1.0 + 0.1 * std::sin(t)));
  };
  Motion m((lie::Space(f.space)));
  m.q << 0.6, -0.8;
  m.v << 0.06, -0.08;
  Residual r(2, 1, 1);
  const auto doubts = [&] { return FunctionSystem(f, {0.0, 1.0, m.q, m.v}).examine(m, one(0.0), {1e-8, 1e-10}, r); };
  EXPECT_NE(doubts().find("provide 'jacobian' (B), or 'scale'"), std::string::npos) << doubts();
  f.jacobian = [](double, const Vector& q) -> Matrix { return q.transpose() / q.norm(); };
  EXPECT_NE(doubts().find("provide 'constraint_rate' (Phi_t), or 'time_scale'"), std::string::npos) << doubts();
  f.constraint_rate = [](double t, const Vector&) -> Vector { return one(-0.1 * std::cos(t)); };
  EXPECT_EQ(doubts(), "");
}

// ---- where functions are evaluated

TEST(Adapter, FunctionsAreCalledNearTheStartOnly) {
  SystemFunctions f = pendulum_functions();
  f.name = "logarithm";
  f.constraint = [](double, const Vector& q) -> Vector { return one(std::log(q[0]) + q[1] * q[1]); };
  f.force = [](double, const Vector& q, const Vector&) -> Vector { return q / q.squaredNorm(); };
  const FunctionSystem system(f, {0.0, 1.0, Eigen::Vector2d(1e-4, 3.0), Vector::Zero(2)});
  Motion m(system.space());
  m.q << 1e-4, 3.0;
  KktBlocks blocks(system.pattern());
  system.linearize(m, one(1.0), blocks);
  expect_near(dense_rows(system, blocks.B), Eigen::RowVector2d(1e4, 6.0), 1e-11, "B");
  EXPECT_NO_THROW(FunctionSystem{f}) << "no function is called without a start";
}

TEST(Adapter, SaysWhereAFunctionIsNotFinite) {
  SystemFunctions f = pendulum_functions();
  f.constraint = [](double, const Vector& q) -> Vector { return one(std::log(q[0])); };
  try {
    const FunctionSystem system(f, {0.5, 1.0, Eigen::Vector2d(-1.0, 2.0), Eigen::Vector2d(0.0, 3.0)});
    FAIL() << "accepted";
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what())
                  .find("'constraint' returned nan at the start, where t = 0.5, q = (-1, 2), v = (0, 3)"),
              std::string::npos)
        << error.what();
  }
  const FunctionSystem system(f);
  Motion m(system.space());
  m.q << -1.0, 2.0;
  Residual r(2, 1, 1);
  EXPECT_EQ(system.remark(), "");
  system.residual(m, one(0.0), r);
  EXPECT_NE(system.remark().find("'constraint' returned (nan) at t = 0, q = (-1, 2)"), std::string::npos)
      << system.remark();
}

TEST(Adapter, ReportsTheEnergyItIsGiven) {
  SystemFunctions f = pendulum_functions();
  const Motion m(lie::Space(f.space));
  EXPECT_TRUE(std::isnan(FunctionSystem(f).energy(m)));
  f.energy = [](double, const Vector&, const Vector& v) { return 3.0 + v.norm(); };
  EXPECT_EQ(FunctionSystem(f).energy(m), 3.0);
}

// ---- names

TEST(Adapter, NamesRowsByLevelUnlessTold) {
  SystemFunctions f = pendulum_functions();
  f.velocity_rows = 1;
  f.velocity_constraint = [](double, const Vector&, const Vector& v) -> Vector { return one(v[0]); };
  const FunctionSystem system(f);
  EXPECT_EQ(system.pattern().row_name(0), "'constraint' row 1");
  EXPECT_EQ(system.pattern().row_name(1), "'velocity constraint' row 1");
}

TEST(Adapter, GroupsRowsOfTheSameName) {
  SystemFunctions f = heavy_top_functions(GroupId::se3, true);
  f.row_names = {"tip", "tip", "end"};
  f.block_names = {"top"};
  const FunctionSystem system(f);
  EXPECT_EQ(system.pattern().groups().size(), 2u);
  EXPECT_EQ(system.pattern().row_name(1), "'tip' row 2");
  EXPECT_EQ(system.pattern().row_name(2), "'end' row 1");
  EXPECT_EQ(system.pattern().block_name(0), "top");
  expect_audit_passes(system);
}

// ---- mistakes

struct Mistake {
  const char* text;
  std::function<void(SystemFunctions&)> make;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.text; }

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreRefusedWithTheSizesAndTheName) {
  SystemFunctions f = pendulum_functions();
  GetParam().make(f);
  try {
    const FunctionSystem system(f, {0.0, 1.0, Eigen::Vector2d(1.0, 0.0), Vector::Zero(2)});
    FAIL() << "accepted";
  } catch (const InvalidInput& error) {
    EXPECT_EQ(std::string(error.what()), "system 'pendulum': " + std::string(GetParam().text));
  }
}

const auto nothing_of_size_three = [](double, const Vector&) -> Vector { return Vector::Zero(3); };
const auto nothing_moving_of_size_three = [](double, const Vector&, const Vector&) -> Vector {
  return Vector::Zero(3);
};

INSTANTIATE_TEST_SUITE_P(
    Adapter, Mistakes,
    testing::Values(Mistake{"'mass' returned a 3 x 2 matrix, expected 2 x 2 (nv x nv)",
                            [](auto& f) { f.mass = [](const Vector&) -> Matrix { return Matrix::Zero(3, 2); }; }},
                    Mistake{"'force' returned 3 numbers, expected 2 (nv)",
                            [](auto& f) { f.force = nothing_moving_of_size_three; }},
                    Mistake{"'constraint' returned 3 numbers, expected 1 (position_rows)",
                            [](auto& f) { f.constraint = nothing_of_size_three; }},
                    Mistake{"'jacobian' returned a 2 x 1 matrix, expected 1 x 2 (position_rows x nv)",
                            [](auto& f) { f.jacobian = [](double, const Vector& q) -> Matrix { return q; }; }},
                    Mistake{"'constraint_rate' returned 3 numbers, expected 1 (position_rows)",
                            [](auto& f) { f.constraint_rate = nothing_of_size_three; }},
                    Mistake{"'curvature' returned 3 numbers, expected 1 (position_rows)",
                            [](auto& f) { f.curvature = nothing_moving_of_size_three; }},
                    Mistake{"'velocity_constraint' returned 3 numbers, expected 2 (velocity_rows)",
                            [](auto& f) {
                              f.velocity_rows = 2;
                              f.velocity_constraint = nothing_moving_of_size_three;
                            }},
                    Mistake{"'multiplier_force' returned 3 numbers, expected 2 (nv)",
                            [](auto& f) {
                              f.multiplier_force = [](double, const Vector&, const Vector&, const Vector&) -> Vector {
                                return Vector::Zero(3);
                              };
                            }}),
    [](const auto& mistake) { return "Size" + std::to_string(mistake.index); });

INSTANTIATE_TEST_SUITE_P(
    AdapterSetUp, Mistakes,
    testing::Values(
        Mistake{"space is empty, expected at least one factor, as in space = {{GroupId::rn, 2}}",
                [](auto& f) { f.space.clear(); }},
        Mistake{"'mass' is not given", [](auto& f) { f.mass = nullptr; }},
        Mistake{"'force' is not given", [](auto& f) { f.force = nullptr; }},
        Mistake{"position_rows is 1 but 'constraint' is not given", [](auto& f) { f.constraint = nullptr; }},
        Mistake{"'constraint' is given but position_rows is 0", [](auto& f) { f.position_rows = 0; }},
        Mistake{"velocity_rows is 2 but 'velocity_constraint' is not given", [](auto& f) { f.velocity_rows = 2; }},
        Mistake{"position_rows is -1, must not be negative", [](auto& f) { f.position_rows = -1; }},
        Mistake{"'jacobian' is given but 'constraint' is not",
                [](auto& f) {
                  f.position_rows = 0;
                  f.constraint = nullptr;
                  f.jacobian = [](double, const Vector&) -> Matrix { return Matrix(0, 2); };
                }},
        Mistake{"'multiplier_force' is given but there are no rows and so no multipliers",
                [](auto& f) {
                  f.position_rows = 0;
                  f.constraint = nullptr;
                  f.multiplier_force = [](double, const Vector&, const Vector& v, const Vector&) -> Vector {
                    return v;
                  };
                }},
        Mistake{"row_names has 2 entries, expected 1 (one per row) or none",
                [](auto& f) {
                  f.row_names = {"a", "b"};
                }},
        Mistake{"block_names has 2 entries, expected 1 (one per factor of space) or none",
                [](auto& f) {
                  f.block_names = {"a", "b"};
                }},
        Mistake{"kinds has 2 entries, expected 1 (one per factor of space) or none",
                [](auto& f) { f.kinds.resize(2); }},
        Mistake{"scale has 3 entries, expected 2 (one per entry of v) or none",
                [](auto& f) { f.scale = Vector::Ones(3); }},
        Mistake{"scale has the entry -1, must be positive", [](auto& f) { f.scale = Eigen::Vector2d(1.0, -1.0); }},
        Mistake{"time_scale is -1, must be positive, or 0 to find it", [](auto& f) { f.time_scale = -1.0; }},
        Mistake{"factor 1 (so3) is algebraic, which only rn can be",
                [](auto& f) {
                  f.space = {{GroupId::so3}};
                  f.kinds = {CoordinateKind::algebraic};
                }},
        Mistake{
            "'mass' has entries in the rows or columns of 'block 0', which is not a dynamic block; they must be zero",
            [](auto& f) { f.kinds = {CoordinateKind::state}; }}),
    [](const auto& mistake) { return "Statement" + std::to_string(mistake.index); });

TEST(Adapter, NoticesASizeThatChangesLater) {
  SystemFunctions f = pendulum_functions();
  f.constraint = [](double t, const Vector&) -> Vector { return Vector::Zero(t > 1.0 ? 2 : 1); };
  const FunctionSystem system(f);
  Motion m(system.space());
  m.t = 2.0;
  Residual r(2, 1, 1);
  EXPECT_THROW(system.residual(m, one(0.0), r), InvalidInput);
}

}  // namespace
