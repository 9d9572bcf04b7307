#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₁ = P₂, z₁ ⟂ x₂, z₁ ⟂ y₂.
JointInfo revolute_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("revolute", spec.name, spec.bodies);
    joint.coincide(a.p, b.p)
        .demand(cosine(0, a.E.col(2), 1, b.E.col(0)))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(1)))
        .slides({angle(0, a.E, 1, b.E), true, {0, 1, 2}});
    return joint;
  };
  return {
      .name = "revolute", .summary = "rotation about one axis", .rows = 5, .axes = 1, .build = build, .coordinates = 1};
}

}  // namespace kreisel::multibody
