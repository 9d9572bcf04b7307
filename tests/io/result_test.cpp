#include "io/result/result.hpp"

#include <gtest/gtest.h>

#include "file_size_limit.hpp"
#include "io/result/prepare.hpp"
#include "kreisel/error.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;
using io::Json;
namespace fs = std::filesystem;

class Result : public testing::Test {
 protected:
  static io::PreparedRun prepared(const char* model, std::map<std::string, std::string, std::less<>> options,
                                  std::vector<std::string> settings = {}) {
    io::RunSpec spec;
    spec.model = model;
    for (const auto& [name, text] : options) spec.set(name, text);
    for (const std::string& setting : settings) spec.read_setting(setting);
    return io::prepare(spec);
  }
  io::ResultRequest into(const char* name) {
    io::ResultRequest request;
    request.folder = folder / name;
    request.command = "kreisel run";
    return request;
  }
  Json summary_in(const char* name) { return Json::parse(content_of(folder / name / "summary.json")); }

  TemporaryFolder folder;
  run::Observer nobody;
};

/// Looks into the folder at a point and may stop there.
class Visitor final : public run::Observer {
 public:
  explicit Visitor(long stop_at = -1) : stop_at_(stop_at) {}
  std::function<void()> look = [] {};
  bool accept(const run::Point& point) override {
    if (point.number == 5) look();
    return point.number != stop_at_;
  }

 private:
  long stop_at_;
};

TEST_F(Result, WritesTrajectoryAndSummary) {
  const io::RunResult done =
      io::run_to_folder(prepared("heavy-top", {{"step", "1e-3"}, {"t-end", "0.01"}}), into("r"), nobody);
  EXPECT_EQ(done.report.status, run::Status::success);
  io::Json written = summary_in("r");
  EXPECT_EQ(written["scene"]["bodies"][0]["name"], "top") << "for the page";
  written.erase("scene");
  EXPECT_EQ(written, done.summary);
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), 11);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "r"), {}), 2);
}

TEST_F(Result, AnInterruptedRunIsWritten) {
  Visitor visitor(7);
  const io::RunResult done =
      io::run_to_folder(prepared("heavy-top", {{"step", "1e-3"}, {"t-end", "1"}}), into("r"), visitor);
  EXPECT_EQ(done.report.status, run::Status::interrupted);
  EXPECT_EQ(summary_in("r")["status"], "interrupted");
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), 8);
}

TEST_F(Result, AFailedRunIsWritten) {
  const io::RunResult done =
      io::run_to_folder(prepared("heavy-top", {{"step", "1e-3"}, {"max-steps", "20"}}), into("r"), nobody);
  EXPECT_EQ(done.report.status, run::Status::too_many_steps);
  EXPECT_EQ(summary_in("r")["status"], "too-many-steps");
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), done.report.counters.steps + 1);
}

TEST_F(Result, WhileItRunsTheFolderSaysSo) {
  Visitor visitor;
  Json seen;
  bool has_part = false;
  visitor.look = [&] {
    seen = summary_in("r");
    has_part = fs::exists(folder / "r/trajectory.csv.part");
  };
  io::run_to_folder(prepared("heavy-top", {{"step", "1e-3"}, {"t-end", "0.01"}}), into("r"), visitor);
  EXPECT_EQ(seen["status"], "running");
  EXPECT_EQ(seen["model"], "heavy-top");
  EXPECT_TRUE(has_part);
}

TEST_F(Result, ReplacesAnOlderResultOfAnotherFormat) {
  io::ResultRequest request = into("r");
  request.format = io::TrajectoryFormat::hdf5;
  const io::PreparedRun run = prepared("pendulum", {{"step", "1e-2"}, {"t-end", "0.1"}});
  io::run_to_folder(run, request, nobody);
  EXPECT_TRUE(fs::exists(folder / "r/trajectory.h5"));
  io::run_to_folder(run, into("r"), nobody);
  EXPECT_FALSE(fs::exists(folder / "r/trajectory.h5"));
  EXPECT_TRUE(fs::exists(folder / "r/trajectory.csv"));
}

TEST_F(Result, LeavesTheOlderResultWhenTheNewRunIsRefused) {
  io::run_to_folder(prepared("pendulum", {{"step", "1e-2"}, {"t-end", "0.1"}}), into("r"), nobody);
  const std::string before = content_of(folder / "r/summary.json");
  // Passes the option check, but the method refuses the pair of parameters when it is made.
  const io::PreparedRun bad =
      prepared("pendulum", {{"step", "1e-2"}, {"method", "generalized-alpha"}}, {"alpha_m=3", "alpha_f=-4"});
  EXPECT_THROW(io::run_to_folder(bad, into("r"), nobody), InvalidInput);
  EXPECT_EQ(content_of(folder / "r/summary.json"), before);
  EXPECT_TRUE(fs::exists(folder / "r/trajectory.csv"));
  EXPECT_THROW(io::run_to_folder(bad, into("new"), nobody), InvalidInput);
  EXPECT_FALSE(fs::exists(folder / "new"));
}

TEST_F(Result, AFullDiskIsAnEnvironmentErrorAndLeavesANote) {
  const io::PreparedRun run = prepared("heavy-top", {{"step", "1e-3"}, {"t-end", "2"}});
  {
    const FileSizeLimit full(100'000);
    EXPECT_THROW(io::run_to_folder(run, into("r"), nobody), EnvironmentError);
  }
  EXPECT_EQ(summary_in("r")["status"], "environment-error");
  EXPECT_GT(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), 50);
}

TEST_F(Result, TheLogHasOneLinePerAttempt) {
  io::ResultRequest request = into("r");
  request.log = folder / "steps.csv";
  const io::RunResult done = io::run_to_folder(prepared("heavy-top", {{"t-end", "0.1"}}), request, nobody);
  const std::string text = content_of(folder / "steps.csv");
  EXPECT_EQ(text.find("t,h,order,iterations,update_norm,error,outcome\n"), 0u);
  EXPECT_NE(text.find(",accepted\n"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            1 + done.report.counters.steps + done.report.counters.rejected_steps);
  EXPECT_EQ(done.summary["output"]["log"], request.log.string());
}

TEST_F(Result, ALogThatCannotBeWrittenIsRefusedBeforeTheRun) {
  io::ResultRequest request = into("r");
  request.log = folder / "no/such/folder/log";
  EXPECT_THROW(io::run_to_folder(prepared("pendulum", {{"step", "1e-2"}}), request, nobody), InvalidInput);
  EXPECT_FALSE(fs::exists(folder / "r"));
}

TEST_F(Result, AFullDiskUnderTheLogIsAnEnvironmentError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  io::ResultRequest request = into("r");
  request.log = "/dev/full";
  const std::string text = text_of<EnvironmentError>([&] {
    io::run_to_folder(prepared("pendulum", {{"step", "1e-2"}}), request, nobody);
  });
  EXPECT_NE(text.find("cannot write the log '/dev/full'"), std::string::npos) << text;
}

}  // namespace
