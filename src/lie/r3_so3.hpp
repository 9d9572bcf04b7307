// The direct product ℝ³×SO(3): rigid bodies with inertial velocities.
#pragma once

#include "lie/flat_pose.hpp"

namespace kreisel::lie {

/// Point: position x [m], then unit quaternion (x, y, z, w).
/// Tangent: inertial velocity u [m/s], then body angular velocity Ω [rad/s]. The two parts do not interact.
struct R3xSO3 {
  static constexpr int nq = 7, nv = 6, embedding_size = 12;
  static constexpr std::string_view name = "r3xso3";
  using Point = FlatPose;
  using Tangent = FlatTwist;
  using Matrix = Eigen::Matrix<double, 6, 6>;
  using Embedding = FlatPoseEmbedding;

  static Point identity() { return flat_pose(Vector3::Zero(), SO3::identity()); }
  static Point compose(const Point& p, const Point& r) {
    return flat_pose(p.head<3>() + r.head<3>(), SO3::compose(p.tail<4>(), r.tail<4>()));
  }
  static Point inverse(const Point& p) { return flat_pose(-p.head<3>(), SO3::inverse(p.tail<4>())); }

  static Point exp(const Tangent& x) { return flat_pose(x.head<3>(), SO3::exp(x.tail<3>())); }
  static Tangent log(const Point& p) { return flat_twist(p.head<3>(), SO3::log(p.tail<4>())); }

  static Tangent bracket(const Tangent& x, const Tangent& y) {
    return flat_twist(Vector3::Zero(), SO3::bracket(x.tail<3>(), y.tail<3>()));
  }
  static Matrix hat(const Tangent& x) { return diagonal(Matrix3::Zero(), SO3::hat(x.tail<3>())); }

  static Matrix tangent(const Tangent& x) { return diagonal(Matrix3::Identity(), SO3::tangent(x.tail<3>())); }
  static Tangent tangent(const Tangent& x, const Tangent& y) {
    return flat_twist(y.head<3>(), SO3::tangent(x.tail<3>(), y.tail<3>()));
  }
  static Matrix tangent_inverse(const Tangent& x) {
    return diagonal(Matrix3::Identity(), SO3::tangent_inverse(x.tail<3>()));
  }
  static Tangent tangent_inverse(const Tangent& x, const Tangent& y) {
    return flat_twist(y.head<3>(), SO3::tangent_inverse(x.tail<3>(), y.tail<3>()));
  }

  /// x, then R row by row.
  static Embedding embed(const Point& p) { return embed_flat_pose(p); }

 private:
  static Matrix diagonal(const Matrix3& upper, const Matrix3& lower) {
    Matrix A;
    A << upper, Matrix3::Zero(), Matrix3::Zero(), lower;
    return A;
  }
};
static_assert(LieGroup<R3xSO3>);

}  // namespace kreisel::lie
