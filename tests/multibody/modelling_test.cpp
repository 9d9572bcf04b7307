// Shipped models that use laws, states and repeated entries, and events and initial values in files, against
// independent equations of motion.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "model_runs.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

TEST(SliderCrankEngine, FollowsItsMinimalCoordinate) {
  const double r = 0.04, l = 0.14, J = 0.05, rod = 0.6, J_rod = 0.6 * l * l / 12, piston = 0.5, g = 9.81;
  // By the crank angle: the rod leans by φ, sin φ = (r/l) sin θ; its centre stands at (-(r sin θ)/2, r cos θ + (l/2)
  // cos φ).
  const auto lean = [&](double a) { return std::asin(r / l * std::sin(a)); };
  const auto lean_1 = [&](double a) { return r / l * std::cos(a) / std::cos(lean(a)); };
  const auto mass = [&](double a) {
    const double phi = lean(a), phi_1 = lean_1(a);
    const double y_1 = r * std::cos(a) / 2, z_1 = -r * std::sin(a) - l / 2 * std::sin(phi) * phi_1,
                 s_1 = -r * std::sin(a) - l * std::sin(phi) * phi_1;
    return J + rod * (y_1 * y_1 + z_1 * z_1) + J_rod * phi_1 * phi_1 + piston * s_1 * s_1;
  };
  const auto force = [&](double a, double w) {
    const double phi = lean(a), phi_1 = lean_1(a);
    const double z_1 = -r * std::sin(a) - l / 2 * std::sin(phi) * phi_1,
                 s_1 = -r * std::sin(a) - l * std::sin(phi) * phi_1;
    const double gas = -5e-3 * 4e6 * std::pow(std::max(0.0, std::cos((a - 0.3) / 2)), 12);
    return gas * s_1 - 2e-3 * w * std::abs(w) - rod * g * z_1 - piston * g * s_1;
  };
  const auto f = [&](double, const Eigen::Vector2d& y) {
    const double h = 1e-3, a = y[0];
    const double slope = (8 * (mass(a + h) - mass(a - h)) - (mass(a + 2 * h) - mass(a - 2 * h))) / (12 * h);
    return Eigen::Vector2d(y[1], (force(a, y[1]) - 0.5 * slope * y[1] * y[1]) / mass(a));
  };
  const Eigen::Vector2d y = minimal(Eigen::Vector2d(0, 60), 0.5, 50'000, f);
  const Ran run = ran(shipped("slider-crank-engine"), 0.5, 1e-10);
  EXPECT_NEAR(run["crank_angle"], y[0], 1e-6 * y[0]) << "after several turns";
  EXPECT_GT(y[0], 4 * M_PI);
  EXPECT_NEAR(run["omega"], y[1], 1e-6 * y[1]);
  EXPECT_NEAR(run["power"], 2e-3 * y[1] * y[1] * y[1], 1e-4 * std::abs(run["power"]));
}

TEST(RobotArm, FollowsItsMinimalCoordinates) {
  // Absolute angles a of rods in a row: M_ij = m L² (n - max(i, j) + ½) cos(a_i - a_j), + 1/12 - ... on the diagonal.
  const double m = 1.5, L = 0.4, g = 9.81, kp = 80, kd = 8, ki = 60, limit = 30;
  const Eigen::Vector3d goal(0.6, 0.4, -0.8);
  using State = Eigen::Matrix<double, 9, 1>;  // absolute angles, their rates, integrals
  const auto f = [&](double, const State& y) {
    const Eigen::Vector3d a = y.head<3>(), w = y.segment<3>(3);
    Eigen::Matrix3d M;
    Eigen::Vector3d rhs;
    for (int i = 0; i < 3; ++i) {
      rhs[i] = -m * g * L * (3 - i - 0.5) * std::cos(a[i]);
      for (int j = 0; j < 3; ++j) {
        const double weight = i == j ? m * L * L * (1.0 / 3 + (2 - i)) : m * L * L * (2 - std::max(i, j) + 0.5);
        M(i, j) = weight * std::cos(a[i] - a[j]);
        if (i != j) rhs[i] -= weight * std::sin(a[i] - a[j]) * w[j] * w[j];
      }
    }
    const Eigen::Vector3d q(a[0], a[1] - a[0], a[2] - a[1]), v(w[0], w[1] - w[0], w[2] - w[1]);
    for (int i = 0; i < 3; ++i) {
      const double torque = std::clamp(kp * (goal[i] - q[i]) - kd * v[i] + ki * y[6 + i], -limit, limit);
      rhs[i] += torque;
      if (i > 0) rhs[i - 1] -= torque;
    }
    State out;
    out << w, M.ldlt().solve(rhs), goal - q;
    return out;
  };
  const State y = minimal(State(State::Zero()), 3.0, 60'000, f);
  const Ran run = ran(shipped("robot-arm"), 3.0, 1e-9);
  EXPECT_NEAR(run["q1"], y[0], 1e-6);
  EXPECT_NEAR(run["q2"], y[1] - y[0], 1e-6);
  EXPECT_NEAR(run["q3"], y[2] - y[1], 1e-6);
  EXPECT_NEAR(run["sum2"], y[7], 1e-6);
  EXPECT_NEAR(run["tip.z"], L * (std::sin(y[0]) + std::sin(y[1]) + std::sin(y[2])), 1e-6);
}

TEST(HangingChain, HasAsManyRodsAsAskedAndFollowsItsMinimalCoordinates) {
  io::RunSpec spec = shipped("hanging-chain");
  spec.settings = {{"n", 5.0}};
  const Ran run = ran(spec, 1.0, 1e-9);
  EXPECT_EQ(run.prepared.model.system->body_count(), 5);
  EXPECT_EQ(run.prepared.model.system->joint_name(4), "hinge4");
  const double m = 0.2, L = 0.4, g = 9.81;
  using State = Eigen::Matrix<double, 10, 1>;
  const auto f = [&](double, const State& y) {
    Eigen::Matrix<double, 5, 5> M;
    Eigen::Matrix<double, 5, 1> rhs;
    for (int i = 0; i < 5; ++i) {
      rhs[i] = -m * g * L * (5 - i - 0.5) * std::cos(y[i]);
      for (int j = 0; j < 5; ++j) {
        const double weight = i == j ? m * L * L * (1.0 / 3 + (4 - i)) : m * L * L * (4 - std::max(i, j) + 0.5);
        M(i, j) = weight * std::cos(y[i] - y[j]);
        if (i != j) rhs[i] -= weight * std::sin(y[i] - y[j]) * y[5 + j] * y[5 + j];
      }
    }
    State out;
    out << y.tail<5>(), M.ldlt().solve(rhs);
    return out;
  };
  const State y = minimal(State(State::Zero()), 1.0, 40'000, f);
  double z = 0.0;
  for (int i = 0; i < 5; ++i) z += L * std::sin(y[i]);
  EXPECT_NEAR(run["end.z"], z, 1e-6);
}

TEST(Repeat, RefusesWhatCannotBe) {
  const auto with = [](const std::string& repeat, const std::string& name = "b{i}", const std::string& mass = "1") {
    return refusal(
        R"j({"parameters": {"n": 2.5, "k": 1}, "bodies": [{"name": ")j" + name + R"j(", "repeat": )j" + repeat +
        R"j(, "mass": )j" + mass +
        R"j(, "inertia": ["=k", 1, 1], "position": ["=i", 0, 0]}, {"name": "c", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}]})j");
  };
  EXPECT_EQ(with(R"j({"count": 3})j").find("accepted"), 0u);
  EXPECT_NE(
      with(R"j({"count": "=n"})j").find("/bodies/0/repeat/count: is 2.5, expected a whole number from 0 to 1000000"),
      std::string::npos);
  EXPECT_NE(with(R"j({"count": 1e9})j").find("expected a whole number"), std::string::npos);
  EXPECT_NE(with(R"j({"index": "k", "count": 2})j").find("/bodies/0/repeat/index: 'k' is the name of a parameter"),
            std::string::npos);
  EXPECT_NE(with(R"j({"index": "i"})j").find("the key \"count\" is missing"), std::string::npos);
  EXPECT_NE(with(R"j({"count": 2, "cont": 2})j").find("unknown key 'cont'; did you mean 'count'?"), std::string::npos);
  EXPECT_NE(with(R"j({"count": 2})j", "b").find("/bodies/0/name: with i = 2: \"b\" is the name of an earlier body"),
            std::string::npos);
  EXPECT_NE(with(R"j({"count": 2})j", "b{i/2}").find("'{i/2}' in \"b{i/2}\" is 0.5, expected a whole number"),
            std::string::npos);
  EXPECT_NE(with(R"j({"count": 2})j", "b{i}", "\"=1 - i\"").find("/bodies/0/mass: with i = 2: is -1, expected a mass"),
            std::string::npos);
}

const std::string ball = R"j({"gravity": [0, 0, -9.81], "parameters": {"e": 0.9},
 "bodies": [{"name": "ball", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 1]}],
 "outputs": {"place": {"position": "ball"}, "height": "=place.z"},
 "events": [{"name": "floor", "when": "=height", "direction": "falling", "action": {"impact": {"restitution": "=e"}}},
            {"name": "top", "when": "=height'", "direction": "falling", "action": "stop", "after": 3}]})j";

TEST(FileEvents, ABallBouncesWithItsRestitution) {
  const Ran run = ran(spec_of(ball), 10.0, 1e-10);
  ASSERT_GE(run.report.events.size(), 4u);
  EXPECT_NEAR(run.report.events[0].t, 0.451523641, 1e-8);
  // The third top after impacts with 0.9 comes at t1 + 2·0.9 t1 + 2·0.81 t1 + 0.729 t1.
  const double t1 = std::sqrt(2 / 9.81);
  EXPECT_NEAR(run.report.final.motion.t, t1 * (1 + 2 * 0.9 + 2 * 0.81 + 0.729), 1e-7);
  EXPECT_NEAR(run["height"], std::pow(0.81, 3), 1e-7);
  EXPECT_TRUE(run.report.events.back().ends_the_run);
}

TEST(FileEvents, ALatchReleasesAndABrakeTakesHold) {
  // The rod is held until t = 0.5, then it swings freely; from 30 degrees below on a viscous brake holds it.
  const std::string text = R"j({"gravity": [0, 0, -9.81],
 "bodies": [{"name": "rod", "mass": 2, "inertia": [0.2, 0.01, 0.2], "position": [0, 0.5, 0]}],
 "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
 "drivers": [{"name": "latch", "type": "angle", "between": ["ground", "rod"], "axis": [1, 0, 0], "value": 0}],
 "outputs": {"swing": {"angle": "hinge"}},
 "forces": [{"name": "brake", "type": "torque", "joint": "hinge", "value": "=-4*v", "active": false}],
 "events": [{"name": "release", "when": "=t - 0.5", "direction": "rising", "action": {"switch": {"off": ["latch"]}}},
            {"name": "brakes", "when": "=swing + pi/6", "direction": "falling", "action": {"switch": {"on": ["brake"]}}}]})j";
  const Ran run = ran(spec_of(text), 1.5, 1e-10);
  ASSERT_EQ(run.report.events.size(), 2u);
  EXPECT_NEAR(run.report.events[0].t, 0.5, 1e-9);
  const double J = 0.7;
  Eigen::Vector2d y(0, 0);
  double t = 0.5;
  bool brakes = false;
  const double h = 1e-5;
  while (t < 1.5 - h / 2) {
    const auto f = [&](double, const Eigen::Vector2d& x) {
      return Eigen::Vector2d(x[1], (-9.81 * std::cos(x[0]) - (brakes ? 4 * x[1] : 0.0)) / J);
    };
    y = minimal(y, h, 1, f);
    t += h;
    if (!brakes && y[0] < -M_PI / 6) {
      brakes = true;
      EXPECT_NEAR(run.report.events[1].t, t, 2 * h);
    }
  }
  EXPECT_NEAR(run["swing"], y[0], 1e-4) << "the brake begins within 1e-5 s here";
}

/// A mass that swings as cos(2πt) passes zero at 0.25, 0.75, ...; the first occurrences of each event are only recorded.
std::string swinging(const std::string& event) {
  return R"j({"parameters": {"c": 0}, "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
 "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [1, 0, 0], "initial": {"value": 1}}],
 "outputs": {"s": {"displacement": "rail"}, "set": "=c"},
 "forces": [{"name": "spring", "type": "force", "joint": "rail", "value": "=-4*pi^2*x"}],
 "events": [{"name": "middle", "when": "=s", )j" +
         event + "}]}";
}

TEST(FileEvents, ActFromTheOccurrenceThatTheyNameOn) {
  const double two_pi = 2 * M_PI;
  const auto actions = [](const Ran& run) {
    std::string list;
    for (const run::Occurrence& event : run.report.events) list += event.action + " ";
    return list;
  };
  // From 0.75 on without the spring: s = 2π (t - 0.75).
  const Ran off = ran(spec_of(swinging(R"j("after": 2, "action": {"switch": {"off": ["spring"]}})j")), 1.0, 1e-10);
  EXPECT_EQ(actions(off), "record switch ");
  EXPECT_NEAR(off["s"], two_pi * 0.25, 1e-8);
  // Set at 0.75 and again at 1.25.
  const Ran set = ran(spec_of(swinging(R"j("after": 2, "action": {"set": {"c": "=c + t"}})j")), 1.4, 1e-10);
  EXPECT_EQ(actions(set), "record set set ");
  EXPECT_NEAR(set["set"], 0.75 + 1.25, 1e-8);
  EXPECT_NEAR(set["s"], std::cos(two_pi * 1.4), 1e-7) << "the motion goes on";
  // Falling at 0.25 and 1.25: there the velocity becomes 3, s = 3 sin(2π (t - 1.25))/2π.
  const Ran jump =
      ran(spec_of(swinging(R"j("direction": "falling", "after": 2, "action": {"jump": {"m.velocity": [3, 0, 0]}})j")),
          1.5, 1e-10);
  EXPECT_EQ(actions(jump), "record jump ");
  EXPECT_NEAR(jump["s"], 3 / two_pi, 1e-8);
  // Through the wall at 0.25, against it at 1.25 with e = 0.5: s = 0.5 sin(2π (t - 1.25)).
  const Ran impact =
      ran(spec_of(swinging(R"j("direction": "falling", "after": 2, "action": {"impact": {"restitution": 0.5}})j")), 1.5,
          1e-10);
  EXPECT_EQ(actions(impact), "record impact ");
  EXPECT_NEAR(impact["s"], 0.5, 1e-8);
  const Ran stop = ran(spec_of(swinging(R"j("after": 3, "action": "stop")j")), 5.0, 1e-10);
  EXPECT_EQ(stop.report.events.size(), 3u);
  EXPECT_NEAR(stop.report.final.motion.t, 1.25, 1e-8);
}

/// A body falls through z = -0.5 at t = 0.3193; below, the root is not a number.
TEST(FileEvents, AreNotLostSilentlyWhereTheirFunctionIsNotANumber) {
  const auto falling = [](const std::string& events) {
    io::RunSpec spec = spec_of(R"j({"gravity": [0, 0, -9.81],
 "bodies": [{"name": "m", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
 "outputs": {"at": {"position": "m"}}, "events": [)j" +
                               events + "]}");
    spec.set("t_end", 1.0).set("rtol", 1e-8).set("atol", 1e-8);
    const io::PreparedRun prepared = io::prepare(spec);
    run::Observer nobody;
    return run::integrate(*prepared.model.system, prepared.model.start, prepared.options, nobody);
  };
  const std::string record = R"j({"name": "seen", "when": "=sqrt(at.z + 0.5) - 2"})j";
  for (const std::string action : {R"j("stop")j", R"j({"jump": {"m.velocity": [0, 0, 1]}})j", R"j({"impact": {}})j"}) {
    const run::Report report =
        falling(record + R"j(, {"name": "lost", "when": "=sqrt(at.z + 0.5) - 2", "action": )j" + action + "}");
    EXPECT_EQ(report.status, run::Status::event_failed) << action;
    EXPECT_NE(report.message.find("the function of event 'lost' is not a number at t = 0."), std::string::npos)
        << report.message;
    EXPECT_NEAR(report.final.motion.t, std::sqrt(1.0 / 9.81), 0.2) << "near where it happens";
  }
  const run::Report recorded = falling(record);
  EXPECT_EQ(recorded.status, run::Status::success) << "nothing would have changed";
  ASSERT_EQ(recorded.warnings.size(), 1u);
  EXPECT_NE(recorded.warnings[0].find("event 'seen' is not a number"), std::string::npos);
  // What ends the run earlier is found.
  const run::Report stopped = falling(R"j({"name": "in time", "when": "=sqrt(at.z + 0.5) - 0.1", "action": "stop"})j");
  EXPECT_EQ(stopped.status, run::Status::success) << stopped.message;
  EXPECT_NEAR(stopped.final.motion.t, std::sqrt(2 * 0.49 / 9.81), 1e-7);
}

TEST(FileEvents, RefuseWhatCannotBe) {
  const auto with = [](const std::string& event) {
    return refusal(
        R"j({"bodies": [{"name": "ball", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0, 0, 1]}], "outputs": {"place": {"position": "ball"}, "rush": {"acceleration": "ball"}}, "events": [)j" +
        event + "]}");
  };
  const auto expect = [&](const std::string& event, const std::string& message) {
    const std::string said = with(event);
    EXPECT_NE(said.find(message), std::string::npos) << said;
  };
  expect(R"j({"name": "e"})j", "/events/0: the key \"when\" is missing");
  expect(R"j({"when": "=place.q"})j", "unknown name 'place.q'; did you mean 'place.x'?");
  expect(R"j({"when": "=rush.z"})j", "/events/0/when: depends on an acceleration, which is not available in events");
  expect(R"j({"when": "=t", "action": "halt"})j", "unknown action 'halt'");
  expect(R"j({"when": "=t", "direction": "down"})j", "unknown direction 'down'");
  expect(R"j({"when": "=t", "action": {"switch": {"off": ["latch"]}}})j",
         "/events/0/action/switch/off/0: unknown joint or force 'latch'");
  expect(R"j({"when": "=t", "action": {"impact": {"restitution": 2}}})j", "is 2, expected a number from 0 to 1");
  expect(R"j({"when": "=t", "after": 2})j", "counts occurrences before an action");
  expect(R"j({"when": "=t", "after": 0, "action": "stop"})j", "expected the number of the first occurrence");
}

TEST(InitialJoints, PlaceAndMoveWhatTheyCarry) {
  const auto chain = [](const std::string& first, const std::string& second) {
    return R"j({"gravity": [0, 0, -9.81],
 "bodies": [{"name": "a", "mass": 1, "inertia": [0.1, 0.01, 0.1], "position": [0, 0.5, 0]}, {"name": "b", "mass": 1, "inertia": [0.1, 0.01, 0.1], "position": [0, 1.5, 0]},
            {"name": "c", "mass": 1, "inertia": [0.1, 0.01, 0.1], "position": [0, 2.5, 0]}],
 "joints": [{"name": "one", "type": "revolute", "between": ["ground", "a"], "at": [0, 0, 0], "axis": [1, 0, 0])j" +
           first + R"j(},
            {"name": "two", "type": "revolute", "between": ["b", "a"], "at": [0, 1, 0], "axis": [1, 0, 0])j" +
           second + R"j(},
            {"name": "three", "type": "prismatic", "between": ["b", "c"], "at": [0, 2, 0], "axis": [0, 1, 0], "initial": {"value": 0.25, "rate": 3}}],
 "outputs": {"p": {"angle": "one"}, "q2": {"angle": "two"}, "s": {"displacement": "three"}, "end": {"position": "c"}, "fast": {"velocity": "c"},
             "dp": "=p'", "dq": "=q2'", "ds": "=s'"}})j";
  };
  io::RunSpec spec =
      spec_of(chain(R"j(, "initial": {"value": 7, "rate": 2})j", R"j(, "initial": {"value_deg": 40, "rate": -1})j"));
  for (const char* group : {"r3xso3", "se3"}) {
    spec.group = group;
    const io::PreparedRun run = io::prepare(spec);  // the initial values fit the joints
    const system::System& system = *run.model.system;
    lie::Motion m(system.space());
    m.q = run.model.start.q0;
    m.v = run.model.start.v0;
    Vector out(system.output_size());
    system.evaluate_outputs(m, Vector::Zero(system.pattern().rows()).eval(), out);
    EXPECT_NEAR(out[0], 7.0, 1e-14) << "with its turn";
    EXPECT_NEAR(out[1], 40 * M_PI / 180, 1e-14);
    EXPECT_NEAR(out[2], 0.25, 1e-14);
    // "two" counts from b to a: b leans by 7 - 40 degrees.
    const double lean = 7 - 40 * M_PI / 180;
    EXPECT_NEAR(out[4], std::cos(7) + (1.5 + 0.25) * std::cos(lean), 1e-13);
    EXPECT_NEAR(out[5], std::sin(7) + (1.5 + 0.25) * std::sin(lean), 1e-13);
    const double w = 2 + 1;
    EXPECT_NEAR(out[7], -2 * std::sin(7) - w * 1.75 * std::sin(lean) + 3 * std::cos(lean), 1e-12);
    EXPECT_NEAR(out[8], 2 * std::cos(7) + w * 1.75 * std::cos(lean) + 3 * std::sin(lean), 1e-12);
    EXPECT_NEAR(out[9], 2.0, 1e-13);
    EXPECT_NEAR(out[10], -1.0, 1e-13);
    EXPECT_NEAR(out[11], 3.0, 1e-13);
  }
  EXPECT_NE(refusal(chain(R"j(, "initial": {"valu": 7})j", "")).find("unknown key 'valu'; did you mean 'value'?"),
            std::string::npos);
  EXPECT_NE(refusal(chain(R"j(, "initial": {"value": 1, "value_deg": 40})j", ""))
                .find("is given twice, in radians and in degrees"),
            std::string::npos);
}

/// One body turns about z, the other about x: seen from the first, the rotation vector of Rz(-a) Rx(b).
TEST(Output, RotationIsThatRelativeToAnotherBody) {
  const std::string text = R"j({"bodies": [
      {"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "angular_velocity": [0, 0, 0.7]},
      {"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0], "angular_velocity": [0.4, 0, 0]}],
    "outputs": {"own": {"rotation": "b"}, "seen": {"rotation": "b", "relative_to": "a"}, "plain": {"rotation": "b", "relative_to": "ground"}}})j";
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = spec_of(text);
    spec.group = group;
    const Ran r = ran(spec, 2.0, 1e-9);
    const Eigen::AngleAxisd turn(Eigen::AngleAxisd(-1.4, Vector3::UnitZ()) * Eigen::AngleAxisd(0.8, Vector3::UnitX()));
    const Vector3 expected = turn.angle() * turn.axis();
    for (int i = 0; i < 3; ++i) {
      const std::string axis(1, "xyz"[i]);
      EXPECT_NEAR(r["seen." + axis], expected[i], 1e-7) << group;
      EXPECT_NEAR(r["own." + axis], i == 0 ? 0.8 : 0.0, 1e-7) << group;
      EXPECT_EQ(r["plain." + axis], r["own." + axis]) << group;
    }
  }
}

/// A nut on a thread of lead p/2π, driven by nothing: angle and place grow together until a stop of the angle throws it back.
TEST(Screw, HasAnAngleThatMayBeginAnywhereAndEndAtAStop) {
  for (const char* between : {R"("ground", "nut")", R"("nut", "ground")"}) {
    const std::string text = std::string(R"j({"bodies": [
        {"name": "nut", "mass": 2, "inertia": [0.1, 0.2, 0.3], "position": [0.2, 0, 1]}],
      "joints": [{"name": "thread", "type": "screw", "between": [)j") +
                             between + R"j(], "at": [0, 0, 0], "axis": [0, 0, 1], "pitch": 0.5,
        "initial": {"value": 8, "rate": 3}, "limits": {"to": 14, "restitution": 0.5}}],
      "outputs": {"turn": {"angle": "thread"}, "turning": "=turn'", "place": {"position": "nut"}}})j";
    const double sign = std::string(between).starts_with("\"g") ? 1.0 : -1.0, lead = 0.5 / (2.0 * M_PI);
    const Ran before = ran(spec_of(text), 1.5, 1e-9), after = ran(spec_of(text), 3.0, 1e-9);
    EXPECT_NEAR(before["turn"], 8.0 + 3.0 * 1.5, 1e-7) << between;
    EXPECT_NEAR(before["place.z"], 1.0 + sign * lead * (8.0 + 3.0 * 1.5), 1e-7) << between;
    EXPECT_NEAR(before["place.x"], 0.2 * std::cos(12.5), 1e-7) << between;
    EXPECT_NEAR(before["place.y"], sign * 0.2 * std::sin(12.5), 1e-7) << between;
    EXPECT_NEAR(after["turn"], 14.0 - 1.5, 1e-6) << "one second after the stop at t = 2";
    EXPECT_NEAR(after["turning"], -1.5, 1e-7);
  }
}

/// A mass on a rail passes a place or a time at which a force acts so briefly that both ends of a long step know nothing of it.
class BriefForce : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(BriefForce, IsNotSteppedOver) {
  const auto& [force, method] = GetParam();
  const std::string value(force);
  io::RunSpec spec = spec_of(R"j({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
      "joints": [{"type": "prismatic", "name": "rail", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0], "initial": {"rate": 1}}],
      "outputs": {"s": {"displacement": "rail"}, "speed": "=s'"},
      "forces": [{"type": "force", "joint": "rail", "value": )j" +
                             value + "}]}");
  spec.set("method", std::string(method));
  const Ran r = ran(spec, 2.5, 1e-6);
  // Of the place: v^2/2 grows by the work 1 J; of time: v grows by the impulse 1 N s.
  const bool is_of_place = value.find('t') == std::string::npos || value.find("\"=s\"") != std::string::npos;
  EXPECT_NEAR(r["speed"], is_of_place ? std::sqrt(3.0) : 2.0, 1e-3);
}
INSTANTIATE_TEST_SUITE_P(
    All, BriefForce,
    testing::Combine(
        testing::Values(
            R"j("=1e6*max(0, 1e-3 - abs(x - 1))")j", R"j("=1e6*max(0, 1e-3 - abs(t - 1 + 1e-9*x))")j",
            R"({"table": [[0, 0], [0.999, 0], [1, 1000], [1.001, 0], [9, 0]], "of": "=s", "interpolation": "linear"})",
            R"({"table": [[0, 0], [0.999, 0], [1, 1000], [1.001, 0], [9, 0]], "of": "=t", "interpolation": "linear"})",
            R"({"table": [[0, 0], [1.998, 0], [2, 1000], [2.002, 0], [9, 0]], "of": "=2*t", "interpolation": "linear"})"),
        testing::Values("bliedf", "radau", "rkmk", "generalized-alpha", "projected-bdf")),
    [](const auto& info) {
      std::string name = "Number" + std::to_string(info.index);
      return name;
    });

/// Two spheres meet head-on within one step, and a point passes a narrow gate of an event.
TEST(Contact, OfSmallSpheresIsNotSteppedOver) {
  for (const char* method : {"bliedf", "radau", "rkmk", "generalized-alpha"}) {
    io::RunSpec spec = spec_of(R"j({"bodies": [
        {"name": "a", "mass": 1, "inertia": [1e-3, 1e-3, 1e-3], "position": [0, 0, 0], "velocity": [1, 0, 0]},
        {"name": "b", "mass": 1, "inertia": [1e-3, 1e-3, 1e-3], "position": [1, 0, 0]}],
      "forces": [{"name": "c", "type": "contact", "shapes": "sphere-sphere", "between": ["a", "b"], "first_radius": 1e-3,
                  "second_radius": 1e-3, "stiffness": 1e9, "restitution": 1, "friction": 0}],
      "outputs": {"place": {"position": "a"}, "va": {"velocity": "a"}, "vb": {"velocity": "b"}},
      "events": [{"name": "gate", "when": "=1e-6 - abs(place.x - 0.2345)"}, {"name": "square", "when": "=1e-12 - (place.x - 0.345)^2"}]})j");
    spec.set("method", std::string(method));
    const Ran r = ran(spec, 2.0, 1e-6);
    EXPECT_NEAR(r["va.x"], 0.0, 1e-4) << method;
    EXPECT_NEAR(r["vb.x"], 1.0, 1e-4) << method;
    const auto count = [&](const char* event) {
      return std::ranges::count(r.report.events, std::string(event), &run::Occurrence::event);
    };
    EXPECT_EQ(count("gate"), 2) << method;
    EXPECT_EQ(count("square"), 2) << method;
  }
}

}  // namespace
