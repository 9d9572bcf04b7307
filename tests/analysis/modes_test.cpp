// Frequencies and damping against closed forms, and the matrix against differences of the equations of motion.
#include "kreisel/analysis.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "analysis/static_stability.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
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

analysis::Linearization about_start(const system::System& system, const system::Start& start, system::Motion& m,
                                    analysis::Axes axes = analysis::Axes::automatic) {
  m = system::Motion(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  Vector lambda = Vector::Zero(system.pattern().rows());
  Counters unused;
  solve::Kkt kkt(system, unused);
  EXPECT_TRUE(kkt.accelerate(m, lambda));
  return analysis::linearize(system, m, lambda, axes);
}

/// A free body that turns about its axis of symmetry, in its own axes: the axis nutates with (I₁ - I₃)/I₁ Ω, a direction fixed in
/// space turns with Ω. In inertial axes the axis nutates with I₃/I₁ Ω.
TEST(Modes, OfASpinningBody) {
  const io::ModelFile file =
      io::read_model(io::JsonSource("spin.json", R"({"group": "se3", "bodies": [{"name": "b", "mass": 1,
    "inertia": [5, 5, 1], "position": [0, 0, 0], "angular_velocity": [0, 0, 2]}]})"));
  system::Motion m;
  const analysis::Linearization linear = about_start(*file.assembly, file.model.start, m, analysis::Axes::body);
  EXPECT_TRUE(linear.is_steady);
  const analysis::Linearization inertial = about_start(*file.assembly, file.model.start, m);
  EXPECT_EQ(inertial.axes, analysis::Axes::inertial);
  EXPECT_TRUE(inertial.is_steady);
  int seen_from_outside = 0;
  for (const analysis::Mode& mode : analysis::modes_of(*file.assembly, m, inertial))
    seen_from_outside += std::abs(mode.eigenvalue - std::complex<double>(0.0, 0.4)) < 1e-9 ? 1 : 0;
  EXPECT_EQ(seen_from_outside, 1);
  const auto modes = analysis::modes_of(*file.assembly, m, linear);
  int nutation = 0, turning = 0;
  for (const analysis::Mode& mode : modes) {
    nutation += std::abs(mode.eigenvalue - std::complex<double>(0.0, 1.6)) < 1e-9 ? 1 : 0;
    turning += std::abs(mode.eigenvalue - std::complex<double>(0.0, 2.0)) < 1e-6 ? 1 : 0;
  }
  EXPECT_EQ(nutation, 1);
  EXPECT_GE(turning, 1);
}

std::string rotor_with(const std::string& inertia, double speed) {
  std::string springs;
  for (const char* at : {"1, 0", "-1, 0", "0, 1", "0, -1"})
    springs += std::string(springs.empty() ? "" : ", ") + R"({"type": "spring-damper", "between": ["ground", "cage"],
      "at": [[)" +
               at + ", -1], [" + at + R"(, 0]], "stiffness": 100, "length": 1})";
  return R"({"bodies": [{"name": "cage", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0]},
    {"name": "rotor", "mass": 1, "inertia": )" +
         inertia + R"(, "position": [0, 0, 0], "angular_velocity": [0, 0, )" + std::to_string(speed) + R"(]}],
    "joints": [{"type": "universal", "between": ["ground", "cage"], "at": [0, 0, 0], "axes": [[1, 0, 0], [0, 1, 0]]},
               {"type": "revolute", "between": ["cage", "rotor"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "forces": [)" +
         springs + "]}";
}

/// A rotor that tilts on springs whirls with I ω² ∓ I₃ Ω ω - k = 0, and is critical where ω = Ω: √(k/(I - I₃)), √(k/(I + I₃)).
TEST(Modes, OfAGyroscopicRotor) {
  const double I = 0.4, I3 = 0.2, k = 200.0;
  for (const double speed : {0.0, 5.0, 40.0, std::sqrt(k / (I - I3)), std::sqrt(k / (I + I3))})
    for (const char* group : {"se3", "r3xso3"}) {
      const io::ModelFile file =
          io::read_model(io::JsonSource("rotor.json", rotor_with("[0.3, 0.3, 0.2]", speed)), {.group = group});
      system::Motion m;
      const analysis::Linearization linear = about_start(*file.assembly, file.model.start, m);
      EXPECT_TRUE(linear.is_steady) << group << ", " << speed;
      const auto modes = analysis::modes_of(*file.assembly, m, linear);
      const double part = I3 * speed / (2.0 * I), root = std::sqrt(part * part + k / I);
      for (const double exact : {root + part, root - part}) {
        double nearest = HUGE_VAL;
        for (const analysis::Mode& mode : modes)
          nearest = std::min(nearest, std::abs(mode.eigenvalue - std::complex<double>(0.0, exact)));
        // The speed is written with six digits.
        EXPECT_LT(nearest, 2e-6 * exact) << group << ", " << speed << ": " << exact;
      }
    }
}

/// A disc of 3 kg in the middle of a massless shaft (Jeffcott 1919): a carrier moves across on springs of k and dampers of c, and the disc turns
/// on it. Both whirls have m ω² = k whatever the speed, so that the critical speed is √(k/m); with damping ω_d = √(k/m - (c/2m)²).
TEST(Modes, OfAJeffcottRotor) {
  const double mass = 3.0, k = 1200.0, c = 6.0;
  for (const double speed : {0.0, 7.0, 20.0, 150.0})
    for (const char* group : {"se3", "r3xso3"}) {
      const io::ModelFile file = io::read_model(io::JsonSource("jeffcott.json", R"({"bodies": [
          {"name": "carrier", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 0]},
          {"name": "disc", "mass": 2, "inertia": [0.02, 0.02, 0.04], "position": [0, 0, 0], "angular_velocity": [0, 0, )" +
                                                                                    std::to_string(speed) + R"(]}],
          "joints": [{"type": "planar", "between": ["ground", "carrier"], "at": [0, 0, 0], "axis": [0, 0, 1]},
                     {"type": "revolute", "between": ["carrier", "disc"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
          "forces": [{"type": "bushing", "between": ["ground", "carrier"], "at": [0, 0, 0], "stiffness": [1200, 1200, 0],
                      "damping": [6, 6, 0], "rotational_stiffness": [0, 0, 50]}]})"),
                                                {.group = group});
      system::Motion m;
      const analysis::Linearization linear = about_start(*file.assembly, file.model.start, m);
      EXPECT_TRUE(linear.is_steady) << group << ", " << speed;
      const std::complex<double> exact(-0.5 * c / mass, std::sqrt(k / mass - std::pow(0.5 * c / mass, 2)));
      int whirls = 0;
      for (const analysis::Mode& mode : analysis::modes_of(*file.assembly, m, linear))
        whirls += std::abs(mode.eigenvalue - exact) < 1e-7 * std::abs(exact) ? 1 : 0;
      EXPECT_EQ(whirls, 2) << group << ", " << speed;
    }
}

/// A free body about its three axes (Euler): λ² = Ω² (I₂ - I₃)(I₃ - I₁)/(I₁ I₂) with Ω about the third one; it grows about the middle axis.
TEST(Modes, OfAFreeBody) {
  const double I[] = {2.0, 3.0, 4.0}, speed = 3.0;
  for (const char* group : {"se3", "r3xso3"})
    for (int axis = 0; axis < 3; ++axis) {
      double w[] = {0.0, 0.0, 0.0};
      w[axis] = speed;
      const io::ModelFile file = io::read_model(
          io::JsonSource(
              "free.json",
              R"({"bodies": [{"name": "b", "mass": 1, "inertia": [2, 3, 4], "position": [0, 0, 0], "angular_velocity": [)" +
                  std::to_string(w[0]) + ", " + std::to_string(w[1]) + ", " + std::to_string(w[2]) + "]}]}"),
          {.group = group});
      system::Motion m;
      const analysis::Linearization linear = about_start(*file.assembly, file.model.start, m, analysis::Axes::body);
      EXPECT_TRUE(linear.is_steady);
      const double a = I[(axis + 1) % 3], b = I[(axis + 2) % 3];
      const std::complex<double> exact =
          std::sqrt(std::complex<double>(speed * speed * (a - I[axis]) * (I[axis] - b) / (a * b), 0.0));
      double nearest = HUGE_VAL;
      for (const analysis::Mode& mode : analysis::modes_of(*file.assembly, m, linear))
        nearest = std::min(nearest, std::abs(mode.eigenvalue - exact));
      EXPECT_LT(nearest, 1e-7) << group << ", axis " << axis;
      EXPECT_EQ(exact.real() > 0.0, axis == 1);
    }
}

/// A four-bar linkage with springs in two of its hinges, in one coordinate: M(φ) φ'' = -V'(φ), ω² = V''/M at rest, with the loop closed by
/// two circles and derivatives by differences of fourth order.
TEST(Modes, OfAFourBarWithSprings) {
  const double a = 0.2, b = 0.55, c = 0.35, d = 0.5, g = 9.81;
  const double m[] = {0.5, 1.2, 0.8}, J[] = {0.02, 0.03, 0.018}, k[] = {6.0, 4.0};
  struct Pose {
    double x[3], y[3], angle[3];
  };
  const auto pose_at = [&](double phi) {
    const double bx = a * std::cos(phi), by = a * std::sin(phi);
    const double ex = d - bx, ey = -by, e = std::hypot(ex, ey);
    const double along = (b * b - c * c + e * e) / (2.0 * e), up = std::sqrt(b * b - along * along);
    const double cx = bx + (along * ex - up * ey) / e, cy = by + (along * ey + up * ex) / e;
    return Pose{{0.5 * bx, 0.5 * (bx + cx), 0.5 * (d + cx)},
                {0.5 * by, 0.5 * (by + cy), 0.5 * cy},
                {phi, std::atan2(cy - by, cx - bx), std::atan2(cy, cx - d)}};
  };
  const double drawn = 1.1;
  const Pose at = pose_at(drawn);
  const auto energy = [&](double phi) {
    const Pose p = pose_at(phi);
    const double crank = p.angle[0] - at.angle[0] - 0.3, rocker = p.angle[2] - at.angle[2] + 0.2;
    double sum = 0.5 * k[0] * crank * crank + 0.5 * k[1] * rocker * rocker;
    for (int i = 0; i < 3; ++i) sum += m[i] * g * p.y[i];
    return sum;
  };
  const double h = 1e-3;
  const auto slope = [&](auto f, double x) {
    return (8.0 * (f(x + h) - f(x - h)) - (f(x + 2.0 * h) - f(x - 2.0 * h))) / (12.0 * h);
  };
  const auto torque = [&](double phi) { return slope(energy, phi); };
  double phi = drawn;
  for (int i = 0; i < 30; ++i) phi -= torque(phi) / slope(torque, phi);
  double mass = 0.0;
  for (int i = 0; i < 3; ++i)
    mass += m[i] * (std::pow(slope([&](double x) { return pose_at(x).x[i]; }, phi), 2) +
                    std::pow(slope([&](double x) { return pose_at(x).y[i]; }, phi), 2)) +
            J[i] * std::pow(slope([&](double x) { return pose_at(x).angle[i]; }, phi), 2);
  const double omega = std::sqrt(slope(torque, phi) / mass);

  std::string bodies;
  const char* names[] = {"crank", "coupler", "rocker"};
  for (int i = 0; i < 3; ++i)
    bodies += fmt::format(
        R"({}{{"name": "{}", "mass": {:.17g}, "inertia": [{:.17g}, 0.01, {:.17g}], "position": [{:.17g}, {:.17g}, 0]}})",
        i > 0 ? "," : "", names[i], m[i], J[i], J[i], at.x[i], at.y[i]);
  const double bx = a * std::cos(drawn), by = a * std::sin(drawn), cx = 2.0 * at.x[2] - d, cy = 2.0 * at.y[2];
  const std::string text = fmt::format(
      R"({{"gravity": [0, -9.81, 0], "bodies": [{}], "joints": [
        {{"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]}},
        {{"name": "B", "type": "spherical", "between": ["crank", "coupler"], "at": [{:.17g}, {:.17g}, 0]}},
        {{"name": "C", "type": "universal", "between": ["coupler", "rocker"], "at": [{:.17g}, {:.17g}, 0], "axes": [[0, 0, 1], [0, 1, 0]]}},
        {{"name": "D", "type": "revolute", "between": ["ground", "rocker"], "at": [{:.17g}, 0, 0], "axis": [0, 0, 1]}}],
      "forces": [
        {{"type": "torsional-spring-damper", "between": ["ground", "crank"], "axis": [0, 0, 1], "stiffness": 6, "angle": 0.3}},
        {{"type": "torsional-spring-damper", "between": ["ground", "rocker"], "axis": [0, 0, 1], "stiffness": 4, "angle": -0.2}}]}})",
      bodies, bx, by, cx, cy, d);
  const std::vector<analysis::Mode> modes = modes_at_rest(text);
  // The turns of the two springs follow.
  ASSERT_EQ(modes.size(), 3u);
  EXPECT_NEAR(modes[2].eigenvalue.imag(), omega, 1e-7 * omega);
}

/// An inverted pendulum beside a part on springs of 1e10 N/m: its growth √(m g l/I) is far below the round-off of the fast vibrations, but not
/// of its own.
TEST(Modes, StiffPartsHideNoInstability) {
  const std::string text = R"({"gravity": [0, 0, -9.81], "bodies": [
      {"name": "p", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 1]},
      {"name": "s", "mass": 0.001, "inertia": [1e-7, 1e-7, 1e-7], "position": [1, 0, 0]}],
    "joints": [{"type": "revolute", "between": ["ground", "p"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
    "forces": [{"type": "bushing", "between": ["ground", "s"], "at": [1, 0, 0], "stiffness": [1e10, 1e10, 1e10],
                "rotational_stiffness": [1e9, 1e9, 1e9]}]})";
  const io::ModelFile file = io::read_model(io::JsonSource("m.json", text));
  const analysis::Equilibrium e = analysis::find_equilibrium(*file.assembly, file.model.start);
  ASSERT_TRUE(e.is_found) << e.message;
  const auto modes =
      analysis::modes_of(*file.assembly, e.motion, analysis::linearize(*file.assembly, e.motion, e.lambda));
  const analysis::Stability stability = analysis::stability_of(modes);
  EXPECT_FALSE(stability.is_stable);
  EXPECT_NEAR(stability.growth, std::sqrt(9.81 / 1.1), 1e-8);
  const auto least = analysis::least_stiffness(*file.assembly, e.motion, e.lambda);
  ASSERT_TRUE(least.has_value());
  EXPECT_FALSE(least->is_minimum());
}

/// What nothing holds is neutral, not unstable: free bodies of different masses, some of them linked by stiff springs.
TEST(Modes, FreeBodiesAreNeutral) {
  for (const double stiffness : {1e2, 1e6, 1e10})
    for (const char* group : {"se3", "r3xso3"}) {
      const io::ModelFile file = io::read_model(io::JsonSource("m.json", fmt::format(R"({{"bodies": [
          {{"name": "a", "mass": 1, "inertia": [0.1, 0.2, 0.3], "position": [0, 0, 0]}},
          {{"name": "b", "mass": 7, "inertia": [3, 2, 2], "position": [1, 0.5, 0]}},
          {{"name": "c", "mass": 0.01, "inertia": [1e-5, 1e-5, 1e-5], "position": [0, 2, 1]}}],
        "joints": [{{"type": "spherical", "between": ["b", "c"], "at": [0.5, 1, 0.5]}}],
        "forces": [{{"type": "bushing", "between": ["a", "b"], "at": [0.4, 0.2, 0.1], "stiffness": [{0}, {0}, {0}],
                    "rotational_stiffness": [{0}, {0}, {0}]}}]}})",
                                                                                     stiffness)),
                                                {.group = group});
      const analysis::Equilibrium e = analysis::find_equilibrium(*file.assembly, file.model.start);
      ASSERT_TRUE(e.is_found) << e.message;
      const auto modes =
          analysis::modes_of(*file.assembly, e.motion, analysis::linearize(*file.assembly, e.motion, e.lambda));
      EXPECT_TRUE(analysis::stability_of(modes).is_stable) << group << ", " << stiffness;
      const auto least = analysis::least_stiffness(*file.assembly, e.motion, e.lambda);
      ASSERT_TRUE(least.has_value());
      EXPECT_TRUE(least->is_minimum()) << group << ", " << stiffness << ": " << least->value;
    }
}

/// A rotor that is not symmetric has constant coefficients neither in its axes, where the bearings turn, nor in inertial ones.
TEST(Modes, SayWhereCoefficientsChange) {
  const io::ModelFile file = io::read_model(io::JsonSource("gyro.json", rotor_with("[0.3, 0.2, 0.4]", 30.0)));
  system::Motion m;
  EXPECT_FALSE(about_start(*file.assembly, file.model.start, m).is_steady);
}

/// m x'' + c x' + k x = u with a filter y' = 10 (x - y): from u to x, x', x'', the reaction of the guide and y.
TEST(Modes, TransferFunctionOfADrivenMass) {
  const double mass = 2.0, c = 8.0, k = 800.0;
  const io::ModelFile file = io::read_model(io::JsonSource("driven.json", R"({"bodies": [{"name": "m", "mass": 2,
    "inertia": [1, 1, 1], "position": [0, 0, 0]}],
    "joints": [{"name": "p", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "inputs": {"u": {"value": 0.3}}, "states": {"y": {"rate": "=10*way - 10*y + 0.5*u", "initial": 0}},
    "outputs": {"way": {"displacement": "p"}, "speed": {"formula": "=way'"}, "acceleration": {"formula": "=way''"},
                "both": {"formula": "=way*way + 3*u"}},
    "forces": [{"type": "force", "joint": "p", "value": "=u - 800*way - 8*way'"}]})"));
  const analysis::Equilibrium e = analysis::find_equilibrium(*file.assembly, file.model.start);
  ASSERT_TRUE(e.is_found) << e.message;
  const analysis::Linearization linear = analysis::linearize(*file.assembly, e.motion, e.lambda);
  const analysis::OutputMatrices outputs = analysis::output_matrices(*file.assembly, e.motion, e.lambda, linear);
  ASSERT_EQ(linear.B.cols(), 1);
  const std::vector<double> frequencies{0.0, 1.0, 20.0, 300.0};
  const std::vector<Eigen::MatrixXcd> G = analysis::frequency_response(linear, outputs, frequencies);
  const double rest = 0.3 / k;
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const std::complex<double> s(0.0, frequencies[i]), x = 1.0 / (mass * s * s + c * s + k);
    for (std::size_t row = 0; row < outputs.columns.size(); ++row) {
      const std::string& name = outputs.columns[row];
      const std::complex<double> exact = name == "way"            ? x
                                         : name == "speed"        ? s * x
                                         : name == "acceleration" ? s * s * x
                                         : name == "both"         ? 2.0 * rest * x + 3.0
                                         : name == "y"            ? (10.0 * x + 0.5) / (s + 10.0)
                                                                  : NAN;
      EXPECT_LT(std::abs(G[i](static_cast<Eigen::Index>(row), 0) - exact), 1e-9 * (1.0 + std::abs(exact)))
          << name << " at " << frequencies[i];
    }
  }
}

/// ẏ = A y against differences of accelerations, of all models that ship, moving ones too.
TEST(Modes, LinearizationIsTheDerivativeOfTheEquationsOfMotion) {
  int compared = 0;
  std::string left_out;
  for (const models::ModelInfo& info : io::model_catalogue()) {
    const std::string& name = info.name;
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
    if (!kkt.accelerate(m, lambda)) {
      left_out += name + ": no accelerations\n";
      continue;
    }
    analysis::Linearization linear;
    try {
      linear = analysis::linearize(system, m, lambda, analysis::Axes::body);
    } catch (const InvalidInput& problem) {
      left_out += name + ": " + problem.what() + "\n";
      continue;
    }
    ++compared;
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
  // Two have algebraic unknowns.
  EXPECT_GE(compared, 48) << left_out;
}

}  // namespace
