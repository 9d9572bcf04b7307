#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₂ - P₁ ⟂ x₁, y₁; x₁ ⟂ y₂, y₁ ⟂ z₂, z₁ ⟂ x₂.
JointInfo prismatic_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("prismatic", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(0), 1, b.p))
        .demand(offset(0, a.p, a.E.col(1), 1, b.p))
        .demand(cosine(0, a.E.col(0), 1, b.E.col(1)))
        .demand(cosine(0, a.E.col(1), 1, b.E.col(2)))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(0)))
        .slides({offset(0, a.p, a.E.col(2), 1, b.p), false, {0, 1}});
    return joint;
  };
  return {.name = "prismatic",
          .summary = "translation along one axis",
          .rows = 5,
          .axes = 1,
          .build = build,
          .coordinates = 1};
}

}  // namespace kreisel::multibody
