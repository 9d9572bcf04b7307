// Rotations where they are awkward: half turns, quaternions of either sign, long products, matrices.
#include "lie/so3.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "lie/r3_so3.hpp"
#include "lie/se3.hpp"
#include "samples.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::lie;

constexpr double pi = std::numbers::pi;
constexpr double round_off = 1e-14;

TEST(SO3, ExpTurnsCounterClockwiseAboutItsArgument) {
  const Matrix3 R = rotation_matrix(SO3::exp({0.0, 0.0, pi / 2.0}).data());
  EXPECT_LT((R * Vector3::UnitX() - Vector3::UnitY()).norm(), round_off);
  EXPECT_LT((R * Vector3::UnitY() + Vector3::UnitX()).norm(), round_off);
}

TEST(SO3, CompositionMultipliesMatrices) {
  samples::Source source;
  for (int i = 0; i < 50; ++i) {
    const SO3::Point p = SO3::exp(source.vector<Vector3>()), r = SO3::exp(source.vector<Vector3>());
    const Matrix3 product = rotation_matrix(p.data()) * rotation_matrix(r.data());
    EXPECT_LT((rotation_matrix(SO3::compose(p, r).data()) - product).norm(), round_off);
  }
}

TEST(SO3, LogOfAHalfTurnHasLengthPi) {
  for (const int axis : {0, 1, 2}) {
    const SO3::Point half_turn = SO3::Point::Unit(axis);  // w = 0
    EXPECT_LT((SO3::log(half_turn) - pi * Vector3::Unit(axis)).norm(), round_off);
  }
}

TEST(SO3, LogTakesTheShortWayRoundBeyondHalfATurn) {
  samples::Source source;
  for (const double excess : {1e-12, 1e-8, 1e-3, 1.0, 3.0}) {
    const Vector3 axis = source.direction();
    EXPECT_LT((SO3::log(SO3::exp((pi + excess) * axis)) + (pi - excess) * axis).norm(), round_off) << excess;
  }
}

TEST(SO3, LogDoesNotDependOnTheSignOfTheQuaternion) {
  samples::Source source;
  for (const double angle : samples::angles()) {
    const SO3::Point p = SO3::exp(source.tangent<SO3>(angle));
    EXPECT_EQ(SO3::log(-p), SO3::log(p)) << "angle " << angle;
  }
  EXPECT_EQ(SO3::log(-SO3::identity()), Vector3::Zero());
}

TEST(SO3, TinyRotationsSurviveTheRoundTripWithoutUnderflow) {
  for (const double angle : {1e-300, 1e-200, 1e-160, 1e-100, 1e-30}) {
    const Vector3 x(angle, -2.0 * angle, 0.5 * angle);
    EXPECT_LT((SO3::log(SO3::exp(x)) - x).cwiseAbs().maxCoeff(), round_off * angle) << angle;
  }
}

/// The largest | |q| - 1 | over a million moves.
template <class G>
double drift_of_a_long_product() {
  samples::Source source;
  typename G::Point p = G::identity();
  std::array<typename G::Point, 64> moves;
  for (auto& move : moves) move = G::exp(0.2 * source.vector<typename G::Tangent>());
  double drift = 0.0;
  for (int i = 0; i < 1'000'000; ++i) {
    p = G::compose(p, moves[static_cast<std::size_t>(i) % moves.size()]);
    drift = std::max(drift, std::abs(p.template tail<4>().norm() - 1.0));
  }
  return drift;
}

TEST(SO3, LongProductsStayUnit) {
  constexpr double few_roundings = 1e-15;
  EXPECT_LT(drift_of_a_long_product<SO3>(), few_roundings);
  EXPECT_LT(drift_of_a_long_product<R3xSO3>(), few_roundings);
  EXPECT_LT(drift_of_a_long_product<SE3>(), few_roundings);
}

TEST(SO3, CompositionRepairsAQuaternionThatIsSlightlyOffUnit) {
  const SO3::Point off = (1.0 + 1e-6) * SO3::exp({0.3, -0.2, 0.9});
  // One Newton step squares the deviation: 3/2 · 1e-12.
  EXPECT_NEAR(SO3::compose(off, SO3::identity()).norm(), 1.0, 2e-12);
}

TEST(RotationMatrix, IsOrthogonalWithDeterminantOne) {
  samples::Source source;
  for (const double angle : samples::angles()) {
    const Matrix3 R = rotation_matrix(SO3::exp(source.tangent<SO3>(angle)).data());
    EXPECT_LT((R.transpose() * R - Matrix3::Identity()).norm(), round_off);
    EXPECT_LT((cross(R.col(0), R.col(1)) - R.col(2)).norm(), round_off);
  }
}

TEST(RotationMatrix, AgreesWithRotateAndRotateBack) {
  samples::Source source;
  for (int i = 0; i < 50; ++i) {
    const SO3::Point p = SO3::exp(source.vector<Vector3>());
    const Vector3 a = source.vector<Vector3>();
    const Matrix3 R = rotation_matrix(p.data());
    EXPECT_LT((rotate(p.data(), a) - R * a).norm(), round_off);
    EXPECT_LT((rotate_back(p.data(), a) - R.transpose() * a).norm(), round_off);
  }
}

TEST(QuaternionFrom, UndoesRotationMatrix) {
  samples::Source source;
  for (const double angle : samples::angles())
    for (int repeat = 0; repeat < 5; ++repeat) {
      const SO3::Point p = SO3::exp(source.tangent<SO3>(angle));  // w ≥ 0
      EXPECT_LT((quaternion_from(rotation_matrix(p.data())) - p).norm(), round_off) << "angle " << angle;
    }
}

TEST(QuaternionFrom, HandlesHalfTurnsAboutEveryAxis) {
  samples::Source source;
  std::vector<Vector3> axes = {Vector3::UnitX(), Vector3::UnitY(), Vector3::UnitZ()};
  for (int i = 0; i < 20; ++i) axes.push_back(source.direction());
  for (const Vector3& axis : axes) {
    const Matrix3 half_turn = 2.0 * axis * axis.transpose() - Matrix3::Identity();
    const SO3::Point q = quaternion_from(half_turn);
    EXPECT_LT((rotation_matrix(q.data()) - half_turn).norm(), round_off);
    EXPECT_GE(q[3], 0.0);
  }
}

TEST(SE3, MovesInBodyCoordinates) {
  // A quarter turn about z, then one metre along the body's x axis, which now points along y.
  SE3::Tangent turn = SE3::Tangent::Zero(), ahead = SE3::Tangent::Zero();
  turn[5] = pi / 2.0;
  ahead[0] = 1.0;
  const SE3::Point p = SE3::compose(SE3::exp(turn), SE3::exp(ahead));
  EXPECT_LT((p.head<3>() - Vector3::UnitY()).norm(), round_off);
}

TEST(SE3, ExpOfAScrewIsACircularArc) {
  // Unit speed along x while turning about z: a circle of radius 1 about (0, 1, 0).
  SE3::Tangent x = SE3::Tangent::Zero();
  for (const double angle : {1e-9, 0.3, 0.6, 2.5, 4.0}) {
    x[0] = x[5] = angle;
    const Vector3 arc(std::sin(angle), 2.0 * std::pow(std::sin(0.5 * angle), 2), 0.0);
    EXPECT_LT((SE3::exp(x).head<3>() - arc).norm(), round_off * angle) << angle;
  }
}

TEST(R3xSO3, MovesInInertialCoordinates) {
  R3xSO3::Tangent turn = R3xSO3::Tangent::Zero(), ahead = R3xSO3::Tangent::Zero();
  turn[5] = pi / 2.0;
  ahead[0] = 1.0;
  const R3xSO3::Point p = R3xSO3::compose(R3xSO3::exp(turn), R3xSO3::exp(ahead));
  EXPECT_LT((p.head<3>() - Vector3::UnitX()).norm(), round_off);
}

}  // namespace
