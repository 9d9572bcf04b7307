// Where the blocks of the linearised equations live.
#include "kreisel/system.hpp"

#include <gtest/gtest.h>

#include "kreisel/error.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::system;
using lie::GroupId;

const lie::Space three_blocks({{GroupId::rn, 2}, {GroupId::so3}, {GroupId::se3}});

TEST(Pattern, AlwaysHasTheDiagonal) {
  const Pattern pattern(three_blocks, {});
  ASSERT_EQ(pattern.couplings().size(), 3u);
  for (int b = 0; b < 3; ++b) EXPECT_EQ(pattern.coupling(b, b), b);
  EXPECT_EQ(pattern.coupling_size(), 4 + 9 + 36);
  EXPECT_EQ(pattern.touch_size(), 0);
  EXPECT_EQ(pattern.rows(), 0);
}

TEST(Pattern, StoresCouplingsOneAfterTheOtherSortedAndOnce) {
  const Pattern pattern(three_blocks, {}, {{2, 0}, {0, 2}, {2, 0}, {1, 1}});
  ASSERT_EQ(pattern.couplings().size(), 5u);
  int at = 0;
  for (const Pattern::Coupling& c : pattern.couplings()) {
    EXPECT_EQ(c.at, at);
    at += three_blocks.blocks()[c.row].nv * three_blocks.blocks()[c.column].nv;
  }
  EXPECT_EQ(pattern.coupling_size(), at);
  const Pattern::Coupling& c = pattern.couplings()[pattern.coupling(2, 0)];
  EXPECT_EQ(c.row, 2);
  EXPECT_EQ(c.column, 0);
  EXPECT_EQ(pattern.coupling(0, 1), -1);
  EXPECT_EQ(pattern.coupling(1, 2), -1);
}

TEST(Pattern, NumbersRowsInTheOrderOfTheGroups) {
  const Pattern pattern(three_blocks, {{"pin", 3, RowLevel::position, {2, 0}},
                                       {"driver", 1, RowLevel::position, {1}},
                                       {"wheel", 2, RowLevel::velocity, {0, 1, 2}}});
  EXPECT_EQ(pattern.position_rows(), 4);
  EXPECT_EQ(pattern.rows(), 6);
  EXPECT_EQ(pattern.groups()[0].at, 0);
  EXPECT_EQ(pattern.groups()[1].at, 3);
  EXPECT_EQ(pattern.groups()[2].at, 4);
  EXPECT_EQ(pattern.groups()[0].blocks, (std::vector<int>{0, 2})) << "blocks are sorted";
}

TEST(Pattern, StoresTouchesOneAfterTheOther) {
  const Pattern pattern(three_blocks, {{"pin", 3, RowLevel::position, {2, 0}}, {"wheel", 2, RowLevel::velocity, {1}}});
  ASSERT_EQ(pattern.touches().size(), 3u);
  EXPECT_EQ(pattern.touches()[pattern.touch(0, 0)].at, 0);
  EXPECT_EQ(pattern.touches()[pattern.touch(0, 2)].at, 3 * 2);
  EXPECT_EQ(pattern.touches()[pattern.touch(1, 1)].at, 3 * 2 + 3 * 6);
  EXPECT_EQ(pattern.touch_size(), 3 * 2 + 3 * 6 + 2 * 3);
  EXPECT_EQ(pattern.touch(0, 1), -1);
  EXPECT_EQ(pattern.touch(1, 2), -1);
}

TEST(Pattern, NamesRowsByTheirGroup) {
  const Pattern pattern(three_blocks, {{"pin", 3, RowLevel::position, {0}}, {"wheel", 2, RowLevel::velocity, {1}}});
  EXPECT_EQ(pattern.row_name(0), "'pin' row 1");
  EXPECT_EQ(pattern.row_name(2), "'pin' row 3");
  EXPECT_EQ(pattern.row_name(4), "'wheel' row 2");
}

TEST(Pattern, NumbersBlocksWithoutName) {
  const Pattern pattern(three_blocks, {}, {}, {}, {"bob"});
  EXPECT_EQ(pattern.block_name(0), "bob");
  EXPECT_EQ(pattern.block_name(1), "block 1");
  EXPECT_EQ(pattern.block_name(2), "block 2");
}

TEST(Pattern, TakesCoordinatesAsDynamicUnlessToldOtherwise) {
  EXPECT_TRUE(Pattern(three_blocks, {}).is_all_dynamic());
  const Pattern pattern(three_blocks, {}, {}, {CoordinateKind::state});
  EXPECT_FALSE(pattern.is_all_dynamic());
  EXPECT_EQ(pattern.kind(0), CoordinateKind::state);
  EXPECT_EQ(pattern.kind(1), CoordinateKind::dynamic);
}

TEST(Pattern, RefusesPositionRowsAfterVelocityRows) {
  try {
    const Pattern pattern(three_blocks, {{"wheel", 1, RowLevel::velocity, {0}}, {"pin", 1, RowLevel::position, {0}}});
    FAIL() << "accepted";
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "constraint 'pin': position rows must come before velocity rows");
  }
}

TEST(KktBlocks, StartAtZeroAndReturnToIt) {
  const Pattern pattern(three_blocks, {{"pin", 3, RowLevel::position, {0}}}, {{0, 1}});
  KktBlocks blocks(pattern);
  for (Vector* field : {&blocks.M, &blocks.D, &blocks.K}) {
    EXPECT_EQ(field->size(), pattern.coupling_size());
    EXPECT_TRUE(field->isZero(0.0));
    field->setOnes();
  }
  for (Vector* field : {&blocks.B, &blocks.H, &blocks.F}) {
    EXPECT_EQ(field->size(), pattern.touch_size());
    EXPECT_TRUE(field->isZero(0.0));
    field->setOnes();
  }
  blocks.set_zero();
  for (const Vector* field : {&blocks.M, &blocks.D, &blocks.K, &blocks.B, &blocks.H, &blocks.F})
    EXPECT_TRUE(field->isZero(0.0));
}

}  // namespace
