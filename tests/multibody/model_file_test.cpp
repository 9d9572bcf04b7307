#include "io/model_file/model_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_schema.hpp"
#include "io/result/prepare.hpp"
#include "io/temporary_folder.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "solve/assemble.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using io::JsonSource;
using io::read_model;

/// A pendulum whose parts can be exchanged.
std::string pendulum(const std::string& body = {}, const std::string& joint = {}, const std::string& rest = {}) {
  return "{\"name\": \"p\", \"gravity\": [0, 0, -9.81],\n \"bodies\": [{\"name\": \"rod\", \"mass\": 1, \"inertia\": "
         "[1, 1, 1], "
         "\"position\": [0, 0.5, 0]" +
         body +
         "}],\n \"joints\": [{\"type\": \"revolute\", \"between\": [\"ground\", \"rod\"], "
         "\"at\": [0, 0, 0], \"axis\": [1, 0, 0]" +
         joint + "}]" + rest + "}";
}
std::string refusal(const std::string& text, const io::ModelFileOptions& options = {}) {
  try {
    read_model(JsonSource("m.json", text), options);
    return "accepted";
  } catch (const InvalidInput& e) {
    return e.what();
  }
}
std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

Matrix3 rotation_of(const std::string& json) {
  const auto file = read_model(JsonSource(
      "m.json", R"({"bodies": [{"mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0], "rotation": )" + json + "}]}"));
  return file.assembly->mechanism().bodies[0].rotation;
}

TEST(ModelFile, ReadsBodiesJointsAndSettings) {
  const io::ModelFile file = read_model(JsonSource(
      "m.json",
      pendulum(
          R"(, "velocity": [0, 0, 1], "angular_velocity": [2, 0, 0], "shape": {"cylinder": {"radius": 0.1, "length": 1}})",
          {}, R"(, "simulation": {"t_end": 3, "rtol": 1e-5})")));
  EXPECT_EQ(file.model.name, "p");
  EXPECT_EQ(file.model.group, "r3xso3");
  EXPECT_EQ(file.model.start.t_end, 3.0);
  EXPECT_EQ(file.model.system->pattern().rows(), 5);
  EXPECT_EQ(file.assembly->mechanism().joints[0]->name(), "revolute ground-rod");
  ASSERT_EQ(file.assembly->mechanism().bodies[0].shapes.size(), 1U);
  EXPECT_EQ(file.assembly->mechanism().bodies[0].shapes[0].radius, 0.1);
  EXPECT_EQ(file.model.start.v0[2], 1.0);
}

TEST(ModelFile, ReadsEveryFormOfRotation) {
  Matrix3 quarter;  // about z
  quarter << 0, -1, 0, 1, 0, 0, 0, 0, 1;
  for (const char* text :
       {R"({"axis": [0, 0, 2], "angle_deg": 90})", R"({"axis": [0, 0, 1], "angle": 1.5707963267948966})",
        R"({"quaternion": [0.70710678118654752, 0, 0, 0.70710678118654752]})",
        R"({"matrix": [[0, -1, 0], [1, 0, 0], [0, 0, 1]]})", R"({"euler_deg": [30, 0, 60]})",
        R"({"euler_deg": [0, 0, 90], "order": "xyz"})", R"({"axis": [0, 0, 1], "angle_deg": 810})"})
    EXPECT_LT((rotation_of(text) - quarter).cwiseAbs().maxCoeff(), 1e-14) << text;
  Matrix3 xy;  // x by 90, then about the new y by 90
  xy << 0, 0, 1, 1, 0, 0, 0, 1, 0;
  EXPECT_LT((rotation_of(R"({"euler_deg": [90, 90, 0], "order": "xyz"})") - xy).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(ModelFile, ReportsSeveralMistakesTogetherWithPlaceAndRemedy) {
  const std::string text = refusal(R"({"bodies": [
  {"name": "a", "mass": -1, "inertia": [1, 1, 3], "position": [0, 0]},
  {"name": "a", "masss": 1, "inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]], "position": [0, 0, 0]}],
 "joints": [{"type": "revolut", "between": ["a", "ground"]},
            {"type": "spherical", "between": ["a", "b"], "at": [0, 0, 0]}]})");
  for (const char* part : {"m.json:2:25: /bodies/0/mass: is -1, expected a mass that is not negative [kg]",
                           "m.json:2:40: /bodies/0/inertia: has the principal moments 1, 1, 3; no body has one larger "
                           "than the sum of the other two",
                           "m.json:2:63: /bodies/0/position: is a list of 2, expected three numbers [x, y, z]",
                           "/bodies/1/masss: unknown key 'masss'; did you mean 'mass'?",
                           "/bodies/1: the key \"mass\" is missing; expected the mass [kg]",
                           "/bodies/1/inertia: is not symmetric: row 2 column 1 is 0, row 1 column 2 is 2",
                           "/bodies/1/name: \"a\" is the name of an earlier body",
                           "m.json:4:22: /joints/0/type: unknown joint 'revolut'; did you mean 'revolute'?",
                           "/joints/1/between/1: unknown body 'b'"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nnot in\n" << text;
}

TEST(ModelFile, RefusesWhatCannotBe) {
  const auto expect = [](const std::string& model, const std::string& part) {
    const std::string text = refusal(model);
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nnot in\n" << text;
  };
  expect("[1]", "/: is a list of 1, expected a model");
  expect("{}", "the key \"bodies\" is missing");
  expect(R"({"bodies": []})", "/bodies: is empty");
  expect(R"({"bodies": [3]})", "/bodies/0: is 3, expected a body");
  expect(replaced(pendulum(), "\"rod\"", "\"ground\""), "which always means the fixed world");
  expect(replaced(pendulum(), "[1, 1, 1]", "[-1, 1, 1]"), "has the negative principal moment -1");
  expect(replaced(pendulum(), "[1, 1, 1]", "[1, 1]"), "is a list of 2, expected three diagonal entries, six");
  expect(replaced(pendulum(), "[\"ground\", \"rod\"]", "[\"rod\", \"rod\"]"), "names the same body twice");
  expect(replaced(pendulum(), "[1, 0, 0]", "[0, 0, 0]"), "is [0, 0, 0], expected a direction");
  expect(replaced(pendulum(), ", \"axis\": [1, 0, 0]", ""),
         "the key \"axis\" is missing; expected the axis [x, y, z] at t = 0");
  expect(replaced(pendulum(), "\"mass\": 1", "\"mass\": \"heavy\""), "/bodies/0/mass: is \"heavy\", expected a number");
  expect(pendulum(R"(, "rotation": {"quaternion": [1, 1, 0, 0]})"),
         "has the norm 1.4142136, expected a unit quaternion");
  expect(pendulum(R"(, "rotation": {"matrix": [[1, 0, 0], [0, 1, 0], [0, 0, -1]]})"), "is a reflection");
  expect(pendulum(R"(, "rotation": {"matrix": [[1, 0, 0], [0, 2, 0], [0, 0, 1]]})"), "is not orthogonal");
  expect(pendulum(R"(, "rotation": {"euler_deg": [1, 2, 3], "order": "xxy"})"),
         "expected three of x, y, z without equal neighbours");
  expect(pendulum(R"(, "rotation": {"axis": [1, 0, 0]})"),
         "expected either \"angle\" [rad] or \"angle_deg\" [degrees]");
  expect(pendulum(R"(, "shape": {"sphere": {"radius": -1}})"), "is -1, expected a positive length");
  expect(pendulum({}, {}, R"(, "group": "so3")"), "unknown group 'so3'");
  expect(pendulum({}, {}, R"(, "simulation": {"t_end": 0})"), "/simulation/t_end: is 0, expected a positive time [s]");
  expect(pendulum({}, {}, R"(, "simulation": {"step": 1, "rtol": 1})"), "either constant steps or error control");
  expect(pendulum({}, {}, R"(, "forces": [{"type": "spring-damper", "between": ["ground", "rod"], "stiffness": -1}])"),
         "/forces/0/stiffness: is -1, must not be negative: stiffness [N/m]");
  expect(pendulum({}, {}, R"(, "forces": [{"type": "joint-friction", "joint": "x"}])"), "unknown joint 'x'");
  expect(pendulum({}, {}, R"(, "forces": [{"type": "joint-friction", "joint": "revolute ground-rod"}])"),
         "the key \"coefficient\" is missing");
  expect(pendulum({}, {}, R"(, "forces": [{"type": "applied", "on": "rod", "force": ["t", "sin(", 0]}])"),
         "/forces/0/force/1: formula 'sin('");
  expect(
      pendulum(
          {}, {},
          R"(, "drivers": [{"type": "angle", "between": ["ground", "rod"], "axis": [1, 0, 0], "value": {"table": [[0, 0], [0, 1]]}}])"),
      "/drivers/0/value/table: the first numbers of the points of a table must increase");
  expect(R"({"bodies": [{"mass": 1, "mass": 2}]})", "duplicate key");
}

TEST(ModelFile, RefusesFunctionsOfTimeThatCannotBeFollowed) {
  const auto driven = [](const std::string& value) {
    return refusal(
        pendulum({}, {},
                 R"(, "drivers": [{"type": "angle", "between": ["ground", "rod"], "axis": [1, 0, 0], "value": )" +
                     value + "}]"));
  };
  const auto forced = [](const std::string& keys) {
    return refusal(pendulum(
        {}, {},
        R"(, "forces": [{"type": "rotary-actuator", "between": ["ground", "rod"], "axis": [1, 0, 0], )" + keys + "}]"));
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(driven(R"("sin(t)/t")"), "/drivers/0/value: is \"sin(t)/t\", the value of which is not finite at t = 0");
  expect(driven(R"("t^1.5")"), "/drivers/0/value: is \"t^1.5\", the second derivative of which is not finite at t = 0");
  expect(driven(R"({"table": [[0, 0], [1, 0]], "interpolation": "linear"})"),
         "/drivers/0/value/interpolation: is \"linear\", at whose points the velocity jumps");
  expect(driven(R"({"table": [[0, 0], [1, 0]], "interpolation": "cubic"})"),
         "/drivers/0/value/interpolation: unknown interpolation 'cubic'");
  expect(forced(R"("value": "1/t")"), "/forces/0/value: is \"1/t\", the value of which");
  expect(forced(R"x("stiffness": 1, "damping": 1, "target": "sqrt(t)")x"),
         "/forces/0/target: is \"sqrt(t)\", the first derivative of which");
  EXPECT_EQ(forced(R"("value": {"table": [[0, 0], [1, 1]], "interpolation": "linear"})"), "accepted");
}

TEST(ModelFile, RefusesNumbersBeyondTheRangeOfDouble) {
  const kreisel::test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "kreisel_huge_number.json";
  std::ofstream(path) << replaced(pendulum(), "\"mass\": 1", "\"mass\": 1e999");
  EXPECT_THROW(io::read_model_file(path), InvalidInput);
}

TEST(ModelFile, RefusesInconsistentPositionsAndVelocitiesOrAssembles) {
  const std::string misplaced =
      R"({"bodies": [{"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [0.5, 0.1, 0], "velocity": [1, 0, 0]}],
    "joints": [{"type": "spherical", "name": "tip", "between": ["ground", "rod"], "frames": [{}, {"at": [-0.5, 0, 0]}]}]})";
  EXPECT_EQ(refusal(misplaced),
            "m.json:2:16: /joints/0: 'tip': the initial positions miss the joint by 0.1 (row 2 of 3); correct them or "
            "use assemble");
  EXPECT_NE(
      refusal(replaced(misplaced, "0.1", "0.0")).find("'tip': the initial velocities miss the joint by 1 (row 1 of 3)"),
      std::string::npos);
  io::ModelFile file = read_model(JsonSource("m.json", misplaced), {.group = "se3", .accepts_gaps = true});
  const std::vector<solve::Change> changes = solve::assemble(*file.assembly, file.model.start);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].name, "rod");
  EXPECT_GT(changes[0].distance, 0.01);
  EXPECT_GT(changes[0].velocity, 0.1);
  system::Motion m(file.assembly->space());
  m.q = file.model.start.q0;
  m.v = file.model.start.v0;
  system::Residual r(6, 3, 3);
  const Vector no_lambda = Vector::Zero(3);
  file.assembly->residual(m, no_lambda, r);
  EXPECT_LT(r.gap.lpNorm<Eigen::Infinity>(), 1e-14);
  EXPECT_LT(r.rate.lpNorm<Eigen::Infinity>(), 1e-14);
}

io::RunSpec spec_for(const std::filesystem::path& path, const std::vector<std::pair<std::string, Value>>& options) {
  io::RunSpec spec;
  spec.model = path.string();
  for (const auto& [name, value] : options) spec.set(name, value);
  return spec;
}

TEST(ModelFile, SimulationIsTakenOverUnlessTheUserDecides) {
  const kreisel::test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "kreisel_simulation.json";
  std::ofstream(path) << pendulum(
      {}, {}, R"(, "simulation": {"t_end": 3, "step": 1e-3, "order": 3, "method": "mkbdf", "output_step": 0.1})");
  const io::PreparedRun plain = io::prepare(spec_for(path, {}));
  EXPECT_EQ(plain.options.method, "mkbdf");
  EXPECT_EQ(plain.options.order, 3);
  EXPECT_EQ(plain.options.step, 1e-3);
  EXPECT_EQ(plain.options.output_step, 0.1);
  EXPECT_EQ(plain.model.start.t_end, 3.0);
  const io::PreparedRun decided = io::prepare(spec_for(path, {{"rtol", "1e-7"}, {"order", "2"}, {"method", "bliedf"}}));
  EXPECT_EQ(decided.options.step, 0.0) << "tolerances of the user go before the step of the file";
  EXPECT_EQ(decided.options.rtol, 1e-7);
  EXPECT_EQ(decided.options.order, 2);
  EXPECT_EQ(decided.options.method, "bliedf");
}

TEST(ModelFile, RunsDoNotLeaveTheTableOfADriver) {
  const kreisel::test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "kreisel_table.json";
  std::ofstream(path) << pendulum(
      {}, {}, R"(, "drivers": [{"type": "angle", "name": "motor", "between": ["ground", "rod"], "axis": [1, 0, 0],
    "value": {"table": [[0, 0], [1, 0], [2, 0]]}}], "simulation": {"t_end": 2})");
  EXPECT_NO_THROW(io::prepare(spec_for(path, {})));
  try {
    io::prepare(spec_for(path, {{"t-end", "2.5"}}));
    ADD_FAILURE() << "accepted";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("driver 'motor': its table goes from t = 0 to 2, the run from 0 to 2.5"),
              std::string::npos)
        << e.what();
  }
}

TEST(ModelFile, ADriverWhoseVelocityJumpsIsRefused) {
  const kreisel::test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "kreisel_corner.json";
  const auto write = [&](const std::string& value) {
    std::ofstream(path) << pendulum(
        {}, {},
        R"(, "drivers": [{"type": "angle", "name": "motor", "between": ["ground", "rod"], "axis": [1, 0, 0],
      "value": ")" +
            value + R"("}], "simulation": {"t_end": 2})");
  };
  const auto refused = [&]() -> std::string {
    try {
      io::prepare(spec_for(path, {}));
      return "accepted";
    } catch (const InvalidInput& e) {
      return e.what();
    }
  };
  write("max(0, t - 1.5)");
  EXPECT_NE(
      refused().find(
          "driver 'motor': the velocity that its formula prescribes jumps at t = 1.5, which needs an infinite force"),
      std::string::npos)
      << refused();
  write("0.1*sign(t - 0.5) + 0.1");
  EXPECT_NE(refused().find("driver 'motor': the position that its formula prescribes jumps at t = 0.5"),
            std::string::npos)
      << refused();
  for (const char* smooth : {"max(0, t - 1.5)^2", "max(0, t - 2.5)", "max(0, t - 1)^3"}) {
    write(smooth);
    EXPECT_EQ(refused(), "accepted") << smooth;
  }
}

TEST(ModelFile, ComplaintsAboutSimulationNameTheirPlace) {
  const auto expect = [](const std::string& simulation, const std::string& text) {
    EXPECT_NE(refusal(pendulum({}, {}, R"(, "simulation": )" + simulation)).find(text), std::string::npos)
        << refusal(pendulum({}, {}, R"(, "simulation": )" + simulation));
  };
  expect(R"({"rtol": "small"})", "/simulation/rtol: is \"small\", expected a finite number");
  expect(R"({"step": -1})", "/simulation/step: is -1, must be positive");
  expect(R"({"tend": 1})", "/simulation/tend: unknown key 'tend'; did you mean 't_end'?");
  expect(R"({"t_end": 0})", "/simulation/t_end: is 0, expected a positive time [s]");
  expect(R"({"assemble": 1})", "/simulation/assemble: is 1, expected true or false");
  expect(R"({"step": 0.1, "rtol": 1e-3})", "/simulation/step: cannot be combined with rtol or atol");
  // What only a run can judge is reported with its place as well.
  const kreisel::test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "kreisel_order.json";
  std::ofstream(path) << pendulum({}, {}, R"(, "simulation": {"order": 9})");
  try {
    io::prepare(spec_for(path, {}));
    ADD_FAILURE() << "order 9 was accepted";
  } catch (const InvalidInput& e) {
    EXPECT_NE(std::string(e.what()).find("/simulation/order: is 9, but bliedf has orders 1 to 6"), std::string::npos)
        << e.what();
  }
}

TEST(ModelFile, EveryShippedFileIsInTheProgram) {
  std::set<std::string> names;
  for (const io::ShippedFile& file : io::shipped_files()) names.insert(std::string(file.name));
  for (const auto& entry : std::filesystem::directory_iterator(support::in_sources("models")))
    if (entry.path().extension() == ".json") {
      std::string name = entry.path().stem().string();
      std::replace(name.begin(), name.end(), '_', '-');
      EXPECT_TRUE(names.contains(name)) << name;
      EXPECT_EQ(io::find_model(name)->name, name);
    }
}

TEST(ModelFile, EveryShippedModelIsRightOnBothGroups) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(support::in_sources("models"))) {
    if (entry.path().extension() != ".json") continue;
    ++count;
    for (const char* group : {"se3", "r3xso3"}) {
      SCOPED_TRACE(entry.path().string() + " on " + group);
      const io::ModelFile file = io::read_model_file(entry.path(), {.group = group});
      system::Motion m(file.assembly->space());
      m.q = file.model.start.q0;
      m.v = file.model.start.v0;
      m.a = Vector::LinSpaced(m.a.size(), -1.0, 1.0);
      const Vector lambda = Vector::LinSpaced(file.assembly->pattern().rows(), 1.0, 2.0);
      for (const system::AuditFinding& finding : system::audit(*file.assembly, m, lambda))
        EXPECT_TRUE(finding.ok()) << finding.what << " at " << finding.where << ": " << finding.error << " > "
                                  << finding.tolerance;
      const bool is_redundant = entry.path().stem() == "bricard";
      EXPECT_EQ(system::rank_report(*file.assembly, m).is_regular, !is_redundant);
    }
  }
  EXPECT_GE(count, 10);
}

TEST(ModelFile, SchemaNamesEveryJointDriverAndForce) {
  const io::Json schema = io::model_schema();
  const auto names = [&](const std::string& definition) {
    return schema["$defs"][definition]["properties"]["type"]["enum"].get<std::vector<std::string>>();
  };
  EXPECT_EQ(names("joint"), io::joint_types(false));
  EXPECT_EQ(names("driver"), multibody::joint_names(true));
  std::vector<std::string> forces = multibody::force_names();
  for (const std::string& name : multibody::law_names()) forces.push_back(name);
  forces.push_back(io::line_load_object().name);
  EXPECT_EQ(names("force"), forces);
}

TEST(ModelFile, SimulationTakesListsOfTimesWordsAndStepSequences) {
  const auto options_of = [](const std::string& simulation) {
    io::RunSpec spec;
    spec.own_model = std::make_shared<models::ModelInfo>(io::model_of(
        std::make_shared<JsonSource>("m.json", pendulum({}, {}, R"(, "simulation": )" + simulation)), false));
    return io::prepare(spec).options;
  };
  EXPECT_EQ(options_of(R"({"corners": [0.25, 0.5], "output_times": 0.5})").corners, (std::vector<double>{0.25, 0.5}));
  EXPECT_EQ(options_of(R"({"method": "projected-bdf", "conserve": ["energy"]})").conserved,
            std::vector<std::string>{"energy"});
  EXPECT_TRUE(run::is_given(options_of(R"({"steps": "alternate:h=1e-2,ratio=2"})").steps));
  EXPECT_NE(refusal(pendulum({}, {}, R"(, "simulation": {"corners": [0.25, "x"]})"))
                .find("/simulation/corners: is a list of 2, expected one or more numbers"),
            std::string::npos);
}

}  // namespace
