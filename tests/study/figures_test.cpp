// The published figures: all can be made, and the quick ones come out in every test run.
#include <gtest/gtest.h>

#include <set>

#include "kreisel/error.hpp"
#include "study/figures.hpp"
#include "study/study.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

std::vector<std::string> ids(bool is_quick) {
  std::vector<std::string> list;
  for (const Figure& figure : figures())
    if (!is_quick || summary_of(figure).is_quick) list.emplace_back(figure.id);
  return list;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

class EveryFigure : public testing::TestWithParam<std::string> {};

TEST_P(EveryFigure, CanBeMadeAndExpectsSomething) {
  const Spec spec = spec_of(find_figure(GetParam()));
  EXPECT_FALSE(spec.expectations.empty());
  EXPECT_FALSE(spec.title.empty());
  EXPECT_FALSE(spec.source.empty());
}
INSTANTIATE_TEST_SUITE_P(Reproduce, EveryFigure, testing::ValuesIn(ids(false)), test_name);

class QuickFigure : public testing::TestWithParam<std::string> {};

TEST_P(QuickFigure, ComesOutAsExpected) {
  const StudyResult result = run_study(spec_of(find_figure(GetParam())), {});
  for (const Verdict& v : result.verdicts)
    EXPECT_TRUE(v.is_met) << v.quantity << ": " << v.measured << ", expected " << v.expected;
}
INSTANTIATE_TEST_SUITE_P(Reproduce, QuickFigure, testing::ValuesIn(ids(true)), test_name);

TEST(Figures, AreThoseOfTheFivePapers) {
  std::set<std::string> papers;
  for (const std::string& id : ids(false)) papers.insert(id.substr(0, id.find('-')));
  for (const char* paper : {"wieloch2022", "arnold2015", "arnold2015b", "wielocharnold2019", "eich1993"})
    EXPECT_TRUE(papers.contains(paper)) << paper;
  EXPECT_THROW(find_figure("wieloch2022-fig-6.100"), InvalidInput);
}

TEST(Figures, StandInTheOrderOfThePapers) {
  const std::vector<std::string> all = ids(false);
  const auto place = [&](const char* id) { return std::find(all.begin(), all.end(), id) - all.begin(); };
  EXPECT_LT(place("wieloch2022-fig-6.9"), place("wieloch2022-fig-6.10"));
}

}  // namespace
