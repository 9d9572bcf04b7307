#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₁ = P₂, z₁ ⟂ z₂: each body turns about its own axis of the cross.
JointInfo universal_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("universal", spec.name, spec.bodies);
    joint.coincide(a.p, b.p).demand(cosine(0, a.E.col(2), 1, b.E.col(2)));
    return joint;
  };
  return {.name = "universal",
          .summary = "rotation about two perpendicular axes, one per body",
          .rows = 4,
          .axes = 2,
          .axes_are_perpendicular = true,
          .build = build};
}

}  // namespace kreisel::multibody
