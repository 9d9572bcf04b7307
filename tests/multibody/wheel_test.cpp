// Disks that roll without slipping, against closed forms and minimal equations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "io/model_file/model_file.hpp"
#include "kreisel/check.hpp"
#include "kreisel/mechanism.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

io::ModelFile read(const std::string& text) { return io::read_model(io::JsonSource("test.json", text)); }

run::Report run_file(const io::ModelFile& file, double t_end, double tolerance = 1e-10) {
  run::Options options;
  options.t_end = t_end;
  options.rtol = options.atol = tolerance;
  run::Observer nobody;
  run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

constexpr double mass = 1.3, radius = 0.5, gravity = 9.81, tilt = 1.2, turn = 1.5;

/// A disk on a circle: (I₃ + m a²) ω₃ φ̇ sin θ = I₁ φ̇² sin θ cos θ - m g a cos θ. The axis is x of the body.
std::string steady_disk(const char* group, const char* plane_body = "ground", bool has_table = false) {
  const double c = std::cos(tilt), s = std::sin(tilt), ma2 = mass * radius * radius;
  const double I3 = 0.5 * ma2, I1 = 0.25 * ma2;
  const double spin = (I1 * turn * turn * s * c - mass * gravity * radius * c) / ((I3 + ma2) * turn * s);
  const double path = -radius * spin / turn;  // of the centre: x = u × z/φ̇
  const std::string table =
      has_table ? R"({"name": "table", "mass": 50, "inertia": [9, 8, 7], "position": [0.2, 0.3, -0.4]},)" : "";
  const std::string fixed = has_table ? R"(, {"type": "fixed", "between": ["ground", "table"], "at": [0, 0, 0]})" : "";
  return fmt::format(
      R"({{"group": "{}", "gravity": [0, 0, -9.81], "bodies": [{} {{"name": "disk", "mass": {}, "inertia": [{:.17g}, {:.17g}, {:.17g}],
        "position": [{:.17g}, 0, {:.17g}], "rotation": {{"matrix": [[{:.17g}, 0, {:.17g}], [0, 1, 0], [{:.17g}, 0, {:.17g}]]}},
        "velocity": [0, {:.17g}, 0], "angular_velocity": [{:.17g}, 0, {:.17g}]}}],
      "joints": [{{"name": "tyre", "type": "wheel", "between": ["{}", "disk"], "at": [[3, -2, 0], [{:.17g}, 0, {:.17g}]],
        "axes": [[0, 0, 1], [{:.17g}, 0, {:.17g}]], "radius": {}}}{}]}})",
      group, table, mass, I3, I1, I1, path, radius * s, s, -c, c, s, -radius * spin, spin, turn * s, plane_body, path,
      radius * s, s, c, radius, fixed);
}

TEST(Wheel, RollsOnACircleForEver) {
  const double path = [] {
    const double c = std::cos(tilt), s = std::sin(tilt), ma2 = mass * radius * radius;
    return -radius * (0.25 * ma2 * turn * turn * s * c - mass * gravity * radius * c) / (1.5 * ma2 * turn * s) / turn;
  }();
  for (const char* group : {"r3xso3", "se3"})
    for (const bool has_table : {false, true}) {
      const io::ModelFile file = read(steady_disk(group, has_table ? "table" : "ground", has_table));
      const double t_end = 6.0;
      const run::Report report = run_file(file, t_end);
      const int at = has_table ? 7 : 0;
      EXPECT_NEAR(report.final.motion.q[at], path * std::cos(turn * t_end), 2e-7) << group;
      EXPECT_NEAR(report.final.motion.q[at + 1], path * std::sin(turn * t_end), 2e-7) << group;
      EXPECT_NEAR(report.final.motion.q[at + 2], radius * std::sin(tilt), 1e-9) << group;
      EXPECT_LT(report.energy_error, 1e-8) << group;
      // The plane carries the weight and pulls the centre of mass round its circle.
      const system::Reaction on_disk = file.assembly->reaction(0, report.final.motion, report.final.lambda);
      const double force = mass * turn * turn * path;
      EXPECT_NEAR(on_disk.force.z(), mass * gravity, 1e-5);
      EXPECT_NEAR(on_disk.force.x(), -force * std::cos(turn * t_end), 1e-5);
      EXPECT_NEAR(on_disk.force.y(), -force * std::sin(turn * t_end), 1e-5);
    }
}

/// A wobbling disk: θ inclination of the axis, φ heading, ω₃ spin, integrated here.
TEST(Wheel, WobblesAsTheMinimalEquationsSay) {
  const double a = radius, k = 0.25, j = 0.5, g = gravity;
  // ω in the axes e₁ (horizontal, in the disk), e₂ (up the disk), e₃ (axis); these turn with (θ̇, φ̇ sin θ, φ̇ cos θ).
  // Centre: u = -ω × (-a e₂) = a ω × e₂ = a (-ω₃ e₁ + ω₁ e₃). Force f = m(u̇ + g ez), ez = sin θ e₂ + cos θ e₃,
  // torque about the centre (-a e₂) × f.
  const auto slope = [&](const std::array<double, 5>& y) {
    const double theta = y[0], w1 = y[2], w2 = y[3], w3 = y[4];
    const double p = w2 / std::tan(theta);  // turning of the axes about e₃
    // u̇/a = -ω₃' e₁ + ω₁' e₃ + Ω × (-ω₃ e₁ + ω₁ e₃), Ω = (ω₁, ω₂, p)
    const double c1 = w2 * w1, c3 = w2 * w3;
    // L' + Ω × L = (-F₃, 0, F₁) per m a², L = (k ω₁, k ω₂, j ω₃)
    const double g1 = w2 * j * w3 - p * k * w2, g2 = p * k * w1 - w1 * j * w3;
    const double gr = g / a;
    std::array<double, 5> d{};
    d[2] = (-g1 - c3 - gr * std::cos(theta)) / (k + 1.0);
    d[3] = -g2 / k;
    d[4] = c1 / (j + 1.0);
    d[0] = w1;
    d[1] = w2 / std::sin(theta);
    return d;
  };
  std::array<double, 5> y{1.1, 0.3, 0.4, 1.2 * std::sin(1.1), -4.0};
  const std::array<double, 5> start = y;
  const int steps = 20000;
  const double t_end = 2.0, h = t_end / steps;
  for (int i = 0; i < steps; ++i) {
    const auto moved = [&](const std::array<double, 5>& d, double s) {
      std::array<double, 5> out = y;
      for (int n = 0; n < 5; ++n) out[n] += s * d[n];
      return out;
    };
    const auto k1 = slope(y), k2 = slope(moved(k1, 0.5 * h)), k3 = slope(moved(k2, 0.5 * h)), k4 = slope(moved(k3, h));
    for (int n = 0; n < 5; ++n) y[n] += h / 6.0 * (k1[n] + 2.0 * k2[n] + 2.0 * k3[n] + k4[n]);
  }
  const auto axes = [](double theta, double phi) {
    Matrix3 E;  // e₁ horizontal, e₂ up the disk, e₃ the axis
    E.col(0) = Vector3(-std::sin(phi), std::cos(phi), 0.0);
    E.col(2) = Vector3(std::sin(theta) * std::cos(phi), std::sin(theta) * std::sin(phi), std::cos(theta));
    E.col(1) = E.col(2).cross(E.col(0));
    return E;
  };
  const Matrix3 E = axes(start[0], start[1]);
  ASSERT_NEAR(E.col(1).z(), std::sin(start[0]), 1e-14);
  for (const lie::GroupId group : {lie::GroupId::r3xso3, lie::GroupId::se3}) {
    Mechanism mechanism("disk", group);
    const Vector3 w(start[2], start[3], start[4]);
    const double ma2 = mass * a * a;
    const Vector3 centre = Vector3(0.3, -0.2, 0.0) + a * E.col(1).z() * Vector3::UnitZ();
    const kreisel::Body disk = mechanism.add_body({.name = "disk",
                                                   .mass = mass,
                                                   .inertia = diagonal(k * ma2, k * ma2, j * ma2),
                                                   .position = centre,
                                                   .rotation = E,
                                                   .velocity = E * (a * w.cross(Vector3::UnitY())),
                                                   .angular_velocity = w});
    mechanism.add_joint(wheel({ground, disk}, Vector3::Zero(), Vector3::UnitZ(), centre, E.col(2), a));
    const run::Problem problem = mechanism.problem({.t_end = t_end});
    run::Options options;
    options.rtol = options.atol = 1e-10;
    options.t_end = t_end;
    run::Observer nobody;
    const run::Report report = run::integrate(*problem.system, problem.start, options, nobody);
    ASSERT_EQ(report.status, run::Status::success) << report.message;
    const system::Pose pose = problem.system->body_pose(0, report.final.motion.q);
    EXPECT_NEAR(std::acos(pose.R(2, 2)), y[0], 1e-7);
    EXPECT_NEAR(std::remainder(std::atan2(pose.R(1, 2), pose.R(0, 2)) - y[1], 2.0 * M_PI), 0.0, 1e-7);
    EXPECT_NEAR(report.final.motion.v[5], y[4], 1e-7);
    EXPECT_LT(report.energy_error, 1e-8);
  }
}

TEST(Wheel, IsRefusedOutsideOfItsPlaneAndWhereItSlips) {
  const auto model = [](const char* height, const char* speed) {
    return fmt::format(
        R"({{"bodies": [{{"name": "disk", "mass": 1, "inertia": [0.1, 0.2, 0.1], "position": [0, 0, {}], "velocity": [{}, 0, 0]}}],
      "joints": [{{"name": "tyre", "type": "wheel", "between": ["ground", "disk"], "at": [[0, 0, 0], [0, 0, {}]], "axes": [[0, 0, 1], [0, 1, 0]], "radius": 0.3}}]}})",
        height, speed, height);
  };
  EXPECT_NO_THROW(read(model("0.3", "0")));
  for (const auto& [height, speed, expected] :
       {std::array{"0.31", "0", "positions miss the joint by 0.01"}, std::array{"0.3", "1", "'tyre rolling'"}}) {
    try {
      read(model(height, speed));
      ADD_FAILURE();
    } catch (const InvalidInput& e) {
      EXPECT_NE(std::string(e.what()).find(expected), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("/joints/0"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
