// Ten thousand random runs, beyond those of random_runs_test.cpp.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/random_runs.hpp"

namespace kreisel::support {
namespace {

class RandomRuns : public testing::TestWithParam<int> {};

TEST_P(RandomRuns, EndCleanly) {
  const RandomRunCounts counts = run_random_experiments(1000 + static_cast<std::uint64_t>(GetParam()) * 500, 500);
  std::printf("%d succeeded, %d failed, %d refused\n", counts.succeeded, counts.failed, counts.refused);
  EXPECT_GT(counts.succeeded, 150);
}

INSTANTIATE_TEST_SUITE_P(FiveHundred, RandomRuns, testing::Range(0, 20));

}  // namespace
}  // namespace kreisel::support
