// Springs and actuators on angles that turn more than once.
#include <gtest/gtest.h>

#include <cmath>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "run/integrator.hpp"

namespace {

using namespace kreisel;

/// A wheel of inertia 0.2 about z with angular velocity `spin`, on a hinge unless `joints` says otherwise.
io::ModelFile wheel(const std::string& force, double spin, const std::string& group = "r3xso3",
                    const std::string& joints = "hinge") {
  const std::string hinge =
      R"({"type": "revolute", "between": ["ground", "wheel"], "at": [0, 0, 0], "axis": [0, 0, 1]})";
  return io::read_model(io::JsonSource(
      "wheel.json", R"({"group": ")" + group +
                        R"(", "bodies": [{"name": "wheel", "mass": 1, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0],
      "angular_velocity": [0, 0, )" +
                        std::to_string(spin) + R"(]}], "joints": [)" + (joints == "hinge" ? hinge : joints) + R"(],
      "forces": [{"between": ["ground", "wheel"], "axis": [0, 0, 1], "name": "spring", )" +
                        force + "}]}"));
}

struct Case {
  const char *method, *joints;
  double step;  ///< 0: adaptive
  double tolerance;
};

double final_spin(const io::ModelFile& file, const Case& c, double t_end, double* turned = nullptr) {
  run::Options options;
  options.method = c.method;
  options.t_end = t_end;
  if (c.step > 0.0)
    options.step = c.step;
  else
    options.rtol = options.atol = 1e-9;
  run::Observer nobody;
  const run::Report report = run::integrate(*file.assembly, file.model.start, options, nobody);
  EXPECT_EQ(report.status, run::Status::success) << c.method << ": " << report.message;
  EXPECT_NEAR(report.energy_error, 0.0, 50.0 * c.tolerance) << c.method;
  if (turned != nullptr) *turned = report.final.motion.q.tail<1>()[0];
  return report.final.motion.v[5];
}

class EveryMethod : public testing::TestWithParam<Case> {};

/// θ̈ = -5 θ, θ̇(0) = 10: the amplitude 4.47 lies beyond half a turn.
TEST_P(EveryMethod, SpringSwingsBeyondHalfATurn) {
  for (const char* group : {"r3xso3", "se3"}) {
    double turned = 0.0;
    const double spin =
        final_spin(wheel(R"("type": "torsional-spring-damper", "stiffness": 1)", 10.0, group, GetParam().joints),
                   GetParam(), 1.0, &turned);
    EXPECT_NEAR(spin, 10.0 * std::cos(std::sqrt(5.0)), GetParam().tolerance) << group;
    EXPECT_NEAR(turned, 10.0 / std::sqrt(5.0) * std::sin(std::sqrt(5.0)), GetParam().tolerance) << group;
  }
}

INSTANTIATE_TEST_SUITE_P(Winding, EveryMethod,
                         testing::Values(Case{"bliedf", "hinge", 0.0, 1e-5}, Case{"bliedf", "hinge", 0.01, 2e-6},
                                         Case{"mkbdf", "hinge", 0.01, 2e-6},
                                         Case{"generalized-alpha", "hinge", 0.005, 5e-4},
                                         Case{"projected-bdf", "hinge", 0.0, 1e-5}, Case{"rkmk", "hinge", 0.0, 1e-6},
                                         Case{"rkmk", "hinge", 0.1, 1e-8}, Case{"crouch-grossman", "", 0.01, 1e-5},
                                         Case{"commutator-free", "", 0.01, 1e-5}, Case{"mkam", "", 0.01, 1e-5}));

constexpr Case by_rkmk{"rkmk", "hinge", 0.0, 1e-6};

TEST(Winding, RestAnglesAndTargetsMayHaveAnySize) {
  const double expected = 5.0 * std::sqrt(5.0) * std::sin(std::sqrt(5.0));
  for (const char* force : {R"("type": "torsional-spring-damper", "stiffness": 1, "angle": 5)",
                            R"("type": "rotary-actuator", "stiffness": 1, "target": 5)"})
    EXPECT_NEAR(final_spin(wheel(force, 0.0), by_rkmk, 1.0), expected, 1e-6) << force;
}

/// With φ = θ - 20 t²: 0.2 φ̈ + 0.05 φ̇ + φ = -8. After 3 s the wheel has turned 28 times.
TEST(Winding, ActuatorFollowsItsTargetOverManyTurns) {
  const double d = 0.125, w = std::sqrt(5.0 - d * d);
  const double expected = 120.0 - 8.0 * std::exp(-3.0 * d) * std::sin(3.0 * w) * (w + d * d / w);
  const io::ModelFile file =
      wheel(R"("type": "rotary-actuator", "stiffness": 1, "damping": 0.05, "target": "20*t^2")", 0.0);
  EXPECT_NEAR(final_spin(file, by_rkmk, 3.0), expected, 1e-5);
  // Four turns in the last step.
  EXPECT_NEAR(final_spin(file, {"rkmk", "hinge", 0.25, 1e-3}, 3.0), expected, 1e-3);
}

TEST(Winding, AngleDriverTurnsManyTimes) {
  const io::ModelFile file = io::read_model(
      io::JsonSource("wheel.json", R"({"bodies": [{"name": "wheel", "mass": 1, "inertia": [0.2, 0.2, 0.2],
    "position": [0, 0, 0]}], "joints": [{"type": "revolute", "between": ["ground", "wheel"], "at": [0, 0, 0], "axis": [0, 0, 1]}],
    "drivers": [{"type": "angle", "between": ["ground", "wheel"], "axis": [0, 0, 1], "value": "20*t^2"}]})"));
  const Case adaptive{"bliedf", "hinge", 0.0, 1e-6};
  EXPECT_NEAR(final_spin(file, adaptive, 3.0), 120.0, 1e-8);
}

/// Without a spring there is nothing to count.
TEST(Winding, DampersAndTorquesNeedNoCount) {
  for (const char* force :
       {R"("type": "torsional-spring-damper", "damping": 1)", R"("type": "rotary-actuator", "value": "t")"})
    EXPECT_EQ(wheel(force, 1.0).assembly->space().blocks().size(), 1U) << force;
  const io::ModelFile counted = wheel(R"("type": "torsional-spring-damper", "stiffness": 1)", 3.0);
  ASSERT_EQ(counted.assembly->space().blocks().size(), 2U);
  EXPECT_EQ(counted.assembly->pattern().block_name(1), "spring");
  EXPECT_EQ(counted.model.start.v0[6], 3.0);
}

/// The spring relaxed at 100: energy and force depend on the turn, and on nothing else of the counted angle.
TEST(Winding, OnlyTheTurnIsReadFromTheCountedAngle) {
  const io::ModelFile file = wheel(R"("type": "torsional-spring-damper", "stiffness": 2, "angle": 100)", 0.0);
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  for (const double turned : {-0.5, 0.0, 3.0}) {
    m.q[7] = 2.0 * M_PI * 15.0 + turned;
    EXPECT_NEAR(file.assembly->energy(m), std::pow(2.0 * M_PI * 15.0 - 100.0, 2), 1e-9);
  }
}

/// The driver asks for 0.25 where the file has 0.
TEST(Winding, AssemblySetsTheCountedAngle) {
  io::RunSpec spec;
  spec.own_model = std::make_shared<models::ModelInfo>(
      io::model_of(std::make_shared<io::JsonSource>("wheel.json", R"({"bodies": [{"name": "wheel",
    "mass": 1, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0]}], "joints": [{"type": "revolute", "between": ["ground", "wheel"], "at": [0, 0, 0],
    "axis": [0, 0, 1]}], "drivers": [{"type": "angle", "between": ["ground", "wheel"], "axis": [0, 0, 1], "value": "0.25+2*t"}],
    "forces": [{"type": "torsional-spring-damper", "between": ["ground", "wheel"], "axis": [0, 0, 1], "stiffness": 1}]})"),
                   true));
  spec.set("assemble", true);
  const io::PreparedRun run = io::prepare(spec);
  EXPECT_NEAR(run.model.start.q0[7], 0.25, 1e-12);
  EXPECT_NEAR(run.model.start.v0[6], 2.0, 1e-12);
}

/// Initial values of joints count turns, and so does what acts between the bodies: τ = -2 (θ - target) at the start, θ(t) = target +
/// (θ₀ - target) cos(√10 t).
TEST(Winding, InitialValuesBeyondHalfATurnAreThoseOfSpringsAndActuators) {
  struct Start {
    const char* force;
    double angle, target;
  };
  for (const char* group : {"r3xso3", "se3"})
    for (const Start& c : {Start{R"("type": "torsional-spring-damper", "stiffness": 2)", 3.5, 0.0},
                           Start{R"("type": "torsional-spring-damper", "stiffness": 2)", -20.0, 0.0},
                           Start{R"("type": "torsional-spring-damper", "torque": "=2*x")", 10.0, 0.0},
                           Start{R"("type": "rotary-actuator", "stiffness": 2, "target": 12)", 10.0, 12.0}})
      for (const bool is_reversed : {false, true}) {
        SCOPED_TRACE(std::string(c.force) + group + (is_reversed ? " reversed" : ""));
        const std::string hinge = std::string(R"({"type": "revolute", "between": )") +
                                  (is_reversed ? R"(["wheel", "ground"])" : R"(["ground", "wheel"])") +
                                  R"(, "at": [0, 0, 0], "axis": [0, 0, 1], "initial": {"value": )" +
                                  std::to_string(is_reversed ? -c.angle : c.angle) + "}}";
        const io::ModelFile file = wheel(c.force, 0.0, group, hinge);
        EXPECT_NEAR(file.model.start.q0[7], c.angle, 1e-6);
        double turned = 0.0;
        const double spin = final_spin(file, by_rkmk, 1.0, &turned), w = std::sqrt(10.0);
        EXPECT_NEAR(turned, c.target + (c.angle - c.target) * std::cos(w), 1e-5);
        EXPECT_NEAR(spin, -w * (c.angle - c.target) * std::sin(w), 1e-5);
      }
}

/// Two hinges on one axis: a spring from the ground to the outer wheel is turned by both.
TEST(Winding, InitialValuesOfSeveralHingesAddUp) {
  const auto start = [](const std::string& joints) {
    const io::ModelFile file = io::read_model(io::JsonSource(
        "wheels.json", R"({"bodies": [{"name": "inner", "mass": 1, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0]},
      {"name": "outer", "mass": 1, "inertia": [0.2, 0.2, 0.2], "position": [0, 0, 0]}], "joints": [)" +
                           joints + R"(], "forces": [{"type": "torsional-spring-damper", "between": ["ground", "outer"],
      "axis": [0, 0, 1], "stiffness": 2}]})"));
    return file.model.start.q0[14];
  };
  const std::string one = R"({"type": "revolute", "between": ["ground", "inner"], "at": [0, 0, 0], "axis": [0, 0, 1],
      "initial": {"value": 2.5}})",
                    two = R"({"type": "revolute", "between": ["inner", "outer"], "at": [0, 0, 0], "axis": [0, 0, 1],
      "initial": {"value": 2.5}})";
  EXPECT_NEAR(start(one + "," + two), 5.0, 1e-12);
  EXPECT_NEAR(start(two + "," + one), 5.0, 1e-12);
}

}  // namespace
