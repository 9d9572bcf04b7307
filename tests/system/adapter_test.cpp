// Systems made of functions: the same as those written by hand, whatever is left to numerical differentiation.
#include "kreisel/system/adapter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/base/error.hpp"
#include "kreisel/lie/so3.hpp"
#include "kreisel/models/catalogue.hpp"
#include "kreisel/system/check.hpp"
#include "random_motion.hpp"

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

TEST(Adapter, SmallMechanismsNeedAScale) {
  const double length = 1e-3;  // a rod of a millimetre, as a distance and not as a square
  SystemFunctions f = pendulum_functions();
  f.constraint = [=](double, const Vector& q) -> Vector { return one(q.norm() - length); };
  f.scale = Vector::Constant(2, length);
  const FunctionSystem system(f);
  Motion m(system.space());
  m.q << 0.6 * length, -0.8 * length;
  m.v << 0.8 * length, 0.6 * length;
  KktBlocks blocks(system.pattern());
  system.linearize(m, one(0.0), blocks);
  expect_near(dense_rows(system, blocks.B), Eigen::RowVector2d(0.6, -0.8), 1e-12, "B");
  Vector z(1);
  system.acceleration_gap(m, z);
  EXPECT_NEAR(z[0], m.v.squaredNorm() / length, 1e-10 * length);
}

TEST(Adapter, FastDriversNeedATimeScale) {
  const double omega = 300.0;
  SystemFunctions f = pendulum_functions();
  f.constraint = [=](double t, const Vector& q) -> Vector { return one(q[0] - std::sin(omega * t)); };
  f.time_scale = 1.0 / omega;
  const FunctionSystem system(f);
  Motion m(system.space());
  m.t = 0.1;
  Residual r(2, 1, 1);
  system.residual(m, one(0.0), r);
  EXPECT_NEAR(r.rate[0], -omega * std::cos(omega * m.t), 1e-11 * omega);
  Vector z(1);
  system.acceleration_gap(m, z);
  EXPECT_NEAR(z[0], omega * omega * std::sin(omega * m.t), 1e-10 * omega * omega);
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
    const FunctionSystem system(f);
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
        Mistake{"time_scale is 0, must be positive", [](auto& f) { f.time_scale = 0.0; }},
        Mistake{"factor 1 (so3) is algebraic, which only rn can be",
                [](auto& f) {
                  f.space = {{GroupId::so3}};
                  f.kinds = {CoordinateKind::algebraic};
                }},
        Mistake{"'mass' has entries in the rows or columns of 'block 0', which is no dynamic block; they must be zero",
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
