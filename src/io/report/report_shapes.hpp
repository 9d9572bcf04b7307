// Shapes of a scene that are more than a few numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json/json_source.hpp"
#include "kreisel/types.hpp"

namespace kreisel::io {

struct ShapeTriangles {
  std::vector<Vector3> points;         ///< in the body frame, but for "at"
  std::vector<std::uint32_t> corners;  ///< three per triangle, all of them numbers of points
};

/// From the axes of a box or mesh to those of its body.
Matrix3 rotation_of_shape(const Json& shape);
/// The triangles of "mesh"; none where the data are damaged.
ShapeTriangles triangles_of_shape(const Json& shape);

}  // namespace kreisel::io
