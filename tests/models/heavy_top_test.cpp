// The heavy top at its start, on every group and in both conventions, against closed forms.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "models/catalogue.hpp"
#include "system/dense.hpp"

namespace {

using namespace kreisel;
using models::Model;

Model heavy_top(const std::string& group, const std::string& constraint = "body") {
  const models::ModelInfo& info = models::find_model("heavy-top");
  ParameterValues parameters(info.parameters);
  parameters.set("heavy-top", info.parameters, "constraint", constraint);
  return models::make_model(info, group, parameters);
}

system::Motion start_of(const Model& model) {
  system::Motion m(model.system->space());
  m.t = model.start.t0;
  m.q = model.start.q0;
  m.v = model.start.v0;
  return m;
}

/// [M Bᵀ; B 0](v̇; λ) = (-g; -z).
Vector accelerate(const system::System& system, system::Motion& m) {
  const int nv = system.space().nv(), rows = system.pattern().rows();
  const Vector zero = Vector::Zero(rows);
  system::Residual r(nv, system.pattern().position_rows(), rows);
  system::KktBlocks blocks(system.pattern());
  Vector right(nv + rows), z = zero;
  m.a.setZero();
  system.residual(m, zero, r);
  system.acceleration_gap(m, z);
  system.mass_and_jacobian(m, blocks);
  const Matrix B = system::dense_rows(system, blocks.B);
  Matrix kkt = Matrix::Zero(nv + rows, nv + rows);
  kkt.topLeftCorner(nv, nv) = system::dense_coupling(system, blocks.M);
  kkt.bottomLeftCorner(rows, nv) = B;
  kkt.topRightCorner(nv, rows) = B.transpose();
  right.head(nv) = -r.force;
  right.tail(rows) = -z;
  const Vector solution = Eigen::PartialPivLU<Matrix>(kkt).solve(right);
  m.a = solution.head(nv);
  return solution.tail(rows);
}

/// The papers print the data of the top, not what follows from them: J₀Ω̇ + Ω x J₀Ω = X x mγ about the fixed point, R = I.
struct ClosedForm {
  Vector3 X{0.0, 1.0, 0.0}, gamma{0.0, 0.0, -9.81}, Omega{0.0, 150.0, -4.61538};
  Vector3 J0{15.234375, 0.46875, 15.234375};
  double mass = 15.0;

  Vector3 acceleration() const {
    const Vector3 torque = X.cross(mass * gamma) - Omega.cross(J0.cwiseProduct(Omega));
    return torque.cwiseQuotient(J0);
  }
  /// m(ẍ - γ), in both conventions at R = I.
  Vector3 multiplier() const { return mass * (acceleration().cross(X) + Omega.cross(Omega.cross(X)) - gamma); }
  /// ΩᵀJ₀Ω/2; the height is 0.
  double energy() const { return 0.5 * Omega.dot(J0.cwiseProduct(Omega)); }
};

constexpr double closed_form_tolerance = 1e-9;  // 1e-12 of |Ω̇|

class ConstrainedTop : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  Model model_ = heavy_top(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(ConstrainedTop, StartsWithAccelerationAndMultiplierInClosedForm) {
  system::Motion m = start_of(model_);
  const Vector lambda = accelerate(*model_.system, m);
  EXPECT_LT((m.a.tail<3>() - ClosedForm().acceleration()).norm(), closed_form_tolerance);
  EXPECT_LT((lambda - ClosedForm().multiplier()).norm(), closed_form_tolerance);
}

TEST_P(ConstrainedTop, TheAccelerationSolvesTheEquations) {
  system::Motion m = start_of(model_);
  const Vector lambda = accelerate(*model_.system, m);
  system::Residual r(6, 3, 3);
  model_.system->residual(m, lambda, r);
  Vector z(3);
  model_.system->acceleration_gap(m, z);
  EXPECT_LT(r.force.norm(), 1e-10);
  EXPECT_LT(z.norm(), 1e-10);
}

TEST_P(ConstrainedTop, HasTheEnergyOfTheSpinAboutTheFixedPoint) {
  EXPECT_NEAR(model_.system->energy(start_of(model_)), ClosedForm().energy(), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(GroupsAndConventions, ConstrainedTop,
                         testing::Combine(testing::Values("r3xso3", "se3"), testing::Values("body", "inertial")),
                         [](const auto& top) { return std::get<0>(top.param) + "_" + std::get<1>(top.param); });

TEST(FreeTop, StartsWithTheSameAccelerationAndEnergy) {
  const Model model = heavy_top("so3");
  system::Motion m = start_of(model);
  accelerate(*model.system, m);
  EXPECT_LT((m.a - ClosedForm().acceleration()).norm(), closed_form_tolerance);
  EXPECT_NEAR(model.system->energy(m), heavy_top("se3").system->energy(start_of(heavy_top("se3"))), 1e-11);
}

TEST(HeavyTop, ConventionsDifferByTheRotationOfTheMultiplier) {
  for (const char* group : {"r3xso3", "se3"}) {
    const Model body = heavy_top(group, "body"), inertial = heavy_top(group, "inertial");
    const lie::Space& space = body.system->space();
    // A configuration on the constraint with the tip at the origin: x = R X, u from Ω.
    system::Motion m(space);
    Vector turn = Vector::Zero(6);
    turn.tail<3>() << 0.4, -0.7, 1.1;
    space.move(m.q, turn, m.q);
    const Matrix3 R = body.system->body_pose(0, m.q).R;
    const Vector3 X(0.0, 1.0, 0.0), w(3.0, -2.0, 5.0), u = w.cross(X);
    m.q.head<3>() = R * X;
    m.v.tail<3>() = w;
    m.v.head<3>() = body.group == "se3" ? u : R * u;
    system::Motion other = m;
    const Vector lambda_body = accelerate(*body.system, m), lambda_inertial = accelerate(*inertial.system, other);
    EXPECT_LT((m.a - other.a).norm(), 1e-11) << group;
    EXPECT_LT((R * lambda_body - lambda_inertial).norm(), 1e-10) << group;
  }
}

TEST(HeavyTop, PoseIsTheCentreOfMass) {
  for (const char* group : {"so3", "r3xso3", "se3"}) {
    const Model model = heavy_top(group);
    EXPECT_EQ(model.system->body_count(), 1);
    EXPECT_EQ(model.system->body_name(0), "top");
    const system::Pose pose = model.system->body_pose(0, model.start.q0);
    EXPECT_EQ(pose.x, Vector3(0.0, 1.0, 0.0));
    EXPECT_EQ(pose.R, Matrix3::Identity());
  }
}

TEST(HeavyTop, ParametersReachTheStart) {
  const models::ModelInfo& info = models::find_model("heavy-top");
  ParameterValues parameters(info.parameters);
  parameters.set("heavy-top", info.parameters, "mass", "2");
  parameters.set("heavy-top", info.parameters, "gravity", "0");
  parameters.set("heavy-top", info.parameters, "omega_x", "1");
  parameters.set("heavy-top", info.parameters, "omega_y", "0");
  parameters.set("heavy-top", info.parameters, "omega_z", "3");
  const Model model = models::make_model(info, "se3", parameters);
  EXPECT_EQ(model.start.t_end, 2.0);
  EXPECT_EQ(Vector3(model.start.v0.tail<3>()), Vector3(1.0, 0.0, 3.0));
  EXPECT_EQ(Vector3(model.start.v0.head<3>()), Vector3(-3.0, 0.0, 1.0));
  EXPECT_NEAR(model.system->energy(start_of(model)), 0.5 * (2.0 * 10.0 + 0.234375 * 10.0), 1e-13);
}

TEST(HeavyTop, DefaultsToTheBodyConventionOnR3xSO3) {
  const models::ModelInfo& info = models::find_model("heavy-top");
  const ParameterValues parameters(info.parameters);
  EXPECT_EQ(parameters.word("constraint"), "body");
  EXPECT_EQ(models::make_model(info, "", parameters).group, "r3xso3");
}

}  // namespace
