#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₂ - P₁ ⟂ z₁.
JointInfo point_on_plane_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("point-on-plane", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(2), 1, b.p));
    return joint;
  };
  return {.name = "point-on-plane",
          .summary = "a point of the second body stays in a plane of the first, the axis is its normal",
          .rows = 1,
          .axes = 1,
          .build = build};
}

}  // namespace kreisel::multibody
