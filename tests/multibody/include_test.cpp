// Files as parts of others: the same motion as written out by hand, and what is wrong said where it stands.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "io/model_file/model_catalogue.hpp"
#include "io/model_file/model_compose.hpp"
#include "io/result/write_model.hpp"
#include "io/temporary_folder.hpp"
#include "kreisel/error.hpp"
#include "kreisel/solution.hpp"
#include "model_runs.hpp"
#include "multibody/assembly.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

io::RunSpec file_spec(const std::filesystem::path& path) {
  io::RunSpec spec;
  spec.model = path.string();
  return spec;
}

std::string refusal_of(const std::filesystem::path& path) {
  return text_of<InvalidInput>([&] { io::prepare(file_spec(path)); });
}

/// Whether it is said, with all of it for whoever reads the failure.
testing::AssertionResult says(const std::string& text, const std::string& what) {
  if (text.find(what) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << what << "' is not in: " << text;
}

/// A rod on a hinge, off all axes, with everything that has a place in the world.
constexpr const char* rod = R"j({
  "parameters": {"L": 0.5, "k": 4, "h": "=L/2"},
  "inputs": {"u": "0.3*sin(2*t)"},
  "states": {"z": {"rate": "=phi - z", "initial": 0.1}},
  "bodies": [{"name": "rod", "mass": 1.2, "inertia": [0.03, 0.02, 0.01], "position": ["=h", 0.1, 0], "velocity": [0, 0, -0.3],
              "rotation": {"axis": [1, 2, 3], "angle": 0.4}}],
  "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0.2, 1, 0]},
             {"name": "tip", "type": "point-on-plane", "active": false, "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
  "outputs": {"phi": {"angle": "hinge"}, "end": {"position": "rod", "at": ["=L", 0, 0.1]}, "power": "=motor*phi'"},
  "forces": [{"name": "motor", "type": "torque", "joint": "hinge", "value": "=-k*phi + u + 0.2*z"},
             {"type": "spring-damper", "between": ["ground", "rod"], "at": [[0.4, 0, 0.8], ["=L", 0, 0]], "stiffness": 15, "damping": 0.1},
             {"type": "applied", "on": "rod", "force": ["0.2*t", 0.4, "cos(3*t)"], "torque": [0, 0.1, 0]}],
  "events": [{"name": "up", "when": "=end.z - 0.15", "action": {"jump": {"rod.velocity": ["=0.1", "=0", "=phi'"]}}, "direction": "rising"}]
})j";

double norm_of_difference(const Vector& a, const Vector& b) { return a.size() == b.size() ? (a - b).norm() : 1e300; }

// The part is turned, moved and hung up; what it does, seen from its own axes, stays the same without gravity.
TEST(Include, MovesAPartAsAWhole) {
  TemporaryFolder folder;
  // The velocity of the rod must suit its hinge: let --assemble see to it in both.
  write_file(folder / "rod.json", rod);
  write_file(folder / "whole.json", R"j({"include": [{"file": "rod.json", "prefix": "a.", "at": [1, -2, 0.5],
      "rotation": {"axis": [1, 1, 0.3], "angle": 2.2}}]})j");
  const auto run_of = [&](const char* name, const char* group) {
    io::RunSpec spec = file_spec(folder / name);
    spec.group = group;
    spec.set("assemble", true);
    return ran(spec, 1.0, 1e-9);
  };
  const Eigen::Matrix3d R = Eigen::AngleAxisd(2.2, Eigen::Vector3d(1, 1, 0.3).normalized()).toRotationMatrix();
  for (const char* group : {"r3xso3", "se3"}) {
    const Ran alone = run_of("rod.json", group), part = run_of("whole.json", group);
    const Eigen::Vector3d end(alone["end.x"], alone["end.y"], alone["end.z"]);
    const Eigen::Vector3d seen = Eigen::Vector3d(1, -2, 0.5) + R * end;
    EXPECT_NEAR(part["a.phi"], alone["phi"], 1e-6) << group;
    EXPECT_NEAR(part["a.z"], alone["z"], 1e-6);
    EXPECT_GT(std::abs(alone["phi"]), 1e-2);
    EXPECT_NEAR(part["a.power"], alone["power"], 1e-5);
    EXPECT_NEAR((Eigen::Vector3d(part["a.end.x"], part["a.end.y"], part["a.end.z"]) - seen).norm(), 0.0, 1e-6);
  }
}

// A frame of the ground goes where the ground goes, and to the body that stands for it.
TEST(Include, FramesOfTheGroundFollow) {
  TemporaryFolder folder;
  write_file(folder / "part.json", R"j({
    "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.2, 0.3], "position": [0.3, 0.4, 0.5]}],
    "joints": [{"name": "pin", "type": "revolute", "between": ["ground", "b"], "frames": [{"at": [0.3, 0, 0.5], "axis": [1, 0, 0]}, {"at": [0, -0.4, 0], "axis": [1, 0, 0]}]}],
    "outputs": {"phi": {"angle": "pin"}}})j");
  const std::string torso =
      R"j("gravity": [0, 0, -9.81], "bodies": [{"name": "torso", "mass": 5, "inertia": [1, 1, 1], "position": [0.1, 0.2, 0.3],
    "rotation": {"axis": [0, 1, 1], "angle": 0.7}}],)j";
  write_file(folder / "whole.json", "{" + torso + R"j(
    "include": [{"file": "part.json", "prefix": "p.", "at": [1, 0, 0], "rotation": {"axis": [0, 0, 1], "angle_deg": 90}, "connect": {"ground": "torso"}}]})j");
  // By hand: the point (0.3, 0, 0.5) becomes (1, 0.3, 0.5), x becomes y.
  write_file(folder / "hand.json", "{" + std::string(torso).erase(torso.size() - 2) +
                                       R"j(, {"name": "p.b", "mass": 1, "inertia": [0.1, 0.2, 0.3],
    "position": [0.6, 0.3, 0.5], "rotation": {"axis": [0, 0, 1], "angle_deg": 90}}],
    "joints": [{"name": "p.pin", "type": "revolute", "between": ["torso", "p.b"], "at": [1, 0.3, 0.5], "axis": [0, 1, 0]}],
    "outputs": {"p.phi": {"angle": "p.pin"}}})j");
  const Ran whole = ran(file_spec(folder / "whole.json"), 1.0, 1e-9),
            hand = ran(file_spec(folder / "hand.json"), 1.0, 1e-9);
  EXPECT_NEAR(whole["p.phi"], hand["p.phi"], 1e-7);
  EXPECT_NEAR(norm_of_difference(whole.report.final.motion.q, hand.report.final.motion.q), 0.0, 1e-6);
}

TEST(Include, NestsAndRepeats) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder / "parts");
  write_file(folder / "parts" / "rod.json", rod);
  write_file(folder / "parts" / "pair.json", R"j({"parameters": {"L": 1, "k": 7},
    "include": [{"file": "rod.json", "prefix": "r{i}.", "repeat": {"count": 2}, "at": ["=L*i", 0, 0], "parameters": {"L": "=L/2", "k": "=k*i"}}],
    "outputs": {"sum": "=r1.phi + r2.phi"}})j");
  write_file(folder / "all.json", R"j({"parameters": {"n": 2},
    "include": [{"file": "parts/pair.json", "prefix": "p{i}_", "repeat": {"index": "i", "count": "=n"}, "at": [0, "=3*i", 0], "parameters": {"k": "=10*i"}}],
    "outputs": {"all": "=p1_sum + p2_sum"}, "simulation": {"assemble": true}})j");
  io::RunSpec spec = file_spec(folder / "all.json");
  const io::PreparedRun run = io::prepare(spec);
  EXPECT_EQ(run.model.system->body_count(), 4);
  EXPECT_EQ(run.model.parameters.at("p2_r2.k"), 40.0);
  EXPECT_EQ(run.model.parameters.at("p1_r1.h"), 0.25);
  EXPECT_EQ(run.options.sources.size(), 3u) << "all files decide the run";
  spec.settings = {{"n", 3.0}, {"p3_r1.k", 1.5}, {"p1_k", 2.0}};
  const io::PreparedRun more = io::prepare(spec);
  EXPECT_EQ(more.model.system->body_count(), 6);
  EXPECT_EQ(more.model.parameters.at("p3_r1.k"), 1.5);
  EXPECT_EQ(more.model.parameters.at("p1_r2.k"), 4.0);
  EXPECT_NEAR(more.model.system->body_pose(5, more.model.start.q0).x[0], 2.0 + 0.25, 0.2);
}

TEST(Include, AFlatModelRunsWithTheSameBits) {
  TemporaryFolder folder;
  const Ran whole = ran(shipped("two-legs"), 0.5, 1e-7);
  const std::string flat = whole.prepared.model.definition();
  EXPECT_EQ(flat.find("include"), std::string::npos);
  write_file(folder / "flat.json", flat);
  const Ran again = ran(file_spec(folder / "flat.json"), 0.5, 1e-7);
  EXPECT_EQ(whole.report.final.motion.q, again.report.final.motion.q);
  EXPECT_EQ(whole.report.final.motion.v, again.report.final.motion.v);
  EXPECT_EQ(whole.report.counters.steps, again.report.counters.steps);
  // Its places were computed with a length that cannot change without them.
  io::RunSpec other = file_spec(folder / "flat.json");
  other.settings = {{"left.L", 0.5}};
  EXPECT_TRUE(says(text_of<InvalidInput>([&] { io::prepare(other); }), "left.L"));
}

TEST(TwoLegs, FollowTheirMinimalCoordinates) {
  // x of the torso, then hip and knee of both legs, the right ones with the sign of the turned axis: planar, in x and z.
  const double L = 0.4, m1 = 3, m2 = 0.6 * m1, M = 20, g = 9.81, k = 60, d = 4, stride = 0.4, omega = 6;
  using State = Eigen::Matrix<double, 10, 1>;
  const auto f = [&](double t, const State& y) {
    Eigen::Matrix<double, 5, 5> A = Eigen::Matrix<double, 5, 5>::Zero();
    Eigen::Matrix<double, 5, 1> r = Eigen::Matrix<double, 5, 1>::Zero();
    A(0, 0) = M;
    for (int leg = 0; leg < 2; ++leg) {
      const int h = 1 + 2 * leg;
      // About y an angle a takes the point (0, 0, -l) to (-l sin a, 0, -l cos a).
      const double sign = leg == 0 ? 1.0 : -1.0, a = y[h], b = y[h] + y[h + 1], da = y[5 + h],
                   db = y[5 + h] + y[5 + h + 1];
      struct Mass {
        double m, J, l1, l2;
      };
      for (const Mass& body : {Mass{m1, m1 * L * L / 12, L / 2, 0.0}, Mass{m2, m2 * L * L / 12, L, L / 2}}) {
        Eigen::Matrix<double, 2, 5> P = Eigen::Matrix<double, 2, 5>::Zero();
        P(0, 0) = 1;
        const double xa = -sign * body.l1 * std::cos(a), xb = -sign * body.l2 * std::cos(b), za = body.l1 * std::sin(a),
                     zb = body.l2 * std::sin(b);
        P(0, h) = xa + xb;
        P(1, h) = za + zb;
        P(0, h + 1) = xb;
        P(1, h + 1) = zb;
        const Eigen::Vector2d curve(sign * (body.l1 * std::sin(a) * da * da + body.l2 * std::sin(b) * db * db),
                                    body.l1 * std::cos(a) * da * da + body.l2 * std::cos(b) * db * db);
        A += body.m * P.transpose() * P;
        r += P.transpose() * (Eigen::Vector2d(0, -body.m * g) - body.m * curve);
        Eigen::Matrix<double, 5, 1> turn = Eigen::Matrix<double, 5, 1>::Zero();
        turn[h] = 1;
        if (body.l2 > 0) turn[h + 1] = 1;
        A += body.J * turn * turn.transpose();
      }
      r[h] += k * (stride * std::sin(omega * t) - a) - d * da;
      r[h + 1] += k * (stride * (1 - std::cos(omega * t)) / 2 - y[h + 1]) - d * y[5 + h + 1];
    }
    State out;
    out << y.tail<5>(), A.ldlt().solve(r);
    return out;
  };
  State start = State::Zero();
  const State y = minimal(start, 1.5, 40'000, f);
  const Ran run = ran(shipped("two-legs"), 1.5, 1e-9);
  EXPECT_NEAR(run["way"], y[0], 1e-7);
  EXPECT_NEAR(run["left.hip_angle"], y[1], 1e-6);
  EXPECT_NEAR(run["left.knee_angle"], y[2], 1e-6);
  EXPECT_NEAR(run["right.hip_angle"], y[3], 1e-6);
  EXPECT_NEAR(run["right.knee_angle"], y[4], 1e-6);
  EXPECT_NEAR(run["left.foot.x"], y[0] - L * (std::sin(y[1]) + std::sin(y[1] + y[2])), 1e-6);
  EXPECT_NEAR(run["step"], -2 * L * (std::sin(y[1]) + std::sin(y[1] + y[2])), 1e-6);
  EXPECT_GT(std::abs(run["step"]), 1e-2);
}

TEST(Include, SaysWhatIsWrongInTheRightFile) {
  TemporaryFolder folder;
  write_file(
      folder / "part.json",
      "{\"bodies\": [{\"name\": \"b\", \"mass\": 1, \"inertia\": [1, 1, 1],\n  \"position\": [0, \"=2*Q\", 0]}]}");
  write_file(folder / "bad_mass.json",
             "{\"parameters\": {\"m\": 1},\n \"bodies\": [{\"name\": \"b\",\n  \"mass\": \"=-m\", \"inertia\": [1, 1, "
             "1], \"position\": [0, 0, 0]}]}");
  const auto with = [&](const std::string& entry, const std::string& rest = "") {
    write_file(folder / "whole.json", "{\"include\": [\n " + entry + "]" + rest + "}");
    return refusal_of(folder / "whole.json");
  };
  const std::string part = (folder / "part.json").string(), whole = (folder / "whole.json").string();
  EXPECT_TRUE(says(with(R"j({"file": "part.json", "prefix": "a."})j"),
                   part + ":2:19: /bodies/0/position/1: included by " + whole +
                       ":2:2: /include/0: formula '2*Q', character 3: unknown name 'Q'"));
  EXPECT_TRUE(says(with(R"j({"file": "bad_mass.json", "prefix": "a."})j"),
                   (folder / "bad_mass.json").string() + ":3:11: /bodies/0/mass: included by " + whole +
                       ":2:2: /include/0: is -1, expected a mass"));
  EXPECT_TRUE(says(with(R"j({"file": "none.json"})j"),
                   ":2:11: /include/0/file: there is no file '" + (folder / "none.json").string()));
  EXPECT_TRUE(says(with(R"j({"file": "legg"})j"), "unknown shipped model file 'legg'; did you mean 'leg'?"));
  EXPECT_TRUE(says(with(R"j({"file": 3})j"), "/include/0/file: is 3, expected the path"));
  EXPECT_TRUE(says(with("{}"), "/include/0: the key \"file\" is missing"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "prefx": "a"})j"), "unknown key 'prefx'; did you mean 'prefix'?"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "prefix": "a-"})j"), "/include/0/prefix: \"a-\" cannot begin a name"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "prefix": ""})j"), "/include/0/prefix: is \"\", expected a text"));
  EXPECT_TRUE(
      says(with(R"j({"file": "leg", "at": [0, 1]})j"), "/include/0/at: is a list of 2, expected three numbers"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "at": [0, 1, "=w"]})j"),
                   "/include/0/at/2: formula 'w', character 1: unknown name 'w'"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "rotation": {"axis": [0, 0, 0], "angle": 1}})j"),
                   "/include/0/rotation/axis: is [0, 0, 0]"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "parameters": {"LL": 1}})j"),
                   "/include/0/parameters/LL: unknown parameter 'LL'; did you mean 'L'?"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "parameters": {"L": "1"}})j"),
                   "/include/0/parameters/L: is \"1\", expected a number or a formula"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "parameters": {"L": 5}})j"),
                   "with the value of " + whole + ":2:38: /include/0/parameters/L"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "connect": {"ground": "torso"}})j"),
                   "/include/0/connect/ground: unknown body 'torso'"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "connect": {"thigh": "torso"}})j"),
                   "/include/0/connect/thigh: unknown body 'torso'"));
  EXPECT_TRUE(says(with("3"), "/include/0: is 3, expected"));
  EXPECT_TRUE(says(with(R"j({"file": "leg", "prefix": "a.", "repeat": {"count": 2}})j"), "included by"));
}

TEST(Include, NamesClashesAndCyclesWithBothPlaces) {
  TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  write_file(folder / "clash.json", R"j({"include": [{"file": "leg"},
    {"file": "leg"}]})j");
  const std::string clash = refusal_of(folder / "clash.json");
  EXPECT_TRUE(says(clash, "leg:16:5: /bodies/0: included by " + path("clash.json") +
                              ":2:5: /include/1: 'thigh' is already the name of leg:16:5: /bodies/0"));
  write_file(
      folder / "own.json",
      R"j({"bodies": [{"name": "left.thigh", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}], "include": [{"file": "leg", "prefix": "left."}]})j");
  EXPECT_TRUE(says(refusal_of(folder / "own.json"),
                   "'left.thigh' is already the name of " + path("own.json") + ":1:13: /bodies/0"));
  write_file(folder / "a.json", "{\"include\": [{\"file\": \"b.json\", \"prefix\": \"b.\"}]}");
  write_file(folder / "b.json", "{\n\"include\": [{\"file\": \"../" + folder.path().filename().string() +
                                    "/a.json\", \"prefix\": \"a.\"}]}");
  EXPECT_TRUE(says(refusal_of(folder / "a.json"), "would include itself: " + path("a.json") + ":1:14: /include/0 -> " +
                                                      path("b.json") + ":2:13: /include/0"));
  write_file(folder / "self.json", "{\"include\": [{\"file\": \"self.json\"}]}");
  EXPECT_TRUE(
      says(refusal_of(folder / "self.json"), "would include itself: " + path("self.json") + ":1:14: /include/0"));
  // Every file twice the next one: refused before it fills the memory.
  for (int i = 0; i < 19; ++i)
    write_file(folder.path() / ("d" + std::to_string(i) + ".json"),
               "{\"include\": [{\"file\": \"d" + std::to_string(i + 1) +
                   ".json\", \"prefix\": \"a.\"}, {\"file\": \"d" + std::to_string(i + 1) +
                   ".json\", \"prefix\": \"b.\"}]}");
  write_file(folder / "d19.json", R"j({"bodies": []})j");
  EXPECT_TRUE(says(refusal_of(folder.path() / "d0.json"), "more than 10000 included files"));
}

TEST(Include, AComponentAndANameOfAPartDiffer) {
  TemporaryFolder folder;
  write_file(
      folder / "part.json",
      R"j({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}], "outputs": {"z": {"position": "b"}}})j");
  write_file(folder / "whole.json",
             R"j({"include": [{"file": "part.json", "prefix": "p."}], "outputs": {"p": {"position": "p.b"}}})j");
  EXPECT_TRUE(says(refusal_of(folder / "whole.json"), "'p.z' would be ambiguous"));
}

TEST(WriteModel, StartsWhereAnAssembledRunStarts) {
  TemporaryFolder folder;
  // A four-bar drawn with gaps, and an angle that has turned once already.
  write_file(folder / "drawn.json", R"j({"gravity": [0, -9.81, 0], "bodies": [
    {"name": "crank", "mass": 0.5, "inertia": [0.002, 0.0001, 0.002], "position": [0, 0.11, 0], "angular_velocity": [0, 0, -9]},
    {"name": "coupler", "mass": 1.2, "inertia": [0.0001, 0.029, 0.029], "position": [0.25, 0.3, 0], "rotation": {"axis": [0, 0, 1], "angle_deg": 20}},
    {"name": "rocker", "mass": 1.0, "inertia": [0.0133, 0.0001, 0.0133], "position": [0.5, 0.2, 0]}],
    "joints": [
    {"name": "A", "type": "revolute", "between": ["ground", "crank"], "at": [0, 0, 0], "axis": [0, 0, 1], "initial": {"value": 6.4}},
    {"name": "B", "type": "revolute", "between": ["crank", "coupler"], "at": [0, 0.2, 0], "axis": [0, 0, 1]},
    {"name": "C", "type": "point-on-line", "between": ["coupler", "rocker"], "frames": [{"at": [0.27, 0, 0], "axis": [0, 0, 1]}, {"at": [0, 0.2, 0], "axis": [0, 0, 1]}]},
    {"name": "D", "type": "revolute", "between": ["rocker", "ground"], "at": [0.5, 0, 0], "axis": [0, 0, 1]}],
    "outputs": {"turned": {"angle": "A"}, "end": {"position": "coupler", "at": [0.5, 0.4, 0]}},
    "simulation": {"assemble": true}})j");
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = file_spec(folder / "drawn.json");
    spec.group = group;
    const Ran first = ran(spec, 0.7, 1e-9);
    write_file(folder / "written.json", io::written_model(first.prepared).dump());
    const Ran second = ran(file_spec(folder / "written.json"), 0.7, 1e-9);
    EXPECT_LT(norm_of_difference(first.prepared.model.start.q0, second.prepared.model.start.q0), 1e-14);
    EXPECT_LT(norm_of_difference(first.prepared.model.start.v0, second.prepared.model.start.v0), 1e-13);
    EXPECT_NEAR(first["turned"], second["turned"], 1e-7);
    EXPECT_GT(first["turned"], 2 * M_PI) << "turns count";
    EXPECT_NEAR(first["end.x"], second["end.x"], 1e-7);
    EXPECT_LT(norm_of_difference(first.report.final.motion.q, second.report.final.motion.q), 1e-6);
  }
  EXPECT_TRUE(
      says(text_of<InvalidInput>([&] { io::written_model(io::prepare(shipped("heavy-top"))); }), "no model file"));
}

TEST(ModelFile, AStartSaysWhatIsWrong) {
  const auto with = [](const std::string& start) {
    return refusal(
        R"j({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}], "start": )j" + start +
        "}");
  };
  EXPECT_TRUE(says(with("3"), "/start: is 3, expected"));
  EXPECT_TRUE(says(with(R"j({"bodys": {}})j"), "unknown key 'bodys'"));
  EXPECT_TRUE(says(with(R"j({"bodies": {"c": {}}})j"), "/start/bodies/c: unknown body 'c'"));
  EXPECT_TRUE(says(with(R"j({"bodies": {"ground": {}}})j"), "/start/bodies/ground: is the ground"));
  EXPECT_TRUE(
      says(with(R"j({"bodies": {"b": {"position": 1}}})j"), "/start/bodies/b/position: is 1, expected three numbers"));
  EXPECT_TRUE(says(with(R"j({"states": {"c": 1}})j"), "/start/states/c: unknown state 'c'"));
}

TEST(ModelFile, ComplainsOfRootsOnly) {
  const std::string text = refusal(
      R"j({"parameters": {"L": "=2*Q", "r": "=L/10", "n": {"value": 3, "max": 2}}, "bodies": [{"name": "b", "mass": "=L", "inertia": [1, 1, 1],
    "position": ["=1/L", 0, 0], "shape": {"sphere": {"radius": "=r"}}}, {"name": "c{i}", "repeat": {"count": "=n"}, "mass": 1, "inertia": [1, 1, 1], "position": ["=i", 0, 0]}],
    "joints": [{"type": "distance", "between": ["b", "c1"], "at": [[0, 0, 0], ["=L", 0, 0]]}], "forces": [{"type": "applied", "on": "b", "force": ["1/L", 0, 0]}]})j");
  EXPECT_TRUE(says(text, "unknown name 'Q'"));
  EXPECT_TRUE(says(text, "/parameters/n: "));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

/// The including file is composed anew from what is set: a number of its own parts has no place to be put in between.
TEST(Include, NumbersOfPartsAreSet) {
  TemporaryFolder folder;
  write_file(folder / "rod.json",
             R"j({"bodies": [{"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [0, 0, 0]}]})j");
  write_file(folder / "whole.json", R"j({"include": [{"file": "rod.json", "prefix": "a."}],
      "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]}]})j");
  io::RunSpec alone = file_spec(folder / "rod.json"), whole = file_spec(folder / "whole.json");
  alone.settings.push_back({"rod.mass", 3.0});
  EXPECT_NO_THROW(io::prepare(alone));
  whole.settings.push_back({"b.mass", 3.0});
  whole.settings.push_back({"a.rod.mass", 5.0});
  const models::Model made = io::prepare(whole).model;
  for (const multibody::Body& body : dynamic_cast<const multibody::Assembly&>(*made.system).mechanism().bodies)
    EXPECT_EQ(body.mass, body.name == "b" ? 3.0 : 5.0) << body.name;
  whole.settings.push_back({"a.red.mass", 5.0});
  EXPECT_TRUE(says(text_of<InvalidInput>([&] { io::prepare(whole); }), "a.red"));
}

/// A body of the whole stands for one of the part: the joints of the part hold it.
TEST(Include, ConnectsAnyBody) {
  TemporaryFolder folder;
  write_file(folder / "arm.json",
             R"j({"bodies": [{"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]},
                             {"name": "hand", "mass": 7, "inertia": [7, 7, 7], "position": [2, 0, 0]}],
                  "joints": [{"name": "shoulder", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0]},
                             {"name": "wrist", "type": "revolute", "between": ["rod", "hand"], "at": [2, 0, 0], "axis": [0, 1, 0]}],
                  "outputs": {"grip": {"position": "hand"}}})j");
  const char* const tool =
      R"j("bodies": [{"name": "tool", "mass": 2, "inertia": [0.1, 0.1, 0.1], "position": [2, 0, 0.5]}])j";
  write_file(
      folder / "whole.json",
      fmt::format(R"j({{{}, "include": [{{"file": "arm.json", "prefix": "a.", "connect": {{"hand": "tool"}}}}]}})j",
                  tool));
  write_file(folder / "flat.json",
             fmt::format(R"j({{{}, "joints": [
      {{"name": "s", "type": "revolute", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [0, 1, 0]}},
      {{"name": "w", "type": "revolute", "between": ["rod", "tool"], "at": [2, 0, 0], "axis": [0, 1, 0]}}]}})j",
                         std::string(tool).replace(
                             std::string(tool).size() - 1, 1,
                             R"j(, {"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]}])j")));
  const models::Model whole = io::prepare(file_spec(folder / "whole.json")).model;
  const models::Model flat = io::prepare(file_spec(folder / "flat.json")).model;
  ASSERT_EQ(whole.system->space().nv(), flat.system->space().nv());
  run::Options options;
  options.rtol = options.atol = 1e-8;
  options.t_end = 0.5;
  const run::Solution one = run::solve({whole.system, whole.start}, options);
  const run::Solution other = run::solve({flat.system, flat.start}, options);
  EXPECT_EQ(one.at(0.5).q, other.at(0.5).q);
  write_file(
      folder / "wrong.json",
      fmt::format(R"j({{{}, "include": [{{"file": "arm.json", "prefix": "a.", "connect": {{"hend": "tool"}}}}]}})j",
                  tool));
  EXPECT_TRUE(
      says(text_of<InvalidInput>([&] { io::prepare(file_spec(folder / "wrong.json")); }), "did you mean 'hand'"));
}

}  // namespace
