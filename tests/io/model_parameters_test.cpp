// Parameters of model files: formulas instead of numbers, settings, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"

namespace {

using namespace kreisel;
using io::JsonSource;

/// A pendulum on a spring; everything in it is a formula.
std::string leg(const std::string& parameters, const std::string& rest = {}) {
  return R"({"name": "leg", "gravity": [0, 0, "=-g"],
 "parameters": )" +
         parameters + R"j(,
 "bodies": [{"name": "shank", "mass": "=m", "inertia": ["=m*L^2/12", 1e-4, "=m*L^2/12"], "position": [0, "=L/2", 0],
             "rotation": {"axis": [1, 0, 0], "angle_deg": "=180*tilt/pi"}}],
 "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "shank"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
 "forces": [{"name": "spring", "type": "spring-damper", "between": ["ground", "shank"], "at": [[0, 0, 1], [0, "=L", 0]],
             "stiffness": "=k", "damping": "=k/100", "length": "=L"},
            {"name": "push", "type": "applied", "on": "shank", "force": ["=k*sin(w*t)", "m*t", 0]}],
 "simulation": {"t_end": "=2*pi/w", "output_times": ["=1/w", "=2/w"]})j" +
         rest + "}";
}
const std::string values =
    R"({"k": 200, "g": 9.81, "L": {"value": 0.5, "min": 0.1, "max": 2, "unit": "m", "meaning": "length of the shank"},
                "m": "=2700*L*1e-4", "tilt": 0.25, "w": 3})";

std::shared_ptr<const models::ModelInfo> info_of(const std::string& text) {
  return std::make_shared<const models::ModelInfo>(io::model_of(std::make_shared<JsonSource>("m.json", text)));
}
io::RunSpec spec_of(const std::string& text, const std::vector<io::Setting>& settings = {}) {
  io::RunSpec spec;
  spec.own_model = info_of(text);
  spec.settings = settings;
  return spec;
}
std::string refusal(const std::string& text, const std::vector<io::Setting>& settings = {}) {
  try {
    io::prepare(spec_of(text, settings));
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}
std::string refusal_of_parameters(const std::string& parameters) {
  return refusal(R"({"parameters": )" + parameters +
                 R"(, "bodies": [{"mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}]})");
}
/// Forces and rows at a motion that is special in no way.
Vector equations_of(const models::Model& model) {
  const system::System& system = *model.system;
  const int rows = system.pattern().rows();
  system::Motion m(system.space());
  m.t = 0.7;
  m.q = model.start.q0;
  m.v = Vector::LinSpaced(system.space().nv(), 0.3, -1.7);
  m.a = Vector::LinSpaced(system.space().nv(), -0.2, 2.1);
  system::Residual r(system.space().nv(), system.pattern().position_rows(), rows);
  const Vector lambda = Vector::LinSpaced(rows, 1.0, 2.0);
  system.residual(m, lambda, r);
  Vector all(r.force.size() + r.gap.size() + r.rate.size());
  all << r.force, r.gap, r.rate;
  return all;
}

TEST(ModelParameters, EveryNumberMayBeAFormula) {
  const models::Model formulas = io::prepare(spec_of(leg(values))).model;
  const double L = 0.5, m = 2700 * L * 1e-4, k = 200, w = 3;
  const models::Model numbers =
      io::prepare(spec_of(fmt::format(R"j({{"name": "leg", "gravity": [0, 0, -9.81],
 "bodies": [{{"name": "shank", "mass": {0}, "inertia": [{1}, 1e-4, {1}], "position": [0, {2}, 0],
             "rotation": {{"axis": [1, 0, 0], "angle_deg": {3}}}}}],
 "joints": [{{"name": "hinge", "type": "revolute", "between": ["ground", "shank"], "at": [0, 0, 0], "axis": [1, 0, 0]}}],
 "forces": [{{"name": "spring", "type": "spring-damper", "between": ["ground", "shank"], "at": [[0, 0, 1], [0, {4}, 0]],
             "stiffness": {5}, "damping": {6}, "length": {4}}},
            {{"name": "push", "type": "applied", "on": "shank", "force": ["{5}*sin({7}*t)", "{0}*t", 0]}}]}})j",
                                      m, m * (L * L) / 12, L / 2, 180 * 0.25 / M_PI, L, k, k / 100, w)))
          .model;
  EXPECT_EQ(formulas.start.q0, numbers.start.q0);
  EXPECT_EQ(formulas.start.t_end, 2 * M_PI / w);
  EXPECT_EQ(equations_of(formulas), equations_of(numbers));
}

TEST(ModelParameters, SettingsGoBeforeTheFileAndFormulasFollow) {
  const io::PreparedRun run = io::prepare(spec_of(leg(values), {{"L", 1.0}, {"model.w", std::string("6")}}));
  const auto& body = dynamic_cast<const multibody::Assembly&>(*run.model.system).mechanism().bodies[0];
  EXPECT_EQ(body.mass, 2700 * 1e-4);
  EXPECT_EQ(body.position[1], 0.5);
  EXPECT_EQ(run.model_parameters.number("m"), 2700 * 1e-4);
  EXPECT_EQ(run.options.t_end, 2 * M_PI / 6);
  EXPECT_EQ(run.options.output_times, (std::vector<double>{1.0 / 6, 2.0 / 6}));
  const io::PreparedRun heavy = io::prepare(spec_of(leg(values), {{"m", 5.0}}));
  EXPECT_EQ(dynamic_cast<const multibody::Assembly&>(*heavy.model.system).mechanism().bodies[0].mass, 5.0);
  EXPECT_EQ(heavy.model_parameters.number("L"), 0.5);
}

TEST(ModelParameters, TheDefinitionGivesTheSameModelAgain) {
  io::RunSpec spec = spec_of(leg(values), {{"L", 0.7}, {"m", 0.1}});
  spec.group = "se3";
  const models::Model first = io::prepare(spec).model;
  const models::Model again = io::prepare(spec_of(first.definition())).model;
  EXPECT_EQ(again.group, "se3");
  EXPECT_EQ(first.start.q0, again.start.q0);
  EXPECT_EQ(equations_of(first), equations_of(again));
}

TEST(ModelParameters, AreListedWithRangeUnitAndMeaning) {
  const std::vector<ParameterInfo> infos = info_of(leg(values))->parameters;
  ASSERT_EQ(infos.size(), 6u);
  EXPECT_EQ(infos[2].name, "L");
  EXPECT_EQ(infos[2].default_number, 0.5);
  EXPECT_EQ(infos[2].minimum, 0.1);
  EXPECT_EQ(infos[2].maximum, 2.0);
  EXPECT_EQ(infos[2].unit, "m");
  EXPECT_EQ(infos[2].meaning, "length of the shank");
  EXPECT_TRUE(infos[3].is_optional);
  EXPECT_EQ(infos[3].fallback, "=2700*L*1e-4");
}

TEST(ModelParameters, RefusesSettingsOfUnknownNamesAndBeyondTheRange) {
  EXPECT_EQ(refusal(leg(values), {{"kk", 3.0}}),
            "set: model 'leg', method 'bliedf': unknown parameter 'kk'; did you mean 'k'? known: k, g, L, m, tilt, w, "
            "modification, defect, ratios, linearization, baumgarte");
  EXPECT_EQ(refusal(leg(values), {{"L", 3.0}}),
            "set: model 'leg': parameter 'L' (length of the shank) is 3, must lie between 0.1 and 2");
}

TEST(ModelParameters, NamesCycles) {
  EXPECT_EQ(refusal_of_parameters(R"({"a": "=2*b", "b": "=c + 1", "c": "=a/2", "d": 1})"),
            "m.json:1:22: /parameters/a: depends on itself: a -> b -> c -> a; give one of these parameters a number");
  EXPECT_EQ(refusal_of_parameters(R"({"a": "=a"})"),
            "m.json:1:22: /parameters/a: depends on itself: a -> a; give one of these parameters a number");
}

TEST(ModelParameters, RefusesWhatCannotBeANumber) {
  EXPECT_EQ(refusal_of_parameters(R"({"stiffness": 1, "b": "=2*stifness"})"),
            "m.json:1:38: /parameters/b: formula '2*stifness', character 3: unknown name 'stifness'; did you mean "
            "'stiffness'? known: "
            "t, pi, stiffness, b, sin, cos, tan, exp, log, sqrt, sinh, cosh, tanh, asin, acos, atan, abs, sign, atan2, "
            "min, max");
  EXPECT_EQ(refusal_of_parameters(R"({"a": "=2*t"})"),
            "m.json:1:22: /parameters/a: formula '2*t', character 3: depends on t; a parameter is constant during a "
            "run");
  EXPECT_EQ(refusal_of_parameters(R"({"a": "=1/0"})"),
            "m.json:1:22: /parameters/a: is \"=1/0\", which is infinite; expected a finite number");
  EXPECT_EQ(refusal_of_parameters(R"({"a": {"value": 3, "max": 2}})"),
            "m.json:1:22: /parameters/a: is 3, must be at most 2");
  EXPECT_EQ(refusal_of_parameters(R"({"sin": 1})"),
            "m.json:1:24: /parameters/sin: 'sin' is a function in formulas; choose another name for the parameter");
  EXPECT_EQ(refusal_of_parameters(R"({"2a": 1})"),
            "m.json:1:23: /parameters/2a: '2a' is not a word of letters, digits and _ that "
            "begins with a letter; choose another name for the parameter");
  EXPECT_EQ(refusal_of_parameters(R"([1])"),
            "m.json:1:16: /parameters: is a list of 1, expected {\"name\": value, ...}");
  EXPECT_NE(refusal_of_parameters(R"({"a": true})").find("/parameters/a: is true, expected a number, a formula"),
            std::string::npos);
  EXPECT_NE(refusal_of_parameters(R"({"a": {"valu": 1}})").find("unknown key 'valu'; did you mean 'value'?"),
            std::string::npos);
  EXPECT_NE(refusal_of_parameters(R"({"a": {"unit": "m"}})").find("the key \"value\" is missing"), std::string::npos);
  EXPECT_EQ(
      refusal(R"({"parameters": {"k": 1}, "bodies": [{"mass": "=k*t", "inertia": [1, 1, 1], "position": [0, 0, 0]}]})"),
      "m.json:1:46: /bodies/0/mass: formula 'k*t', character 3: depends on t, but this number is constant during a "
      "run; expected a formula of parameters");
  EXPECT_NE(refusal(R"({"bodies": [{"mass": "k", "inertia": [1, 1, 1], "position": [0, 0, 0]}]})")
                .find("is \"k\", expected a number"),
            std::string::npos);
}

TEST(ModelParameters, ReportsWhatIsNotUsedAndAnglesThatLookLikeDegrees) {
  const io::PreparedRun run = io::prepare(spec_of(leg(
      R"({"k": 200, "g": 9.81, "L": 0.5, "m": "=2700*L*1e-4", "tilt": {"value": 90, "unit": "rad"}, "w": 3, "spare": 1})")));
  ASSERT_EQ(run.warnings.size(), 2u);
  EXPECT_NE(
      run.warnings[0].find(
          "/parameters/tilt: value 90 for an angle in radians, 14.3 turns: if degrees are meant, write \"=90*pi/180\""),
      std::string::npos);
  EXPECT_NE(run.warnings[1].find("/parameters/spare: parameter 'spare' is not used"), std::string::npos);
}

TEST(ModelParameters, NamesMayStillBeginWithASignOfEquality) {
  const models::Model model =
      io::prepare(spec_of(R"({"bodies": [{"name": "=1", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}]})"))
          .model;
  EXPECT_EQ(model.system->body_name(0), "=1");
}

}  // namespace
