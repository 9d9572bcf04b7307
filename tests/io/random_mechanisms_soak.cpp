// A thousand random mechanisms, by two methods each.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/random_mechanisms.hpp"

namespace kreisel::support {
namespace {

class RandomMechanisms : public testing::TestWithParam<int> {};

TEST_P(RandomMechanisms, TwoMethodsAgreeOrSayWhyNot) {
  int succeeded = 0;
  for (int i = 0; i < 50; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam()) * 50 + static_cast<std::uint64_t>(i);
    const Contest contest = contest_of(seed);
    succeeded += contest.both_succeeded() ? 1 : 0;
    std::printf("%s\n", describe(seed, contest).c_str());
    if (const std::string offence = offence_in(contest); !offence.empty())
      ADD_FAILURE() << offence << "\n  " << describe_and_keep(seed, contest);
  }
  std::printf("%d of 50 succeeded with both\n", succeeded);
  EXPECT_GT(succeeded, 25);
}

INSTANTIATE_TEST_SUITE_P(Fifty, RandomMechanisms, testing::Range(0, 20));

}  // namespace
}  // namespace kreisel::support
