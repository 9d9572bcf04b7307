// The smallest turn between two directions.
#pragma once

#include <Eigen/Geometry>
#include <cmath>

#include "kreisel/types.hpp"

namespace kreisel::lie {

/// Takes the direction of `from` to that of `to` about the axis across both; about some axis across them where they are opposite.
/// Eigen's FromTwoVectors has a singular value decomposition for that case, which takes seconds to compile.
inline Eigen::Quaterniond swing(const Vector3& from, const Vector3& to) {
  const Vector3 a = from.normalized(), b = to.normalized(), turn = a.cross(b);
  const double s = (a + b).norm();  // 2 cos(angle / 2), without cancellation near half a turn
  if (!(s > 1e-6)) {
    const Vector3 across = a.cross(std::abs(a.x()) < 0.5 ? Vector3::UnitX() : Vector3::UnitY()).normalized();
    return {0.0, across.x(), across.y(), across.z()};
  }
  const double over = 1.0 / s;
  return {s * 0.5, turn.x() * over, turn.y() * over, turn.z() * over};
}

}  // namespace kreisel::lie
