// Laws, states and outputs of model files against closed forms and against minimal coordinates, integrated here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"
#include "support/allocations.hpp"

namespace {

using namespace kreisel;
using io::JsonSource;

io::RunSpec spec_of(const std::string& text) {
  io::RunSpec spec;
  spec.own_model =
      std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<JsonSource>("m.json", text)));
  return spec;
}
std::string refusal(const std::string& text) {
  try {
    io::prepare(spec_of(text));
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}

/// Keeps outputs by column.
class Reader final : public run::Observer {
 public:
  explicit Reader(const system::System& system) : system_(system), values_(system.output_size()) {}
  bool accept(const run::Point& point) override {
    system_.evaluate_outputs(point.entry.motion, point.entry.lambda, values_);
    times.push_back(point.entry.motion.t);
    rows.push_back(values_);
    return true;
  }
  /// At the last point.
  double operator[](const std::string& column) const { return rows.back()[at(column)]; }
  Eigen::Index at(const std::string& column) const {
    Eigen::Index i = 0;
    for (const system::OutputInfo& info : system_.outputs())
      for (int c = 0; c < info.size(); ++c, ++i)
        if (info.column(c) == column) return i;
    throw InvalidInput("no output " + column);
  }
  std::vector<double> times;
  std::vector<Vector> rows;

 private:
  const system::System& system_;
  Vector values_;
};

struct Ran {
  io::PreparedRun prepared;
  run::Report report;
  std::unique_ptr<Reader> out;
};
Ran ran(const std::string& text, double t_end, double tolerance = 1e-9, const std::string& group = "r3xso3",
        std::vector<io::Setting> settings = {}) {
  io::RunSpec spec = spec_of(text);
  spec.group = group;
  spec.settings = std::move(settings);
  spec.set("t_end", t_end).set("rtol", tolerance).set("atol", tolerance);
  Ran r{io::prepare(spec), {}, nullptr};
  r.out = std::make_unique<Reader>(*r.prepared.model.system);
  r.report = run::integrate(*r.prepared.model.system, r.prepared.model.start, r.prepared.options, *r.out);
  EXPECT_EQ(r.report.status, run::Status::success) << r.report.message;
  return r;
}

/// y at t_end by the classical Runge-Kutta method.
template <std::size_t n, class F>
std::array<double, n> minimal(std::array<double, n> y, double t_end, int steps, const F& f) {
  const double h = t_end / steps;
  const auto moved = [](const std::array<double, n>& a, double s, const std::array<double, n>& k) {
    std::array<double, n> out;
    for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + s * k[i];
    return out;
  };
  for (int j = 0; j < steps; ++j) {
    const double t = j * h;
    const auto k1 = f(t, y), k2 = f(t + h / 2, moved(y, h / 2, k1)), k3 = f(t + h / 2, moved(y, h / 2, k2)),
               k4 = f(t + h, moved(y, h, k3));
    for (std::size_t i = 0; i < n; ++i) y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  }
  return y;
}

/// A rod of 1 m and 2 kg that hangs at the origin and swings about x; its angle is positive towards +z of the y axis.
std::string rod(const std::string& rest, const std::string& body = {}, const std::string& gravity = "[0, 0, -9.81]") {
  return R"j({"name": "rod", "gravity": )j" + gravity + R"j(,
 "bodies": [{"name": "rod", "mass": 2, "inertia": [0.2, 0.01, 0.2], "position": [0, 0.5, 0])j" +
         body + R"j(}],
 "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [1, 0, 0]}])j" +
         rest + "}";
}
constexpr double rod_inertia = 0.2 + 2 * 0.25;  ///< about the hinge

void expect_right(const std::string& text, const std::string& what) {
  for (const char* group : {"r3xso3", "se3"}) {
    const io::ModelFile file = io::read_model(JsonSource("m.json", text), {.group = group});
    const system::System& system = *file.assembly;
    system::Motion m(system.space());
    const Vector x = Vector::LinSpaced(m.v.size(), 0.31, -0.23);
    system.space().move(file.model.start.q0, x, m.q);
    m.t = 0.37;
    m.v = Vector::LinSpaced(m.v.size(), -0.9, 1.1);
    m.a = Vector::LinSpaced(m.v.size(), 0.4, -0.7);
    const Vector lambda = Vector::LinSpaced(system.pattern().rows(), 1.0, 2.0);
    for (const system::AuditFinding& finding : system::audit(system, m, lambda))
      EXPECT_TRUE(finding.ok()) << what << " on " << group << ": " << finding.what << " at " << finding.where << ": "
                                << finding.error << " > " << finding.tolerance;
  }
}

TEST(Law, DerivativesAreExactOnBothGroups) {
  const std::string two = R"j({"gravity": [0, 0, -9.81],
 "bodies": [{"name": "a", "mass": 1, "inertia": [0.1, 0.2, 0.25], "position": [0, 0.5, 0], "rotation": {"axis": [1, 2, 3], "angle": 0.4}},
            {"name": "b", "mass": 2, "inertia": [0.3, 0.2, 0.2], "position": [0.2, 1.5, 0.3]},
            {"name": "c", "mass": 2, "inertia": [0.3, 0.2, 0.2], "position": [0.9, 1.0, 0.8]}],
 "joints": [{"name": "hinge", "type": "revolute", "between": ["a", "b"], "at": [0, 1, 0], "axis": [1, 0, 1]},
            {"name": "slide", "type": "cylindrical", "between": ["b", "c"], "at": [0, 1, 0.5], "axis": [0, 1, 1]}],
 "parameters": {"k": 30},
 "inputs": {"u": "2*sin(3*t)"},
 "outputs": {"knee": {"angle": "hinge"}, "way": {"displacement": "slide"}, "turn": {"angle": "slide"},
             "span": {"distance": ["a", "c"], "at": [[0, 0.3, 0.1], [1, 1, 1]]},
             "tip": {"position": "c", "at": [1, 1, 0]}, "seen": {"position": "c", "relative_to": "a"},
             "fast": {"velocity": "b"}, "mix": "=knee*way + tip.x^2*z", "far": {"formula": "=sqrt(1 + span^2)"}},
 "states": {"z": {"rate": "=0.8 - knee - 0.3*z + w*far'", "initial": 0.2}, "w": {"rate": "=tip.y' - w*seen.z + u", "initial": 0.1}},
 "forces": [)j";
  for (
      const char* force :
      {R"j({"name": "tau", "type": "torque", "joint": "hinge", "value": "=-k*(knee - 0.8) - 5*knee' + 40*z + u"})j",
       R"j({"type": "force", "joint": "slide", "value": "=tanh(span)*v + mix'*x - mix*fast.z + t*turn'"})j",
       R"j({"type": "torque", "joint": "slide", "value": "=-k*x^3 - exp(0.1*v)*seen.y'"})j",
       R"j({"type": "spring-damper", "between": ["a", "c"], "at": [[0, 0, 0], [1, 1, 1]], "force": "=k*x + 300*max(0, x - 0.01)^3 + 5*v*abs(v) + w*z"})j",
       R"j({"type": "torsional-spring-damper", "between": ["ground", "c"], "axis": [0, 0, 1], "torque": "=k*sin(x) + v/(1 + tip.z^2)"})j",
       R"j({"type": "rotary-actuator", "between": ["a", "b"], "axis": [1, 0, 1], "value": "=10*cos(turn)*knee + v"})j",
       R"j({"type": "linear-actuator", "between": ["ground", "b"], "at": [[0, 0, 1], [0.2, 1.5, 0.3]], "value": {"table": [[-2, 5], [0, 1], [3, -4]], "interpolation": "spline", "of": "=knee + far"}})j",
       R"j({"type": "applied", "on": "b", "at": [0.1, 1.2, 0.4], "force": ["=-k*tip.x - 3*fast.x", "=z*span*u", "=t"], "torque": ["=turn'", 0, "=w*far"]})j",
       R"j({"type": "applied", "on": "b", "at": [0.1, 1.2, 0.4], "frame": "body", "force": ["=-k*tip.x - 3*fast.x", "=z*span*u", "=t"], "torque": ["=turn'", 0, "=w*far"]})j",
       R"j({"type": "motor", "joint": "hinge", "table": [[-5, 10], [0, 8], [10, 0]], "interpolation": "spline", "command": "=z + u"})j",
       R"j({"type": "friction", "joint": "slide", "coulomb": 3, "viscous": 0.5, "speed": 0.3})j"})
    expect_right(two + force + "]}", force);
}

TEST(Law, AConstantSpringAsAFormulaIsTheSameSpring) {
  const auto with = [](const std::string& law) {
    return rod(
        R"j(, "forces": [{"name": "s", "type": "spring-damper", "between": ["ground", "rod"], "at": [[0, 0, 2], [0, 1, 0]], "length": 1.5, )j" +
        law + R"j(}], "outputs": {"pull": {"force": "s"}, "swing": {"angle": "hinge"}})j");
  };
  const Ran numbers = ran(with(R"j("stiffness": 40, "damping": 3)j"), 2.0),
            formulas = ran(with(R"j("force": "=40*x + 3*v")j"), 2.0);
  EXPECT_EQ(numbers.report.counters.steps, formulas.report.counters.steps);
  EXPECT_NEAR((*numbers.out)["swing"], (*formulas.out)["swing"], 1e-12);
  EXPECT_NEAR((*numbers.out)["pull"], (*formulas.out)["pull"], 1e-10);
  EXPECT_NEAR(numbers.report.energy_final, formulas.report.energy_final, 1e-11);
  EXPECT_NEAR(numbers.report.work.dissipated, formulas.report.work.dissipated, 1e-11);
  EXPECT_GT(numbers.report.work.dissipated, 1.0);
}

TEST(Law, PotentialsKeepTheEnergyBalance) {
  const auto with = [](const std::string& law) {
    return rod(
        R"j(, "forces": [{"type": "torsional-spring-damper", "between": ["ground", "rod"], "axis": [1, 0, 0], "torque": ")j" +
        law + R"j("}])j");
  };
  const Ran formula = ran(with("=5*x + 20*x^3 + sinh(x)"), 5.0, 1e-10);
  EXPECT_LT(formula.report.energy_error, 1e-9 * 9.81) << "of m g l = 9.81 J";
  EXPECT_EQ(formula.report.work.total(), 0.0);
  // The third derivative of stops jumps: steps over it are less accurate than the tolerance says, the potential is not.
  const Ran stops = ran(with("=5*x + 80*max(0, x - 0.3)^3 - 60*max(0, -x - 0.5)^3"), 5.0, 1e-12);
  EXPECT_LT(stops.report.energy_error, 1e-9 * 9.81);
  const Ran table = ran(rod(R"j(, "forces": [{"type": "torque", "joint": "hinge",
      "value": {"table": [[-2, 30], [-1, 12], [0, 0], [1, -3], [2, -30]], "interpolation": "spline", "of": "=x"}}])j"),
                        5.0, 1e-10);
  EXPECT_LT(table.report.energy_error, 1e-9 * 9.81);
  EXPECT_EQ(table.report.work.total(), 0.0);
}

TEST(Law, PotentialsAreZeroWhereASpringIsAtRestOrElseAtTheStart) {
  const auto elastic_at_start = [](const std::string& law) {
    const io::ModelFile file = io::read_model(JsonSource(
        "m.json",
        rod(R"j(, "forces": [{"type": "spring-damper", "between": ["ground", "rod"], "at": [[0, 0, 2], [0, 1, 0]], "length": 1.5, "force": ")j" +
            law + R"j("}])j")));
    system::Motion m(file.assembly->space());
    m.q = file.model.start.q0;
    return file.assembly->energy_parts(m).elastic;
  };
  const double stretch = std::sqrt(5.0) - 1.5;
  EXPECT_NEAR(elastic_at_start("=40*x"), 20.0 * stretch * stretch, 1e-12);
  EXPECT_EQ(elastic_at_start("=40*x + 7"), 0.0);
  EXPECT_EQ(elastic_at_start("=40*x - 5e8*max(0, 0.2 - x)"), 0.0) << "a stop far from the coordinate zero";
}

// ---- applied forces

/// Two vibrations across each other.
TEST(AppliedForce, ReadsOutputsInTheAxesOfTheWorld) {
  const std::string text = R"j({"gravity": [0, 0, 0],
      "bodies": [{"name": "mass", "mass": 2, "inertia": [1, 1, 1], "position": [1, 0, 0.3], "velocity": [0, 2, 0]}],
      "inputs": {"weight": {"value": -3, "unit": "N"}},
      "outputs": {"p": {"position": "mass"}, "power": {"power": "pull"}},
      "forces": [{"name": "pull", "type": "applied", "on": "mass", "force": ["=-50*p.x", "=-50*p.y - 0*p.x'", "=weight"]}]})j";
  for (const char* group : {"r3xso3", "se3"}) {
    const Ran r = ran(text, 1.3, 1e-10, group);
    const double c = std::cos(6.5), s = std::sin(6.5), x = c, y = 0.4 * s;
    EXPECT_NEAR((*r.out)["p.x"], x, 1e-8) << group;
    EXPECT_NEAR((*r.out)["p.y"], y, 1e-8) << group;
    EXPECT_NEAR((*r.out)["p.z"], 0.3 - 0.75 * 1.3 * 1.3, 1e-8) << group;
    EXPECT_NEAR((*r.out)["power"], -50.0 * (x * -5.0 * s + y * 2.0 * c) - 3.0 * -1.5 * 1.3, 1e-6) << group;
    EXPECT_LT(r.report.energy_error, 1e-6) << "all of it is work";
    EXPECT_GT(std::abs(r.report.work.forces), 1.0);
  }
}

/// A thrust that grows with time along an axis of a body that turns at 3 rad/s.
TEST(AppliedForce, ReadsStatesInTheAxesOfTheBody) {
  const std::string text = R"j({"gravity": [0, 0, 0],
      "bodies": [{"name": "craft", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "angular_velocity": [0, 0, 3]}],
      "outputs": {"fast": {"velocity": "craft"}}, "states": {"thrust": {"rate": 1}},
      "forces": [{"type": "applied", "on": "craft", "frame": "body", "force": ["=thrust", 0, 0]}]})j";
  for (const char* group : {"r3xso3", "se3"}) {
    const Ran r = ran(text, 1.7, 1e-10, group);
    const double angle = 3.0 * 1.7, c = std::cos(angle), s = std::sin(angle);
    EXPECT_NEAR((*r.out)["fast.x"], (c + angle * s - 1.0) / 9.0, 1e-8) << group;
    EXPECT_NEAR((*r.out)["fast.y"], (s - angle * c) / 9.0, 1e-8) << group;
    EXPECT_LT(r.report.energy_error, 1e-7) << group;
  }
}

TEST(AppliedForce, AsATorqueAboutTheAxisOfAHingeIsTheTorqueAlongIt) {
  const auto with = [](const std::string& law) {
    return rod(R"j(, "outputs": {"swing": {"angle": "hinge"}}, "forces": [{"name": "m", )j" + law + "}]");
  };
  const std::string value = R"j("=-9*swing - 0.5*swing' + sin(t)")j";
  const Ran along = ran(with(R"j("type": "torque", "joint": "hinge", "value": )j" + value), 2.0, 1e-10);
  for (const char* frame : {"world", "body"}) {
    const Ran applied =
        ran(with(fmt::format(R"j("type": "applied", "on": "rod", "frame": "{}", "torque": [{}, 0, 0])j", frame, value)),
            2.0, 1e-10);
    EXPECT_NEAR((*applied.out)["swing"], (*along.out)["swing"], 1e-8) << frame;
  }
  const Ran off =
                ran(with(R"j("active": false, "type": "applied", "on": "rod", "torque": [)j" + value + ", 0, 0]"), 1.0),
            none = ran(rod(R"j(, "outputs": {"swing": {"angle": "hinge"}})j"), 1.0);
  EXPECT_NEAR((*off.out)["swing"], (*none.out)["swing"], 1e-9);
}

TEST(AppliedForce, RefusesWhatCannotBe) {
  const auto with = [](const std::string& force, const std::string& outputs = "") {
    return refusal(rod(R"j(, "outputs": {"swing": {"angle": "hinge"}, "jerky": {"acceleration": "rod"})j" + outputs +
                       R"j(},
        "forces": [{"name": "push", "type": "applied", "on": "rod", )j" +
                       force + "}]"));
  };
  EXPECT_NE(with(R"j("force": ["=-jerky.x", 0, 0])j").find("depends on an acceleration"), std::string::npos);
  EXPECT_NE(with(R"j("force": ["=swin", 0, 0])j").find("swing"), std::string::npos);
  EXPECT_NE(with(R"j("force": ["=swing + x", 0, 0])j").find("'x' is available only"), std::string::npos);
  EXPECT_NE(with(R"j("force": ["=swing", 0, 0])j", R"j(, "f": {"force": "push"})j").find("expected \"power\""),
            std::string::npos);
  EXPECT_NE(with(R"j("force": ["=swing", 0, 0])j", R"j(, "f": "=2*push")j").find("with components"), std::string::npos);
}

TEST(Law, AControllerWithAnIntegralFollowsItsMinimalCoordinates) {
  const std::string text = rod(R"j(, "parameters": {"k": 60, "goal": 0.8},
      "inputs": {"u": {"value": "0.5*sin(4*t)", "unit": "N m"}},
      "outputs": {"knee": {"angle": "hinge"}, "power": {"formula": "=tau*knee'", "unit": "W"}},
      "states": {"integral": {"rate": "=goal - knee"}, "filtered": {"rate": "=(knee' - filtered)/0.05", "initial": 0}},
      "forces": [{"name": "tau", "type": "torque", "joint": "hinge", "value": "=-k*(knee - goal) - 5*filtered + 40*integral + u"}])j");
  const auto torque = [](double t, const std::array<double, 4>& y) {
    return -60 * (y[0] - 0.8) - 5 * y[3] + 40 * y[2] + 0.5 * std::sin(4 * t);
  };
  const auto f = [&](double t, const std::array<double, 4>& y) -> std::array<double, 4> {
    return {y[1], (torque(t, y) - 9.81 * std::cos(y[0])) / rod_inertia, 0.8 - y[0], (y[1] - y[3]) / 0.05};
  };
  const auto y = minimal<4>({0, 0, 0, 0}, 3.0, 30000, f);
  for (const char* group : {"r3xso3", "se3"}) {
    const Ran r = ran(text, 3.0, 1e-10, group);
    EXPECT_NEAR((*r.out)["knee"], y[0], 1e-7) << group;
    EXPECT_NEAR((*r.out)["integral"], y[2], 1e-7) << group;
    EXPECT_NEAR((*r.out)["filtered"], y[3], 1e-7) << group;
    EXPECT_NEAR((*r.out)["power"], torque(3.0, y) * y[1], 1e-5) << group;
    // What the controller does is work.
    EXPECT_LT(r.report.energy_error, 1e-6) << group;
  }
}

TEST(Law, MotorAndFrictionHaveTheirClosedForms) {
  // J w' = T (1 - w/W): w = W (1 - exp(-T t/(J W))).
  const Ran motor = ran(rod(R"j(, "outputs": {"turn": {"angle": "hinge"}, "speed": "=turn'"},
      "forces": [{"type": "motor", "joint": "hinge", "table": [[0, 6], [30, 0]], "command": 0.5}])j",
                            {}, "[0, 0, 0]"),
                        4.0);
  const double T = 3, W = 30, rate = T / (rod_inertia * W);
  EXPECT_NEAR((*motor.out)["speed"], W * (1 - std::exp(-rate * 4)), 1e-6);
  EXPECT_NEAR((*motor.out)["turn"], W * (4 - (1 - std::exp(-rate * 4)) / rate), 1e-6) << "with its turns";
  EXPECT_NEAR(motor.report.work.forces, 0.5 * rod_inertia * std::pow((*motor.out)["speed"], 2), 1e-5)
      << "a motor does work, also where its torque depends on the speed alone";
  EXPECT_EQ(motor.report.work.dissipated, 0.0);
  // J w' = -c w.
  const Ran friction = ran(rod(R"j(, "outputs": {"turn": {"angle": "hinge"}},
      "forces": [{"type": "friction", "joint": "hinge", "coulomb": 0, "viscous": 0.7}])j",
                               R"j(, "angular_velocity": [20, 0, 0], "velocity": [0, 0, 10])j", "[0, 0, 0]"),
                           3.0);
  EXPECT_NEAR((*friction.out)["turn"], 20 * rod_inertia / 0.7 * (1 - std::exp(-0.7 / rod_inertia * 3)), 1e-6);
  EXPECT_NEAR(friction.report.work.dissipated, 0.5 * rod_inertia * 400 * (1 - std::exp(-2 * 0.7 / rod_inertia * 3)),
              1e-5);
}

TEST(Outputs, OfASteadyRotationAreItsClosedForms) {
  const double w = 25;
  const Ran r = ran(
      rod(R"j(, "drivers": [{"name": "crank", "type": "angle", "between": ["ground", "rod"], "axis": [1, 0, 0], "value": "25*t"}],
      "outputs": {"turn": {"angle": "hinge"}, "speed": "=turn'", "tip": {"position": "rod", "at": [0, 1, 0]}, "fast": {"velocity": "rod", "at": [0, 1, 0]},
                  "rush": {"acceleration": "rod", "at": [0, 1, 0]}, "turned": {"rotation": "rod"}, "span": {"distance": ["ground", "rod"], "at": [[0, 2, 0], [0, 1, 0]]},
                  "stretch": "=span'", "hold": {"reaction": "hinge"}, "moving": {"energy": "kinetic"}, "all": {"energy": "total"},
                  "ground_seen": {"position": "ground", "at": [0, 0, 0], "relative_to": "rod"}})j",
          R"j(, "velocity": [0, 0, 12.5], "angular_velocity": [25, 0, 0])j"),
      2.0, 1e-10);
  const double angle = w * 2, c = std::cos(angle), s = std::sin(angle);
  const Reader& out = *r.out;
  EXPECT_NEAR(out["turn"], angle, 1e-7);
  EXPECT_NEAR(out["speed"], w, 1e-7);
  EXPECT_NEAR(out["tip.y"], c, 1e-7);
  EXPECT_NEAR(out["tip.z"], s, 1e-7);
  EXPECT_NEAR(out["fast.y"], -w * s, 1e-6);
  EXPECT_NEAR(out["fast.z"], w * c, 1e-6);
  EXPECT_NEAR(out["rush.y"], -w * w * c, 1e-4);
  EXPECT_NEAR(out["rush.z"], -w * w * s, 1e-4);
  EXPECT_NEAR(out["turned.x"], std::remainder(angle, 2 * M_PI), 1e-7);
  const double span = std::hypot(c - 2, s);
  EXPECT_NEAR(out["span"], span, 1e-7);
  EXPECT_NEAR(out["stretch"], 2 * w * s / span, 1e-5);
  // Of the hinge: weight and centripetal force.
  EXPECT_NEAR(out["hold.y"], -2 * w * w * 0.5 * c, 1e-3);
  EXPECT_NEAR(out["hold.z"], 2 * 9.81 - 2 * w * w * 0.5 * s, 1e-3);
  EXPECT_NEAR(out["moving"], 0.5 * rod_inertia * w * w, 1e-6);
  EXPECT_NEAR(out["all"], r.report.energy_final, 1e-9);
  EXPECT_NEAR(out["ground_seen.y"], -0.5, 1e-9);
}

TEST(Outputs, DoNotChangeTheMotion) {
  const Ran
      bare = ran(rod(""), 2.0),
      watched = ran(
          rod(R"j(, "outputs": {"tip": {"position": "rod"}, "hold": {"reaction": "hinge"}, "e": {"energy": "total"}})j"),
          2.0);
  EXPECT_EQ(bare.report.final.motion.q, watched.report.final.motion.q);
  EXPECT_EQ(bare.report.final.lambda, watched.report.final.lambda);
}

TEST(QuarterCar, FollowsItsMinimalCoordinates) {
  const auto info = io::find_model("quarter-car");
  io::RunSpec spec;
  spec.model = "quarter-car";
  spec.set("rtol", 1e-9).set("atol", 1e-10);
  const io::PreparedRun run = io::prepare(spec);
  Reader out(*run.model.system);
  const run::Report report = run::integrate(*run.model.system, run.model.start, run.options, out);
  ASSERT_EQ(report.status, run::Status::success) << report.message;
  const double m = 400, w = 40, k = 2e4, stop = 3e8, gap = 0.08, c = 1500, soft = 0.5, tyre = 2e5, g = 9.81;
  const auto third = [](double x) { return x > 0 ? x * x * x : 0.0; };
  const auto f = [&](double t, const std::array<double, 4>& y) -> std::array<double, 4> {
    const double travel = y[1] - y[0], v = y[3] - y[2];
    const double road = 0.1 * (1 - std::cos(2 * M_PI * std::clamp(10 * t - 1, 0.0, 0.6) / 0.6)) / 2;
    const double spring = k * (m * g / k - travel) + stop * (third(-travel - gap) - third(travel - gap));
    const double damper = -c * v * (1 + soft + (1 - soft) * std::tanh(v / 0.05)) / 2;
    const double load = tyre * std::max(0.0, (m + w) * g / tyre + road - y[0]);
    return {y[2], y[3], (load - spring - damper) / w - g, (spring + damper) / m - g};
  };
  const auto y = minimal<4>({0, 0, 0, 0}, 2.0, 200'000, f);
  EXPECT_NEAR(out["lift"], y[0], 1e-7);
  EXPECT_NEAR(out["travel"], y[1] - y[0], 1e-7);
  double most = 0, least = 1e9;
  for (const Vector& row : out.rows) {
    most = std::max(most, -row[out.at("travel")]);
    least = std::min(least, row[out.at("load")]);
  }
  EXPECT_GT(most, gap) << "the stop is touched";
  EXPECT_EQ(least, 0.0) << "the tyre lifts off";
}

TEST(Law, StepsDoNotAllocate) {
  class Watch final : public run::Observer {
   public:
    bool accept(const run::Point& point) override {
      if (point.number == 20) before = support::allocation_count();
      if (point.number == 200) after = support::allocation_count();
      return true;
    }
    long before = 0, after = -1;
  };
  io::RunSpec spec;
  spec.model = "quarter-car";
  spec.set("step", 1e-3).set("t_end", 0.3);
  const io::PreparedRun run = io::prepare(spec);
  Watch watch;
  ASSERT_EQ(run::integrate(*run.model.system, run.model.start, run.options, watch).status, run::Status::success);
  EXPECT_EQ(watch.after - watch.before, 0);
}

TEST(Law, RefusesWhatCannotBe) {
  const auto with = [](const std::string& law, const std::string& rest = {}) {
    return rod(
        R"j(, "outputs": {"knee": {"angle": "hinge"}, "tip": {"position": "rod"}, "rush": {"acceleration": "rod"}, "a1": "=b1 + 1", "b1": "=2*a1"},
 "states": {"z": {"rate": 1}}, "forces": [{"name": "tau", "type": "torque", "joint": "hinge", "value": ")j" +
        law + R"j("}])j" + rest);
  };
  const auto has = [&](const std::string& law, const std::string& message) {
    const std::string said = refusal(with(law));
    EXPECT_NE(said.find(message), std::string::npos) << law << ": " << said;
  };
  has("=a1", "algebraic loop: a1 -> b1 -> a1; a state in between breaks it");
  has("=-tau/2", "algebraic loop: tau -> tau; a state in between breaks it");
  has("=2*nee", "formula '2*nee', character 3: unknown name 'nee'; did you mean 'knee'?");
  has("=2*tip", "formula '2*tip', character 3: 'tip' has components; write tip.x");
  has("=rush.z", "depends on an acceleration");
  has("=knee''", "depends on an acceleration");
  has("=knee'''", "unknown name 'knee''''");
  has("=tau'", "algebraic loop");
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"q": {"angle": "hinge"}})j"))
                .find("/outputs/q: 'q' is a column of every result; choose another name"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"rod": {"angle": "hinge"}})j")).find("'rod' is the name of a body"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"way": {"displacement": "hinge"}})j"))
                .find("/outputs/way/displacement: 'hinge' is a revolute joint, which has no displacement"),
            std::string::npos);
  EXPECT_NE(
      refusal(rod(R"j(, "outputs": {"way": {"angle": "hing"}})j")).find("unknown joint 'hing'; did you mean 'hinge'?"),
      std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"way": {}})j")).find("has nothing to report; expected one of angle"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"way": {"angle": "hinge", "force": "x"}})j"))
                .find("has both \"angle\" and \"force\""),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"way": {"force": "spring"}})j")).find("unknown force 'spring'"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "parameters": {"k": 1}, "outputs": {"k": {"angle": "hinge"}})j"))
                .find("'k' is already the name of a parameter"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "states": {"z": {"initial": 1}})j")).find("the key \"rate\" is missing"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "outputs": {"knee": {"angle": "hinge"}})j", R"j(, "velocity": [0, "=knee", 0])j"))
                .find("depends on knee, but this number is constant"),
            std::string::npos);
  EXPECT_NE(
      refusal(
          rod(R"j(, "states": {"z": {"rate": 1}}, "drivers": [{"type": "angle", "between": ["ground", "rod"], "axis": [1, 0, 0], "value": "=z"}])j"))
          .find("depends on z; expected a function of t"),
      std::string::npos);
  EXPECT_NE(
      refusal(
          rod(R"j(, "forces": [{"type": "spring-damper", "between": ["ground", "rod"], "at": [[0, 0, 1], [0, 1, 0]], "stiffness": 3, "force": "=x"}])j"))
          .find("/forces/0/stiffness: cannot be combined with the law \"force\"; write it into the formula"),
      std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "forces": [{"type": "torqe", "joint": "hinge", "value": 1}])j"))
                .find("unknown force 'torqe'; did you mean 'torque'?"),
            std::string::npos);
  EXPECT_NE(refusal(rod(R"j(, "forces": [{"type": "force", "joint": "hinge", "value": 1}])j"))
                .find("/forces/0/joint: 'hinge' is a revolute joint, which has no displacement for a force"),
            std::string::npos);
}

}  // namespace
