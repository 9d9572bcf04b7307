// The published figures: all come out in every test run, and none does with wrong settings.
#include <gtest/gtest.h>

#include <set>

#include "kreisel/error.hpp"
#include "study/figures.hpp"
#include "study/row.hpp"
#include "study/study.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

std::vector<std::string> ids() {
  std::vector<std::string> list;
  for (const Figure& figure : figures()) list.emplace_back(figure.id);
  return list;
}

/// References are shared by the tests, which may be processes of their own.
StudyOptions options() {
  StudyOptions out;
  out.cache = io::Path(testing::TempDir()) / "kreisel-test-references";
  return out;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

/// CPU times, which are not judged, are taken once.
Spec figure(const std::string& id) {
  Spec spec = spec_of(find_figure(id));
  spec.repeat = 1;
  return spec;
}

class EveryFigure : public testing::TestWithParam<std::string> {};

TEST_P(EveryFigure, SaysWhereItsNumbersComeFromAndWhatItMustNotice) {
  const Spec spec = spec_of(find_figure(GetParam()));
  EXPECT_FALSE(spec.expectations.empty());
  EXPECT_FALSE(spec.title.empty());
  EXPECT_FALSE(spec.source.empty());
  for (const Expectation& e : spec.expectations) EXPECT_NE(e.source, Origin::expected) << e.of;
  EXPECT_GE(spec.mutations.size(), 2u);
  for (const PlotSpec& plot : spec.plots)
    if (is_of_the_clock(plot.x)) {
      EXPECT_GE(spec.repeat, 3) << plot.title << ": CPU times without their spread";
    }
}

TEST_P(EveryFigure, ComesOutAsExpected) {
  for (const Verdict& v : run_study(figure(GetParam()), options()).verdicts)
    EXPECT_TRUE(v.is_met) << v.quantity << ": " << v.measured << ", expected " << v.expected;
}

// A verdict that does not notice a wrong method is worth nothing.
TEST_P(EveryFigure, NoticesWrongSettings) {
  const Spec spec = figure(GetParam());
  for (const Mutation& mutation : spec.mutations) {
    const MutationResult result = run_mutation(spec, mutation, options());
    EXPECT_TRUE(result.is_noticed) << mutation.name;
  }
}
INSTANTIATE_TEST_SUITE_P(Reproduce, EveryFigure, testing::ValuesIn(ids()), test_name);

TEST(Figures, AreThoseOfTheFivePapers) {
  std::set<std::string> papers;
  for (const std::string& id : ids()) papers.insert(id.substr(0, id.find('-')));
  for (const char* paper : {"wieloch2022", "arnold2015", "arnold2015b", "wielocharnold2019", "eich1993"})
    EXPECT_TRUE(papers.contains(paper)) << paper;
  EXPECT_THROW(find_figure("wieloch2022-fig-6.100"), InvalidInput);
}

TEST(Figures, StandInTheOrderOfThePapers) {
  const std::vector<std::string> all = ids();
  const auto place = [&](const char* id) { return std::find(all.begin(), all.end(), id) - all.begin(); };
  EXPECT_LT(place("wieloch2022-fig-6.9"), place("wieloch2022-fig-6.10"));
}

}  // namespace
