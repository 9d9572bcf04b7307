// Runs that are killed with SIGKILL and resumed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "coeff/brackets.hpp"
#include "io/result/checkpoint.hpp"
#include "io/temporary_folder.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"
#include "program.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using Json = nlohmann::json;
using Words = Process::Words;
namespace fs = std::filesystem;

/// A built-in set of coefficients of order 3, as a file has it.
std::string written(const char* name) {
  const coeff::CorrectionSet& set = *coeff::find_correction_set(name, 3);
  Json lin = Json::array();
  for (int j = 0; j < set.count; ++j) {
    Json a = Json::array(), b = Json::array();
    for (int i = 0; i <= set.k; ++i) a.push_back(set.lin[j].a[i]);
    for (int i = 1; i <= set.k; ++i) b.push_back(set.lin[j].b[i]);
    lin.push_back({{"a", a}, {"b", b}});
  }
  return Json{{"k", set.k}, {"lin", lin}}.dump();
}

class Checkpoints : public testing::Test {
 protected:
  Checkpoints() {
    fs::create_directories(folder / "whole");
    fs::create_directories(folder / "killed");
  }

  static Words words(const Words& what) {
    Words all{"run"};
    all.insert(all.end(), what.begin(), what.end());
    all.insert(all.end(), {"--out", "r", "--checkpoint-every", "0.01", "--quiet"});
    return all;
  }
  fs::path result(const char* run, const char* name = "") const { return folder / run / "r" / name; }
  bool has_checkpoint() const { return fs::exists(result("killed", "checkpoint")); }

  /// Starts the run, kills it `times` times at different moments, and lets it end.
  void kill_and_resume(const Words& what, int times) {
    int kills = 0;
    for (int attempt = 0; attempt <= times; ++attempt) {
      Process process(attempt == 0 ? words(what) : Words{"run", "--resume", "r", "--quiet"}, folder / "killed");
      if (attempt < times) {
        if (attempt == 0) wait_until([&] { return has_checkpoint(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(15 + 17 * attempt));
        process.send(SIGKILL);
      }
      const Outcome outcome = process.wait();
      if (outcome.exit_code == 128 + SIGKILL) {
        ++kills;
        // The checkpoint goes when all results are there, a moment before the program ends.
        was_killed_at_its_end_ = !has_checkpoint() && fs::exists(result("killed", "summary.json"));
        if (was_killed_at_its_end_) break;
        ASSERT_TRUE(has_checkpoint());
        continue;
      }
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      break;
    }
    EXPECT_GE(kills, 1) << "the run was too short to be killed";
    EXPECT_FALSE(has_checkpoint()) << "a run that has ended needs none";
  }

  bool was_killed_at_its_end_ = false;

  void expect_same_result(const Words& what, int times = 4) {
    const Outcome whole = Process(words(what), folder / "whole").wait();
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    kill_and_resume(what, times);
    Json a = Json::parse(content_of(result("whole", "summary.json"))),
         b = Json::parse(content_of(result("killed", "summary.json")));
    a["statistics"].erase("solve_seconds");
    b["statistics"].erase("solve_seconds");
    EXPECT_TRUE(a == b) << Json::diff(a, b).dump();
    const std::string file = a["output"]["file"];
    if (file == "trajectory.csv") {
      EXPECT_TRUE(content_of(result("whole", "trajectory.csv")) == content_of(result("killed", "trajectory.csv")));
    } else {
      const Matrix x = io::read_trajectory(result("whole", file.c_str())).values,
                   y = io::read_trajectory(result("killed", file.c_str())).values;
      ASSERT_EQ(x.rows(), y.rows());
      EXPECT_TRUE((x.array() == y.array()).all());
    }
    if (fs::exists(folder / "whole/steps.csv")) {
      EXPECT_TRUE(content_of(folder / "whole/steps.csv") == content_of(folder / "killed/steps.csv"));
    }
    if (!was_killed_at_its_end_) {  // then its lock stays
      EXPECT_EQ(std::distance(fs::directory_iterator(result("killed")), {}), 2);
    }
  }

  TemporaryFolder folder;
};

TEST_F(Checkpoints, BliedfUnderErrorControlResumesBitwise) {
  expect_same_result({"heavy-top", "--t-end", "20", "--rtol", "1e-9", "--atol", "1e-9", "--output-step", "0.01",
                      "--log", "steps.csv"});
}

TEST_F(Checkpoints, BliedfWithConstantStepsResumesBitwise) {
  expect_same_result({"heavy-top", "--t-end", "2", "--step", "1e-4", "--format", "csv"});
}

TEST_F(Checkpoints, GeneralizedAlphaResumesBitwise) {
  expect_same_result(
      {"heavy-top", "--method", "generalized-alpha", "--t-end", "2", "--step", "1e-4", "--output-step", "0.001"});
}

TEST_F(Checkpoints, RkmkResumesBitwise) {
  expect_same_result(
      {"heavy-top", "--method", "rkmk", "--t-end", "10", "--rtol", "1e-12", "--atol", "1e-12", "--format", "csv"});
}

TEST_F(Checkpoints, ImpactsResumeBitwise) {
  expect_same_result({"wall-pendulum", "--t-end", "40", "--rtol", "1e-11", "--atol", "1e-11", "--set",
                      "restitution=0.99", "--output-step", "0.05"});
}

TEST_F(Checkpoints, RunsWithFilesResumeBitwise) {
  std::string times;
  for (int i = 1; i <= 1999; ++i) times += std::to_string(0.001 * i) + "\n";
  write_file(folder / "times.txt", times);
  write_file(folder / "set.json", written("tuned"));
  expect_same_result({"heavy-top", "--t-end", "2", "--step", "1e-4", "--correction", "file:../set.json",
                      "--output-times", "file:../times.txt"});
}

TEST_F(Checkpoints, ThinnedHdf5ResumesWithTheSameRows) {
  expect_same_result({"pendulum", "--step", "1e-5", "--t-end", "1.5"});
}

TEST_F(Checkpoints, AnInterruptedRunCanGoOn) {
  const Words what{"heavy-top", "--t-end", "2", "--step", "1e-4", "--format", "csv"};
  const Outcome whole = Process(words(what), folder / "whole").wait();
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  Process process(words(what), folder / "killed");
  ASSERT_TRUE(wait_until([&] { return has_checkpoint(); }));
  process.send(SIGINT);
  ASSERT_EQ(process.wait().exit_code, 130);
  ASSERT_TRUE(has_checkpoint());
  ASSERT_EQ(Process({"run", "--resume", "r", "--quiet"}, folder / "killed").wait().exit_code, 0);
  EXPECT_TRUE(content_of(result("whole", "trajectory.csv")) == content_of(result("killed", "trajectory.csv")));
}

TEST_F(Checkpoints, AVerifiedRunIsVerifiedAfterItWasResumed) {
  expect_same_result({"heavy-top", "--t-end", "2", "--step", "1e-4", "--format", "csv", "--verify"},
                     1);  // later kills might meet the repetition
  const Json summary = Json::parse(content_of(result("killed", "summary.json")));
  EXPECT_EQ(summary["verification"]["points"], 20001);
}

TEST_F(Checkpoints, DamagedOnesAreRefused) {
  Process process(words({"heavy-top", "--t-end", "2", "--step", "1e-4"}), folder / "killed");
  ASSERT_TRUE(wait_until([&] { return has_checkpoint(); }));
  process.send(SIGKILL);
  ASSERT_EQ(process.wait().exit_code, 128 + SIGKILL);
  const std::string good = content_of(result("killed", "checkpoint"));
  const auto complaint = [&](const std::string& content) -> std::string {
    write_file(result("killed", "checkpoint"), content);
    try {
      io::read_checkpoint(result("killed"));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(complaint(good), "accepted");
  for (std::size_t size = 0; size < good.size(); size += 1 + size / 3)
    EXPECT_NE(complaint(good.substr(0, size)), "accepted") << size;
  EXPECT_NE(complaint(good.substr(0, good.size() / 2)).find("is truncated"), std::string::npos);
  EXPECT_NE(complaint(good + "x").find("is damaged"), std::string::npos);
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string flipped = good;
    const std::size_t at = i < 40 ? static_cast<std::size_t>(i) : random() % good.size();
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random() % 8));
    EXPECT_NE(complaint(flipped), "accepted") << "bit flipped in byte " << at;
  }
  write_file(result("killed", "checkpoint"), good.substr(0, 1000));
  const Outcome refused = Process({"run", "--resume", "r"}, folder / "killed").wait();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("is truncated"), std::string::npos) << refused.err;
  EXPECT_TRUE(fs::exists(result("killed", "trajectory.csv.part"))) << "nothing is touched";
}

TEST_F(Checkpoints, AFolderWithoutOneIsRefused) {
  const Outcome outcome = Process({"run", "--resume", "r"}, folder / "killed").wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("there is no checkpoint in 'r'"), std::string::npos) << outcome.err;
  const Outcome both = Process({"run", "heavy-top", "--resume", "r"}, folder / "killed").wait();
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("--resume takes"), std::string::npos) << both.err;
}

TEST_F(Checkpoints, AChangedModelFileIsRefused) {
  const std::string model = content_of(support::in_sources("models/double_pendulum.json"));
  write_file(folder / "killed/model.json", model);
  Process process(words({"./model.json", "--t-end", "1000"}), folder / "killed");
  ASSERT_TRUE(wait_until([&] { return has_checkpoint(); }));
  process.send(SIGKILL);
  process.wait();
  write_file(folder / "killed/model.json", model + "\n");
  const Outcome outcome = Process({"run", "--resume", "r"}, folder / "killed").wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("model.json' has changed since it was written"), std::string::npos) << outcome.err;
}

/// What the options read from files decides the run as much as the model does.
TEST_F(Checkpoints, AnyChangedFileIsRefusedByName) {
  std::string times, later, steps;
  for (int i = 1; i <= 20'000; ++i) {
    times += std::to_string(0.01 * i) + "\n";
    later += std::to_string(0.01 * i + 0.001) + "\n";
    steps += i % 2 == 0 ? "1e-4\n" : "2e-4\n";
  }
  struct File {
    const char *option, *name;
    std::string before, after;
    Words others;
  };
  const std::vector<File> files{
      {"--correction", "set.json", written("difference"), written("tuned"), {"--t-end", "2", "--step", "1e-4"}},
      {"--output-times", "times.txt", times, later, {"--t-end", "1000", "--rtol", "1e-9", "--atol", "1e-9"}},
      {"--project-velocity-at", "project.txt", "0.5 0.75", "0.5 0.8", {"--t-end", "1000"}},
      {"--steps", "steps.txt", steps, "1e-4\n" + steps, {"--t-end", "2"}},
  };
  for (const File& file : files) {
    fs::remove_all(result("killed"));
    write_file(folder / "killed" / file.name, file.before);
    Words what{"heavy-top", file.option, std::string("file:") + file.name};
    what.insert(what.end(), file.others.begin(), file.others.end());
    Process process(words(what), folder / "killed");
    ASSERT_TRUE(wait_until([&] { return has_checkpoint(); })) << file.option;
    process.send(SIGKILL);
    ASSERT_EQ(process.wait().exit_code, 128 + SIGKILL) << file.option;
    const std::string rows = content_of(result("killed", "trajectory.csv.part"));
    write_file(folder / "killed" / file.name, file.after);
    const Outcome outcome = Process({"run", "--resume", "r"}, folder / "killed").wait();
    EXPECT_EQ(outcome.exit_code, 2) << file.option;
    EXPECT_NE(outcome.err.find(std::string(file.name) + "' has changed since it was written"), std::string::npos)
        << outcome.err;
    EXPECT_TRUE(content_of(result("killed", "trajectory.csv.part")) == rows) << "nothing is touched";
  }
}

}  // namespace
