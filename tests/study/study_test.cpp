#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "io/temporary_folder.hpp"
#include "kreisel/error.hpp"
#include "samples.hpp"
#include "study/journal.hpp"
#include "study/output.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;
using test::small_study;
using test::spec_from;

StudyOptions quiet(const io::Path& folder = {}) {
  StudyOptions options;
  options.jobs = 2;
  options.folder = folder;
  return options;
}

const ObservedCurve& curve(const StudyResult& result, const std::string& label, const std::string& measure) {
  for (const ObservedCurve& c : result.curves)
    if (c.label == label && c.number == measure) return c;
  throw std::runtime_error("no curve " + label + ", " + measure);
}

TEST(Study, ObservedOrdersAreThoseOfTheMethods) {
  const StudyResult result = run_study(spec_from(small_study()), quiet());
  EXPECT_NEAR(*curve(result, "k=2", "q max").order, 2.0, 0.1);
  EXPECT_NEAR(*curve(result, "k=3", "lambda max").order, 3.0, 0.15);
  EXPECT_NEAR(*curve(result, "k=2", "q local").order, 3.0, 0.1) << "one step from exact values";
  EXPECT_NEAR(*curve(result, "k=3", "q local").order, 4.0, 0.1);
  EXPECT_EQ(result.rows.front().number("brackets"), 0.0) << "BDF2 needs none";
  EXPECT_GT(result.rows.back().number("brackets"), 0.0);
  EXPECT_EQ(result.rows[0].number("steps"), 100.0);
  EXPECT_GT(result.rows[0].number("seconds"), 0.0);
}

// A slope of errors over a cost is no order of a method: none on the page, in study.csv and in study.json.
TEST(Study, ErrorsOverWorkHaveNoOrders) {
  const char* spec =
      R"({"model": "heavy-top", "order": 2, "step": [1e-3, 5e-4], "t_end": 0.02, "measures": ["q max"]%s})";
  for (const bool is_over_work : {true, false}) {
    std::string text = spec;
    text.replace(text.find("%s"), 2, is_over_work ? R"(, "x": "residual_evaluations")" : "");
    const StudyResult result = run_study(spec_from(text), quiet());
    const Json json = study_json(result, "");
    EXPECT_EQ(json["orders"].empty(), is_over_work);
    EXPECT_EQ(json["tables"].dump().find("order of") == std::string::npos, is_over_work);
    std::istringstream csv(study_csv(result));
    std::string head, first, second;
    std::getline(csv, head) && std::getline(csv, first) && std::getline(csv, second);
    const auto cells = [](const std::string& line) {
      std::vector<std::string> out;
      std::istringstream in(line);
      for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
      return out;
    };
    const std::vector<std::string> names = cells(head);
    const std::size_t at =
        static_cast<std::size_t>(std::find(names.begin(), names.end(), "order of q max") - names.begin());
    ASSERT_LT(at, names.size());
    EXPECT_EQ(cells(second)[at].empty(), is_over_work) << second;
  }
}

TEST(Study, ThreadsDoNotChangeNumbers) {
  StudyOptions one = quiet(), four = quiet();
  one.jobs = 1;
  four.jobs = 4;
  const StudyResult a = run_study(spec_from(small_study()), one), b = run_study(spec_from(small_study()), four);
  for (std::size_t i = 0; i < a.rows.size(); ++i)
    for (const char* name : {"q max", "lambda max", "newton_iterations"})
      EXPECT_EQ(a.rows[i].number(name), b.rows[i].number(name));
}

TEST(Study, MeasuresAgreeWithEachOther) {
  const StudyResult r = run_study(
      spec_from(
          R"({"model": "heavy-top", "set": {"constraint": "inertial"}, "formulation": "index3", "order": 3, "step": 1e-3, "t_end": 0.2,
      "measures": ["q max", "q end", "q max relative", "q max largest", "q-lie max", "lambda first",
        {"name": "late", "quantity": "lambda", "window": [0.1, 0.2]}, {"name": "lambda 3", "quantity": "lambda", "component": 3}, "lambda max",
        "position-residual max", "velocity-residual max", "energy end"]})"),
      quiet());
  const Row& row = r.rows[0];
  EXPECT_LE(row.number("q end"), row.number("q max"));
  EXPECT_LE(row.number("q max largest"), row.number("q max"));
  EXPECT_NEAR(row.number("q max relative"), row.number("q max") / 2.0, 1e-3 * row.number("q max")) << "|x|² + |R|² = 4";
  // |R - R exp(e)| = √2 |e| for small e, and |x| = 1 turns with it.
  EXPECT_GT(row.number("q max"), row.number("q-lie max"));
  EXPECT_LT(row.number("q max"), 2.0 * row.number("q-lie max"));
  EXPECT_LE(row.number("late"), row.number("lambda max"));
  EXPECT_LE(row.number("lambda 3"), row.number("lambda max"));
  EXPECT_LT(row.number("position-residual max"), 1e-12);
  EXPECT_NEAR(row.number("energy end"), row.number("energy_drift"), 0.01 * row.number("energy_drift"))
      << "corrected starts shift the first energy";
}

TEST(Study, MeasuresOutputsOfAModelForEveryValueOfAParameter) {
  const StudyResult r = run_study(
      spec_from(R"({"model": "hanging-chain", "set": {"n": 1, "L": [1, 2.5]}, "t_end": 0.3, "rtol": 1e-8, "atol": 1e-9,
      "measures": ["output.end max", "output.end.z end"]})"),
      quiet());
  ASSERT_EQ(r.rows.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(r.rows[i].number("output.end max"), i == 0 ? 1.0 : 2.5, 1e-7) << "one rod: the end stays on a circle";
  EXPECT_GT(r.rows[0].number("output.end.z end"), 0.0);
  EXPECT_THROW(find_quantity("output."), InvalidInput);
}

TEST(Study, CurvesAreToldApartByEverythingThatVaries) {
  const Spec spec = spec_from(
      R"({"model": "heavy-top", "order": [2, 4], "step": [2e-3, 1e-3, 5e-4], "t_end": 0.1, "measures": ["q max"],
      "runs": [{"label": "A", "method": "bliedf"}, {"label": "B", "method": "mkbdf", "order": 3}],
      "expect": [{"order": 2, "where": {"label": "A", "order": 2}}, {"order": 4, "where": {"order": 4}, "tolerance": 0.3},
                 {"order": 3, "where": {"label": "B"}, "tolerance": 0.3}]})");
  const StudyResult result = run_study(spec, quiet());
  ASSERT_EQ(result.curves.size(), 3u);
  EXPECT_EQ(result.curves[0].label, "A, k=2");
  EXPECT_EQ(result.curves[1].label, "A, k=4");
  EXPECT_EQ(result.curves[2].label, "B");
  for (const Verdict& v : result.verdicts) EXPECT_TRUE(v.is_met) << v.quantity << ": " << v.measured;
}

TEST(Study, AFailedRunIsAMarkedRow) {
  const StudyResult result =
      run_study(spec_from(R"({"model": "heavy-top", "formulation": "index3", "order": 6, "correction": "published",
      "step": [5e-2, 1e-3], "t_end": 0.5, "measures": ["q max"], "expect": [{"unstable": 10, "of": "q max", "where": {"step": 5e-2}}]})"),
                quiet());
  EXPECT_FALSE(result.rows[0].is_success());
  EXPECT_NE(result.rows[0].message, "");
  EXPECT_TRUE(result.rows[1].is_success());
  EXPECT_TRUE(result.verdicts[0].is_met) << result.verdicts[0].measured;
  EXPECT_FALSE(result.is_interrupted);
  EXPECT_NE(study_csv(result).find("newton-failed"), std::string::npos) << study_csv(result);
}

TEST(Study, PointsBelowTheFloorAreMarkedAndNotUsed) {
  const StudyResult result = run_study(
      spec_from(
          R"({"model": "heavy-top", "method": "rkmk", "order": 8, "step": [5e-3, 2.5e-3, 1e-4, 5e-5], "t_end": 0.1, "measures": ["q max"]})"),
      quiet());
  const ObservedCurve& c = result.curves[0];
  EXPECT_FALSE(c.is_marked[0]);
  EXPECT_TRUE(c.is_marked[2]);
  EXPECT_TRUE(c.is_marked[3]);
  ASSERT_TRUE(c.order);
  EXPECT_NEAR(*c.order, 8.0, 0.7);
  EXPECT_TRUE(std::isnan(c.pairwise[2]));
}

// Floors are measured on the heavy top; the noise of this crank is 6 to 250 times larger.
TEST(Study, ErrorsThatNoLongerFallAreNoOrder) {
  const StudyResult result = run_study(spec_from(R"({"model": "slider-crank", "formulation": "index3", "order": [4, 6],
      "step": {"from": 1e-2, "to": 6.25e-4, "points": 5}, "t_end": 0.5, "measures": ["q max", "v max", "lambda max"]})"),
                                       quiet());
  for (const ObservedCurve& c : result.curves) {
    const double k = c.label == "k=4" ? 4.0 : 6.0;
    for (std::size_t i = 1; i < c.x.size(); ++i)
      if (!c.is_marked[i]) {
        EXPECT_FALSE(c.is_marked[i - 1]) << c.number << ' ' << c.label << ": used behind one that is not";
        EXPECT_GT(c.pairwise[i], k - 1.0) << c.number << ' ' << c.label << " at " << c.x[i];
      }
    if (c.order) {
      EXPECT_NEAR(*c.order, k, 0.3) << c.number << ' ' << c.label;
    }
  }
  // Three points of v are left at order 4, none of λ at order 6.
  EXPECT_TRUE(result.curves[2].order);
  EXPECT_FALSE(result.curves[5].order);
}

// A method that does not converge is no noise: λ of order 0 after exact starts of BDF 1.
TEST(Study, ErrorsThatDoNotConvergeKeepTheirOrder) {
  const StudyResult result = run_study(
      spec_from(R"({"model": "heavy-top", "group": "r3xso3", "formulation": "index3", "order": 1, "starting": "exact",
      "step": [1e-3, 5e-4, 2.5e-4], "t_end": 0.05, "measures": ["lambda max"]})"),
      quiet());
  ASSERT_TRUE(result.curves[0].order);
  EXPECT_NEAR(*result.curves[0].order, 0.0, 0.2);
}

// What a table prints and what a verdict says come from the same curves.
TEST(Study, VerdictsAgreeWithTheOrdersThatAreShown) {
  const StudyResult result = run_study(spec_from(R"({"model": "rolling-disk", "order": [2, 4],
      "runs": [{"label": "A", "method": "bliedf"}, {"label": "B", "method": "mkbdf"}],
      "step": {"from": 1e-2, "to": 1.25e-3, "points": 4}, "t_end": 1, "measures": ["q max"],
      "expect": [{"order": 2, "of": "q max", "where": {"order": 2}}, {"order": 4, "of": "q max", "where": {"order": 4}}]})"),
                                       quiet());
  ASSERT_EQ(result.curves.size(), 4u);
  ASSERT_EQ(result.verdicts.size(), 2u);
  for (const int k : {2, 4}) {
    bool all_near = true;
    int count = 0;
    for (const ObservedCurve& c : result.curves)
      if (c.label.ends_with(k == 2 ? "k=2" : "k=4")) {
        ++count;
        ASSERT_TRUE(c.order);
        all_near = all_near && std::abs(*c.order - k) <= 0.2;
        EXPECT_NEAR(*c.order, k, 0.3) << c.label;
      }
    EXPECT_EQ(count, 2);
    EXPECT_EQ(result.verdicts[k == 2 ? 0 : 1].is_met, all_near) << result.verdicts[k == 2 ? 0 : 1].measured;
  }
}

TEST(Study, RepeatedRunsShowTheSpreadOfTheirTimes) {
  const StudyResult result =
      run_study(spec_from(R"({"model": "heavy-top", "order": 2, "step": [2e-3, 1e-3], "t_end": 0.1,
      "measures": ["q max"], "repeat": 5, "plots": [{"x": "seconds", "y": ["q max"]}]})"),
                quiet());
  for (const Row& row : result.rows) {
    EXPECT_LT(row.number("seconds_low"), row.number("seconds_high")) << "five runs never take the same time";
    EXPECT_LE(row.number("seconds_low"), row.number("seconds"));
    EXPECT_GE(row.number("seconds_high"), row.number("seconds"));
  }
  int said = 0;
  const auto page = study_json(result, "");
  for (const auto& plot : page["plots"])
    said += plot["note"].get<std::string>().find("medians of 5 runs") != std::string::npos ? 1 : 0;
  EXPECT_GE(said, 1) << "plots over time say how far times lie apart";
  const Json curve = page["plots"][0]["curves"][0];
  std::set<double> low, high;
  for (const Row& row : result.rows) low.insert(row.number("seconds_low")), high.insert(row.number("seconds_high"));
  EXPECT_EQ(curve["x_low"].get<std::set<double>>(), low) << "bars";
  EXPECT_EQ(curve["x_high"].get<std::set<double>>(), high);
  for (std::size_t k = 0; k < curve["x"].size(); ++k)
    EXPECT_LT(curve["x_low"][k].get<double>(), curve["x_high"][k].get<double>());
  EXPECT_EQ(page["plots"][0]["y_label"], "max ‖qₙ − q(tₙ)‖ [m or 1]");
  EXPECT_THROW(spec_from(R"({"kind": "analysis", "analysis": "bdf-stability", "repeat": 2})"), InvalidInput);
}

TEST(Study, AxesAreLabelledInTheNotationOfThePapers) {
  const StudyResult result = run_study(
      spec_from(
          R"({"model": "heavy-top", "formulation": "index3", "order": 2, "step": [2e-3, 1e-3], "t_end": 0.05, "measures":
      ["lambda max", "v end", {"quantity": "q", "over": "end", "relative": true}, {"quantity": "lambda", "component": 3, "over": "window", "window": [0.01, 0.02], "name": "l3"}, "energy max", "velocity-residual max"]})"),
      quiet());
  std::vector<std::string> labels;
  const Json page = study_json(result, "");
  for (const Json& plot : page["plots"]) labels.push_back(plot["y_label"]);
  labels.resize(6);
  EXPECT_EQ(labels,
            (std::vector<std::string>{"max ‖λₙ − λ(tₙ)‖ [N or N m]", "‖vₙ − v(tₙ)‖ at t_end [m/s or rad/s]",
                                      "‖qₙ − q(tₙ)‖/‖q(tₙ)‖ at t_end", "max |λ₃ₙ − λ₃(tₙ)|, 0.01 ≤ t ≤ 0.02 [N or N m]",
                                      "max |Eₙ − E₀| [J]", "max ‖B(qₙ)vₙ + Φ_t‖ [m/s or rad/s]"}));
}

TEST(Study, TitlesHaveTheLettersOfThePapersAndSeriesTheirCases) {
  const StudyResult result = run_study(
      spec_from(
          R"({"model": "heavy-top", "formulation": "index3", "order": [2, 3], "step": [2e-3, 1e-3], "t_end": 0.02, "measures":
      ["lambda max"], "series": [{"quantity": "lambda-value", "component": 3, "name": "lambda_3 of the beta-test", "where": {"order": 2, "step": 1e-3}},
      {"quantity": "eta"}]})"),
      quiet());
  const Json page = study_json(result, "");
  std::map<std::string, std::size_t> curves;
  for (const Json& plot : page["plots"]) curves[plot["title"]] = plot["curves"].size();
  EXPECT_EQ(curves["λ max"], 2u);
  EXPECT_EQ(curves["λ₃ of the beta-test"], 1u);
  EXPECT_EQ(curves["η"], 4u);
  EXPECT_EQ(io::file_name_of("λ₃ of the beta-test"), "lambda-3-of-the-beta-test");
  EXPECT_THROW(
      spec_from(R"({"model": "heavy-top", "step": 1e-3, "series": [{"quantity": "eta", "where": {"ordre": 2}}]})"),
      InvalidInput);
}

TEST(Study, AnInterruptedStudyGoesOn) {
  test::TemporaryFolder folder;
  StudyOptions options = quiet(folder.path());
  options.jobs = 1;
  std::atomic<int> done = 0;
  options.on_progress = [&](const StudyProgress&) { ++done; };
  options.wants_to_stop = [&] { return done >= 2; };
  const StudyResult first = run_study(spec_from(small_study()), options);
  EXPECT_TRUE(first.is_interrupted);
  write_study(first, "kreisel study", folder.path());
  {
    std::ofstream torn(folder.path() / "study.journal", std::ios::app);
    torn << "{\"key\": \"abc";  // as a killed program leaves it
  }
  const StudyResult second = run_study(spec_from(small_study()), quiet(folder.path()));
  EXPECT_EQ(second.resumed, 2u);
  EXPECT_FALSE(second.is_interrupted);
  const StudyResult direct = run_study(spec_from(small_study()), quiet());
  for (std::size_t i = 0; i < direct.rows.size(); ++i)
    EXPECT_EQ(second.rows[i].number("lambda max"), direct.rows[i].number("lambda max"));
  write_study(second, "kreisel study", folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "study.journal"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "report.html"));

  // Another question is another study.
  const StudyResult third = run_study(spec_from(small_study()), options);
  EXPECT_TRUE(third.is_interrupted);
  std::string changed = small_study();
  changed.replace(changed.find("0.1"), 3, "0.2");
  EXPECT_EQ(run_study(spec_from(changed), quiet(folder.path())).resumed, 0u);
}

TEST(Study, ShardsTogetherAreTheStudy) {
  test::TemporaryFolder folder;
  const StudyResult direct = run_study(spec_from(small_study()), quiet());
  std::size_t ran = 0;
  for (int i = 0; i < 3; ++i) {
    StudyOptions options = quiet(folder.path());
    options.shard = Shard{i, 3};
    const StudyResult part = run_study(spec_from(small_study()), options);
    EXPECT_FALSE(part.is_interrupted);
    const StudyState state = state_of(part.spec, folder.path());
    EXPECT_GE(state.done, ran) << "every case belongs to one shard";
    ran = state.done;
    EXPECT_EQ(state.is_complete(), ran == direct.rows.size());
  }
  EXPECT_EQ(ran, direct.rows.size());
  std::atomic<int> runs = 0;
  StudyOptions options = quiet(folder.path());
  options.on_progress = [&](const StudyProgress&) { ++runs; };
  const StudyResult merged = run_study(spec_from(small_study()), options);
  EXPECT_EQ(runs, 0);
  for (std::size_t i = 0; i < direct.rows.size(); ++i)
    for (const char* name : {"q max", "lambda max", "steps", "energy_error"})
      EXPECT_EQ(merged.rows[i].number(name), direct.rows[i].number(name)) << i << ", " << name;
  write_study(merged, "kreisel study", folder.path());
  EXPECT_TRUE(journals_in(folder.path()).empty());
  EXPECT_TRUE(state_of(merged.spec, folder.path()).is_complete()) << "as study.json says";
  std::string changed = small_study();
  changed.replace(changed.find("0.1"), 3, "0.2");
  EXPECT_EQ(state_of(spec_from(changed), folder.path()).done, 0u) << "another study";
}

TEST(Study, TwoWritersOfOneShardAreOne) {
  test::TemporaryFolder folder, other;
  StudyOptions options = quiet(folder.path());
  options.shard = Shard{0, 1};
  run_study(spec_from(small_study()), options);
  options.folder = other.path();
  run_study(spec_from(small_study()), options);
  const std::string twice =
      test::content_of(folder / "study.journal.0-of-1") + test::content_of(other / "study.journal.0-of-1");
  test::write_file(folder / "study.journal.0-of-1", twice);
  const StudyResult merged = run_study(spec_from(small_study()), quiet(folder.path()));
  EXPECT_TRUE(merged.warnings.empty());
  EXPECT_EQ(merged.resumed, merged.rows.size());
  // A row of the same key that says something else is told.
  const Spec spec = spec_from(small_study());
  Row row = JournalIndex(spec, other.path()).row(spec, 0);
  row.numbers["q max"].value *= 2.0;
  Journal(folder.path(), ".z").add(line_of(spec, 0, key_of(spec, spec.cases[0]), row));
  const StudyResult differs = run_study(spec_from(small_study()), quiet(folder.path()));
  ASSERT_EQ(differs.warnings.size(), 1u);
  EXPECT_NE(differs.warnings[0].find("1 cases in"), std::string::npos) << differs.warnings[0];
}

TEST(Study, FailedCasesAreRunAgainWhenAskedTo) {
  test::TemporaryFolder folder;
  const std::string text = R"({"model": "heavy-top", "step": [0.05, 1e-3], "t_end": 0.5, "measures": ["energy end"]})";
  StudyOptions options = quiet(folder.path());
  options.shard = Shard{0, 1};
  EXPECT_FALSE(run_study(spec_from(text), options).rows[0].is_success());
  std::atomic<int> runs = 0;
  options.on_progress = [&](const StudyProgress&) { ++runs; };
  run_study(spec_from(text), options);
  EXPECT_EQ(runs, 0);
  options.retries_failures = true;
  run_study(spec_from(text), options);
  EXPECT_EQ(runs, 1);
}

/// Whatever a damaged journal says, the rows are those of a study without one.
TEST(Study, DamagedLinesOfTheJournalAreMadeAgain) {
  test::TemporaryFolder folder;
  StudyOptions options = quiet(folder.path());
  options.jobs = 1;
  std::atomic<int> done = 0;
  options.on_progress = [&](const StudyProgress&) { ++done; };
  options.wants_to_stop = [&] { return done >= 5; };
  const StudyResult direct = run_study(spec_from(small_study()), quiet());
  run_study(spec_from(small_study()), options);
  const std::string good = test::content_of(folder / "study.journal");
  ASSERT_EQ(std::count(good.begin(), good.end(), '\n'), 5);
  std::mt19937 random(5);
  for (int i = 0; i < 40; ++i) {
    std::string damaged = good;
    const std::size_t at = random() % good.size();
    damaged[at] = static_cast<char>('0' + random() % 10);
    if (damaged == good) continue;
    test::write_file(folder / "study.journal", damaged);
    const StudyResult result = run_study(spec_from(small_study()), quiet(folder.path()));
    EXPECT_EQ(result.warnings.size(), 1u) << at;
    EXPECT_LE(result.resumed, 4u) << at;
    for (std::size_t k = 0; k < direct.rows.size(); ++k)
      for (const char* name : {"q max", "lambda max", "steps", "energy_error"})
        EXPECT_EQ(result.rows[k].number(name), direct.rows[k].number(name))
            << "byte " << at << ", row " << k << ", " << name;
  }
  // As an earlier version wrote it: without checksums.
  std::string old;
  for (std::size_t begin = 0, end; (end = good.find('\n', begin)) != std::string::npos; begin = end + 1)
    old += good.substr(begin + 17, end - begin - 16);
  test::write_file(folder / "study.journal", old);
  const StudyResult result = run_study(spec_from(small_study()), quiet(folder.path()));
  EXPECT_EQ(result.resumed, 0u);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("5 lines of"), std::string::npos) << result.warnings[0];
}

TEST(Study, AChangedFileOfStepsIsAnotherCase) {
  test::TemporaryFolder folder;
  const std::string spec = R"({"model": "heavy-top", "formulation": "index3", "order": [2, 3], "steps": "file:)" +
                           (folder / "steps.txt").string() + R"(", "t_end": 0.02, "measures": ["q max"]})";
  StudyOptions options = quiet(folder.path());
  options.jobs = 1;
  std::atomic<int> done = 0;
  options.on_progress = [&](const StudyProgress&) { ++done; };
  options.wants_to_stop = [&] { return done >= 1; };
  const auto write_steps = [&](const char* step) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += step;
    test::write_file(folder / "steps.txt", text);
  };
  write_steps("1e-3\n");
  run_study(spec_from(spec), options);
  EXPECT_EQ(run_study(spec_from(spec), quiet(folder.path())).resumed, 1u);
  write_steps("5e-4\n");
  EXPECT_EQ(run_study(spec_from(spec), quiet(folder.path())).resumed, 0u);
}

TEST(Study, AChangedExactSolutionIsAnotherCase) {
  test::TemporaryFolder folder;
  const std::string spec =
      R"({"model": "oscillator", "method": "generalized-alpha", "step": [0.2, 0.1], "t_end": 1, "measures": ["q max"], "reference": {"file": ")" +
      (folder / "exact.csv").string() + R"("}})";
  StudyOptions options = quiet(folder.path());
  options.jobs = 1;
  std::atomic<int> done = 0;
  options.on_progress = [&](const StudyProgress&) { ++done; };
  options.wants_to_stop = [&] { return done >= 1; };
  const auto write_motion = [&](double amplitude) {
    std::string text = "t,q1,v1\n";
    for (int i = 0; i <= 10; ++i)
      text += fmt::format("{},{},{}\n", 0.1 * i, amplitude * std::cos(0.1 * i), -amplitude * std::sin(0.1 * i));
    test::write_file(folder / "exact.csv", text);
  };
  write_motion(1.0);
  run_study(spec_from(spec), options);
  EXPECT_EQ(run_study(spec_from(spec), quiet(folder.path())).resumed, 1u);
  write_motion(1.5);
  const StudyResult other = run_study(spec_from(spec), quiet(folder.path()));
  EXPECT_EQ(other.resumed, 0u);
  EXPECT_GT(other.rows[0].number("q max"), 0.4);
}

/// λ passes through zero, or there is none: that is no failure of the run.
TEST(Study, RelativeErrorsLeaveOutPointsWithoutASize) {
  const StudyResult swing =
      run_study(spec_from(R"({"model": "heavy-top", "group": "so3", "order": 3, "step": [2e-3, 1e-3], "t_end": 0.1,
      "measures": ["lambda max relative", "q max relative", "q end relative"]})"),
                quiet());
  for (const Row& row : swing.rows) {
    EXPECT_TRUE(row.is_success());
    EXPECT_TRUE(std::isnan(row.number("lambda max relative"))) << "no multipliers, no number";
    EXPECT_GT(row.number("q max relative"), 0.0);
  }
  const StudyResult rest =
      run_study(spec_from(R"({"model": "double-pendulum", "order": 3, "step": [2e-3, 1e-3], "t_end": 0.1,
      "measures": ["v max relative", "v max", "lambda max relative"]})"),
                quiet());
  for (const Row& row : rest.rows) {
    EXPECT_TRUE(row.is_success());
    EXPECT_TRUE(std::isfinite(row.number("v max relative"))) << "at rest at the start";
    EXPECT_TRUE(std::isfinite(row.number("lambda max relative")));
  }
  for (const char* measure : {"q-lie max relative", "eta max relative", "energy max relative"})
    EXPECT_NE(test::text_of<InvalidInput>([&] {
                spec_from(R"({"model": "pendulum", "step": 1e-2, "measures": [")" + std::string(measure) + R"("]})");
              }).find("'relative' divides errors of q, v and lambda"),
              std::string::npos)
        << measure;
}

TEST(Study, JsonIsWhatTheViewerReads) {
  test::TemporaryFolder folder;
  const StudyResult result = run_study(
      spec_from(
          R"({"title": "<b>", "model": "pendulum", "method": "generalized-alpha", "step": [2e-2, 1e-2], "t_end": 1,
      "measures": ["lambda max"], "series": [{"quantity": "lambda-value", "component": 1, "name": "force"}],
      "expect": [{"order": 2, "says": "two"}]})"),
      quiet());
  write_study(result, "kreisel study x.json", folder.path());
  const io::ReportData data = io::read_report_data(folder.path());
  ASSERT_EQ(data.plots.size(), 3u);  // error, work, series
  EXPECT_EQ(data.plots[0].curves[0].x.size(), 2u);
  EXPECT_EQ(data.plots[2].curves.size(), 2u);
  EXPECT_EQ(data.plots[2].curves[1].x.size(), 101u);
  ASSERT_EQ(data.tables.size(), 2u);
  EXPECT_EQ(data.tables[0].rows[0][1], "two");
  EXPECT_EQ(data.tables[0].rows[0][4], "as expected");
  EXPECT_EQ(io::report_pictures(data).size(), 3u);
  EXPECT_EQ(io::report_page(data).find("<b>"), std::string::npos) << "text stays text";
}

}  // namespace
