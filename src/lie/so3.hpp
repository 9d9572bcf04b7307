// The rotations SO(3) as unit quaternions.
#pragma once

#include <cmath>

#include "lie/concept.hpp"
#include "lie/trig_series.hpp"

namespace kreisel::lie {

/// a × b, without including Eigen/Geometry.
inline Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// R(q) of a unit quaternion (x, y, z, w); R maps body to inertial coordinates.
inline Matrix3 rotation_matrix(const double* quaternion) {
  const double x = quaternion[0], y = quaternion[1], z = quaternion[2], w = quaternion[3];
  const double x2 = x + x, y2 = y + y, z2 = z + z;
  Matrix3 R;
  R << 1.0 - (y * y2 + z * z2), x * y2 - w * z2, x * z2 + w * y2,  //
      x * y2 + w * z2, 1.0 - (x * x2 + z * z2), y * z2 - w * x2,   //
      x * z2 - w * y2, y * z2 + w * x2, 1.0 - (x * x2 + y * y2);
  return R;
}

/// R(q) a without forming R: a + w t + u × t with t = 2 u × a, q = (u, w).
inline Vector3 rotate(const double* quaternion, const Vector3& a) {
  const Vector3 u(quaternion[0], quaternion[1], quaternion[2]);
  const Vector3 t = 2.0 * cross(u, a);
  return a + quaternion[3] * t + cross(u, t);
}

/// R(q)ᵀ a.
inline Vector3 rotate_back(const double* quaternion, const Vector3& a) {
  const Vector3 u(quaternion[0], quaternion[1], quaternion[2]);
  const Vector3 t = 2.0 * cross(a, u);
  return a + quaternion[3] * t - cross(u, t);
}

/// The unit quaternion with w ≥ 0 of a rotation matrix. Divides by the largest of the four components (Shepperd 1978),
/// which is at least ½: no angle is a special case.
inline Eigen::Vector4d quaternion_from(const Matrix3& R) {
  const double trace = R.trace();
  Eigen::Vector4d q;  // a multiple of the result
  int largest = 0;
  const double diagonal = R.diagonal().maxCoeff(&largest);
  if (trace >= diagonal) {
    q << R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1), 1.0 + trace;
  } else {
    const int i = largest, j = (i + 1) % 3, k = (i + 2) % 3;
    q[i] = 1.0 + R(i, i) - R(j, j) - R(k, k);
    q[j] = R(i, j) + R(j, i);
    q[k] = R(i, k) + R(k, i);
    q[3] = R(k, j) - R(j, k);
  }
  return q * ((q[3] < 0.0 ? -1.0 : 1.0) / q.norm());
}

/// Rotations. Point: unit quaternion (x, y, z, w). Tangent: body angular velocity [rad/s].
struct SO3 {
  static constexpr int nq = 4, nv = 3, embedding_size = 9;
  static constexpr std::string_view name = "so3";
  using Point = Eigen::Vector4d;
  using Tangent = Eigen::Vector3d;
  using Matrix = Eigen::Matrix3d;
  using Embedding = Eigen::Matrix<double, 9, 1>;

  static Point identity() { return Point(0.0, 0.0, 0.0, 1.0); }

  /// The Hamilton product, divided by its norm. One Newton step for 1/√n² at n² ≈ 1 is enough:
  /// it squares the deviation, so products of any length stay unit up to round-off.
  static Point compose(const Point& p, const Point& r) {
    const double x = p[3] * r[0] + p[0] * r[3] + p[1] * r[2] - p[2] * r[1];
    const double y = p[3] * r[1] + p[1] * r[3] + p[2] * r[0] - p[0] * r[2];
    const double z = p[3] * r[2] + p[2] * r[3] + p[0] * r[1] - p[1] * r[0];
    const double w = p[3] * r[3] - p[0] * r[0] - p[1] * r[1] - p[2] * r[2];
    const double scale = 1.5 - 0.5 * (x * x + y * y + z * z + w * w);
    return Point(scale * x, scale * y, scale * z, scale * w);
  }
  static Point inverse(const Point& p) { return Point(-p[0], -p[1], -p[2], p[3]); }

  /// (sin(θ/2)/θ · x, cos(θ/2)), θ = |x|.
  static Point exp(const Tangent& x) { return quaternion_of(x, half_angle(x.squaredNorm())); }
  static Point quaternion_of(const Tangent& x, const HalfAngle& half) {
    return Point(half.sin_over_angle * x[0], half.sin_over_angle * x[1], half.sin_over_angle * x[2], half.cos);
  }

  /// The shortest rotation vector, |log p| ≤ π: 2 atan(|u|/w) u/|u| for p = (u, w) or (-u, -w), whichever has w ≥ 0.
  static Tangent log(const Point& p) {
    const double sign = p[3] < 0.0 ? -2.0 : 2.0, w = std::abs(p[3]);
    const double s = p[0] * p[0] + p[1] * p[1] + p[2] * p[2];
    // atan(r)/r = 1 - r²/3 + …: the correction is below round-off, and |u| may have underflowed.
    if (s < 1e-18) return (sign / w) * p.head<3>();
    const double norm = std::sqrt(s);
    return (sign * std::atan2(norm, w) / norm) * p.head<3>();
  }

  static Tangent bracket(const Tangent& x, const Tangent& y) { return cross(x, y); }
  static Matrix hat(const Tangent& x) { return skew(x); }

  /// T(x) = 1 - b X + c X², X = skew(x), b = (1-cosθ)/θ², c = (θ-sinθ)/θ³; X² = xxᵀ - θ² 1 and 1 - c θ² = sinθ/θ.
  /// Also called the right Jacobian: d/dt exp(x) = exp(x)·T(x)ẋ.
  static Matrix tangent(const Tangent& x) {
    const Stumpff123 c = stumpff123(x.squaredNorm());
    return scaled_identity_skew_dyad(c.c1, -c.c2 * x, c.c3, x);
  }
  static Tangent tangent(const Tangent& x, const Tangent& y) {
    const Stumpff123 c = stumpff123(x.squaredNorm());
    const Tangent xy = cross(x, y);
    return y - c.c2 * xy + c.c3 * cross(x, xy);
  }

  /// T(x)⁻¹ = 1 + ½ X + d X², d = (1 - (θ/2)cot(θ/2))/θ².
  static Matrix tangent_inverse(const Tangent& x) {
    const double s = x.squaredNorm(), d = one_minus_half_angle_cot_over_angle2(s);
    return scaled_identity_skew_dyad(1.0 - d * s, 0.5 * x, d, x);
  }
  static Tangent tangent_inverse(const Tangent& x, const Tangent& y) {
    const Tangent xy = cross(x, y);
    return y + 0.5 * xy + one_minus_half_angle_cot_over_angle2(x.squaredNorm()) * cross(x, xy);
  }

  /// R row by row.
  static Embedding embed(const Point& p) {
    Embedding rows;
    Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(rows.data()) = rotation_matrix(p.data());
    return rows;
  }

  /// a 1 + skew(z) + c xxᵀ, the form shared by T, T⁻¹ and their derivatives.
  static Matrix scaled_identity_skew_dyad(double a, const Tangent& z, double c, const Tangent& x) {
    const double cx = c * x[0], cy = c * x[1], cz = c * x[2];
    const double xy = cx * x[1], xz = cx * x[2], yz = cy * x[2];
    Matrix A;
    A << a + cx * x[0], xy - z[2], xz + z[1],  //
        xy + z[2], a + cy * x[1], yz - z[0],   //
        xz - z[1], yz + z[0], a + cz * x[2];
    return A;
  }
};
static_assert(LieGroup<SO3>);

}  // namespace kreisel::lie
