// Frequencies and damping against closed forms, and the matrix against differences of the equations of motion.
#include "analysis/modes.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <string>

#include "analysis/equilibrium.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "solve/kkt.hpp"

namespace {

using namespace kreisel;

std::vector<analysis::Mode> modes_at_rest(const std::string& text) {
  const io::ModelFile file = io::read_model(io::JsonSource("m.json", text));
  const analysis::Equilibrium e = analysis::find_equilibrium(*file.assembly, file.model.start);
  EXPECT_TRUE(e.is_found) << e.message;
  return analysis::modes_of(*file.assembly, e.motion, analysis::linearize(*file.assembly, e.motion, e.lambda));
}

/// Two uniform rods of 1 kg and 1 m: [4/3 1/2; 1/2 1/3] θ'' + g [3/2 0; 0 1/2] θ = 0.
TEST(Modes, OfADoublePendulum) {
  for (const char* group : {"se3", "r3xso3"}) {
    const std::vector<analysis::Mode> modes =
        modes_at_rest(std::string(R"({"group": ")") + group + R"(", "gravity": [0, -9.81, 0], "bodies": [
      {"name": "a", "mass": 1, "inertia": [0.001, 0.083333333333333333, 0.083333333333333333], "position": [0.5, 0, 0]},
      {"name": "b", "mass": 1, "inertia": [0.001, 0.083333333333333333, 0.083333333333333333], "position": [1.5, 0, 0]}],
      "joints": [{"type": "revolute", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [0, 0, 1]},
                 {"type": "revolute", "between": ["a", "b"], "at": [1, 0, 0], "axis": [0, 0, 1]}]})");
    ASSERT_EQ(modes.size(), 2u);
    Eigen::Matrix2d M, K;
    M << 4.0 / 3.0, 0.5, 0.5, 1.0 / 3.0;
    K << 1.5 * 9.81, 0.0, 0.0, 0.5 * 9.81;
    const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::Matrix2d> exact(K, M);
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(modes[i].eigenvalue.imag(), std::sqrt(exact.eigenvalues()[i]), 1e-9);
      EXPECT_NEAR(modes[i].eigenvalue.real(), 0.0, 1e-9);
      EXPECT_EQ(modes[i].largest, "b");
    }
  }
}

/// m x'' + c x' + k x = 0.
TEST(Modes, OfADampedMass) {
  const std::vector<analysis::Mode> modes =
      modes_at_rest(R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "m", "mass": 2,
    "inertia": [1, 1, 1], "position": [0, 0, -1]}], "joints": [{"type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "forces": [{"type": "spring-damper", "between": ["ground", "m"], "at": [[0, 0, 0], [0, 0, -1]], "stiffness": 800, "damping": 8, "length": 1}]})");
  ASSERT_EQ(modes.size(), 1u);
  EXPECT_NEAR(modes[0].damping_ratio(), 8.0 / (2.0 * std::sqrt(800.0 * 2.0)), 1e-12);
  EXPECT_NEAR(std::abs(modes[0].eigenvalue), 20.0, 1e-10);
}

/// A first-order state beside it: a filter of 0.1 s.
TEST(Modes, OfAState) {
  const std::vector<analysis::Mode> modes =
      modes_at_rest(R"({"bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"way": {"displacement": "p"}}, "states": {"y": {"rate": "=10*way - 10*y", "initial": 0}},
    "forces": [{"type": "force", "joint": "p", "value": "=-100*way"}]})");
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_NEAR(modes[0].eigenvalue.real(), -10.0, 1e-10);
  EXPECT_NEAR(modes[1].eigenvalue.imag(), 10.0, 1e-10);
}

/// Euler's cantilever: (1.8751, 4.6941, 7.8548)² √(EI/(ρA L⁴)), less a little for shear and the inertia of the sections.
TEST(Modes, OfACantilever) {
  const std::vector<analysis::Mode> modes =
      modes_at_rest(R"({"materials": [{"name": "steel", "young": 2.1e11, "poisson": 0.3, "density": 7800}],
    "sections": [{"name": "s", "material": "steel", "circle": {"radius": 0.001}}],
    "rods": [{"name": "r", "section": "s", "elements": 16, "path": {"line": [[0, 0, 0], [1, 0, 0]]}}],
    "joints": [{"type": "fixed", "between": ["ground", "r@start"]}]})");
  const double unit = std::sqrt(2.1e11 * 0.25 * 1e-6 / 7800.0);  // √(EI/ρA) of a circle: r/2 √(E/ρ)
  const double roots[] = {1.87510407, 4.69409113, 7.85475744};
  for (int i = 0; i < 3; ++i)
    for (int plane = 0; plane < 2; ++plane)
      EXPECT_NEAR(modes[2 * i + plane].eigenvalue.imag() / (roots[i] * roots[i] * unit), 1.0, 5e-4) << i;
}

analysis::Linearization about_start(const system::System& system, const system::Start& start, system::Motion& m) {
  m = system::Motion(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  Vector lambda = Vector::Zero(system.pattern().rows());
  Counters unused;
  solve::Kkt kkt(system, unused);
  EXPECT_TRUE(kkt.accelerate(m, lambda));
  return analysis::linearize(system, m, lambda);
}

/// A free body that turns about its axis of symmetry, in its own axes: the axis nutates with (I₁ - I₃)/I₁ Ω, a direction fixed in
/// space turns with Ω.
TEST(Modes, OfASpinningBody) {
  const io::ModelFile file =
      io::read_model(io::JsonSource("spin.json", R"({"group": "se3", "bodies": [{"name": "b", "mass": 1,
    "inertia": [5, 5, 1], "position": [0, 0, 0], "angular_velocity": [0, 0, 2]}]})"));
  system::Motion m;
  const analysis::Linearization linear = about_start(*file.assembly, file.model.start, m);
  EXPECT_TRUE(linear.is_steady);
  const auto modes = analysis::modes_of(*file.assembly, m, linear);
  int nutation = 0, turning = 0;
  for (const analysis::Mode& mode : modes) {
    nutation += std::abs(mode.eigenvalue - std::complex<double>(0.0, 1.6)) < 1e-9 ? 1 : 0;
    turning += std::abs(mode.eigenvalue - std::complex<double>(0.0, 2.0)) < 1e-6 ? 1 : 0;
  }
  EXPECT_EQ(nutation, 1);
  EXPECT_GE(turning, 1);
}

/// In a cage that does not turn, the axes of a rotor do: their coefficients change, and frozen ones would give wrong whirls.
TEST(Modes, SayWhereCoefficientsChange) {
  const io::ModelFile file = io::read_model(io::JsonSource("gyro.json", R"({"bodies": [
    {"name": "cage", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0]},
    {"name": "rotor", "mass": 1, "inertia": [0.3, 0.3, 0.5], "position": [0, 0, 0], "angular_velocity": [0, 0, 30]}],
    "joints": [{"type": "universal", "between": ["ground", "cage"], "at": [0, 0, 0], "axes": [[1, 0, 0], [0, 1, 0]]},
               {"type": "revolute", "between": ["cage", "rotor"], "at": [0, 0, 0], "axis": [0, 0, 1]}]})"));
  system::Motion m;
  EXPECT_FALSE(about_start(*file.assembly, file.model.start, m).is_steady);
}

/// ẏ = A y against differences of accelerations, of moving models too.
TEST(Modes, LinearizationIsTheDerivativeOfTheEquationsOfMotion) {
  for (const char* name :
       {"heavy-top", "double-pendulum", "chain", "flyball-governor", "slider-crank", "rolling-disk"}) {
    io::RunSpec spec;
    spec.model = name;
    const models::Model model = io::prepare_model(spec);
    const system::System& system = *model.system;
    Counters unused;
    solve::Kkt kkt(system, unused);
    system::Motion m(system.space());
    m.t = model.start.t0;
    m.q = model.start.q0;
    m.v = model.start.v0;
    Vector lambda = Vector::Zero(system.pattern().rows());
    ASSERT_TRUE(kkt.accelerate(m, lambda)) << name;
    const analysis::Linearization linear = analysis::linearize(system, m, lambda);
    const int np = linear.positions(), nu = linear.velocities();
    // V of a pure velocity is the basis of the free directions.
    const Matrix N = linear.V.rightCols(nu);
    const double e = 1e-6;
    for (int j = 0; j < np + nu; ++j) {
      Vector difference = Vector::Zero(system.space().nv());
      for (const double sign : {1.0, -1.0}) {
        system::Motion near = m;
        const Vector x = j < np ? Vector(sign * e * linear.X.col(j)) : Vector(Vector::Zero(m.v.size()));
        system.space().move(m.q, x, near.q);
        near.v = m.v + sign * e * linear.V.col(j);
        Vector near_lambda = lambda;
        ASSERT_TRUE(kkt.accelerate(near, near_lambda));
        difference += sign / (2.0 * e) * near.a;
      }
      const Vector expected = N.transpose() * difference;
      const Vector found = linear.A.col(j).tail(nu);
      EXPECT_LT((expected - found).norm(), 1e-5 * (1.0 + linear.A.norm())) << name << " column " << j;
    }
  }
}

}  // namespace
