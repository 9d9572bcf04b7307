#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₂ - P₁ ⟂ x₁, y₁; z₁ ⟂ x₂, y₂.
JointInfo cylindrical_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("cylindrical", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(0), 1, b.p))
        .demand(offset(0, a.p, a.E.col(1), 1, b.p))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(0)))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(1)))
        .slides({offset(0, a.p, a.E.col(2), 1, b.p), false, {0, 1}})
        .slides({angle(0, a.E, 1, b.E), true, {0, 1}});
    return joint;
  };
  return {.name = "cylindrical",
          .summary = "rotation about and translation along one axis",
          .rows = 4,
          .axes = 1,
          .build = build,
          .coordinates = 2};
}

}  // namespace kreisel::multibody
