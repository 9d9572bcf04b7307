// kreisel study and kreisel reproduce, from outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "io/temporary_folder.hpp"
#include "program.hpp"

namespace {

using namespace kreisel::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

class StudyCommand : public testing::Test {
 protected:
  Outcome call(const Process::Words& words) {
    return Process(words, folder.path(), [this] { ::setenv("XDG_CACHE_HOME", (folder.path() / "cache").c_str(), 1); })
        .wait();
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder.path() / name) << text; }

  TemporaryFolder folder;
};

const std::string small =
    R"({"model": "heavy-top", "order": [2, 3], "step": [1e-3, 5e-4], "t_end": 0.05, "measures": ["q max"])";

TEST_F(StudyCommand, LeavesTableNumbersAndPage) {
  write("s.json", small + "}");
  const Outcome outcome = call({"study", "s.json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("order 1.97"), std::string::npos) << outcome.out;
  for (const char* file : {"study.csv", "study.json", "report.html"})
    EXPECT_TRUE(fs::exists(folder.path() / "results/s" / file)) << file;
  EXPECT_FALSE(fs::exists(folder.path() / "results/s/study.journal"));
  EXPECT_EQ(call({"study", "s.json"}).exit_code, 0) << "a study may be repeated in its folder";
  EXPECT_EQ(call({"view", "results/s", "--svg", "pictures"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder.path() / "pictures/q-max.svg"));
}

TEST_F(StudyCommand, ExitCodeSaysWhetherExpectationsAreMet) {
  write("good.json", small + R"(, "expect": [{"order": 2, "where": {"order": 2}}]})");
  write("bad.json", small + R"(, "expect": [{"order": 5, "where": {"order": 2}}]})");
  EXPECT_EQ(call({"study", "good.json", "--quiet"}).exit_code, 0);
  const Outcome bad = call({"study", "bad.json", "--json"});
  EXPECT_EQ(bad.exit_code, 1);
  const Json json = Json::parse(bad.out);
  EXPECT_EQ(json["status"], "missed");
  EXPECT_EQ(json["verdicts"][0]["outcome"], "missed");
}

// A contradiction with the paper never reads as met, on the terminal, in JSON and on the page.
TEST_F(StudyCommand, ContradictionsAreExplainedWhereverTheVerdictIsShown) {
  const std::string why = "true near rho = 0 only";
  const Outcome shown = call({"reproduce", "wieloch2022-fig-6.7"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("differs, explained"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find(why), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("results/reproduce/wieloch2022-fig-6.7/report.html"), std::string::npos) << "names the page";
  EXPECT_NE(content_of(folder / "results/reproduce/wieloch2022-fig-6.7/report.html").find(why), std::string::npos);
  const Json figure = Json::parse(call({"reproduce", "wieloch2022-fig-6.7", "--json"}).out)["figures"][0];
  EXPECT_EQ(figure["outcome"], "differs, explained");
  for (const Json& verdict : figure["verdicts"]) {
    EXPECT_FALSE(verdict.contains("met"));
    if (verdict["outcome"] == "differs, explained") {
      EXPECT_NE(verdict["explanation"].get<std::string>().find(why), std::string::npos);
    }
  }
}

TEST_F(StudyCommand, WrongSettingsThatNobodyNoticesAreReported) {
  const std::string head =
      small + R"(, "expect": [{"order": 2, "where": {"order": 2}, "tolerance": 0.1}], "mutations": [)";
  write("good.json", head + R"({"name": "order 1", "change": {"order": 1}, "where": {"order": 2}}]})");
  write("loose.json", head + R"({"name": "another k elsewhere", "change": {"order": 4}, "where": {"order": 3}}]})");
  write("bad.json", head + R"({"name": "none", "change": {"ordr": 4}}]})");
  const Outcome good = call({"study", "good.json", "--mutations"});
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_NE(good.out.find("noticed      with order 1"), std::string::npos) << good.out;
  const Outcome loose = call({"study", "loose.json", "--mutations"});
  EXPECT_EQ(loose.exit_code, 1);
  EXPECT_NE(loose.out.find("NOT noticed  with another k elsewhere"), std::string::npos) << loose.out;
  const Outcome bad = call({"study", "bad.json"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("/mutations/0/change"), std::string::npos) << bad.err;
}

TEST_F(StudyCommand, FiguresAreDrawnForPapers) {
  write("s.json", small + "}");
  ASSERT_EQ(call({"study", "s.json"}).exit_code, 0);
  ASSERT_EQ(call({"view", "results/s", "--tex", "tex", "--svg", "svg"}).exit_code, 0);
  const std::string plot = content_of(folder / "tex/q-max.tex"), table = content_of(folder / "tex/table-runs.tex");
  EXPECT_NE(plot.find("xmode=log, ymode=log"), std::string::npos) << plot;
  EXPECT_NE(plot.find("\\addlegendentry{k=3 (order "), std::string::npos) << plot;
  EXPECT_NE(table.find("\\begin{tabular}"), std::string::npos);
  EXPECT_NE(content_of(folder / "svg/q-max.svg").find("stroke-dasharray=\"7 3\""), std::string::npos);
  ASSERT_EQ(call({"reproduce", "arnold2015-sec-4.2"}).exit_code, 0);
  const Outcome overview = call({"view", "results/reproduce", "--svg", "none"});
  EXPECT_EQ(overview.exit_code, 2) << "the overview has no plot, and says so";
  EXPECT_FALSE(fs::exists(folder.path() / "none"));
}

TEST_F(StudyCommand, ExitCodeSaysWhenNoRunSucceeds) {
  write("lost.json", R"({"model": "heavy-top", "step": [0.05, 0.04], "t_end": 0.5, "measures": ["energy end"]})");
  const Outcome lost = call({"study", "lost.json", "--quiet"});
  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_NE(lost.err.find("none of 2 runs succeeded; the first: newton-failed: at t = "), std::string::npos)
      << lost.err;
  const Json json = Json::parse(call({"study", "lost.json", "--json"}).out);
  EXPECT_EQ(json["status"], "failed");
  EXPECT_NE(json["message"], "");
  write("asked.json", R"({"model": "wall-pendulum", "step": [0.02, 0.01], "t_end": 1, "measures": ["q max"]})");
  EXPECT_EQ(call({"study", "asked.json", "--quiet"}).exit_code, 2) << "errors that cannot be measured";
  write("half.json", R"({"model": "heavy-top", "step": [0.05, 1e-3], "t_end": 0.1, "measures": ["energy end"]})");
  EXPECT_EQ(call({"study", "half.json", "--quiet"}).exit_code, 0) << "a failed run among others is a result";
  write(
      "unstable.json",
      R"({"model": "heavy-top", "step": 0.05, "t_end": 0.5, "measures": ["energy end"], "expect": [{"unstable": 1, "of": "energy end"}]})");
  EXPECT_EQ(call({"study", "unstable.json", "--quiet"}).exit_code, 0) << "as expected";
}

TEST_F(StudyCommand, BadInputIsRefusedWithItsPlace) {
  write("s.json", "{\n  \"model\": \"heavy-top\",\n  \"stepp\": 1\n}");
  const Outcome outcome = call({"study", "s.json"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("s.json:3:"), std::string::npos) << outcome.err;
  EXPECT_EQ(call({"study"}).exit_code, 2);
  EXPECT_EQ(call({"study", "missing.json"}).exit_code, 2);
  EXPECT_EQ(call({"study", "s.json", "--jobs", "-1"}).exit_code, 2);
}

TEST_F(StudyCommand, InterruptedStudiesGoOn) {
  write(
      "s.json",
      R"({"model": "heavy-top", "order": [1, 2, 3, 4, 5, 6], "step": [1e-6, 1.25e-6, 1.5e-6], "t_end": 2, "measures": ["energy end"]})");
  Process process({"study", "s.json", "--jobs", "1", "--out", "r"}, folder.path(),
                  [this] { ::setenv("XDG_CACHE_HOME", (folder.path() / "cache").c_str(), 1); });
  ASSERT_TRUE(wait_until([&] { return fs::exists(folder.path() / "r/study.journal"); }));
  process.send(SIGINT);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
  EXPECT_NE(outcome.err.find("give the same command again"), std::string::npos) << outcome.err;
  EXPECT_TRUE(fs::exists(folder.path() / "r/study.journal"));
  EXPECT_TRUE(fs::exists(folder.path() / "r/study.csv"));
}

TEST_F(StudyCommand, PartsOnManyMachinesMakeTheSameStudy) {
  write("s.json", small + "}");
  const Outcome list = call({"study", "s.json", "--print-cases"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 4);
  EXPECT_EQ(Json::parse(list.out.substr(0, list.out.find('\n')))["coordinates"]["order"], 2);

  EXPECT_EQ(call({"study", "s.json", "--out", "r", "--status"}).exit_code, 1);
  EXPECT_FALSE(fs::exists(folder.path() / "r")) << "asking changes nothing";
  EXPECT_EQ(call({"study", "s.json", "--out", "r", "--shard", "0/2", "--quiet"}).exit_code, 0);
  const Json half = Json::parse(call({"study", "s.json", "--out", "r", "--status", "--json"}).out);
  EXPECT_EQ(half["cases"], 4);
  EXPECT_EQ(half["done"].get<int>() + half["missing"].get<int>(), 4);
  const Outcome second = Process({"study", "s.json", "--out", "r", "--shard", "auto", "--json"}, folder.path(), [] {
                           ::setenv("SLURM_ARRAY_TASK_ID", "8", 1);
                           ::setenv("SLURM_ARRAY_TASK_MIN", "7", 1);
                           ::setenv("SLURM_ARRAY_TASK_COUNT", "2", 1);
                         }).wait();
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(Json::parse(second.out)["shard"], "1/2");
  EXPECT_EQ(call({"study", "s.json", "--out", "r", "--status"}).exit_code, 0);
  EXPECT_EQ(call({"study", "s.json", "--out", "r", "--quiet"}).exit_code, 0);
  EXPECT_EQ(call({"study", "s.json", "--out", "r", "--status"}).exit_code, 0);
  EXPECT_EQ(call({"study", "s.json", "--out", "direct", "--quiet"}).exit_code, 0);
  const auto rows_of = [&](const char* name) {
    Json rows = Json::parse(content_of(folder.path() / name / "study.json"))["rows"];
    for (Json& row : rows)
      for (const char* clock : {"seconds", "seconds_low", "seconds_high", "seconds_per_step"})
        row["numbers"].erase(clock);
    return rows;
  };
  EXPECT_EQ(rows_of("r"), rows_of("direct"));
}

TEST_F(StudyCommand, BadPartsAreRefused) {
  write("s.json", small + "}");
  for (const char* shard : {"2/2", "-1/2", "1", "0/0", "a/b", "1/2x", "auto", "/", "0/99999999999999999999"}) {
    const Outcome outcome = call({"study", "s.json", "--out", "r", "--shard", shard});
    EXPECT_EQ(outcome.exit_code, 2) << shard;
    EXPECT_NE(outcome.err.find("--shard"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(call({"study", "s.json", "--retry", "all"}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder.path() / "r"));
}

TEST_F(StudyCommand, ReproduceRunsAFigureAndListsAll) {
  const Outcome list = call({"reproduce", "--list"});
  EXPECT_EQ(list.exit_code, 0);
  for (const char* id : {"arnold2015-fig-1", "wieloch2022-fig-6.10", "wielocharnold2019-fig-4"})
    EXPECT_NE(list.out.find(id), std::string::npos) << id;
  const Outcome one = call({"reproduce", "arnold2015-fig-5", "--json"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(Json::parse(one.out)["figures"][0]["id"], "arnold2015-fig-5");
  EXPECT_TRUE(fs::exists(folder.path() / "results/reproduce/arnold2015-fig-5/report.html"));
  EXPECT_TRUE(fs::exists(folder.path() / "results/reproduce/report.html"));
  const Outcome unknown = call({"reproduce", "arnold2015-fig-55"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'arnold2015-fig-5'?"), std::string::npos) << unknown.err;
}

}  // namespace
