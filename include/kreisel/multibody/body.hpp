// Rigid bodies: what they are, how a viewer shows them, and where they are at one instant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kreisel/base/types.hpp"
#include "kreisel/lie/space.hpp"

namespace kreisel::multibody {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// The number that stands for the ground where a body is expected.
inline constexpr int ground = -1;
/// Bodies that one joint, force or measure can see as BodyState. Elements that are written on nodes have no limit.
inline constexpr int max_frames = 8;

/// For pictures only; in the body frame.
struct Shape {
  enum class Kind { box, sphere, cylinder, capsule, cone };
  Kind kind = Kind::box;
  Vector3 size = Vector3::Zero();     ///< edges of a box [m]
  double radius = 0.0, length = 0.0;  ///< of everything else [m]; a sphere has no length
  Vector3 axis = Vector3::UnitZ();    ///< of cylinder, capsule and cone
  Vector3 at = Vector3::Zero();       ///< its centre, from the centre of mass [m]
  std::string color{};                ///< as in CSS, empty: the viewer chooses
};

/// A body with its initial state.
struct Body {
  std::string name;
  std::optional<lie::GroupId> group{};         ///< of its node, r3xso3 or se3; that of the mechanism unless given
  double mass = 1.0;                           ///< [kg]
  Matrix3 inertia = Matrix3::Identity();       ///< about the centre of mass, body frame [kg m²]
  Vector3 position = Vector3::Zero();          ///< centre of mass, inertial [m]
  Matrix3 rotation = Matrix3::Identity();      ///< body to inertial
  Vector3 velocity = Vector3::Zero();          ///< of the centre of mass, inertial [m/s]
  Vector3 angular_velocity = Vector3::Zero();  ///< body frame [rad/s]
  std::vector<Shape> shapes;
};

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

/// Axes whose third is `axis` (any length but zero). The first is the coordinate axis x as far as it lies across `axis`, or
/// y where `axis` is closer than 26 degrees to ±x: z gives the identity, x gives (y, z, x), y gives (x, -z, y).
Matrix3 axes_along(const Vector3& axis);
/// Axes whose third is `axis` and whose first is the part of `x` across it. Throws InvalidInput when they are parallel.
Matrix3 axes_along(const Vector3& axis, const Vector3& x);

/// Axes E₂ on a body with rotation R₂ that continue E₁ on a body with R₁: R₂E₂ is R₁E₁, swung on the shortest way until the third axis
/// is that of the E₂ given. Throws InvalidInput when the axes point in opposite directions.
Matrix3 swung(const Matrix3& R1, const Matrix3& E1, const Matrix3& R2, const Matrix3& E2);

/// Why no body has this inertia (negative moments, one larger than the sum of the others); empty: one may.
std::string problem_with_inertia(const Matrix3& J);
/// The inertia of a body next to J: second moments of the mass that are negative become zero. What a body may have stays.
Matrix3 nearest_inertia(const Matrix3& J);

}  // namespace kreisel::multibody
