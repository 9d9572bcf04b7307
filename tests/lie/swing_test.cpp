#include "lie/swing.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <random>

namespace kreisel::lie {
namespace {

TEST(Swing, TakesOneDirectionToTheOtherByTheSmallestTurn) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 200; ++i) {
    const Vector3 from(normal(random), normal(random), normal(random));
    const Vector3 to(normal(random), normal(random), normal(random));
    const Eigen::Quaterniond q = swing(from, to);
    EXPECT_NEAR(q.norm(), 1.0, 1e-14);
    EXPECT_LT((q * from.normalized() - to.normalized()).norm(), 1e-13);
    const double angle = std::acos(from.normalized().dot(to.normalized()));
    EXPECT_NEAR(2.0 * std::atan2(q.vec().norm(), q.w()), angle, 1e-7);
  }
}

TEST(Swing, TurnsOppositeDirectionsByHalfATurn) {
  for (const Vector3& from : {Vector3(1, 0, 0), Vector3(0, -2, 0), Vector3(0, 0, 3), Vector3(1, 1, 1)}) {
    const Eigen::Quaterniond q = swing(from, -from);
    EXPECT_NEAR(q.norm(), 1.0, 1e-15);
    EXPECT_LT((q * from + from).norm(), 1e-14);
  }
  // Nearly opposite: the axis is that across both.
  const Vector3 from(1, 0, 0), to(-std::cos(1e-5), std::sin(1e-5), 0);
  EXPECT_LT((swing(from, to) * from - to).norm(), 1e-9);
}

}  // namespace
}  // namespace kreisel::lie
