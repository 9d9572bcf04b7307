// Joints with a transmission against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "io/model_file/model_file.hpp"
#include "kreisel/mechanism.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

run::Report run_file(const std::string& text, double t_end, const char* group = "r3xso3") {
  const io::ModelFile file =
      io::read_model(io::JsonSource("test.json", R"({"group": ")" + std::string(group) + R"(", )" + text.substr(1)));
  run::Options options;
  options.t_end = t_end;
  options.rtol = options.atol = 1e-9;
  run::Observer nobody;
  run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  return report;
}

/// A nut falls on a steep thread: (m + J(2π/p)²) s'' = -m g, over many turns.
TEST(Screw, LetsANutFallWithTheInertiaOfItsRotation) {
  const double pitch = -0.2, mass = 2.0, J = 0.003, t = 3.0;
  for (const char* group : {"r3xso3", "se3"}) {
    const run::Report report = run_file(R"({"gravity": [0, 0, -9.81],
      "bodies": [{"name": "nut", "mass": 2, "inertia": [0.002, 0.002, 0.003], "position": [0.3, 0, 0]}],
      "joints": [{"type": "screw", "between": ["ground", "nut"], "at": [0.3, 0, 1], "axis": [0, 0, 1], "pitch": -0.2}]})",
                                        t, group);
    const double slope = 2.0 * M_PI / pitch;
    const double a = -mass * 9.81 / (mass + J * slope * slope);
    EXPECT_NEAR(report.final.motion.q[2], 0.5 * a * t * t, 1e-6);
    EXPECT_GT(std::abs(0.5 * a * t * t / pitch), 40.0) << "turns";
    EXPECT_NEAR(report.final.motion.v[5], slope * a * t, 1e-5);
  }
}

/// A weight pulls the rack: (m + J/r²) s'' = -m g; the pinion turns with it on a carrier that is held.
TEST(RackAndPinion, TurnsThePinionAsFarAsTheRackMoves) {
  const double radius = 0.05, mass = 3.0, J = 0.004, t = 1.5;
  const run::Report report = run_file(R"({"gravity": [0, 0, -9.81],
    "bodies": [{"name": "pinion", "mass": 1, "position": [0, 0, 0], "inertia": [0.004, 0.003, 0.003]}, {"name": "rack", "mass": 3, "position": [0, 0.05, 0.2], "inertia": [1, 1, 1]},
               {"name": "frame", "mass": 5, "position": [0, 0, 0], "inertia": [1, 1, 1]}],
    "joints": [{"type": "weld", "between": ["ground", "frame"], "at": [0, 0, 0]},
               {"type": "revolute", "between": ["frame", "pinion"], "at": [0, 0, 0], "axis": [1, 0, 0]},
               {"type": "prismatic", "between": ["frame", "rack"], "at": [0, 0.05, 0], "axis": [0, 0, 1]},
               {"type": "rack-and-pinion", "between": ["pinion", "rack"], "axes": [[1, 0, 0], [0, 0, 1]], "radius": 0.05, "carrier": "frame"}]})",
                                      t);
  const double a = -mass * 9.81 / (mass + J / (radius * radius));
  EXPECT_NEAR(report.final.motion.q[9], 0.2 + 0.5 * a * t * t, 1e-6);
  EXPECT_NEAR(report.final.motion.v[3], a * t / radius, 1e-5);
}

/// A shaft driven at 20 rad/s turns another one, bent by 40 degrees. Behind a universal joint the speed would vary between
/// cos 40° and 1/cos 40°, that is by 30 %.
TEST(ConstantVelocity, TurnsABentShaftAsFastAsTheStraightOne) {
  for (const char* group : {"r3xso3", "se3"}) {
    const run::Report report = run_file(R"({
      "bodies": [{"name": "in", "mass": 1, "position": [0, 0, 0], "inertia": [0.01, 0.02, 0.02], "angular_velocity": [20, 0, 0]}, {"name": "out", "mass": 1, "inertia": [0.01, 0.02, 0.02],
                  "position": [0.766044443118978, 0.6427876096865393, 0], "rotation": {"axis": [0, 0, 1], "angle_deg": 40}, "angular_velocity": [20, 0, 0]}],
      "joints": [{"type": "revolute", "between": ["ground", "in"], "at": [0, 0, 0], "axis": [1, 0, 0]},
                 {"type": "constant-velocity", "between": ["in", "out"], "at": [0, 0, 0], "axes": [[1, 0, 0], [0.766044443118978, 0.6427876096865393, 0]]},
                 {"type": "point-on-line", "between": ["ground", "out"], "at": [0.766044443118978, 0.6427876096865393, 0], "axis": [0.766044443118978, 0.6427876096865393, 0]}],
      "drivers": [{"type": "angle", "between": ["ground", "in"], "axis": [1, 0, 0], "value": "20*t"}]})",
                                        1.0, group);
    EXPECT_NEAR(report.final.motion.v[9], 20.0, 1e-6);
    EXPECT_NEAR(report.final.motion.v[10], 0.0, 1e-6);
    EXPECT_NEAR(report.final.motion.v[11], 0.0, 1e-6);
  }
}

TEST(ConstantVelocity, IsBuiltFromCppAndRefusesAxesThatPointAgainstEachOther) {
  Mechanism mechanism;
  const Body shaft =
      mechanism.add_body({.name = "shaft", .mass = 1.0, .inertia = Vector3(0.01, 0.02, 0.02).asDiagonal()});
  mechanism.add_joint({"constant-velocity", {ground, shaft}, {Vector3::Zero()}, {Vector3::UnitX(), Vector3::UnitY()}});
  EXPECT_EQ(mechanism.problem({.t_end = 1.0}).system->pattern().rows(), 4);
  mechanism.add_joint(
      {"screw", {ground, shaft}, {Vector3::Zero()}, {Vector3::UnitX()}, "thread", 0.0, "", {{"pitch", 0.01}}});
  EXPECT_EQ(mechanism.problem({.t_end = 1.0}).system->pattern().rows(), 9);
  EXPECT_THROW(mechanism.add_joint({"screw", {ground, shaft}, {Vector3::Zero()}, {Vector3::UnitX()}, "no pitch"}),
               InvalidInput);
  EXPECT_THROW(io::read_model(io::JsonSource(
                   "test.json", R"({"bodies": [{"name": "out", "mass": 1, "position": [0, 0, 0], "inertia": [1, 1, 1]}],
      "joints": [{"type": "constant-velocity", "between": ["ground", "out"], "at": [0, 0, 0], "axes": [[1, 0, 0], [-1, 0, 0]]}]})")),
               InvalidInput);
}

}  // namespace
