// The command line contract, from outside.
#include <gtest/gtest.h>
#include <pty.h>

#include <array>
#include <atomic>
#include <fstream>
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

/// As --json prints it: without what is for the page alone.
Json summary_in(const fs::path& file) {
  Json summary = Json::parse(content_of(file));
  summary.erase("scene");
  return summary;
}

class CommandLine : public testing::Test {
 protected:
  Outcome call(const Words& words) { return Process(words, folder.path()).wait(); }

  /// `kreisel run ... --json --out r`: the summary.
  Json run(Words words, int expected_code = 0) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--json", "--out", "r"});
    const Outcome outcome = call(words);
    EXPECT_EQ(outcome.exit_code, expected_code) << outcome.err;
    return Json::parse(outcome.out);  // throws unless it is JSON and nothing else
  }

  /// Exit code 2, the text on standard error, nothing on standard output.
  void expect_refusal(const Words& words, const std::string& text) {
    const Outcome outcome = call(words);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(text), std::string::npos) << "got: " << outcome.err << "wanted: " << text;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find("kreisel: error: "), 0u) << outcome.err;
  }

  TemporaryFolder folder;
};

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
const Words short_top{"heavy-top", "--t-end", "0.01", "--step", "1e-3"};

TEST_F(CommandLine, VersionNamesEverythingThatMatters) {
  const Outcome outcome = call({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* word : {"kreisel 0.", "commit ", "compiler ", "Eigen 3.", "KLU ", "HDF5 1."})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
}

std::string rod_with(const std::string& name, const std::string& rest) {
  return R"({"name": ")" + name +
         R"(", "bodies": [{"name": "rod \"1\", left", "mass": 1, "inertia": [0.1, 0.1, 0.1], "position": [1, 0, 0]}],
    "joints": [{"type": "revolute", "between": ["ground", "rod \"1\", left"], "at": [0, 0, 0], "axis": [0, 0, 1]}])" +
         rest + "}";
}

TEST_F(CommandLine, CheckNamesALockUpAndFails) {
  // A point at radius 1 about the origin is at most 3 away from (2, 0, 0); the driver asks for more after t = 0.798.
  std::ofstream(folder.path() / "lock.json")
      << rod_with("lock", R"(, "drivers": [{"type": "distance", "between": ["ground", "rod \"1\", left"],
    "at": [[2, 0, 0], [0, 1, 0]], "value": "sqrt(5)+1.2*t^2"}])");
  const Outcome outcome = call({"check", "lock.json", "--t-end", "2"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("singular position near t = 0.79"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("at t = 0.79"), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, CheckRefusesWhatRunRefuses) {
  std::ofstream(folder.path() / "m.json") << rod_with("m", R"(, "simulation": {"method": "bdf"})");
  for (const char* command : {"check", "run"})
    expect_refusal({command, "m.json"}, "/simulation/method: unknown method 'bdf'");
  std::ofstream(folder.path() / "n.json")
      << R"({"bodies": [{"name": "ghost", "mass": 0, "inertia": [0, 0, 0], "position": [0, 0, 0]}]})";
  for (const char* command : {"check", "run"})
    expect_refusal({command, "n.json"}, "/bodies/0: 'ghost' has a motion without mass or inertia");
}

TEST_F(CommandLine, NamesDoNotBecomePaths) {
  std::ofstream(folder.path() / "m.json") << rod_with("../../a b/.evil", R"(, "simulation": {"t_end": 0.1})");
  EXPECT_EQ(call({"run", "m.json"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder.path() / "results" / "a-b-.evil-bliedf" / "summary.json"));
  // Names with quotes and commas survive the header of the trajectory.
  const Outcome again = call({"check", "m.json", "--along", "results/a-b-.evil-bliedf"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  std::ofstream(folder.path() / "n.json") << rod_with("line\\nend", "");
  expect_refusal({"run", "n.json"}, "/name: has the control character 0x0a at byte 5, expected a name on one line");
}

TEST_F(CommandLine, HelpShowsCommandsOptionsAndExamples) {
  const Outcome program = call({"--help"});
  EXPECT_EQ(program.exit_code, 0);
  for (const char* word : {"run", "check", "list", "completion", "Examples:"})
    EXPECT_NE(program.out.find(word), std::string::npos) << word;
  const Outcome run_help = call({"run", "--help"});
  EXPECT_EQ(run_help.exit_code, 0);
  for (const char* word : {"--method",
                           "--order",
                           "--step",
                           "--rtol",
                           "--atol",
                           "--t-end",
                           "--formulation",
                           "--group",
                           "--set",
                           "--starting",
                           "--correction",
                           "--out",
                           "--json",
                           "--quiet",
                           "--output-step",
                           "--output-times",
                           "--max-steps",
                           "--log",
                           "--newton-tolerance",
                           "--max-order",
                           "--initial-step",
                           "--min-step",
                           "--max-step",
                           "--control-lambda",
                           "--linear-solver",
                           "Examples:"})
    EXPECT_NE(run_help.out.find(word), std::string::npos) << word;
}

TEST_F(CommandLine, RunPrintsTheContractAndWritesTheResult) {
  const Json s = run(short_top);
  EXPECT_EQ(s["model"], "heavy-top");
  EXPECT_EQ(s["method"], "bliedf");
  EXPECT_EQ(s["order"], 4);
  EXPECT_EQ(s["formulation"], "stabilized-index2");
  EXPECT_EQ(s["group"], "r3xso3");
  EXPECT_EQ(s["status"], "success");
  EXPECT_EQ(s["final"]["bodies"][0]["R"].size(), 9u);
  EXPECT_EQ(summary_in(folder / "r/summary.json"), s);
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), 11);
}

TEST_F(CommandLine, EveryGroupMethodCorrectionAndModelOfTheContractRuns) {
  for (const char* group : {"so3", "r3xso3", "se3"})
    EXPECT_EQ(run(short_top + Words{"--group", group, "--order", "3"})["group"], group);
  for (const char* formulation : {"index3", "stabilized-index2"}) {
    EXPECT_EQ(run(short_top + Words{"--formulation", formulation, "--order", "2"})["formulation"], formulation);
    const Json s =
        run(short_top + Words{"--formulation", formulation, "--method", "generalized-alpha", "--set", "rho_inf=0.8"});
    EXPECT_EQ(s["formulation"], formulation);
    EXPECT_EQ(s["parameters"]["method"]["rho_inf"], 0.8);
  }
  for (const char* correction :
       {"none", "difference", "tuned", "tuned-implicit", "implicit", "magnus", "magnus-explicit"})
    EXPECT_EQ(run(short_top + Words{"--order", "3", "--correction", correction})["correction"], correction);
  for (const char* starting : {"corrected", "exact"})
    EXPECT_EQ(run(short_top + Words{"--formulation", "index3", "--starting", starting})["starting"], starting);
  EXPECT_EQ(run(short_top + Words{"--set", "constraint=inertial"})["parameters"]["model"]["constraint"], "inertial");
  EXPECT_EQ(run({"pendulum", "--set", "x0=0.2", "--method", "generalized-alpha", "--step", "1e-2", "--t-end",
                 "0.1"})["order"],
            2);
  EXPECT_TRUE(
      run({"cubic", "--method", "generalized-alpha", "--step", "1e-2", "--t-end", "0.1"})["energy"]["final"].is_null());
  EXPECT_EQ(run({"oscillator", "--step", "1e-2", "--t-end", "0.1"})["final"]["q"].size(), 1u);
}

TEST_F(CommandLine, WithoutAStepTheRunIsAdaptive) {
  const Json s = run({"heavy-top", "--t-end", "0.05"});
  EXPECT_TRUE(s["step"].is_null());
  EXPECT_EQ(s["tolerances"]["rtol"], 1e-6);
}

TEST_F(CommandLine, AStepThatMissesTheEndIsShrunkAndSaid) {
  const Json s = run({"heavy-top", "--t-end", "0.01", "--step", "3e-3"});
  EXPECT_EQ(s["step_adjusted"], true);
  EXPECT_DOUBLE_EQ(s["step"].get<double>(), 0.0025);
  const Outcome outcome = call({"run", "heavy-top", "--t-end", "0.01", "--step", "3e-3"});
  EXPECT_NE(outcome.out.find("shrunk from 0.003"), std::string::npos) << outcome.out;
}

TEST_F(CommandLine, SettingsMayStandBeforeTheModelAndInOneRow) {
  EXPECT_EQ(run({"--set", "mass=3", "gravity=1", "heavy-top", "--step", "1e-3", "--t-end",
                 "0.01"})["parameters"]["model"]["gravity"],
            1.0);
}

TEST_F(CommandLine, ForPeopleRunPrintsAShortSummary) {
  const Outcome outcome = call(Words{"run"} + short_top);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* word : {"heavy-top on r3xso3", "bliedf, order 4", "10 steps", "Newton iterations", "|Phi|", "|B v|",
                           "energy", "results/heavy-top-bliedf/"})
    EXPECT_NE(outcome.out.find(word), std::string::npos) << word << "\n" << outcome.out;
  EXPECT_EQ(outcome.out.find('\033'), std::string::npos) << "no colour in a pipe";
  EXPECT_TRUE(fs::exists(folder / "results/heavy-top-bliedf/summary.json"));
}

TEST_F(CommandLine, VerifyReportsObservedErrors) {
  const Json summary = run({"heavy-top", "--t-end", "0.1", "--verify"});
  EXPECT_EQ(summary["verification"]["rtol"], 1e-7);
  EXPECT_EQ(summary["verification"]["quantities"][0]["name"], "position");
  EXPECT_EQ(Json::parse(content_of(folder / "r" / "summary.json"))["verification"], summary["verification"]);
  const Outcome text = call({"run", "heavy-top", "--t-end", "0.1", "--verify", "--out", "r"});
  EXPECT_NE(text.out.find("verified     repeated with rtol 1e-07"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("rad/s^2"), std::string::npos) << text.out;
  EXPECT_TRUE(run({"heavy-top", "--t-end", "0.01"})["verification"].is_null());
  const Json failed = run({"heavy-top", "--max-steps", "5", "--verify"}, 3);  // nothing to verify
  EXPECT_TRUE(failed["verification"].is_null());
}

TEST_F(CommandLine, QuietSaysNothing) {
  const Outcome outcome = call(Words{"run"} + short_top + Words{"--quiet"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

TEST_F(CommandLine, RefusesWhatIsMisspelt) {
  expect_refusal({"frobnicate"}, "unknown command 'frobnicate'");
  expect_refusal({"rn", "heavy-top"}, "unknown command 'rn'; did you mean 'run'?");
  expect_refusal({}, "no command given");
  expect_refusal({"--frob"}, "unknown option '--frob'");
  expect_refusal({"run", "heavy-topp"}, "unknown model 'heavy-topp'; did you mean 'heavy-top'?");
  expect_refusal({"run", "heavy-top", "--method", "blidf"}, "unknown method 'blidf'; did you mean 'bliedf'?");
  expect_refusal({"run", "heavy-top", "--group", "so4"}, "unknown group 'so4'; did you mean 'so3'?");
  expect_refusal({"run", "heavy-top", "--set", "mas=3"}, "unknown parameter 'mas'; did you mean 'mass'?");
  expect_refusal({"run", "heavy-top", "--stpe", "1e-3"}, "unknown option '--stpe'; did you mean '--step'?");
  expect_refusal({"run", "heavy-top", "--format", "csvs"}, "unknown format 'csvs'; did you mean 'csv'?");
  expect_refusal({"list", "modles"}, "unknown list 'modles'; did you mean 'models'?");
  expect_refusal({"completion", "bsh"}, "unknown shell 'bsh'; did you mean 'bash'?");
}

TEST_F(CommandLine, RefusesWhatIsMissingOrTooMuch) {
  expect_refusal({"run"}, "no model given");
  expect_refusal({"check"}, "no model given");
  expect_refusal({"check", "chain", "--set", "n=1000"}, "check works with full matrices");
  expect_refusal({"run", "heavy-top", "--step"}, "--step needs a value");
  expect_refusal({"run", "heavy-top", "--step", "1", "--step", "2"}, "--step is given more than once");
  expect_refusal({"run", "heavy-top", "pendulum"}, "unexpected argument 'pendulum'");
  expect_refusal({"run", "heavy-top", "--set", "mass"}, "--set: 'mass' is not of the form key=value");
}

TEST_F(CommandLine, RefusesWhatMakesNoSense) {
  expect_refusal({"run", "heavy-top", "--order", "7"}, "--order: is 7");
  expect_refusal({"run", "heavy-top", "--step", "-1"}, "--step: is -1, must be positive");
  expect_refusal({"run", "heavy-top", "--step", "0"}, "--step: is 0, must be positive");
  expect_refusal({"run", "heavy-top", "--step", "abc"}, "--step: is 'abc', expected a finite number");
  expect_refusal({"run", "heavy-top", "--step", "1e-3", "--rtol", "1e-6"},
                 "--step and --rtol/--atol exclude each other");
  expect_refusal({"run", "heavy-top", "--t-end", "-1"}, "--t-end: is -1");
  expect_refusal({"run", "heavy-top", "--step", "1e-3", "--correction", "file:nothing.json"},
                 "cannot read the correction 'nothing.json'");
  EXPECT_TRUE(fs::is_empty(folder.path())) << "a refused run leaves nothing behind";
}

TEST_F(CommandLine, ReportsAllProblemsTogether) {
  const Outcome outcome = call({"run", "heavy-top", "--step", "-1", "--order", "9", "--set", "mas=1"});
  EXPECT_EQ(outcome.exit_code, 2);
  for (const char* part : {"3 problems", "--step", "--order", "'mas'"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, WithJsonARefusalIsJsonToo) {
  const Json unknown_model = run({"heavy-topp"}, 2);
  EXPECT_EQ(unknown_model["status"], "invalid-input");
  EXPECT_EQ(unknown_model["model"], "heavy-topp");
  EXPECT_NE(unknown_model["message"].get<std::string>().find("did you mean"), std::string::npos);
  EXPECT_EQ(run({"heavy-top", "--frob"}, 2)["status"], "invalid-input");
  EXPECT_EQ(run({"heavy-top", "--step"}, 2)["status"], "invalid-input");
  const Outcome check = call({"check", "top", "--json"});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_EQ(Json::parse(check.out)["status"], "invalid-input");
}

TEST_F(CommandLine, AFailedIntegrationIsWrittenAndExplained) {
  const Outcome outcome = call({"run", "heavy-top", "--step", "1e-3", "--max-steps", "20", "--json", "--out", "r"});
  EXPECT_EQ(outcome.exit_code, 3);
  const Json s = Json::parse(outcome.out);
  EXPECT_EQ(s["status"], "too-many-steps");
  EXPECT_NE(s["message"].get<std::string>().find("t = "), std::string::npos);
  EXPECT_NE(outcome.err.find("kreisel: error: too-many-steps: "), std::string::npos) << outcome.err;
  EXPECT_EQ(summary_in(folder / "r/summary.json"), s);
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), s["statistics"]["steps"].get<int>() + 1);
}

TEST_F(CommandLine, DoesNotOverwriteWhatIsNotItsOwn) {
  fs::create_directory(folder / "thesis");
  write_file(folder / "thesis/chapter1.tex", "important");
  expect_refusal(Words{"run"} + short_top + Words{"--out", "thesis"}, "no summary.json");
  EXPECT_EQ(content_of(folder / "thesis/chapter1.tex"), "important");
  write_file(folder / "file", "x");
  expect_refusal(Words{"run"} + short_top + Words{"--out", "file"}, "cannot make the result folder 'file'");
  expect_refusal(Words{"run"} + short_top + Words{"--out", "file/below"}, "cannot make the result folder");
  expect_refusal(Words{"run"} + short_top + Words{"--log", "no/such/log"}, "cannot write the log 'no/such/log'");
}

TEST_F(CommandLine, ReplacesItsOwnEarlierResult) {
  EXPECT_EQ(run(short_top)["order"], 4);
  EXPECT_EQ(run(short_top + Words{"--order", "3"})["order"], 3);
  EXPECT_EQ(Json::parse(content_of(folder / "r/summary.json"))["order"], 3);
}

TEST_F(CommandLine, AFullDiskIsExitCode4) {
  const auto limit = [] {
    const rlimit size{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &size);
  };
  for (const char* format : {"csv", "hdf5"}) {
    const Outcome outcome = Process({"run", "heavy-top", "--step", "1e-4", "--format", format, "--json", "--out", "r"},
                                    folder.path(), limit)
                                .wait();
    EXPECT_EQ(outcome.exit_code, 4) << format << outcome.err;
    EXPECT_NE(outcome.err.find("cannot write"), std::string::npos) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["status"], "environment-error");
    EXPECT_EQ(Json::parse(content_of(folder / "r/summary.json"))["status"], "environment-error");
  }
  EXPECT_GT(io::read_trajectory(folder / "r/trajectory.h5").values.rows(), -1);
}

TEST_F(CommandLine, StandardOutputThatCannotBeWrittenIsExitCode4) {
  const auto full = [] { ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  const Outcome outcome = Process({"list"}, folder.path(), full).wait();
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("cannot write to standard output"), std::string::npos) << outcome.err;
}

class Interrupted : public CommandLine, public testing::WithParamInterface<int> {};

TEST_P(Interrupted, WritesWhatItHasAndEndsWith130) {
  Process process({"run", "heavy-top", "--step", "1e-6", "--t-end", "1000", "--json", "--out", "r"}, folder.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / "r/summary.json"); }));
  EXPECT_EQ(Json::parse(content_of(folder / "r/summary.json"))["status"], "running");
  process.send(GetParam());
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  const Json s = Json::parse(outcome.out);
  EXPECT_EQ(s["status"], "interrupted");
  EXPECT_EQ(summary_in(folder / "r/summary.json"), s);
  const io::Trajectory trajectory = io::read_trajectory(folder.path() / "r" / s["output"]["file"].get<std::string>());
  EXPECT_EQ(trajectory.values(trajectory.values.rows() - 1, 0), s["final"]["t"].get<double>());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "r"), {}), 2) << "no .part is left";
}

INSTANTIATE_TEST_SUITE_P(BySignal, Interrupted, testing::Values(SIGINT, SIGTERM, SIGHUP));

class Killed : public CommandLine, public testing::WithParamInterface<const char*> {};

TEST_P(Killed, LeavesAReadablePart) {
  const std::string format = GetParam();
  const char* part = format == "hdf5" ? "r/trajectory.h5.part" : "r/trajectory.csv.part";
  Process process({"run", "heavy-top", "--step", "1e-6", "--t-end", "1000", "--format", format, "--out", "r"},
                  folder.path());
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder / part) && fs::file_size(folder / part) > 2'000'000; }));
  process.send(SIGKILL);
  EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
  const io::Trajectory trajectory = io::read_trajectory(folder / part);
  ASSERT_GT(trajectory.values.rows(), 500);
  const Vector t = trajectory.column("t");
  for (int i = 0; i < t.size(); ++i) EXPECT_NEAR(t[i], 1e-6 * i, 1e-12);
  // The next run may use the folder.
  EXPECT_EQ(run(short_top)["status"], "success");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "r"), {}), 2);
}

INSTANTIATE_TEST_SUITE_P(ByFormat, Killed, testing::Values("csv", "hdf5"),
                         [](const auto& format) { return format.param; });

/// What a terminal on standard error gets to see.
class Terminal : public CommandLine {
 protected:
  std::string shown(const Words& words, const std::function<void()>& prepare) {
    int master = -1, slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return {};
    Process process(words, folder.path(), prepare, slave);
    std::string text;
    std::atomic<bool> is_done = false;
    std::thread reader([&] {
      std::array<char, 4096> piece{};
      while (!is_done || text.empty()) {
        pollfd source{master, POLLIN, 0};
        if (::poll(&source, 1, 100) == 0) {
          if (is_done) break;
          continue;
        }
        const ssize_t count = ::read(master, piece.data(), piece.size());
        if (count <= 0) break;
        text.append(piece.data(), static_cast<std::size_t>(count));
      }
    });
    process.wait();
    is_done = true;
    ::close(slave);
    reader.join();
    ::close(master);
    return text;
  }
};

TEST_F(Terminal, ALongRunShowsAProgressBar) {
  const Words words{"run", "heavy-top", "--step", "1e-6", "--max-steps", "400000", "--out", "r"};
  const std::string text = shown(words, [] { ::setenv("TERM", "xterm", 1); });
  EXPECT_NE(text.find(" % ["), std::string::npos) << text;
  EXPECT_NE(text.find("steps, "), std::string::npos) << text;
  const std::string again =
      shown(Words{"run", "heavy-top", "--step", "1e-6", "--t-end", "0.4", "--verify", "--out", "r"},
            [] { ::setenv("TERM", "xterm", 1); });
  EXPECT_NE(again.find("verification "), std::string::npos) << again;
  EXPECT_EQ(shown(words + Words{"--quiet"}, [] { ::setenv("TERM", "xterm", 1); }).find(" % ["), std::string::npos);
}

TEST_F(Terminal, ColourIsForTerminalsAndNoColorIsRespected) {
  const auto coloured = [] {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  };
  const auto plain = [] {
    ::setenv("TERM", "xterm", 1);
    ::setenv("NO_COLOR", "1", 1);
  };
  EXPECT_NE(shown({"frobnicate"}, coloured).find("\033[31m"), std::string::npos);
  EXPECT_EQ(shown({"frobnicate"}, plain).find('\033'), std::string::npos);
  EXPECT_EQ(shown({"frobnicate"}, [] { ::setenv("TERM", "dumb", 1); }).find('\033'), std::string::npos);
}

TEST_F(CommandLine, TheLogHasALinePerAttempt) {
  run(Words{"heavy-top", "--t-end", "0.05", "--log", "steps.csv"});
  const std::string text = content_of(folder / "steps.csv");
  EXPECT_EQ(text.find("t,h,order,iterations,update_norm,error,outcome\n"), 0u);
  EXPECT_NE(text.find(",accepted\n"), std::string::npos);
}

TEST_F(CommandLine, AnOutputStepChoosesThePoints) {
  run(short_top + Words{"--output-step", "0.005"});
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), 3);
}

TEST_F(CommandLine, OutputTimesChooseThePoints) {
  const Json s = run(short_top + Words{"--output-times", "0.0074,0.0031, 0.0074"});
  EXPECT_EQ(s["output"]["output_times"].size(), 3u);
  const Vector t = io::read_trajectory(folder / "r/trajectory.csv").column("t");
  ASSERT_EQ(t.size(), 4) << "the start, two times, the end";
  EXPECT_EQ(t[1], 0.0031);
  EXPECT_EQ(t[2], 0.0074);
  write_file(folder / "times.txt", "0.001\n0.002\n");
  run(short_top + Words{"--output-step", "0.005", "--output-times", "file:times.txt"});
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.csv").values.rows(), 5) << "both wishes at once";
}

TEST_F(CommandLine, RefusesOutputTimesThatCannotBeServed) {
  const auto complaint = [&](const char* times) {
    return call(Words{"run", "heavy-top", "--t-end", "1", "--output-times", times});
  };
  EXPECT_EQ(complaint("0.5,x").exit_code, 2);
  EXPECT_NE(complaint("0.5,x").err.find("--output-times: has 'x', expected numbers separated by commas"),
            std::string::npos);
  EXPECT_NE(complaint("0.5,1.5").err.find("has 1.5, which is not between the start 0 and the end 1"),
            std::string::npos);
  EXPECT_NE(complaint(",").err.find("--output-times: is [], expected one or more numbers"), std::string::npos);
}

TEST_F(CommandLine, MoreThanAMillionValuesAreThinnedHdf5) {
  const Json s = run({"pendulum", "--step", "1e-5", "--t-end", "1"});
  EXPECT_EQ(s["output"]["file"], "trajectory.h5");
  EXPECT_EQ(s["output"]["thinned"], 2);
  EXPECT_EQ(io::read_trajectory(folder / "r/trajectory.h5").values.rows(), s["output"]["rows"].get<int>());
}

TEST_F(CommandLine, ListsNamesForPeopleAndPrograms) {
  for (const char* what : {"models", "methods", "groups", "formulations", "corrections", "statuses"}) {
    const Outcome people = call({"list", what});
    EXPECT_EQ(people.exit_code, 0) << what;
    const Outcome program = call({"list", what, "--json"});
    EXPECT_EQ(program.exit_code, 0) << what;
    const Json list = Json::parse(program.out);
    ASSERT_TRUE(list.is_array() && !list.empty()) << what;
    for (const Json& entry : list)
      EXPECT_NE(people.out.find(entry["name"].get<std::string>()), std::string::npos) << entry["name"];
  }
  EXPECT_EQ(call({"list", "figures", "--json"}).exit_code, 0);
  EXPECT_TRUE(Json::parse(call({"list", "--json"}).out)["models"].is_array());
  const std::string statuses = call({"list", "statuses"}).out;
  for (const char* id : {"success", "newton-failed", "interrupted", "invalid-input"})
    EXPECT_NE(statuses.find(id), std::string::npos) << id;
}

/// The cable of the crane is damped, its swing is not; the beam that gives way is not damped at all.
TEST_F(CommandLine, CheckTellsRodsWithoutDampingFromMotionsThatDoNotBendThem) {
  const Outcome crane = call({"check", "cable-crane"});
  EXPECT_NE(crane.out.find("rad/s"), std::string::npos);
  EXPECT_NE(crane.out.find(", not all damped"), std::string::npos) << crane.out;
  EXPECT_EQ(crane.out.find("vibrations of rods are not damped"), std::string::npos);
  const Outcome buckling = call({"check", "lateral-buckling"});
  EXPECT_NE((buckling.out + buckling.err).find("vibrations of rods are not damped"), std::string::npos) << buckling.out;
}

/// A square of edge a has a torsion constant of 0.140577 a⁴ (Timoshenko and Goodier 1970, section 109), not the polar moment a⁴/6, and by
/// Cowper (1966) the shear factor 10 (1 + ν)/(12 + 11 ν).
TEST_F(CommandLine, CheckSaysWhatFollowsFromTheShapeOfASection) {
  std::ofstream(folder.path() / "square.json")
      << R"({"materials": [{"name": "m", "young": 2e9, "poisson": 0.25, "density": 1000}],
    "sections": [{"name": "s", "material": "m", "rectangle": [0.1, 0.1]}],
    "rods": [{"name": "a", "section": "s", "path": {"line": [[0, 0, 0], [1, 0, 0]]}, "elements": 2, "shear": "rigid"},
             {"name": "b", "section": "s", "path": {"line": [[0, 1, 0], [1, 1, 0]]}, "elements": 2}]})";
  const Json sections = Json::parse(call({"check", "square.json", "--json"}).out)["sections"];
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_TRUE(sections[0]["stiffness"][1].is_null());
  EXPECT_EQ(sections[1]["rods"], Json({"b"}));
  const double shear = 12.5 / 14.75, torsion = 0.140577e-4, G = 0.8e9;
  EXPECT_NEAR(sections[1]["shear_factor"].get<double>(), shear, 1e-12);
  EXPECT_NEAR(sections[1]["torsion_constant"].get<double>(), torsion, 1e-6 * 1e-4);
  const std::array<double, 6> stiffness{2e7,         shear * G * 0.01, shear * G * 0.01,
                                        G * torsion, 2e9 * 1e-4 / 12,  2e9 * 1e-4 / 12};
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(sections[1]["stiffness"][i].get<double>(), stiffness[i], 1e-5 * stiffness[i]) << i;
  const std::string out = call({"check", "square.json"}).out;
  EXPECT_NE(out.find("section of b"), std::string::npos) << out;
  EXPECT_NE(out.find("shear factor 0.84746, torsion constant 1.4058e-05 m4"), std::string::npos) << out;
  EXPECT_NE(out.find("GA rigid and rigid N"), std::string::npos) << out;
}

TEST_F(CommandLine, CheckFindsTheBuiltInModelsSound) {
  for (const char* group : {"so3", "r3xso3", "se3"}) {
    const Outcome outcome = call({"check", "heavy-top", "--group", group, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << group << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["status"], "success");
    EXPECT_EQ(json["degrees_of_freedom"], 3);
    EXPECT_GT(json["laws"].size(), 5u);
  }
  const Outcome people = call({"check", "pendulum"});
  EXPECT_EQ(people.exit_code, 0) << people.err;
  for (const char* word :
       {"degrees of freedom 1", "rank of B", "condition", "|Phi| at the start", "energy", "M = d force/d a"})
    EXPECT_NE(people.out.find(word), std::string::npos) << word << "\n" << people.out;
}

TEST_F(CommandLine, BashCompletionOffersCommandsOptionsAndWords) {
  const Outcome script = call({"completion", "bash"});
  ASSERT_EQ(script.exit_code, 0);
  write_file(folder / "kreisel.bash", script.out);
  const auto offered = [&](const std::string& words, int at) {
    const std::string command = "cd " + folder.path().string() + " && bash -c 'source kreisel.bash && COMP_WORDS=(" +
                                words + ") COMP_CWORD=" + std::to_string(at) +
                                " && _kreisel && echo \"${COMPREPLY[*]}\"' > offered";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return content_of(folder / "offered");
  };
  EXPECT_EQ(offered("kreisel ru", 1), "run\n");
  EXPECT_EQ(offered("kreisel run heavy", 2), "heavy-top\n");
  EXPECT_EQ(offered("kreisel run heavy-top --method gen", 4), "generalized-alpha\n");
  EXPECT_EQ(offered("kreisel run --form", 2), "--formulation --format\n");
  EXPECT_EQ(offered("kreisel list mod", 2), "models\n");
}

TEST_F(CommandLine, CompletionScriptsNameEveryCommandAndOption) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = call({"completion", shell});
    EXPECT_EQ(script.exit_code, 0);
    for (const char* word : {"run", "check", "list", "formulation", "generalized-alpha", "heavy-top"})
      EXPECT_NE(script.out.find(word), std::string::npos) << shell << ' ' << word;
  }
}

TEST_F(CommandLine, TheManualPageDescribesEveryCommandOptionAndEnding) {
  const Outcome page = call({"man"});
  ASSERT_EQ(page.exit_code, 0);
  for (const char* word : {".TH KREISEL 1", ".SS kreisel run", ".SS kreisel study", "\\fB\\-\\-output\\-times\\fR",
                           "newton\\-failed", "NO_COLOR"})
    EXPECT_NE(page.out.find(word), std::string::npos) << word;
}

TEST_F(CommandLine, StudiesThatShipRunByName) {
  const Outcome list = call({"list", "studies", "--json"});
  ASSERT_EQ(list.exit_code, 0);
  const Json studies = Json::parse(list.out);
  EXPECT_GT(studies.size(), 3u);
  for (const Json& study : studies) EXPECT_TRUE(std::filesystem::exists(study["file"].get<std::string>())) << study;
  EXPECT_EQ(call({"study", "spectral-radius", "--quiet"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "results/spectral_radius/study.json"));
  expect_refusal({"study", "spectral-radiu"}, "unknown study 'spectral-radiu'; did you mean 'spectral-radius'?");
}

TEST_F(CommandLine, StrangeBytesAreNoReasonToCrash) {
  for (const std::string word : {"\xff\xfe", "", " ", "-", "--", "---", "a=b", "--=", "%s%n", "\n"}) {
    const Outcome outcome = call({"run", word, "--json"});
    EXPECT_EQ(outcome.exit_code, 2) << word << outcome.err;
    EXPECT_TRUE(Json::accept(outcome.out)) << word;
  }
}

TEST_F(CommandLine, AssembleMovesBodiesOntoTheirJoints) {
  std::ofstream(folder / "gap.json") << R"({"bodies": [
    {"name": "rod", "mass": 1, "inertia": [1, 1, 1], "position": [0.5, 0.1, 0], "velocity": [1, 0, 0]}],
    "joints": [{"type": "spherical", "name": "tip", "between": ["ground", "rod"], "frames": [{}, {"at": [-0.5, 0, 0]}]}]})";
  expect_refusal({"run", "gap.json"},
                 "'tip': the initial positions miss the joint by 0.1 (row 2 of 3); correct them or use --assemble");
  const Json summary = run({"gap.json", "--assemble", "--t-end", "0.1"});
  ASSERT_EQ(summary["assembled"].size(), 1u);
  EXPECT_EQ(summary["assembled"][0]["body"], "rod");
  EXPECT_GT(summary["assembled"][0]["distance"], 0.01);
  EXPECT_LT(summary["constraints"]["position_max"], 1e-10);
}

TEST_F(CommandLine, ReactionsAndEnergyBalanceAreInTheResults) {
  std::ofstream(folder / "rod.json") << R"({"gravity": [0, 0, -9.81], "bodies": [
    {"name": "rod", "mass": 2, "inertia": [1, 1, 1], "position": [0, 0, -0.5]}],
    "joints": [{"type": "revolute", "name": "hinge", "between": ["ground", "rod"], "at": [0, 0, 0], "axis": [1, 0, 0]}],
    "forces": [{"type": "torsional-spring-damper", "between": ["ground", "rod"], "axis": [1, 0, 0], "damping": 1}]})";
  const Json summary = run({"rod.json", "--t-end", "0.1"});
  EXPECT_NEAR(summary["final"]["joints"][0]["force"][2].get<double>(), 2.0 * 9.81, 1e-9);
  EXPECT_EQ(summary["energy"]["dissipated"], 0.0);
  const io::Trajectory trajectory = io::read_trajectory(folder / "r/trajectory.csv");
  EXPECT_NEAR(trajectory.column("hinge.Fz")[0], 2.0 * 9.81, 1e-9);
  EXPECT_NEAR(trajectory.column("hinge.Tx_joint")[0], 0.0, 1e-9);
  EXPECT_NEAR(trajectory.column("potential")[0], -2.0 * 9.81 * 0.5, 1e-12);
  EXPECT_EQ(trajectory.column("balance")[0], 0.0);
}

TEST_F(CommandLine, CheckFindsSingularPositionsAndShippedFilesRunByName) {
  const Outcome outcome = call({"check", "four-bar", "--t-end", "0.9", "--json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(Json::parse(outcome.out)["bodies"].size(), 5u);
  const Json along = Json::parse(outcome.out)["along"];
  ASSERT_EQ(along["singular_positions"].size(), 1u);
  EXPECT_NEAR(along["singular_positions"][0]["t"].get<double>(), 0.7143, 1e-3);
  const Json bricard = run({"bricard", "--t-end", "0.1"});
  EXPECT_EQ(bricard["model"], "bricard");
  EXPECT_EQ(bricard["linear_solver"], "least-squares");
  // The accelerations are unique with a redundant row; the multipliers shown are those of least norm.
  const Json redundant = Json::parse(call({"check", "bricard", "--json"}).out);
  EXPECT_NEAR(redundant["initial"]["lambda"][1].get<double>(), 27.468, 1e-3);
}

TEST_F(CommandLine, ColumnsOfRatesAreThoseThatWereNamedAndExist) {
  write_file(folder / "m.json", R"({"bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [1, 0, 0]}],
    "forces": [{"name": "k", "type": "spring-damper", "between": ["ground", "b"], "stiffness": 3, "length": 0.5}],
    "outputs": {"foot": {"position": "b"}, "far": {"distance": ["ground", "b"]}, "F": {"force": "k"}}})");
  ASSERT_EQ(call({"run", "m.json", "--t-end", "0.1", "--out", "r", "--output", "foot,far'"}).exit_code, 0);
  const io::Trajectory trajectory = io::read_trajectory(folder / "r/trajectory.csv");
  std::vector<std::string> columns;
  for (const auto& column : trajectory.columns) columns.push_back(column.name);
  EXPECT_EQ(columns, (std::vector<std::string>{"t", "h", "order", "foot.x", "foot.y", "foot.z", "far'"}));
  expect_refusal({"run", "m.json", "--t-end", "0.1", "--output", "F'"},
                 "output 'F' has no rate that follows from the motion");
}

TEST_F(CommandLine, ImportTurnsARobotIntoAModelFile) {
  const Outcome outcome = call({"import", support::in_sources("tests/fuzz/corpus/urdf/arm.urdf"), "--out", "arm.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "arm.json: 2 bodies, 2 joints\n");
  EXPECT_EQ(run({"arm.json", "--t-end", "0.05"})["model"], "arm");
  expect_refusal({"import", "nothing.urdf"}, "nothing.urdf");
}

TEST_F(CommandLine, ImportKeepsMeshesBesideTheModelAndPicturesShowThem) {
  const std::string box = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
  std::filesystem::create_directories(folder / "bot/meshes");
  std::filesystem::create_directories(folder / "bot/more");
  write_file(folder / "bot/meshes/arm.obj", box);
  write_file(folder / "bot/more/arm.obj", box);
  write_file(folder / "bot/r.urdf", R"(<robot name="r"><link name="base"/><link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://bot/meshes/arm.obj"/></geometry></visual>
    <visual><geometry><mesh filename="more/arm.obj"/></geometry></visual>
    <visual><geometry><mesh filename="meshes/arm.dae"/></geometry></visual></link>
    <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint></robot>)");
  const Outcome outcome = call({"import", "bot/r.urdf", "--out", "r.json"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("2 meshes"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("the mesh 'meshes/arm.dae' of link 'arm' was left out"), std::string::npos) << outcome.err;
  EXPECT_EQ(content_of(folder / "r-meshes/arm.obj"), box);
  EXPECT_EQ(content_of(folder / "r-meshes/arm-2.obj"), box);
  std::filesystem::remove_all(folder / "bot");
  ASSERT_EQ(call({"run", "r.json", "--t-end", "0.1", "--out", "result"}).exit_code, 0);
  std::filesystem::remove_all(folder / "r-meshes");
  ASSERT_EQ(call({"view", "result", "--glb", "r.glb"}).exit_code, 0);
  ASSERT_EQ(call({"view", "result", "--vtk", "vtk"}).exit_code, 0);
  // Two meshes of four faces with three corners each, of which each has 24 bytes and an index of 4.
  const std::string glb = content_of(folder / "r.glb");
  EXPECT_NE(glb.find("\"name\":\"mesh\""), std::string::npos);
  EXPECT_GT(glb.size(), 2U * 4U * 3U * 28U);
  expect_refusal({"run", "r.json", "--t-end", "0.1"}, "/bodies/0/shapes/0/mesh/file");
}

}  // namespace
