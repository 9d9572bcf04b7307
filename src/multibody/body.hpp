// Rigid bodies: where they are at one instant, frames on them, inertias.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kreisel/element.hpp"

namespace kreisel::multibody {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// Bodies that one joint, force or measure can see as BodyState. Elements that are written on nodes have no limit.
inline constexpr int max_frames = 8;

/// Where a body is and how it moves, the one description in which joints and forces are written: inertial position and
/// velocity of the centre of mass, body angular velocity. The assembly converts to the velocities of the group.
/// Derivatives by a configuration are by (δx, δθ): x + δx, R exp(δθ). The default is the ground.
struct BodyState {
  Vector3 x = Vector3::Zero();
  Matrix3 R = Matrix3::Identity();
  Vector3 u = Vector3::Zero(), w = Vector3::Zero();

  Vector3 point(const Vector3& p) const { return x + R * p; }
  Vector3 point_velocity(const Vector3& p) const { return u + R * w.cross(p); }
  /// Acceleration of the point when u̇ = ẇ = 0.
  Vector3 point_curve(const Vector3& p) const { return R * w.cross(w.cross(p)); }
  Vector6 twist() const {
    Vector6 v;
    v << u, w;
    return v;
  }
};

/// A point and axes fixed in a body, in its frame; the columns of E are the axes.
struct Frame {
  Vector3 p = Vector3::Zero();
  Matrix3 E = Matrix3::Identity();
};

/// Bodies for elements that are evaluated one after the other: states that the next one shares are not computed again.
class BodyStates {
 public:
  BodyStates() { node_.fill(unknown); }
  ~BodyStates() {}
  BodyStates(const BodyStates&) = delete;
  BodyStates& operator=(const BodyStates&) = delete;

  /// One state per slot, valid until the next call.
  const BodyState* load(const Slot* slots, int count, const double* q, const double* v);

 private:
  static constexpr int unknown = -2;
  static constexpr int remembered = 3;  ///< slots that are looked through for a body

  std::array<int, max_frames> node_;
  union {
    std::array<BodyState, max_frames> state_;  ///< set where node_ is known
  };
};

/// Axes whose third is `axis` (any length but zero). The first is the coordinate axis x as far as it lies across `axis`, or
/// y where `axis` is closer than 26 degrees to ±x: z gives the identity, x gives (y, z, x), y gives (x, -z, y).
Matrix3 axes_along(const Vector3& axis);
/// Axes whose third is `axis` and whose first is the part of `x` across it. Throws InvalidInput when they are parallel.
Matrix3 axes_along(const Vector3& axis, const Vector3& x);

/// Axes E₂ on a body with rotation R₂ that continue E₁ on a body with R₁: R₂E₂ is R₁E₁, swung on the shortest way until the third axis
/// is that of the E₂ given. Throws InvalidInput when the axes point in opposite directions.
Matrix3 swung(const Matrix3& R1, const Matrix3& E1, const Matrix3& R2, const Matrix3& E2);

/// Why no body can have this inertia (negative moments, one larger than the sum of the others); empty: it is possible.
std::string problem_with_inertia(const Matrix3& J);
/// The possible inertia nearest to J: negative second moments of the mass become zero. A possible inertia is unchanged.
Matrix3 nearest_inertia(const Matrix3& J);

}  // namespace kreisel::multibody
