#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₂ - P₁ ⟂ z₁; z₁ ⟂ x₂, y₂.
JointInfo planar_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("planar", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(2), 1, b.p))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(0)))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(1)));
    return joint;
  };
  return {
      .name = "planar", .summary = "motion in a plane with the axis as normal", .rows = 3, .axes = 1, .build = build};
}

}  // namespace kreisel::multibody
