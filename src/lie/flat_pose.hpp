// The flat layout that ℝ³×SO(3) and SE(3) share: position and quaternion, velocity and angular velocity.
#pragma once

#include "lie/so3.hpp"

namespace kreisel::lie {

/// Position x [m], then unit quaternion (x, y, z, w).
using FlatPose = Eigen::Matrix<double, 7, 1>;
/// Velocity [m/s], then angular velocity [rad/s].
using FlatTwist = Eigen::Matrix<double, 6, 1>;
/// Position, then R row by row.
using FlatPoseEmbedding = Eigen::Matrix<double, 12, 1>;

inline FlatPose flat_pose(const Vector3& x, const SO3::Point& q) {
  FlatPose p;
  p << x, q;
  return p;
}

inline FlatTwist flat_twist(const Vector3& u, const Vector3& omega) {
  FlatTwist x;
  x << u, omega;
  return x;
}

inline FlatPoseEmbedding embed_flat_pose(const FlatPose& p) {
  FlatPoseEmbedding rows;
  rows << p.head<3>(), SO3::embed(p.tail<4>());
  return rows;
}

}  // namespace kreisel::lie
