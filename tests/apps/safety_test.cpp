// What the program must not destroy: files it reads, devices, links, results that another run is writing.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "io/temporary_folder.hpp"
#include "io/trajectory/trajectory.hpp"
#include "program.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using Json = nlohmann::json;
using Words = Process::Words;
namespace fs = std::filesystem;

class Safety : public testing::Test {
 protected:
  Safety() : model(content_of(support::in_sources("models/double_pendulum.json"))) {
    write_file(folder / "m.json", model);
  }

  Outcome call(const Words& words) { return Process(words, folder.path()).wait(); }
  void expect_refusal(const Words& words, const std::string& text) {
    const Outcome outcome = call(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << "got: " << outcome.err << "wanted: " << text;
  }
  void make_result() { ASSERT_EQ(call({"run", "./m.json", "--t-end", "0.1", "--out", "r", "--quiet"}).exit_code, 0); }

  TemporaryFolder folder;
  std::string model;
};

TEST_F(Safety, ARunDoesNotOverwriteWhatItReads) {
  expect_refusal({"run", "./m.json", "--log", "m.json"}, "'m.json' would be overwritten, but it is read as");
  fs::create_hard_link(folder / "m.json", folder / "steps.csv");
  expect_refusal({"run", "./m.json", "--log", "steps.csv"}, "choose another --log");
  fs::create_symlink("m.json", folder / "link.csv");
  expect_refusal({"run", "./m.json", "--log", "link.csv"}, "choose another --log");
  EXPECT_EQ(content_of(folder / "m.json"), model);

  write_file(folder / "times.txt", "0.01 0.02");
  expect_refusal({"run", "./m.json", "--output-times", "file:times.txt", "--log", "times.txt"}, "times.txt");
  EXPECT_EQ(content_of(folder / "times.txt"), "0.01 0.02");

  // A folder that counts as a result, with a file of the result as input.
  make_result();
  fs::copy_file(folder / "m.json", folder / "r/trajectory.h5.part");
  expect_refusal({"run", "./r/trajectory.h5.part", "--out", "r"}, "choose another --out");
  EXPECT_EQ(content_of(folder / "r/trajectory.h5.part"), model);
  expect_refusal({"run", "./m.json", "--out", "r", "--log", "r/../r/summary.json"}, "is a file of the result");
}

TEST_F(Safety, ImportAndViewAndStudyDoNotOverwriteWhatTheyRead) {
  const std::string robot =
      R"(<robot name="x"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>)";
  write_file(folder / "robot.json", robot);  // the default target is FILE with the ending .json
  expect_refusal({"import", "robot.json", "--free-base"}, "would be overwritten");
  EXPECT_EQ(content_of(folder / "robot.json"), robot);

  make_result();
  const std::string summary = content_of(folder / "r/summary.json"), rows = content_of(folder / "r/trajectory.csv");
  expect_refusal({"view", "r", "--html", "r/summary.json"}, "choose another --html");
  expect_refusal({"view", "r", "--html", "r/trajectory.csv"}, "choose another --html");
  EXPECT_EQ(content_of(folder / "r/summary.json"), summary);
  EXPECT_EQ(content_of(folder / "r/trajectory.csv"), rows);

  const std::string spec =
      R"({"model": "pendulum", "step": [2e-2, 1e-2], "t_end": 0.1, "measures": ["position-residual max"]})";
  fs::create_directory(folder / "s");
  write_file(folder / "s/study.json", spec);
  expect_refusal({"study", "s/study.json", "--out", "s"}, "choose another --out");
  EXPECT_EQ(content_of(folder / "s/study.json"), spec);
}

TEST_F(Safety, LinksAreWrittenThrough) {
  make_result();
  fs::create_directory(folder / "far");
  write_file(folder / "far/page.html", "old");
  fs::create_symlink("far/page.html", folder / "link.html");
  ASSERT_EQ(call({"view", "r", "--html", "link.html"}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.html"));
  EXPECT_NE(content_of(folder / "far/page.html").find("<html"), std::string::npos);

  fs::create_symlink("far/robot.json", folder / "robot-link.json");  // to nothing yet
  write_file(
      folder / "robot.urdf",
      R"(<robot name="x"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>)");
  ASSERT_EQ(call({"import", "robot.urdf", "--free-base", "--out", "robot-link.json"}).exit_code, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "robot-link.json"));
  EXPECT_TRUE(fs::is_regular_file(folder / "far/robot.json"));
}

TEST_F(Safety, DevicesAndPipesAreWrittenAsTheyAre) {
  make_result();
  fs::create_symlink("/dev/full", folder / "full.html");
  const Outcome full = call({"view", "r", "--html", "full.html"});
  EXPECT_EQ(full.exit_code, 4);
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_TRUE(fs::is_symlink(folder / "full.html"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));

  ASSERT_EQ(::mkfifo((folder / "pipe.html").c_str(), 0600), 0);
  Process process({"view", "r", "--html", "pipe.html"}, folder.path());
  const std::string page = content_of(folder / "pipe.html");
  EXPECT_EQ(process.wait().exit_code, 0);
  EXPECT_NE(page.find("<html"), std::string::npos);
  EXPECT_TRUE(fs::is_fifo(folder / "pipe.html"));
}

TEST_F(Safety, TwoRunsDoNotShareAFolder) {
  Process first({"run", "heavy-top", "--t-end", "100000", "--out", "r", "--quiet"}, folder.path());
  ASSERT_TRUE(wait_until(
      [&] { return fs::exists(folder / "r/trajectory.csv.part") || fs::exists(folder / "r/trajectory.h5.part"); }));
  const std::string owner = content_of(folder / "r/lock");
  const std::string complaint = "is in use by process " + owner.substr(0, owner.find('\n'));
  expect_refusal({"run", "pendulum", "--t-end", "0.1", "--out", "r", "--quiet"}, complaint);
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().exit_code, 130);
  EXPECT_FALSE(fs::exists(folder / "r/lock"));
  EXPECT_EQ(Json::parse(content_of(folder / "r/summary.json"))["model"], "heavy-top");
}

TEST_F(Safety, TheLockOfADeadProcessIsTakenOver) {
  Process first({"run", "heavy-top", "--t-end", "100000", "--out", "r", "--quiet"}, folder.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / "r/lock") && fs::exists(folder / "r/summary.json"); }));
  first.send(SIGKILL);
  first.wait();
  ASSERT_TRUE(fs::exists(folder / "r/lock"));
  EXPECT_EQ(call({"run", "pendulum", "--t-end", "0.1", "--out", "r", "--quiet"}).exit_code, 0);
  EXPECT_FALSE(fs::exists(folder / "r/lock"));
  // Killed before the first point: nothing but the lock is there.
  fs::create_directory(folder / "early");
  write_file(folder / "early/lock", "1\n");
  EXPECT_EQ(call({"run", "pendulum", "--t-end", "0.1", "--out", "early", "--quiet"}).exit_code, 0);
}

TEST_F(Safety, TwoStudiesDoNotShareAFolder) {
  write_file(folder / "s.json",
             R"({"model": "heavy-top", "step": 1e-6, "t_end": 100, "measures": ["position-residual max"]})");
  Process first({"study", "s.json", "--out", "s", "--quiet"}, folder.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / "s/study.journal"); }));
  expect_refusal({"study", "s.json", "--out", "s", "--quiet"}, "is in use by process");
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().exit_code, 130);
}

TEST_F(Safety, AnAbsurdOutputStepIsRefusedWithTheNumberOfPoints) {
  expect_refusal({"run", "heavy-top", "--output-step", "1e-17", "--out", "r"},
                 "--output-step: is 1e-17: 2e+17 points to t = 2");
  EXPECT_FALSE(fs::exists(folder / "r"));
}

/// One step may hold millions of points.
TEST_F(Safety, TheFirstSignalIsHeardBetweenOutputPoints) {
  Process process(
      {"run", "pendulum", "--method", "rkmk", "--t-end", "1", "--output-step", "2e-8", "--out", "r", "--quiet"},
      folder.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / "r/trajectory.csv.part"); }));
  const auto begin = std::chrono::steady_clock::now();
  process.send(SIGTERM);
  EXPECT_EQ(process.wait().exit_code, 130);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(Json::parse(content_of(folder / "r/summary.json"))["status"], "interrupted");
}

/// What analyses read is never what they write.
TEST_F(Safety, AnalysesDoNotOverwriteTheirInputs) {
  const std::string model = R"({"gravity": [0, 0, -9.81], "parameters": {"k": 1},
    "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0, 1, 0]}],
    "joints": [{"name": "hinge", "type": "revolute", "between": ["ground", "b"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
    "inputs": {"u": {"value": 0}}, "outputs": {"ang": {"angle": "hinge"}},
    "forces": [{"type": "torque", "joint": "hinge", "value": "=u - 30*ang - k*ang'"}]})";
  write_file(folder / "m.json", model);
  std::string data = "t,ang\n";
  for (int i = 1; i < 20; ++i) data += fmt::format("{},{}\n", 0.05 * i, -0.01 * i);
  write_file(folder / "d.csv", data);
  expect_refusal({"modes", "m.json", "--html", "m.json"}, "would be overwritten");
  expect_refusal({"modes", "m.json", "--out", "m.json"}, "would be overwritten");
  expect_refusal({"static", "m.json", "--along", "k=1:2", "--out", "m.json"}, "would be overwritten");
  expect_refusal({"inverse", "m.json", "--follow", "ang=0.1*sin(t)", "--inputs", "u", "--out", "m.json"},
                 "would be overwritten");
  expect_refusal({"fit", "m.json", "d.csv", "--free", "k=0.1:10", "--html", "m.json"}, "would be overwritten");
  expect_refusal({"fit", "m.json", "d.csv", "--free", "k=0.1:10", "--html", "d.csv"}, "would be overwritten");
  EXPECT_EQ(content_of(folder / "m.json"), model);
  EXPECT_EQ(content_of(folder / "d.csv"), data);
}

}  // namespace
