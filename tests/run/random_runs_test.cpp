// Two hundred random runs; ten thousand in random_runs_soak.cpp.
#include <gtest/gtest.h>

#include "support/random_runs.hpp"

namespace kreisel::support {
namespace {

class RandomRuns : public testing::TestWithParam<int> {};

TEST_P(RandomRuns, EndCleanly) {
  const RandomRunCounts counts = run_random_experiments(static_cast<std::uint64_t>(GetParam()) * 50, 50);
  // Most requests make sense and most of those can be met; otherwise these runs would test nothing but refusals.
  EXPECT_GT(counts.succeeded, 15) << counts.failed << " failed, " << counts.refused << " refused";
}

INSTANTIATE_TEST_SUITE_P(Fifty, RandomRuns, testing::Range(0, 4));

}  // namespace
}  // namespace kreisel::support
