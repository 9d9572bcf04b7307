// The rigid motions SE(3): rigid bodies with body-fixed velocities.
#pragma once

#include "lie/flat_pose.hpp"

namespace kreisel::lie {

/// Point: position x [m], then unit quaternion (x, y, z, w).
/// Tangent: body velocity U [m/s], then body angular velocity Ω [rad/s].
/// hat(U, Ω) = [skew Ω, skew U; 0, skew Ω], so every power series f(hat) has the SO(3) one on its diagonal and the
/// derivative of that one along U, written ∂f below, in the corner.
struct SE3 {
  static constexpr int nq = 7, nv = 6, embedding_size = 12;
  static constexpr std::string_view name = "se3";
  using Point = FlatPose;
  using Tangent = FlatTwist;
  using Matrix = Eigen::Matrix<double, 6, 6>;
  using Embedding = FlatPoseEmbedding;

  static Point identity() { return flat_pose(Vector3::Zero(), SO3::identity()); }
  /// (x₁ + R₁x₂, q₁∘q₂).
  static Point compose(const Point& p, const Point& r) {
    return flat_pose(p.head<3>() + rotate(p.data() + 3, r.head<3>()), SO3::compose(p.tail<4>(), r.tail<4>()));
  }
  static Point inverse(const Point& p) {
    return flat_pose(-rotate_back(p.data() + 3, p.head<3>()), SO3::inverse(p.tail<4>()));
  }

  /// (V U, exp Ω) with V = T(-Ω) = 1 + b W + c W², W = skew Ω, b = (1-cosθ)/θ², c = (θ-sinθ)/θ³ by the half angle.
  static Point exp(const Tangent& x) {
    const Vector3 u = x.head<3>(), omega = x.tail<3>();
    const double s = omega.squaredNorm();
    const HalfAngle half = half_angle(s);
    const Vector3 wu = cross(omega, u);
    return flat_pose(u + one_minus_cos_over_angle2(half) * wu + angle_minus_sin_over_angle3(s, half) * cross(omega, wu),
                     SO3::quaternion_of(omega, half));
  }
  /// (V⁻¹x, Ω) with Ω = log q and V⁻¹ = T(-Ω)⁻¹.
  static Tangent log(const Point& p) {
    const Vector3 omega = SO3::log(p.tail<4>());
    return flat_twist(SO3::tangent_inverse(-omega, p.head<3>()), omega);
  }

  /// (Ω₁×U₂ - Ω₂×U₁, Ω₁×Ω₂).
  static Tangent bracket(const Tangent& x, const Tangent& y) {
    const Vector3 u1 = x.head<3>(), omega1 = x.tail<3>(), u2 = y.head<3>(), omega2 = y.tail<3>();
    return flat_twist(cross(omega1, u2) + cross(u1, omega2), cross(omega1, omega2));
  }
  static Matrix hat(const Tangent& x) { return triangular(skew(x.tail<3>()), skew(x.head<3>())); }

  /// T = 1 - b W + c W²;  ∂T = -b skew U + c (W skew U + skew U W) + m (-b' W + c' W²),
  /// m = Ω·U, b' and c' derivatives by θ²/2. Dyads instead of products: W skew U = UΩᵀ - m 1, W² = ΩΩᵀ - θ² 1.
  static Matrix tangent(const Tangent& x) {
    const Vector3 u = x.head<3>(), omega = x.tail<3>();
    const double m = omega.dot(u);
    const TangentCoefficients c = tangent_coefficients(omega.squaredNorm());
    const Matrix3 T = SO3::scaled_identity_skew_dyad(c.c1, -c.c2 * omega, c.c3, omega);
    const Vector3 z = -c.c2 * u - (m * c.slope2) * omega;
    // 2c + θ²c' = b - c
    return triangular(T, corner(-m * (c.c2 - c.c3), z, c.c3, u, m * c.slope3, omega));
  }
  static Tangent tangent(const Tangent& x, const Tangent& y) {
    const Vector3 u = x.head<3>(), omega = x.tail<3>(), y1 = y.head<3>(), y2 = y.tail<3>();
    const double m = omega.dot(u);
    const TangentCoefficients c = tangent_coefficients(omega.squaredNorm());
    const Vector3 wy1 = cross(omega, y1), wy2 = cross(omega, y2), uy2 = cross(u, y2), wwy2 = cross(omega, wy2);
    return flat_twist(y1 - c.c2 * (wy1 + uy2) + c.c3 * (cross(omega, wy1 + uy2) + cross(u, wy2)) -
                          (m * c.slope2) * wy2 + (m * c.slope3) * wwy2,
                      y2 - c.c2 * wy2 + c.c3 * wwy2);
  }

  /// T⁻¹ = 1 + ½ W + d W², d = (1 - (θ/2)cot(θ/2))/θ²;  ∂T⁻¹ = ½ skew U + d (W skew U + skew U W) + m d' W².
  static Matrix tangent_inverse(const Tangent& x) {
    const Vector3 u = x.head<3>(), omega = x.tail<3>();
    const double s = omega.squaredNorm(), m = omega.dot(u);
    const auto [d, slope] = inverse_tangent_coefficients(s);
    const Matrix3 inverse = SO3::scaled_identity_skew_dyad(1.0 - d * s, 0.5 * omega, d, omega);
    return triangular(inverse, corner(-m * (2.0 * d + slope * s), 0.5 * u, d, u, m * slope, omega));
  }
  static Tangent tangent_inverse(const Tangent& x, const Tangent& y) {
    const Vector3 u = x.head<3>(), omega = x.tail<3>(), y1 = y.head<3>(), y2 = y.tail<3>();
    const double s = omega.squaredNorm(), m = omega.dot(u);
    const auto [d, slope] = inverse_tangent_coefficients(s);
    const Vector3 wy1 = cross(omega, y1), wy2 = cross(omega, y2), uy2 = cross(u, y2), wwy2 = cross(omega, wy2);
    return flat_twist(y1 + 0.5 * (wy1 + uy2) + d * (cross(omega, wy1 + uy2) + cross(u, wy2)) + (m * slope) * wwy2,
                      y2 + 0.5 * wy2 + d * wwy2);
  }

  /// x, then R row by row.
  static Embedding embed(const Point& p) { return embed_flat_pose(p); }

 private:
  static Matrix triangular(const Matrix3& diagonal, const Matrix3& corner) {
    Matrix A;
    A << diagonal, corner, Matrix3::Zero(), diagonal;
    return A;
  }
  /// a 1 + skew(z) + c (UΩᵀ + ΩUᵀ) + d ΩΩᵀ.
  static Matrix3 corner(double a, const Vector3& z, double c, const Vector3& u, double d, const Vector3& omega) {
    const Vector3 r = c * u + (0.5 * d) * omega;  // c (UΩᵀ + ΩUᵀ) + d ΩΩᵀ = rΩᵀ + Ωrᵀ
    const double xy = r[0] * omega[1] + omega[0] * r[1];
    const double xz = r[0] * omega[2] + omega[0] * r[2];
    const double yz = r[1] * omega[2] + omega[1] * r[2];
    Matrix3 A;
    A << a + 2.0 * r[0] * omega[0], xy - z[2], xz + z[1],  //
        xy + z[2], a + 2.0 * r[1] * omega[1], yz - z[0],   //
        xz - z[1], yz + z[0], a + 2.0 * r[2] * omega[2];
    return A;
  }
};
static_assert(LieGroup<SE3>);

}  // namespace kreisel::lie
