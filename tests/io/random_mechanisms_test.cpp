// Forty random mechanisms, by two methods each; a thousand in random_mechanisms_soak.cpp.
#include <gtest/gtest.h>

#include "support/random_mechanisms.hpp"

namespace kreisel::support {
namespace {

class RandomMechanisms : public testing::TestWithParam<int> {};

TEST_P(RandomMechanisms, TwoMethodsAgreeOrSayWhyNot) {
  int succeeded = 0;
  for (int i = 0; i < 10; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam()) * 10 + static_cast<std::uint64_t>(i);
    const Contest contest = contest_of(seed);
    succeeded += contest.both_succeeded() ? 1 : 0;
    if (const std::string offence = offence_in(contest); !offence.empty())
      ADD_FAILURE() << offence << "\n  " << describe_and_keep(seed, contest);
  }
  EXPECT_GT(succeeded, 5);  // otherwise these runs would test nothing
}

INSTANTIATE_TEST_SUITE_P(Ten, RandomMechanisms, testing::Range(0, 4));

}  // namespace
}  // namespace kreisel::support
