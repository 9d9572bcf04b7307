// Where rods lie: curves with cross-sections along them, and meshes on them.
#pragma once

#include <functional>
#include <vector>

#include "lie/flat_pose.hpp"
#include "multibody/body.hpp"

namespace kreisel::multibody {

/// A smooth part of a path: the pose of the cross-section, x along the curve, at the distance s from its start.
struct PathPiece {
  double length = 0.0;  ///< [m]
  std::function<Frame(double s)> at;
};

/// Of a cross-section, as a point of SE(3).
lie::FlatPose pose_of(const Frame& section);

/// Pieces in a row. Where one ends and the next begins there may be a corner.
struct RodPath {
  std::vector<PathPiece> pieces;
  double twist = 0.0;  ///< of the last section about the axis, against one carried along; evenly along the path [rad]

  double length() const;
};

/// Axes whose first is x and whose third is as close to `up` as it can be. Throws InvalidInput when they are parallel.
Matrix3 section_axes(const Vector3& x, const Vector3& up);

// All throw InvalidInput for an impossible path. `up`: towards which z of the first section points; null: z, or y where the path
// begins vertically, and for circles their axis. The others are carried along: by the screw motion that makes an arc or a
// helix, without turning about the axis elsewhere.

RodPath line_path(const Vector3& from, const Vector3& to, const Vector3* up);
/// `radius` of the corners; zero: sharp ones, where the sections on both sides are held together.
RodPath polyline_path(const std::vector<Vector3>& points, double radius, const Vector3* up);
/// The circle through three points, from the first over the second to the third.
RodPath arc_path(const Vector3* points, const Vector3* up);
/// From a point about an axis through the centre, along it by `height` in all.
RodPath screw_path(const Vector3& from, const Vector3& centre, const Vector3& axis, double angle, double height,
                   const Vector3* up);
/// A natural cubic spline through points.
RodPath spline_path(const std::vector<Vector3>& points, const Vector3* up);
/// The line in which a chain of this length hangs.
RodPath catenary_path(const Vector3& from, const Vector3& to, double length, const Vector3& gravity, const Vector3* up);

/// Nodes on a path.
struct RodMesh {
  std::vector<Frame> nodes;    ///< poses of the sections, as the element before reaches them
  std::vector<Frame> leaving;  ///< as the element behind leaves them; differs at corners
  std::vector<double> at;      ///< distance of the nodes from the start along the path [m]
  std::vector<int> breaks;     ///< nodes between which all is smooth and elements are equal; the ends among them
};

/// The requested number of equal elements, if nodes then lie on all corners and places (distances from the start);
/// otherwise, in each stretch between them, as many equal elements as are needed to make none longer than that.
RodMesh mesh_of(const RodPath& path, int elements, const std::vector<double>& places = {});

}  // namespace kreisel::multibody
