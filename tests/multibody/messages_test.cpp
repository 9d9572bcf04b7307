// What is wrong with a model or a run, by the name of the culprit.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>

#include "io/model_file/colour.hpp"
#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_file.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "kreisel/own_system.hpp"
#include "run/integrator.hpp"
#include "system/consistency.hpp"

namespace {

using namespace kreisel;

std::string refusal(const std::string& text, bool assembles = false) {
  try {
    io::RunSpec spec;
    spec.own_model =
        std::make_shared<models::ModelInfo>(io::model_of(std::make_shared<io::JsonSource>("m.json", text), assembles));
    if (assembles) spec.set("assemble", true);
    const io::PreparedRun run = io::prepare(spec);
    run::Options options = run.options;
    options.t_end = 0.01;
    run::Observer nobody;
    run::integrate(*run.model.system, run.model.start, options, nobody);
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nnot in\n" << text;
}

run::Report run_to(const std::string& text, double t_end) {
  const io::ModelFile file = io::read_model(io::JsonSource("m.json", text));
  run::Options options;
  options.t_end = t_end;
  options.rtol = 1e-8;
  options.atol = 1e-10;
  run::Observer nobody;
  return run::integrate(*file.assembly, file.model.start, options, nobody);
}

/// A crank of 0.05 and a rod of 0.15 that push a piston along x; lengths in units of `unit` metres.
std::string engine(const std::string& rest, double unit = 1.0, const std::string& small_end = "point-on-line",
                   double miss = 0.0) {
  const double u = 1.0 / unit;
  return fmt::format(R"({{"gravity": [0, {0:.17g}, 0], "bodies": [
    {{"name": "crank", "mass": 8, "inertia": [{1:.17g}, {1:.17g}, {2:.17g}], "position": [0, 0, 0]}},
    {{"name": "rod", "mass": 0.6, "inertia": [{3:.17g}, {4:.17g}, {4:.17g}], "position": [{5:.17g}, 0, 0]}},
    {{"name": "piston", "mass": 0.4, "inertia": [{3:.17g}, {3:.17g}, {3:.17g}], "position": [{6:.17g}, {8:.17g}, 0]}}],
    "joints": [{{"type": "revolute", "name": "main", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]}},
      {{"type": "revolute", "name": "bigend", "between": ["crank", "rod"], "at": [{7:.17g}, 0, 0], "axis": [0, 0, 1]}},
      {{"type": "{9}", "name": "smallend", "between": ["rod", "piston"], "at": [{6:.17g}, 0, 0], "axis": [0, 0, 1]}},
      {{"type": "prismatic", "name": "cylinder", "between": ["ground", "piston"], "frames": [{{"at": [{6:.17g}, 0, 0], "axis": [1, 0, 0]}}, {{"axis": [1, 0, 0]}}]}}]{10}}})",
                     -9.81 * u, 0.03 * u * u, 0.06 * u * u, 2e-4 * u * u, 1.2e-3 * u * u, 0.1 * u, 0.2 * u, 0.05 * u,
                     miss * u, small_end, rest);
}

TEST(Messages, DriversThatContradictEachOtherAreBothNamed) {
  const std::string text = refusal(engine(
      R"(, "drivers": [{"type": "angle", "name": "m", "between": ["ground", "crank"], "axis": [0, 0, 1], "value": 0},
    {"type": "position", "name": "m2", "between": ["ground", "piston"], "at": [0.2, 0, 0], "axis": [1, 0, 0], "value": 0}])"));
  expect_part(text,
              "drivers 'm', 'm2' prescribe 2 motions, but the joints leave 1 degree of freedom: remove one of them");
}

TEST(Messages, RedundantJointsNameTheLoop) {
  const std::string text = refusal(engine("", 1.0, "revolute"));
  expect_part(text, "B has rank 17, expected 20");
  expect_part(text, "they belong to 'main', 'bigend', 'smallend', 'cylinder'");
}

/// The projection is unique though the multipliers are not: redundant joints are assembled, and then named.
TEST(Messages, RedundantJointsAreAssembledAndNamed) {
  const std::string text = refusal(engine("", 1.0, "revolute", 1e-4), true);
  EXPECT_EQ(text.find("use assemble"), std::string::npos) << text;
  expect_part(text, "redundant");
  EXPECT_EQ(text.find("has the largest gap"), std::string::npos) << text;
}

TEST(Messages, AxesOfAUniversalJointMustBePerpendicular) {
  const auto universal = [](const std::string& axes) {
    return R"({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}],
      "joints": [{"type": "universal", "name": "u", "between": ["ground", "b"], "at": [0, 0, 0], "axes": )" +
           axes + "}]}";
  };
  expect_part(refusal(universal("[[0, 0, 1], [0, 0, 1]]")),
              "/joints/0/axes: has axes 0 degrees apart at t = 0; a universal joint needs perpendicular axes");
  expect_part(refusal(universal("[[0, 0, 1], [0, 0, 1]]"), true), "needs perpendicular axes");
  expect_part(refusal(universal("[[0, 0, 1], [1, 0, 1]]")), "has axes 45 degrees apart");
  EXPECT_EQ(refusal(universal("[[0, 0, 1], [1, 0, 0]]")), "accepted");
}

TEST(Messages, FormulasThatStopBeingFiniteAreNamedWithForceAndTime) {
  for (const auto& [formula, word] :
       {std::pair{"1/(t-0.5)", "goes from"}, std::pair{"sqrt(0.5-t)", "is not finite at t = 0.5"},
        std::pair{"log(0.5-t)", "at t = 0.5"}}) {
    const run::Report report = run_to(
        engine(fmt::format(
            R"(, "forces": [{{"type": "applied", "name": "gas", "on": "crank", "torque": [0, 0, "{}"]}}])", formula)),
        1.0);
    ASSERT_NE(report.status, run::Status::success) << formula;
    EXPECT_NEAR(report.final.motion.t, 0.5, 1e-3);
    expect_part(report.message, fmt::format("force 'gas': torque z = \"{}\"", formula));
    if (std::string_view(formula) != "log(0.5-t)") expect_part(report.message, word);
  }
}

/// The piston is drawn beyond crank plus rod.
TEST(Messages, ADriverPastTheReachIsNamed) {
  const std::string text = R"({"bodies": [
    {"name": "crank", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0.3, 0.4, 0]}, {"name": "rod", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [0.9, 0.4, 0]}],
    "joints": [{"type": "revolute", "name": "A", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1]},
               {"type": "revolute", "name": "B", "between": ["crank", "rod"], "at": [0.6, 0.8, 0], "axis": [0, 0, 1]},
               {"type": "point-on-plane", "name": "C", "between": ["ground", "rod"], "at": [1.2, 0, 0], "axis": [0, 1, 0]}],
    "drivers": [{"type": "position", "name": "pull", "between": ["ground", "rod"], "at": [1.2, 0, 0], "axis": [1, 0, 0], "value": "t^2"}]})";
  const run::Report report = run_to(text, 2.0);
  ASSERT_NE(report.status, run::Status::success);
  EXPECT_NEAR(report.final.motion.t, std::sqrt(0.8), 1e-3);
  expect_part(report.message, "the driver 'pull' pulls the mechanism past its reach");
}

TEST(Messages, ColoursAreThoseOfCss) {
  for (const char* good : {"red", "RebeccaPurple", "#abc", "#abcd", "#A1b2C3", "#a1b2c3d4", "rgb(1, 2, 3)",
                           "rgba(1,2,3,0.5)", "hsl(120deg 50% 50%)"})
    EXPECT_TRUE(io::is_css_colour(good)) << good;
  for (const char* bad : {"", "not-a-colour", "#ab", "#ggg", "rgb(1, 2)", "rgb(a, b, c)", "rgb(1,2,3", "url(x)"})
    EXPECT_FALSE(io::is_css_colour(bad)) << bad;
  expect_part(refusal(R"({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0],
    "shape": {"box": {"size": [1, 1, 1], "color": "not-a-colour"}}}]})"),
              "/bodies/0/shape/box/color: is \"not-a-colour\", expected a colour as in CSS");
}

/// A mass on a spring with dry friction ±0.3 sign(v): it comes to rest where no force balances.
TEST(Messages, AForceThatJumpsIsNamedSoon) {
  system::SystemFunctions f;
  f.name = "dry";
  f.space = {{lie::GroupId::rn, 1}};
  f.mass = [](const Vector&) { return Matrix(Matrix::Identity(1, 1)); };
  f.force = [](double, const Vector& q, const Vector& v) {
    return Vector(Vector::Constant(1, q[0] + (v[0] > 0.0 ? 0.3 : v[0] < 0.0 ? -0.3 : 0.0)));
  };
  const system::FunctionSystem system(f);
  for (const char* method : {"bliedf", "rkmk"}) {
    run::Options options;
    options.method = method;
    options.rtol = 1e-6;
    options.atol = 1e-8;
    run::Observer nobody;
    const run::Report report =
        run::integrate(system, {0.0, 10.0, Vector::Constant(1, 1.0), Vector::Zero(1)}, options, nobody);
    EXPECT_EQ(report.status, run::Status::step_too_small) << method;
    expect_part(report.message, "jumps from");
    EXPECT_LT(report.counters.steps, 50'000) << method;
  }
}

TEST(Units, TheSameMechanismIsJudgedAlikeInEveryUnitOfLength) {
  for (const double unit : {1e-6, 1e-3, 1.0, 1e3, 1e6}) {
    SCOPED_TRACE(unit);
    EXPECT_EQ(refusal(engine("", unit)), "accepted");
    EXPECT_EQ(refusal(engine("", unit, "point-on-line", 0.2e-9)), "accepted");
    expect_part(refusal(engine("", unit, "point-on-line", 1e-6)), "miss the joint");
    EXPECT_EQ(refusal(engine("", unit, "point-on-line", 1e-3), true), "accepted");
    const io::ModelFile file = io::read_model(io::JsonSource("m.json", engine("", unit)));
    system::Motion m(file.assembly->space());
    m.q = file.model.start.q0;
    const system::RankReport ranks = system::rank_report(*file.assembly, m);
    EXPECT_LT(ranks.condition, 1e6);
    EXPECT_TRUE(ranks.is_regular);
    EXPECT_NEAR(system::length_scale(*file.assembly, m) * unit, 0.1, 1e-9);
  }
}

}  // namespace
