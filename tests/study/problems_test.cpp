// The work-precision studies of the benchmark problems, as they ship.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "samples.hpp"
#include "support/places.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

std::vector<std::filesystem::path> problem_studies() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(support::in_sources("studies")))
    if (entry.path().stem().string().starts_with("problem_")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class ProblemStudy : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(ProblemStudy, EveryRunSucceedsAndTheTableIsAsExpected) {
  const StudyResult result = run_study(parse_spec(io::JsonSource::read(GetParam(), "study")), StudyOptions{});
  for (const Row& row : result.rows) {
    EXPECT_TRUE(row.is_success()) << row.status << ": " << row.message;
    EXPECT_GT(row.number("residual_evaluations"), 0.0);
    EXPECT_GT(row.number("seconds"), 0.0);
  }
  EXPECT_FALSE(result.verdicts.empty());
  for (const Verdict& v : result.verdicts)
    EXPECT_TRUE(v.is_met) << v.quantity << ": " << v.measured << ", expected " << v.expected;
}

INSTANTIATE_TEST_SUITE_P(Shipped, ProblemStudy, testing::ValuesIn(problem_studies()),
                         [](const auto& param) { return param.param.stem().string(); });

TEST(ProblemStudies, ExistForEveryRigidProblem) { EXPECT_EQ(problem_studies().size(), 16U); }

}  // namespace
