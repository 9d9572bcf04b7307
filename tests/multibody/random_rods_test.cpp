#include "multibody/random_rods.hpp"

namespace {

TEST(RandomRods, RunOrSayWhyNot) { kreisel::test::expect_runs_or_reasons(1, 12); }

}  // namespace
