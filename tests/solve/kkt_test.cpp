// The saddle point system: accelerations, multipliers, projections.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "kreisel/check.hpp"
#include "kreisel/own_system.hpp"
#include "solve/kkt.hpp"
#include "support/experiment.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;
using solve::Kkt;

models::Model heavy_top(const std::string& group, const std::string& convention = "body") {
  support::Experiment e;
  e.group = group;
  e.model_settings = {{"constraint", convention}};
  return support::make_model(e);
}

system::Motion start_of(const models::Model& model) {
  system::Motion m(model.system->space());
  m.t = model.start.t0;
  m.q = model.start.q0;
  m.v = model.start.v0;
  return m;
}

// Closed form: Ω̇(0) from J⁰Ω̇ + Ω x J⁰Ω = X x mγ, λ = m Rᵀ(ẍ - γ).
TEST(Accelerate, GivesTheInitialValuesOfTheHeavyTopInClosedForm) {
  for (const char* group : {"r3xso3", "se3"})
    for (const char* convention : {"body", "inertial"}) {
      const models::Model model = heavy_top(group, convention);
      Counters counters;
      Kkt kkt(*model.system, counters);
      system::Motion m = start_of(model);
      Vector lambda = Vector::Zero(3);
      ASSERT_TRUE(kkt.accelerate(m, lambda));
      EXPECT_NEAR(m.a[3], 661.346169230769, 1e-9) << group;
      EXPECT_NEAR(m.a[4], 0.0, 1e-9);
      EXPECT_NEAR(m.a[5], 0.0, 1e-9);
      EXPECT_NEAR(lambda[0], 0.0, 1e-9) << group << " " << convention;
      EXPECT_NEAR(lambda[1], -319.525988166, 1e-6);
      EXPECT_NEAR(lambda[2], -317.262461538462, 1e-6);
    }
}

TEST(ConstrainedPart, IsTheMassOrthogonalProjectorOntoTheConstraintForces) {
  const models::Model model = heavy_top("r3xso3");
  Counters counters;
  Kkt kkt(*model.system, counters);
  const system::Motion m = start_of(model);
  ASSERT_TRUE(kkt.factorize(m));
  system::KktBlocks blocks(model.system->pattern());
  model.system->mass_and_jacobian(m, blocks);
  const Matrix M = system::dense_coupling(*model.system, blocks.M), B = system::dense_rows(*model.system, blocks.B);
  const Matrix weighted = M.inverse() * B.transpose();
  const Matrix C = weighted * (B * weighted).inverse() * B;
  for (int i = 0; i < 6; ++i) {
    const Vector l = Vector::Unit(6, i);
    Vector out(6);
    kkt.constrained_part(l, out);
    EXPECT_LT((out - C * l).norm(), 1e-13) << i;
  }
}

TEST(Projection, ReachesTheConstraintsAndIsOrthogonalInItsMetric) {
  for (const char* group : {"r3xso3", "se3"})
    for (const solve::Metric metric : {solve::Metric::mass, solve::Metric::euclidean}) {
      const models::Model model = heavy_top(group);
      const system::Pattern& pattern = model.system->pattern();
      Counters counters;
      Kkt kkt(*model.system, counters);
      system::Motion m = start_of(model);
      m.q[0] += 1e-4;
      m.q[1] -= 2e-4;
      m.v[0] += 1e-2;
      m.v[5] += 2e-2;
      ASSERT_TRUE(kkt.factorize(m, metric));
      ASSERT_TRUE(kkt.project_position(m));
      ASSERT_TRUE(kkt.factorize(m, metric));
      const Vector before = m.v;
      ASSERT_TRUE(kkt.project_velocity(m));
      system::Residual r(6, 3, 3);
      const Vector no_forces = Vector::Zero(3);
      model.system->residual(m, no_forces, r);
      EXPECT_LT(r.gap.norm(), 1e-14) << group;
      EXPECT_LT(r.rate.norm(), 1e-12) << group;
      // The change lies in range(metric⁻¹ Bᵀ): orthogonal to ker B.
      system::KktBlocks blocks(pattern);
      model.system->mass_and_jacobian(m, blocks);
      Matrix W = system::dense_coupling(*model.system, blocks.M);
      if (metric == solve::Metric::euclidean) W.setIdentity();
      const Matrix kernel = Eigen::FullPivLU<Matrix>(system::dense_rows(*model.system, blocks.B)).kernel();
      const Vector change = m.v - before;
      EXPECT_GT(change.norm(), 1e-3);
      EXPECT_LT((kernel.transpose() * W * change).norm(), 1e-10 * W.norm() * change.norm()) << group;
    }
}

/// A point mass in the plane whose constraint rows are given.
system::SystemFunctions plane(int rows, const Matrix& M, std::function<Vector(double, const Vector&)> constraint) {
  system::SystemFunctions f;
  f.space = {{lie::GroupId::rn, static_cast<int>(M.rows())}};
  f.position_rows = rows;
  f.mass = [M](const Vector&) -> Matrix { return M; };
  f.force = [n = M.rows()](double, const Vector&, const Vector&) -> Vector { return Vector::Unit(n, n - 1); };
  f.constraint = std::move(constraint);
  return f;
}

TEST(Accelerate, ServesASingularMassThatIsPositiveOnTheKernelOfB) {
  Matrix M = Matrix::Zero(2, 2);
  M(0, 0) = 2.0;
  const system::FunctionSystem system(plane(1, M, [](double, const Vector& q) -> Vector { return q.tail(1); }));
  Counters counters;
  Kkt kkt(system, counters);
  system::Motion m(system.space());
  Vector lambda = Vector::Zero(1);
  ASSERT_TRUE(kkt.accelerate(m, lambda));
  EXPECT_NEAR(m.a.norm(), 0.0, 1e-12);
  EXPECT_NEAR(lambda[0], -1.0, 1e-12);
}

TEST(Accelerate, RefusesAMassThatIsSingularOnTheKernelOfB) {
  Matrix M = Matrix::Zero(2, 2);
  M(1, 1) = 2.0;
  const system::FunctionSystem system(plane(1, M, [](double, const Vector& q) -> Vector { return q.tail(1); }));
  Counters counters;
  Kkt kkt(system, counters);
  system::Motion m(system.space());
  Vector lambda = Vector::Zero(1);
  EXPECT_FALSE(kkt.accelerate(m, lambda));
}

TEST(Accelerate, RefusesARowThatIsThereTwice) {
  const system::FunctionSystem system(
      plane(2, Matrix::Identity(3, 3), [](double, const Vector& q) -> Vector { return Vector::Constant(2, q[0]); }));
  Counters counters;
  Kkt kkt(system, counters);
  system::Motion m(system.space());
  Vector lambda = Vector::Zero(2);
  EXPECT_FALSE(kkt.accelerate(m, lambda));
}

/// What a constraint is multiplied by multiplies its round-off too.
TEST(Projection, DoesNotDependOnTheUnitOfAConstraint) {
  for (const double unit : {1e-6, 1.0, 1e6, 1e9}) {
    system::SystemFunctions f;
    f.space = {{lie::GroupId::rn, 2}};
    f.position_rows = 1;
    f.mass = [](const Vector&) -> Matrix { return Matrix::Identity(2, 2); };
    f.force = [](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, 9.81); };
    f.constraint = [unit](double, const Vector& q) -> Vector {
      return Vector::Constant(1, unit * 0.5 * (q.squaredNorm() - 1.0));
    };
    f.jacobian = [unit](double, const Vector& q) -> Matrix { return unit * q.transpose(); };
    f.constraint_rate = [](double, const Vector&) -> Vector { return Vector::Zero(1); };
    const system::FunctionSystem pendulum(f);
    Counters counters;
    Kkt kkt(pendulum, counters);
    for (int i = 0; i < 50; ++i)
      for (const double miss : {0.0, 1e-15, 1e-9, 1e-3}) {
        system::Motion m(pendulum.space());
        m.q << (1.0 + miss) * std::cos(0.1 * i), (1.0 + miss) * std::sin(0.1 * i);
        m.v << -std::sin(0.1 * i) + miss, std::cos(0.1 * i) - miss;
        ASSERT_TRUE(kkt.factorize(m));
        EXPECT_TRUE(kkt.project_position(m)) << unit << " " << i << " " << miss;
        EXPECT_TRUE(kkt.project_velocity(m)) << unit << " " << i << " " << miss;
        EXPECT_LE(std::abs(m.q.norm() - 1.0), 1e-15) << unit << " " << i << " " << miss;
        EXPECT_LE(std::abs(m.q.dot(m.v)), 1e-15) << unit << " " << i << " " << miss;
      }
  }
}

TEST(Projection, ThatCannotReachTheConstraintsSaysSo) {
  // x² + y² + 1 = 0 has no real solution.
  const system::FunctionSystem system(plane(1, Matrix::Identity(2, 2), [](double, const Vector& q) -> Vector {
    return Vector::Constant(1, q.squaredNorm() + 1.0);
  }));
  Counters counters;
  Kkt kkt(system, counters);
  system::Motion m(system.space());
  m.q << 0.3, 0.2;
  ASSERT_TRUE(kkt.factorize(m));
  EXPECT_FALSE(kkt.project_position(m));
}

}  // namespace
