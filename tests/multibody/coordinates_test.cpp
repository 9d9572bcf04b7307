// Joints with two coordinates, impacts between named bodies, forces of C++ mechanisms with formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "kreisel/mechanism.hpp"
#include "model_runs.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

// ---- cylindrical joints

std::string bolt(const std::string& more) {
  return R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "bolt", "mass": 2, "inertia": [0.02, 0.02, 0.01], "position": [0.3, 0, 0]}],
    "joints": [{"name": "bore", "type": "cylindrical", "between": ["ground", "bolt"], "at": [0.3, 0, 0], "axis": [0, 0, 1], )" +
         more + R"(}], "outputs": {"turned": {"angle": "bore"}, "way": {"displacement": "bore"}}})";
}

TEST(Cylindrical, StartsWhereBothCoordinatesSayAndBouncesOnBothLimits) {
  for (const char* group : {"r3xso3", "se3"}) {
    const std::string text = bolt(
        R"("initial": {"angle": {"value_deg": 30, "rate": 3}, "displacement": {"value": 0.5, "rate": 0}},
           "limits": {"angle": {"to": 2, "restitution": 1}, "displacement": {"from": 0, "restitution": 0.5}})");
    const Ran run = ran(spec_of(R"({"group": ")" + std::string(group) + R"(", )" + text.substr(1)), 0.5, 1e-10);
    const double fall = std::sqrt(2 * 0.5 / 9.81), rebound = 0.5 * 9.81 * fall, after = 0.5 - fall;
    EXPECT_NEAR(run["way"], rebound * after - 0.5 * 9.81 * after * after, 1e-8);
    EXPECT_NEAR(run["turned"], 2 - (M_PI / 6 + 3 * 0.5 - 2), 1e-8);
    ASSERT_EQ(run.report.events.size(), 2u);
    EXPECT_EQ(run.report.events[0].event, "bore displacement lower limit");
    EXPECT_EQ(run.report.events[1].event, "bore angle upper limit");
  }
}

/// Kelvin and Voigt hold the bolt at m g/k; the angle swings between soft stops without loss.
TEST(Cylindrical, HasCompliantLimitsOfBothCoordinates) {
  const Ran run = ran(
      spec_of(bolt(
          R"("initial": {"angle": {"rate": 2}}, "limits": {"displacement": {"from": -0.1, "stiffness": 5000, "damping": 300},
    "angle": {"from": -0.5, "to": 0.5, "stiffness": 40}})")),
      4.0, 1e-11);
  EXPECT_NEAR(run["way"], -0.1 - 2 * 9.81 / 5000, 1e-7);
  // Half a period: over the gap, and half a swing on each spring.
  const double omega = std::sqrt(40 / 0.01), period = 2 * (1.0 / 2 + M_PI / omega);
  const double phase = std::fmod(4.0 + 0.25, period);  // from the lower stop on, which is left at 2 rad/s
  const double expected = phase < 0.5                  ? -0.5 + 2 * phase
                          : phase < 0.5 + M_PI / omega ? 0.5 + 2 / omega * std::sin(omega * (phase - 0.5))
                          : phase < 1.0 + M_PI / omega
                              ? 0.5 - 2 * (phase - 0.5 - M_PI / omega)
                              : -0.5 - 2 / omega * std::sin(omega * (phase - 1.0 - M_PI / omega));
  EXPECT_NEAR(run["turned"], expected, 1e-6);
}

TEST(Cylindrical, AsksWhichCoordinateIsMeant) {
  EXPECT_NE(refusal(bolt(R"("initial": {"value": 0.3})")).find("/joints/0/initial/value"), std::string::npos);
  EXPECT_NE(refusal(bolt(R"("limits": {"displacement": {"from_deg": 3}})")).find("not an angle"), std::string::npos);
  EXPECT_EQ(refusal(bolt(R"("limits": {"displacement": {"from": -3}})")), "accepted");
  EXPECT_NE(refusal(bolt(R"("limits": {"displacement": {"from": 3}})")).find("beyond its lower limit"),
            std::string::npos);
}

// ---- impacts

std::string collision(const char* between) {
  return R"({"bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "velocity": [2, 0, 0]},
    {"name": "b", "mass": 3, "inertia": [1, 1, 1], "position": [1, 0, 0]}, {"name": "c", "mass": 3, "inertia": [1, 1, 1], "position": [5, 0, 0]}],
    "outputs": {"a_at": {"position": "a"}, "b_at": {"position": "b"}, "a_v": {"velocity": "a"}, "b_v": {"velocity": "b"}},
    "events": [{"name": "hit", "when": "=b_at.x - a_at.x - 0.5", "direction": "falling", "action": {"impact": {"restitution": 0.5, "between": )" +
         std::string(between) + "}}}]}";
}

TEST(Impact, BetweenTwoBodiesKeepsTheirMomentum) {
  for (const char* group : {"r3xso3", "se3"}) {
    const Ran run = ran(
        spec_of(R"({"group": ")" + std::string(group) + R"(", )" + collision(R"(["a", "b"])").substr(1)), 1.0, 1e-9);
    EXPECT_NEAR(run["a_v.x"], -0.25, 1e-9);  // (m_a - e m_b) v/(m_a + m_b)
    EXPECT_NEAR(run["b_v.x"], 0.75, 1e-9);   // m_a (1 + e) v/(m_a + m_b)
  }
  EXPECT_NE(refusal(collision(R"(["a", "c"])")).find("'c'"), std::string::npos);
  EXPECT_NE(refusal(collision(R"(["a", "ground"])")).find("does not name 'b'"), std::string::npos);
  EXPECT_NE(refusal(collision(R"(["a", "d"])")).find("/events/0/action/impact/between/1"), std::string::npos);
}

// ---- forces with formulas in C++

TEST(CppMechanism, HasForcesWithFormulas) {
  const std::string text = R"json({"gravity": [0, 0, -9.81], "parameters": {"k": 50},
    "bodies": [{"name": "bob", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0.3, 0, -1]}],
    "states": {"z": {"rate": "=pull - z"}}, "outputs": {"pull": {"force": "rope"}, "x_at": {"position": "bob"}},
    "forces": [{"name": "rope", "type": "spring-damper", "between": ["ground", "bob"], "at": [[0, 0, 0], [0.3, 0, -0.9]], "length": 0.8, "force": "=k*x + 30*x^3 + 0.2*v"},
               {"name": "wind", "type": "applied", "on": "bob", "force": [0, "sin(2*t)", 0]},
               {"name": "joint", "type": "bushing", "between": ["ground", "bob"], "at": [0, 0, 0], "stiffness": [1, 2, 3]}]})json";
  const Ran run = ran(spec_of(text), 2.0, 1e-9);
  Mechanism mechanism;
  const Body bob =
      mechanism.add_body({.name = "bob", .mass = 1.0, .inertia = diagonal(0.1, 0.1, 0.1), .position = {0.3, 0, -1}});
  mechanism.add_parameter("k", 50);
  const int rope = mechanism.add_force({.type = "spring-damper",
                                        .bodies = {ground, bob},
                                        .points = {Vector3::Zero(), {0.3, 0, -0.9}},
                                        .numbers = {{"length", 0.8}},
                                        .name = "rope",
                                        .laws = {{"force", {"k*x + 30*x^3 + 0.2*v"}}}});
  mechanism.add_force(
      {.type = "applied", .bodies = {bob}, .name = "wind", .laws = {{"force", {0.0, "sin(2*t)", 0.0}}}});
  mechanism.add_force({.type = "bushing",
                       .bodies = {ground, bob},
                       .points = {Vector3::Zero()},
                       .name = "joint",
                       .vectors = {{"stiffness", Vector3(1, 2, 3)}}});
  mechanism.add_state("z", "pull - z").add_output("pull", effort_of(rope));
  const run::Problem problem = mechanism.problem({.t_end = 2.0});
  run::Options options;
  options.t_end = 2.0;
  options.rtol = options.atol = 1e-9;
  run::Observer nobody;
  const run::Report report = run::integrate(*problem.system, problem.start, options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_LT((report.final.motion.q.head(7) - run.report.final.motion.q.head(7)).norm(), 1e-8);
  Vector out(problem.system->output_size());
  problem.system->evaluate_outputs(report.final.motion, report.final.lambda, out);
  EXPECT_NEAR(out[0], run["pull"], 1e-7);
  EXPECT_THROW(mechanism.add_force({.type = "spring-damper", .bodies = {ground, bob}, .laws = {{"torque", {"x"}}}}),
               InvalidInput);
  EXPECT_THROW(mechanism.add_force({.type = "contact",
                                    .bodies = {ground, bob},
                                    .numbers = {{"stiffness", 1.0}},
                                    .words = {{"shapes", "plane-cube"}}}),
               InvalidInput);
  Mechanism wrong = mechanism;
  wrong.add_force({.type = "spring-damper", .bodies = {ground, bob}, .name = "w", .laws = {{"force", {"unknown*x"}}}});
  EXPECT_THROW(wrong.problem({.t_end = 1.0}), InvalidInput);
}

/// A constant torque over many turns: its work is that of a force.
TEST(ConstantTorque, IsBookedAsWork) {
  const Ran run = ran(
      spec_of(
          R"json({"bodies": [{"name": "w", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "angular_velocity": [0, 6, 0]}],
    "joints": [{"name": "j", "type": "revolute", "between": ["ground", "w"], "at": [0, 0, 0], "axis": [0, 1, 0]}],
    "forces": [{"name": "d", "type": "torque", "joint": "j", "value": "=0.4 - 0.1*v"}]})json"),
      5.0, 1e-9);
  const double w = 4 + 2 * std::exp(-0.5);
  EXPECT_NEAR(run.report.final.motion.v[4], w, 1e-7);
  EXPECT_NEAR(run.report.energy_final - run.report.energy_initial, 0.5 * (w * w - 36), 1e-6);
  EXPECT_LT(run.report.energy_error, 1e-7);
}

TEST(CppMechanism, HasGearsOnACarrier) {
  Mechanism mechanism;
  mechanism.set_gravity(Vector3::Zero());
  const Body a = mechanism.add_body({.name = "a", .inertia = diagonal(1, 1, 2), .angular_velocity = {0, 0, 3}});
  const Body b = mechanism.add_body(
      {.name = "b", .inertia = diagonal(1, 1, 1), .position = {1, 0, 0}, .angular_velocity = {0, 0, -6}});
  mechanism.add_joint(revolute({ground, a}, Vector3::Zero(), Vector3::UnitZ()));
  mechanism.add_joint(revolute({ground, b}, {1, 0, 0}, Vector3::UnitZ()));
  JointDescription gear{"gear", {a, b}, {}, {Vector3::UnitZ(), Vector3::UnitZ()}};
  EXPECT_THROW(mechanism.add_joint(gear), InvalidInput) << "no teeth";
  gear.teeth = {40, 20};
  mechanism.add_joint(gear);
  const run::Problem problem = mechanism.problem({.t_end = 1.0});
  run::Options options;
  options.t_end = 1.0;
  options.rtol = options.atol = 1e-9;
  run::Observer nobody;
  const run::Report report = run::integrate(*problem.system, problem.start, options, nobody);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_NEAR(report.final.motion.v[5], 3.0, 1e-8);
  EXPECT_NEAR(report.final.motion.v[11], -6.0, 1e-8);
}

}  // namespace
