// Directions in which a force or a torque acts on one body.
#pragma once

#include "multibody/measure.hpp"

namespace kreisel::multibody {

/// The direction e, of length 1, of a force at the point p of b, or of a torque on b: in the axes of the world, or of the body. The
/// work along it depends on the way: it has slopes, curvature and a rate, but no value.
MeasurePtr force_direction(int b, const Vector3& p, const Vector3& e, bool in_body);
MeasurePtr torque_direction(int b, const Vector3& e, bool in_body);

}  // namespace kreisel::multibody
