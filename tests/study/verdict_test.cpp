#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kreisel/error.hpp"
#include "samples.hpp"
#include "study/verdict.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

/// Two curves with y = c h² and y = 2 c h² at three steps.
struct Verdicts : testing::Test {
  Spec spec = test::spec_from(
      R"({"model": "heavy-top", "step": [4e-3, 2e-3, 1e-3], "measures": ["q max"], "runs": [{"label": "A", "order": 2}, {"label": "B", "order": 3}]})");
  std::vector<Row> rows;

  void SetUp() override {
    for (const Case& c : spec.cases) {
      const double h = c.coordinates["step"].get<double>();
      Row row;
      row.numbers["step"] = {h, -1};
      row.numbers["q max"] = {(c.label == "A" ? 1.0 : 2.0) * h * h, 7};
      row.floors["q max"] = 1e-12;
      rows.push_back(row);
    }
  }
  Verdict judged(const std::string& expectation) {
    Spec with = test::spec_from(R"({"model": "heavy-top", "step": [4e-3, 2e-3, 1e-3], "measures": ["q max"],
        "runs": [{"label": "A", "order": 2}, {"label": "B", "order": 3}], "expect": [)" +
                                expectation + "]}");
    return judge(with.expectations[0], with, rows);
  }
};

TEST_F(Verdicts, OrdersValuesAndBounds) {
  EXPECT_TRUE(judged(R"({"order": 2, "tolerance": 1e-6})").is_met);
  EXPECT_FALSE(judged(R"({"order": 2.3})").is_met);
  EXPECT_TRUE(judged(R"({"value": 1e-6, "where": {"label": "A", "step": 1e-3}})").is_met);
  EXPECT_FALSE(judged(R"({"value": 1.1e-6, "where": {"label": "A", "step": 1e-3}})").is_met);
  EXPECT_TRUE(judged(R"({"value": 1e-6, "where": {"label": "A", "step": 1e-3}, "at_step": 7})").is_met);
  EXPECT_FALSE(judged(R"({"value": 1e-6, "where": {"label": "A", "step": 1e-3}, "at_step": 8})").is_met);
  EXPECT_TRUE(judged(R"({"value": 2, "per": 1e-6, "where": {"label": "B", "step": 1e-3}})").is_met);
  EXPECT_TRUE(judged(R"({"value": [16e-6, 4e-6, 1e-6], "where": {"label": "A"}})").is_met);
  EXPECT_FALSE(judged(R"({"value": [16e-6, 4e-6, 2e-6], "where": {"label": "A"}})").is_met);
  EXPECT_TRUE(judged(R"({"at_most": 4e-5})").is_met);
  EXPECT_FALSE(judged(R"({"at_most": 1e-5})").is_met);
  EXPECT_TRUE(judged(R"({"at_least": 1e-7})").is_met);
  EXPECT_TRUE(judged(R"({"unstable": 1e-7})").is_met);
  EXPECT_FALSE(judged(R"({"unstable": 1e-3})").is_met);
}

TEST_F(Verdicts, RankingsRatiosAndEquality) {
  EXPECT_TRUE(judged(R"({"ranking": ["A", "B"]})").is_met);
  EXPECT_FALSE(judged(R"({"ranking": ["B", "A"]})").is_met);
  EXPECT_TRUE(judged(R"({"ratio": 2, "where": {"label": "B"}, "over": {"label": "A"}, "tolerance": 1e-9})").is_met);
  EXPECT_FALSE(judged(R"({"ratio": 3, "where": {"label": "B"}, "over": {"label": "A"}})").is_met);
  EXPECT_FALSE(judged(R"({"same": 0.1})").is_met);
  EXPECT_TRUE(judged(R"({"same": 0.51})").is_met);
}

TEST_F(Verdicts, CurvesWithoutCommonAbscissaAreRankedBetweenPoints) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (spec.cases[i].label != "A") continue;
    const double h = 1.3 * rows[i].number("step");
    rows[i].numbers["step"] = {h, -1};
    rows[i].numbers["q max"] = {1.9 * h * h, 7};
  }
  const Verdict verdict = judged(R"({"ranking": ["A", "B"]})");
  EXPECT_TRUE(verdict.is_met) << verdict.measured;
  EXPECT_EQ(verdict.measured, "holds at all 2 points, factors from 1.05") << "one point of A lies outside of B";
  EXPECT_FALSE(judged(R"({"ranking": ["B", "A"]})").is_met);
}

TEST_F(Verdicts, AFailedRunMissesEverythingButInstability) {
  rows[0].status = "newton-failed";
  EXPECT_FALSE(judged(R"({"at_most": 1})").is_met);
  EXPECT_FALSE(judged(R"({"ranking": ["A", "B"]})").is_met);
  EXPECT_TRUE(judged(R"({"unstable": 1, "where": {"label": "A", "step": 4e-3}})").is_met);
  EXPECT_TRUE(judged(R"({"order": 2, "where": {"label": "A"}})").is_met) << "two points are left";
}

TEST_F(Verdicts, MarkedPointsDoNotCount) {
  rows[2].floors["q max"] = 1.0;
  rows[2].numbers["q max"].value = 0.5;
  EXPECT_TRUE(judged(R"({"order": 2, "where": {"label": "A"}, "tolerance": 1e-6})").is_met);
  rows[1].floors["q max"] = 1.0;
  EXPECT_FALSE(judged(R"({"order": 2, "where": {"label": "A"}})").is_met) << "one point has no slope";
}

TEST_F(Verdicts, AContradictionWithThePaperNeverReadsAsMet) {
  const Verdict printed = judged(R"({"order": 2, "source": "printed"})");
  EXPECT_EQ(printed.word(), "as printed");
  EXPECT_EQ(judged(R"({"order": 2, "source": "computed"})").word(), "as computed");
  EXPECT_EQ(judged(R"({"order": 2})").word(), "as expected");
  const Verdict differs =
      judged(R"({"order": 2, "source": "printed", "says": "order 3", "differs": "the paper counts otherwise"})");
  EXPECT_EQ(differs.outcome(), Outcome::differs);
  EXPECT_EQ(differs.word(), "differs, explained");
  const Json json = to_json(differs);
  EXPECT_EQ(json["outcome"], "differs, explained");
  EXPECT_EQ(json["explanation"], "the paper counts otherwise");
  EXPECT_EQ(json["source"], "printed");
  EXPECT_FALSE(json.contains("met"));
  const Verdict missed = judged(R"({"order": 5, "says": "order 3", "differs": "the paper counts otherwise"})");
  EXPECT_EQ(missed.word(), "missed");
  EXPECT_EQ(word_of({printed, differs}), "differs, explained");
  EXPECT_EQ(word_of({printed, differs, missed}), "missed");
  EXPECT_EQ(outcome_of({printed, differs}), Outcome::differs);
  EXPECT_THROW(judged(R"({"order": 2, "differs": "without saying from what"})"), InvalidInput);
  EXPECT_THROW(judged(R"({"order": 2, "source": "guessed"})"), InvalidInput);
}

TEST_F(Verdicts, FactorsAreSymmetric) {
  for (const char* value : {"1.9e-6", "0.55e-6"})
    EXPECT_TRUE(
        judged(fmt::format(R"({{"value": {}, "factor": 2, "where": {{"label": "A", "step": 1e-3}}}})", value)).is_met);
  for (const char* value : {"2.1e-6", "0.45e-6"})
    EXPECT_FALSE(
        judged(fmt::format(R"({{"value": {}, "factor": 2, "where": {{"label": "A", "step": 1e-3}}}})", value)).is_met);
  EXPECT_TRUE(judged(R"({"value": [9e-6, 7e-6, 1e-6], "factor": 2, "where": {"label": "A"}})").is_met);
  EXPECT_FALSE(judged(R"({"value": [7e-6, 7e-6, 1e-6], "factor": 2, "where": {"label": "A"}})").is_met);
  EXPECT_THROW(judged(R"({"value": 1, "factor": 0.5})"), InvalidInput);
  EXPECT_THROW(judged(R"({"order": 2, "factor": 2})"), InvalidInput);
}

// 16e-6, 4e-6, 1e-6 scatter by 2 about twice these.
TEST_F(Verdicts, ListsMayBeJudgedOnAverage) {
  const auto with = [&](const char* limit) {
    return judged(
        fmt::format(R"({{"value": [4e-6, 2e-6, 1e-6], "on_average": {}, "where": {{"label": "A"}}}})", limit));
  };
  EXPECT_TRUE(with("2.1").is_met) << with("2.1").measured;
  EXPECT_FALSE(with("1.9").is_met) << with("1.9").measured;
  EXPECT_TRUE(judged(R"({"value": [4e-6, 2e-6, 1e-6], "per": 2, "on_average": 1.01, "where": {"label": "A"}})").is_met);
  EXPECT_THROW(judged(R"({"value": 1, "on_average": 2})"), InvalidInput);
  EXPECT_THROW(judged(R"({"value": [4e-6, 2e-6, 1e-6], "on_average": 2, "factor": 3, "where": {"label": "A"}})"),
               InvalidInput);
}

TEST_F(Verdicts, RankingsMayCompareAtEqualCost) {
  // B has half the error of A at equal steps, but pays four times as much.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double h = rows[i].number("step"), is_b = spec.cases[i].label == "B";
    rows[i].numbers["q max"] = {(is_b ? 0.5 : 1.0) * h * h, 7};
    rows[i].numbers["brackets"] = {(is_b ? 4.0 : 1.0) / h, -1};
  }
  EXPECT_TRUE(judged(R"({"ranking": ["B", "A"]})").is_met);
  EXPECT_TRUE(judged(R"({"ranking": ["A", "B"], "x": "brackets"})").is_met);
  EXPECT_FALSE(judged(R"({"ranking": ["B", "A"], "x": "brackets"})").is_met);
}

}  // namespace
