// Force, length, speed and power of forces as outputs, against closed forms and against the energy of the bodies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numbers>

#include <unistd.h>

#include "multibody/model_runs.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

std::string unit_of(const Ran& r, const std::string& name) {
  for (const system::OutputInfo& info : r.prepared.model.system->outputs())
    if (info.name == name) return info.unit;
  return "no such output";
}

const std::string four_of_a =
    R"("outputs": {"f": {"force": "a"}, "l": {"length": "a"}, "s": {"speed": "a"}, "p": {"power": "a"}})";

/// m ẍ + c ẋ + k x = 0, x(0) = x0 at rest; the spring is `rest` long without force.
TEST(ForceOutputs, OfASpringDamperAreThoseOfTheOscillator) {
  constexpr double m = 2.0, c = 3.0, k = 80.0, rest = 0.7, x0 = 0.2, t = 0.9;
  const double decay = c / (2 * m), omega = std::sqrt(k / m - decay * decay);
  const double e = x0 * std::exp(-decay * t), cosine = std::cos(omega * t), sine = std::sin(omega * t);
  const double x = e * (cosine + decay / omega * sine);
  const double v = -e * (k / m) / omega * sine;
  for (const std::string law : {R"("stiffness": 80, "damping": 3)", R"("force": "=80*x + 3*v")"}) {
    const Ran r = ran(
        spec_of(
            R"({"gravity": [0, 0, 0], "bodies": [{"name": "m", "mass": 2, "inertia": [1, 1, 1], "position": [0.9, 0, 0]}],
          "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "m"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
          "forces": [{"name": "a", "type": "spring-damper", "between": ["ground", "m"], "at": [[0, 0, 0], [0.9, 0, 0]], "length": 0.7, )" +
            law + "}], " + four_of_a + "}"),
        t, 1e-11);
    EXPECT_NEAR(r["l"], rest + x, 1e-9) << law;
    EXPECT_NEAR(r["s"], v, 1e-8) << law;
    EXPECT_NEAR(r["f"], k * x + c * v, 1e-7) << law;
    EXPECT_NEAR(r["p"], -(k * x + c * v) * v, 1e-7) << law;
    EXPECT_EQ(unit_of(r, "f") + ", " + unit_of(r, "l") + ", " + unit_of(r, "s") + ", " + unit_of(r, "p"),
              "N, m, m/s, W");
  }
}

/// A rotor under a constant torque turns many times; a torsional spring swings through several turns.
TEST(ForceOutputs, OfRotationsCountTheirTurns) {
  constexpr double J = 0.5, torque = 4.0, t = 3.0;
  const std::string rotor =
      R"({"gravity": [0, 0, 0], "bodies": [{"name": "r", "mass": 1, "inertia": [0.5, 0.5, 0.5], "position": [0, 0, 0], "angular_velocity": [0, 0, 0]}],
          "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "r"], "at": [0, 0, 0], "axis": [0, 0, 1]}], )";
  for (
      const std::string force :
      {R"({"name": "a", "type": "rotary-actuator", "between": ["ground", "r"], "axis": [0, 0, 1], "value": 4})",
       R"({"name": "a", "type": "rotary-actuator", "between": ["ground", "r"], "axis": [0, 0, 1], "value": "=4 + 0*v"})",
       R"({"name": "a", "type": "torque", "joint": "pin", "value": 4})"}) {
    const Ran r = ran(spec_of(rotor + R"("forces": [)" + force + "], " + four_of_a + "}"), t, 1e-10);
    EXPECT_NEAR(r["f"], torque, 1e-12) << force;
    EXPECT_NEAR(r["l"], torque * t * t / (2 * J), 1e-7) << force;  // 36 rad
    EXPECT_NEAR(r["s"], torque * t / J, 1e-8) << force;
    EXPECT_NEAR(r["p"], torque * torque * t / J, 1e-7) << force;
    EXPECT_EQ(unit_of(r, "f") + ", " + unit_of(r, "l") + ", " + unit_of(r, "s") + ", " + unit_of(r, "p"),
              "N m, rad, rad/s, W");
  }
  std::string turning = rotor;
  turning.replace(turning.find("[0, 0, 0]}]"), 9, "[0, 0, 30]");
  const Ran spring = ran(spec_of(turning + R"("forces": [{"name": "a", "type": "torsional-spring-damper",
      "between": ["ground", "r"], "axis": [0, 0, 1], "stiffness": 2, "damping": 0}], )" +
                                 four_of_a + "}"),
                         1.0, 1e-11);
  EXPECT_NEAR(spring["l"], 15.0 * std::sin(2.0), 1e-7);  // ω = √(k/J) = 2, 30/ω = 15 rad
  EXPECT_NEAR(spring["s"], 30.0 * std::cos(2.0), 1e-7);
  EXPECT_NEAR(spring["f"], 30.0 * std::sin(2.0), 1e-6);
  EXPECT_NEAR(spring["p"], -900.0 * std::sin(2.0) * std::cos(2.0), 1e-5);
}

/// What a force does to a body is what changes its kinetic energy and its weight; ∫ by trapezia, whose error is (ω h)²/12 for ω = 60 rad/s.
struct Work {
  double done = 0.0, gained = 0.0, largest = 0.0;
};
Work work_of(const std::string& text, double t_end) {
  io::RunSpec spec = spec_of(text);
  spec.set("t_end", t_end).set("rtol", 1e-10).set("atol", 1e-10).set("output_step", t_end / 10000);
  const io::PreparedRun prepared = io::prepare(spec);
  const system::System& system = *prepared.model.system;
  struct Reader final : run::Observer {
    bool accept(const run::Point& point) override {
      system->evaluate_outputs(point.entry.motion, point.entry.lambda, values);
      const double p = values[0], e = values[1];
      if (count++ == 0) before = {point.entry.motion.t, p}, start = e;
      work.done += 0.5 * (point.entry.motion.t - before.first) * (p + before.second);
      work.gained = e - start;
      work.largest = std::max(work.largest, std::abs(work.gained));
      before = {point.entry.motion.t, p};
      return true;
    }
    const system::System* system = nullptr;
    Vector values;
    std::pair<double, double> before;
    double start = 0.0;
    long count = 0;
    Work work;
  } reader;
  reader.system = &system;
  reader.values.resize(system.output_size());
  const run::Report report = run::integrate(system, prepared.model.start, prepared.options, reader);
  EXPECT_EQ(report.status, run::Status::success) << report.message;
  EXPECT_EQ(system.outputs()[0].name, "p");
  EXPECT_GT(reader.count, 10000);
  return reader.work;
}

TEST(ForceOutputs, PowerIsWhatChangesTheEnergyOfTheBodies) {
  const std::string mechanical =
      R"("outputs": {"p": {"power": "a"}, "e": "=t_and_v", "kin": {"energy": "kinetic"}, "pot": {"energy": "potential"}}})";
  const std::string outputs =
      R"("outputs": {"p": {"power": "a"}, "e": "=kin + pot", "kin": {"energy": "kinetic"}, "pot": {"energy": "potential"}}})";
  const std::string body =
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 2, "inertia": [0.1, 0.2, 0.25], "position": [0.1, 0.2, 0.5],
          "velocity": [1, 0.3, 0.2], "angular_velocity": [1, -2, 1.5]}], )";
  const std::string rod =
      R"({"gravity": [0, 0, -9.81], "bodies": [{"name": "b", "mass": 2, "inertia": [0.2, 0.01, 0.2], "position": [0, 0.5, 0]}],
          "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0]}], )";
  const struct {
    std::string start, force;
    double t_end, bound;
  } cases[] = {
      {body,
       R"("type": "bushing", "between": ["ground", "b"], "at": [0.1, 0.2, 0.4], "stiffness": [300, 200, 400], "damping": [2, 3, 4], "rotational_stiffness": [20, 30, 10], "rotational_damping": [0.1, 0.2, 0.3])",
       1.0, 2e-6},
      {body,
       R"("type": "applied", "on": "b", "at": [0.3, 0.2, 0.5], "frame": "body", "force": ["3*sin(4*t) ", 5, 20], "torque": [0, "0.3*t", 0.1])",
       1.0, 2e-6},
      {body,
       R"("type": "linear-actuator", "between": ["ground", "b"], "target": "0.6 + 0.1*sin(5*t) ", "stiffness": 300, "damping": 10)",
       1.0, 2e-6},
      {body,
       R"("type": "spring-damper", "between": ["ground", "b"], "at": [[0, 0, 1], [0.2, 0.2, 0.5]], "force": "=300*x + 900*x^3 + 2*v")",
       1.0, 2e-6},
      {rod, R"("type": "joint-friction", "joint": "pin", "coefficient": 0.3, "radius": 0.02, "viscous": 0.1)", 1.0,
       2e-6},
      {rod, R"("type": "friction", "joint": "pin", "coulomb": 1.5, "viscous": 0.1, "speed": 0.5)", 1.0, 2e-6},
      {rod, R"("type": "motor", "joint": "pin", "table": [[-20, 30], [0, 20], [20, 0]], "interpolation": "linear")",
       0.5, 2e-6},
      {body,
       R"("type": "contact", "between": ["ground", "b"], "at": [[0, 0, 0], [0.1, 0.2, 0.5]], "second_radius": 0.4, "stiffness": 2e3, "exponent": 1.5, "damping": 30, "friction": 0.3)",
       1.0, 2e-6}};
  for (const auto& [start, force, t_end, bound] : cases) {
    const Work work = work_of(start + R"("forces": [{"name": "a", )" + force + "}], " + outputs, t_end);
    EXPECT_GT(work.largest, 0.1) << force;
    EXPECT_NEAR(work.done, work.gained, bound * work.largest) << force;
  }
  EXPECT_NE(
      refusal(body + R"("forces": [{"name": "a", "type": "applied", "on": "b", "force": [1, 0, 0]}], )" + mechanical)
          .find("t_and_v"),
      std::string::npos);
}

/// Kepler: two bodies that attract each other, r̈ = -S/(μ r²) along a line.
TEST(ForceOutputs, OfAFieldOfGravityAreThoseOfFreeFall) {
  const Ran r = ran(spec_of(R"({"gravity": [0, 0, 0],
      "bodies": [{"name": "b", "mass": 2, "inertia": [1, 1, 1], "position": [1, 0, 0]}],
      "forces": [{"name": "a", "type": "gravity-field", "between": ["ground", "b"], "strength": 3}], )" +
                            four_of_a + "}"),
                    0.5, 1e-11);
  const double length = r["l"], speed = -std::sqrt(2.0 * 3.0 / 2.0 * (1.0 / length - 1.0));  // v²/2 = S/m (1/r - 1/r0)
  EXPECT_LT(length, 0.85);
  EXPECT_NEAR(r["s"], speed, 1e-8);
  EXPECT_NEAR(r["f"], 3.0 / (length * length), 1e-10);
  EXPECT_NEAR(r["p"], -3.0 / (length * length) * speed, 1e-7);
}

/// Friction in a joint against the closed form: a block slides on an incline with μ m g cos, slower than it would without.
TEST(ForceOutputs, OfFrictionAreThoseOfABlockThatSlides) {
  const Ran r = ran(spec_of(R"({"gravity": [0, 0, -9.81],
      "bodies": [{"name": "b", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0], "velocity": [3, 0, 0]}],
      "joints": [{"name": "rail", "type": "prismatic", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
      "forces": [{"name": "a", "type": "joint-friction", "joint": "rail", "coefficient": 0.2}], )" +
                            four_of_a + "}"),
                    0.5, 1e-10);
  const double weight = 2.0 * 9.81, load = std::sqrt(weight * weight + 1e-6) - 1e-3;  // smooth where it vanishes
  const double friction = 0.2 * load, v = 3.0 - 0.5 * friction / 2.0;
  EXPECT_NEAR(r["f"], -friction, 1e-8);
  EXPECT_NEAR(r["l"], 3.0 * 0.5 - 0.5 * friction / 2.0 * 0.25, 1e-8);
  EXPECT_NEAR(r["s"], v, 1e-8);
  EXPECT_NEAR(r["p"], -friction * v, 1e-7);
}

/// In the system that is in force at the end.
double at_end(const Ran& r, Eigen::Index output) {
  const system::System& system = r.report.systems.empty() ? *r.prepared.model.system : *r.report.systems.back();
  Vector values(system.output_size());
  system.evaluate_outputs(r.report.final.motion, r.report.final.lambda, values);
  return values[output];
}

/// A spring that an event switches off does nothing, and is as long as it is.
TEST(ForceOutputs, OfWhatIsSwitchedOffAreZero) {
  for (const std::string law : {R"("stiffness": 80)", R"("force": "=80*x")"}) {
    const Ran r = ran(
        spec_of(
            R"({"gravity": [0, 0, 0], "bodies": [{"name": "m", "mass": 2, "inertia": [1, 1, 1], "position": [0.9, 0, 0]}],
          "forces": [{"name": "a", "type": "spring-damper", "between": ["ground", "m"], "length": 0.7, )" +
            law + R"(}], "events": [{"name": "off", "when": "=l - 0.7", "action": {"switch": {"off": ["a"]}}}], )" +
            four_of_a + "}"),
        0.4, 1e-10);
    const double omega = std::sqrt(40.0), t0 = 0.5 * std::numbers::pi / omega;
    ASSERT_EQ(r.report.events.size(), 1u) << law;
    EXPECT_EQ(at_end(r, 0), 0.0) << law;
    EXPECT_EQ(at_end(r, 3), 0.0) << law;
    EXPECT_NEAR(at_end(r, 2), -0.2 * omega, 1e-7) << law;
    EXPECT_NEAR(at_end(r, 1), 0.7 - 0.2 * omega * (0.4 - t0), 1e-7) << law;
  }
}

/// A file whose outputs name its forces and components of its rods, as a part with a prefix.
TEST(ForceOutputs, OfAPartHaveItsPrefix) {
  const std::string part = R"({"gravity": [0, 0, -10],
      "bodies": [{"name": "ball", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, 0.5], "velocity": [0, 0, -3]}],
      "materials": [{"name": "steel", "young": 210e9, "density": 7800}],
      "sections": [{"name": "wire", "material": "steel", "circle": {"radius": 0.01}}],
      "rods": [{"name": "rod", "section": "wire", "path": {"line": [[0, 0, 2], [0.3, 0, 2]]}, "elements": 2}],
      "joints": [{"name": "clamp", "type": "fixed", "between": ["ground", "rod@start"]}],
      "forces": [{"name": "floor", "type": "contact", "between": ["ground", "ball"], "second_radius": 0.1, "stiffness": 1e4},
                 {"name": "rope", "type": "spring-damper", "between": ["ground", "ball"], "at": [[0, 0, 0], [0, 0, 0.5]], "damping": 4, "stiffness": 0}],
      "outputs": {"d": {"gap": "floor"}, "p": {"power": "rope"}, "l": {"length": "rope"}, "tip": {"section_force": "rod@start"}, "twice": "=2*tip.My + d"}})";
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("kreisel_forces_{}.json", ::getpid());
  std::ofstream(file) << part;
  const std::string whole = R"({"gravity": [0, 0, -10], "include": [{"file": ")" + file.string() +
                            R"(", "prefix": "a.", "at": [0, 0, 1]}], "outputs": {"sum": "=a.d + a.l"}})";
  const io::ModelFile model = io::read_model(io::JsonSource("m.json", whole));
  std::filesystem::remove(file);
  system::Motion m(model.assembly->space());
  m.q = model.model.start.q0;
  m.v = model.model.start.v0;
  const Vector no_lambda = Vector::Zero(model.assembly->pattern().rows());
  Vector values(model.assembly->output_size());
  model.assembly->evaluate_outputs(m, no_lambda, values);
  std::map<std::string, double> found;
  Eigen::Index next = 0;
  for (const system::OutputInfo& info : model.assembly->outputs())
    for (int i = 0; i < info.size(); ++i) found[info.column(i)] = values[next++];
  EXPECT_NEAR(found.at("a.d"), 0.4, 1e-12);
  EXPECT_NEAR(found.at("a.l"), 0.5, 1e-12);
  EXPECT_NEAR(found.at("a.p"), -4.0 * 3.0 * 3.0, 1e-12);
  EXPECT_NEAR(found.at("sum"), 0.9, 1e-12);
  EXPECT_NEAR(found.at("a.twice"), 2.0 * found.at("a.tip.My") + 0.4, 1e-12);
}

/// Points that a part does not give are those of its own ground, wherever it is put and whatever stands for its ground.
TEST(ForceOutputs, OfAPartDoNotDependOnItsPlace) {
  const std::string part = R"({"gravity": [0, 0, 0], "parameters": {"h": 0.5},
      "bodies": [{"name": "ball", "mass": 2, "inertia": [1, 1, 1], "position": [0.3, 0.2, "=h"], "velocity": [0.1, 0.2, -3]}],
      "forces": [{"name": "floor", "type": "contact", "between": ["ground", "ball"], "second_radius": 0.1, "stiffness": 1e4},
                 {"name": "rope", "type": "spring-damper", "between": ["ground", "ball"], "damping": 4, "stiffness": 10, "length": 0.2}],
      "outputs": {"d": {"gap": "floor"}, "p": {"power": "rope"}, "l": {"length": "rope"}, "away": {"distance": ["ball", "ground"]}}})";
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("kreisel_places_{}.json", ::getpid());
  std::ofstream(file) << part;
  const double length = std::sqrt(0.09 + 0.04 + 0.25), speed = (0.3 * 0.1 + 0.2 * 0.2 - 0.5 * 3.0) / length;
  for (const std::string place :
       {R"("at": [0, 0, 0])", R"("at": [1, -2, 3])",
        R"("at": [1, -2, 3], "rotation": {"axis": [1, 2, 3], "angle_deg": 70})", R"("connect": {"ground": "plate"})",
        R"("at": [1, -2, 3], "rotation": {"axis": [1, 0, 0], "angle_deg": 120}, "connect": {"ground": "plate"})"}) {
    const std::string whole =
        R"({"gravity": [0, 0, 0], "bodies": [{"name": "plate", "mass": 1, "inertia": [1, 1, 1], "position": [7, 8, 9]}],
        "include": [{"file": ")" +
        file.string() + R"(", "prefix": "a.", )" + place + "}]}";
    const io::ModelFile model = io::read_model(io::JsonSource("m.json", whole));
    system::Motion m(model.assembly->space());
    m.q = model.model.start.q0;
    m.v = model.model.start.v0;
    const Vector no_lambda = Vector::Zero(model.assembly->pattern().rows());
    Vector values(model.assembly->output_size());
    model.assembly->evaluate_outputs(m, no_lambda, values);
    ASSERT_EQ(values.size(), 4);
    EXPECT_NEAR(values[0], 0.4, 1e-12) << place;
    EXPECT_NEAR(values[1], -(10.0 * (length - 0.2) + 4.0 * speed) * speed, 1e-11) << place;
    EXPECT_NEAR(values[2], length, 1e-12) << place;
    EXPECT_NEAR(values[3], length, 1e-12) << place;
  }
  std::filesystem::remove(file);
}

TEST(ForceOutputs, AreRefusedWhereThereAreNone) {
  const std::string start =
      R"({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 1]}],
          "forces": [{"name": "spring", "type": "spring-damper", "between": ["ground", "b"], "stiffness": 1},
                     {"name": "rubber", "type": "bushing", "between": ["ground", "b"], "at": [0, 0, 1], "stiffness": [1, 1, 1]},
                     {"name": "push", "type": "applied", "on": "b", "force": [1, 0, 0]},
                     {"name": "floor", "type": "contact", "between": ["ground", "b"], "second_radius": 0.1, "stiffness": 1}],
          "outputs": {"o": )";
  const auto has = [&](const std::string& output, const std::string& words) {
    const std::string said = refusal(start + output + "}}");
    EXPECT_NE(said.find(words), std::string::npos) << output << ": " << said;
  };
  has(R"({"length": "sprong"})", "did you mean 'spring'");
  has(R"({"power": "springs"})", "did you mean 'spring'");
  has(R"({"length": "rubber"})", "'rubber' is of type bushing and acts along more than one coordinate");
  has(R"({"force": "rubber"})", "\"power\"");
  has(R"({"speed": "push"})", "'push' is of type applied");
  has(R"({"length": "floor"})", "\"gap\"");
  has(R"({"lenght": "spring"})", "did you mean 'length'");
  has(R"({"length": "spring", "speed": "spring"})", "expected one of them");
  has(R"({"length": 3})", "expected");
  EXPECT_EQ(refusal(start + R"({"power": "rubber"}, "p": {"power": "push"}, "r": {"power": "floor"}}})"), "accepted");
  // A law cannot depend on what it does; lengths and speeds are those of the motion.
  EXPECT_NE(refusal(start + R"({"power": "spring"}}, "states": {"work": {"rate": "=o"}}})").find("depends on"),
            std::string::npos);
  EXPECT_EQ(refusal(start + R"({"length": "spring"}}, "states": {"w": {"rate": "=o - o'"}}})"), "accepted");
}

}  // namespace
