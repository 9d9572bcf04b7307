// Joints, drivers and forces on a body whose answer is known without integration: what carries a weight, and where.
#include <gtest/gtest.h>

#include <cmath>

#include "io/model_file/model_file.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

constexpr double weight = 2.0 * 9.81;  // of the body in all models here

struct Outcome {
  io::ModelFile file;
  run::Report report;
  const system::Motion& motion() const { return report.final.motion; }
  Vector3 x() const { return file.assembly->body_pose(0, motion().q).x; }
  system::Reaction reaction(const std::string& joint) const {
    for (int j = 0; j < file.assembly->joint_count(); ++j)
      if (file.assembly->joint_name(j) == joint) return file.assembly->reaction(j, motion(), report.final.lambda);
    ADD_FAILURE() << "no joint " << joint;
    return {};
  }
};

/// A body of 2 kg at `position` under gravity along -z, with joints, drivers and forces.
Outcome settled(const std::string& position, const std::string& parts, double t_end, const std::string& body = {}) {
  Outcome out;
  out.file = io::read_model(io::JsonSource(
      "m.json", R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 2, "inertia": [0.1, 0.2, 0.25],
    "position": )" + position +
                    body + "}], " + parts + "}"));
  run::Options options;
  options.rtol = options.atol = 1e-9;
  options.t_end = t_end;
  run::Observer nobody;
  out.report = run::integrate(*out.file.assembly, out.file.model.start, options, nobody);
  EXPECT_EQ(out.report.status, run::Status::success) << out.report.message;
  return out;
}

void expect_near(const Vector3& found, const Vector3& expected, double tolerance = 1e-8) {
  EXPECT_LT((found - expected).lpNorm<Eigen::Infinity>(), tolerance)
      << "found " << found.transpose() << ", expected " << expected.transpose();
}

/// Joints that hold the body at (0.3, 0, 0) at rest: the force is the weight, the torque about the joint balances it.
TEST(Statics, EveryJointCarriesTheWeight) {
  struct Case {
    const char *type, *place;
    Vector3 torque, axis;  ///< z of the joint frame
  };
  const Vector3 none = Vector3::Zero(), arm(0.0, -0.3 * weight, 0.0);
  const Vector3 up(0.0, 0.0, weight), x = Vector3::UnitX(), y = Vector3::UnitY(), z = Vector3::UnitZ();
  const Case cases[] = {
      {"spherical", R"("at": [0.3, 0, 0])", none, z},
      {"revolute", R"("at": [0, 0, 0], "axis": [0, 0, 1])", arm, z},
      {"prismatic", R"("at": [0, 0, 0], "axis": [1, 0, 0])", arm, x},
      {"cylindrical", R"("at": [0, 0, 0], "axis": [1, 0, 0])", arm, x},
      {"universal", R"("at": [0.3, 0, 0], "axes": [[1, 0, 0], [0, 1, 0]])", none, y},
      {"planar", R"("at": [0, 0, 0], "axis": [0, 0, 1])", arm, z},
      {"fixed", R"("at": [0, 0, 0])", arm, z},
      {"distance", R"("at": [[0.3, 0, 1], [0.3, 0, 0]])", none, z},
      {"point-on-line", R"("at": [0.3, 0, 0], "axis": [0, 1, 0])", none, y},
      {"point-on-plane", R"("at": [0.3, 0, 0], "axis": [0, 0, 1])", none, z},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.type);
    const Outcome out = settled("[0.3, 0, 0]",
                                std::string(R"("joints": [{"type": ")") + c.type +
                                    R"(", "name": "J", "between": ["ground", "b"], )" + c.place + "}]",
                                0.2);
    const system::Reaction reaction = out.reaction("J");
    expect_near(out.x(), {0.3, 0.0, 0.0});
    expect_near(reaction.force, up);
    expect_near(reaction.torque, c.torque);
    // The same vectors in the joint frame, whose z is the axis.
    EXPECT_NEAR(reaction.force_in_joint.norm(), weight, 1e-8);
    EXPECT_NEAR(reaction.force_in_joint.z(), up.dot(c.axis), 1e-8);
    EXPECT_NEAR(reaction.torque_in_joint.norm(), c.torque.norm(), 1e-8);
    EXPECT_NEAR(reaction.torque_in_joint.z(), c.torque.dot(c.axis), 1e-8);
  }
}

/// Geared to the load, a wheel feels teeth ratio times its torque.
TEST(Statics, GearPassesTheTorqueOn) {
  Outcome out;
  out.file = io::read_model(io::JsonSource("m.json", R"({"bodies": [
    {"name": "s", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}, {"name": "l", "mass": 1, "inertia": [1, 1, 1], "position": [3, 0, 0]}],
    "joints": [{"type": "revolute", "between": ["ground", "s"], "at": [0, 0, 0], "axis": [0, 0, 1]},
               {"type": "revolute", "between": ["ground", "l"], "at": [3, 0, 0], "axis": [0, 0, 1]},
               {"type": "gear", "name": "G", "between": ["s", "l"], "axes": [[0, 0, 1], [0, 0, 1]], "teeth": [20, 40]}],
    "forces": [{"type": "applied", "on": "s", "torque": [0, 0, 1]}, {"type": "applied", "on": "l", "torque": [0, 0, 2]}]})"));
  run::Options options;
  options.t_end = 0.2;
  run::Observer nobody;
  out.report = run::integrate(*out.file.assembly, out.file.model.start, options, nobody);
  ASSERT_EQ(out.report.status, run::Status::success) << out.report.message;
  EXPECT_LT(out.motion().v.norm(), 1e-9);
  expect_near(out.reaction("G").torque, {0.0, 0.0, -2.0});
}

const std::string hinge =
    R"("joints": [{"type": "revolute", "name": "hinge", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0]}], "forces": [)";

/// A lever of 0.3 m that each kind of force holds horizontally; the hinge carries what is left.
TEST(Statics, ForcesHoldTheLever) {
  const std::pair<std::string, double> cases[] = {
      {R"({"type": "applied", "on": "b", "at": [0.6, 0, 0], "force": [0, 0, 9.81]})", 0.5 * weight},
      {R"({"type": "applied", "on": "b", "torque": [0, "-2*9.81*0.3 + 0*t", 0]})", weight},
      {R"({"type": "spring-damper", "between": ["ground", "b"], "at": [[0.6, 0, 1], [0.6, 0, 0]], "stiffness": 98.1, "damping": 1, "length": 0.9})",
       0.5 * weight},
      {R"({"type": "torsional-spring-damper", "between": ["ground", "b"], "axis": [0, 1, 0], "stiffness": 58.86, "damping": 1, "angle": -0.1})",
       weight},
      {R"({"type": "linear-actuator", "between": ["ground", "b"], "at": [[0.6, 0, -1], [0.6, 0, 0]], "value": 9.81})",
       0.5 * weight},
      {R"json({"type": "rotary-actuator", "between": ["ground", "b"], "axis": [0, 1, 0], "value": "-5.886*cos(0*t)"})json",
       weight},
      {R"({"type": "bushing", "between": ["ground", "b"], "at": [0.6, 0, 0], "stiffness": [0, 0, 0]}, {"type": "applied", "on": "b", "at": [0.6, 0, 0], "force": [0, 0, 9.81]})",
       0.5 * weight},
  };
  for (const auto& [force, carried] : cases) {
    SCOPED_TRACE(force);
    const Outcome out = settled("[0.3, 0, 0]", hinge + force + "]", 0.3);
    expect_near(out.x(), {0.3, 0.0, 0.0});
    expect_near(out.reaction("hinge").force, {0.0, 0.0, carried});
  }
}

TEST(Statics, BushingSagsByWeightOverStiffness) {
  const Outcome out = settled(
      "[0, 0, 0]",
      R"("forces": [{"type": "bushing", "between": ["ground", "b"], "at": [0, 0, 0], "stiffness": [1e4, 1e4, 1e4],
    "damping": [600, 600, 600], "rotational_stiffness": [100, 100, 100], "rotational_damping": [1, 1, 1]}])",
      1.0);
  expect_near(out.x(), {0.0, 0.0, -weight / 1e4});
  // Half of what gravity gave is in the spring, the other half is lost.
  EXPECT_NEAR(out.report.work.dissipated, 0.5 * weight * weight / 1e4, 1e-7);
  EXPECT_LT(out.report.energy_error, 1e-7);
}

TEST(Statics, FrictionDecelerates) {
  const Outcome out = settled(
      "[0, 0, 0]",
      R"("joints": [{"type": "prismatic", "name": "rail", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
    "forces": [{"type": "joint-friction", "joint": "rail", "coefficient": 0.2, "smoothing_speed": 0.001}])",
      0.5, R"(, "velocity": [2, 0, 0])");
  const double speed = 2.0 - 0.2 * 9.81 * 0.5;
  EXPECT_NEAR(out.motion().v[0], speed, 1e-3);
  EXPECT_NEAR(out.report.work.dissipated, 4.0 - speed * speed, 2e-3);
  EXPECT_LT(out.report.energy_error, 1e-7);
}

const std::string rail =
    R"("joints": [{"type": "prismatic", "name": "rail", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 0, 1]}], "drivers": [)";

/// Force m (g + z''), work m g Δz + Δ(m z'²/2).
TEST(Statics, DriversNeedTheForceAndWorkOfTheirMotion) {
  const double pi = M_PI;
  const Outcome sine = settled(
      "[0, 0, 0]",
      rail +
          R"json({"type": "position", "name": "D", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 0, 1], "value": "0.1*sin(2*pi*t)"}])json",
      1.25, R"(, "velocity": [0, 0, 0.62831853071795862])");
  expect_near(sine.x(), {0.0, 0.0, 0.1});
  expect_near(sine.reaction("D").force, {0.0, 0.0, 2.0 * (9.81 - 0.1 * 4.0 * pi * pi)}, 1e-5);
  EXPECT_NEAR(sine.report.work.drivers, 0.1 * weight - 0.04 * pi * pi, 1e-6);
  const Outcome winch = settled(
      "[0, 0, -1]",
      rail +
          R"({"type": "distance", "name": "D", "between": ["ground", "b"], "at": [[0, 0, 0], [0, 0, -1]], "value": "1 + 0.3*t"}])",
      1.0, R"(, "velocity": [0, 0, -0.3])");
  expect_near(winch.x(), {0.0, 0.0, -1.3});
  expect_near(winch.reaction("D").force, {0.0, 0.0, weight}, 1e-6);
  EXPECT_NEAR(winch.report.work.drivers, -0.3 * weight, 1e-6);
  const Outcome held = settled(
      "[0.3, 0, 0]",
      R"("joints": [{"type": "revolute", "name": "hinge", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
    "drivers": [{"type": "angle", "name": "D", "between": ["ground", "b"], "axis": [0, 1, 0], "value": {"table": [[0, 0], [1, 0], [2, 0]]}}])",
      0.5);
  expect_near(held.reaction("D").torque, {0.0, -0.3 * weight, 0.0});
  expect_near(held.reaction("hinge").torque, Vector3::Zero());
}

/// Frames in body coordinates, of a body that is turned: the same joint as in world coordinates.
TEST(Statics, FramesInBodyCoordinates) {
  const Outcome out =
      settled("[0, 0.3, 0]", R"("joints": [{"type": "revolute", "name": "hinge", "between": ["ground", "b"],
    "frames": [{"at": [0, 0, 0], "axis": [0, 0, 1]}, {"at": [-0.3, 0, 0], "axis": [0, 0, 1]}]}])",
              0.2, R"(, "rotation": {"axis": [0, 0, 1], "angle_deg": 90})");
  expect_near(out.x(), {0.0, 0.3, 0.0});
  expect_near(out.reaction("hinge").force, {0.0, 0.0, weight});
  expect_near(out.reaction("hinge").torque, {0.3 * weight, 0.0, 0.0});
}

}  // namespace
