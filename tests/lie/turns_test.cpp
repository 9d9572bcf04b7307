// Increments of more than half a turn, which the logarithm does not find.
#include "lie/turns.hpp"

#include <gtest/gtest.h>

#include <numbers>

namespace {

using namespace kreisel;
using lie::GroupId;

class Turns : public testing::TestWithParam<GroupId> {};

TEST_P(Turns, OfMoreThanHalfATurnAreFollowedFromNearby) {
  const lie::Space space({{GetParam(), 3}});
  Vector q0(space.nq()), q1(space.nq()), true_x(space.nv()), x(space.nv());
  space.set_identity(q0);
  true_x.setLinSpaced(0.3, 1.0);
  true_x.tail(3) *= 5.0 / true_x.tail(3).norm();
  space.move(q0, true_x, q1);
  x = true_x * 1.05;
  ASSERT_TRUE(lie::follow(space, q0, q1, x));
  EXPECT_LT((x - true_x).norm(), 1e-12);
}

TEST_P(Turns, ThatCannotBeFollowedAreSaid) {
  const lie::Space space({{GetParam(), 3}});
  Vector q0(space.nq()), q1(space.nq()), x = Vector::Zero(space.nv()), move = Vector::Zero(space.nv());
  space.set_identity(q0);
  move.tail(3) << 0.0, 1.0, 0.0;
  space.move(q0, move, q1);
  x.tail(3) << 2.0 * std::numbers::pi, 0.0, 0.0;  // where T is singular
  EXPECT_EQ(lie::follow(space, q0, q1, x), GetParam() == GroupId::rn);
}

INSTANTIATE_TEST_SUITE_P(Groups, Turns, testing::Values(GroupId::rn, GroupId::so3, GroupId::r3xso3, GroupId::se3),
                         [](const auto& one) { return std::string(lie::name_of(one.param)); });

}  // namespace
