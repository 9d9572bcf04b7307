// Drivers: joints whose right-hand side is a given function of time.
#include <cmath>

#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// θ = s(t) up to whole turns, about the z axis of the first frame. λ is the negative driving torque on the second body.
JointInfo angle_driver() {
  const auto build = [](const JointSpec& spec) {
    Joint joint("angle", spec.name, spec.bodies);
    joint.demand(angle(0, spec.frames[0].E, 1, spec.frames[1].E), spec.value, 2.0 * M_PI);
    return joint;
  };
  return {.name = "angle",
          .summary = "the second body turns about the axis by value(t) from its initial position",
          .is_driver = true,
          .rows = 1,
          .place = JointInfo::Place::none,
          .axes = 1,
          .build = build,
          .value_unit = "rad"};
}

/// z₁·(P₂ - P₁) = s(t).
JointInfo position_driver() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("position", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(2), 1, b.p), spec.value);
    return joint;
  };
  return {.name = "position",
          .summary = "a point of the second body moves along the axis by value(t) from its initial position",
          .is_driver = true,
          .rows = 1,
          .axes = 1,
          .build = build,
          .value_unit = "m"};
}

/// |P₂ - P₁| = s(t).
JointInfo distance_driver() {
  const auto build = [](const JointSpec& spec) {
    Joint joint("distance", spec.name, spec.bodies);
    joint.demand(distance(0, spec.frames[0].p, 1, spec.frames[1].p), spec.value);
    return joint;
  };
  return {.name = "distance",
          .summary = "two points have the distance value(t)",
          .is_driver = true,
          .rows = 1,
          .place = JointInfo::Place::two_points,
          .build = build,
          .value_unit = "m"};
}

}  // namespace kreisel::multibody
