#include "multibody/random_rods.hpp"

namespace {

TEST(RandomRodsSoak, RunOrSayWhyNot) { kreisel::test::expect_runs_or_reasons(1000, 200); }

}  // namespace
