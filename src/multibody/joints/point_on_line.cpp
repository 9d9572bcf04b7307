#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₂ - P₁ ⟂ x₁, y₁: a point of the second body slides along a line of the first.
JointInfo point_on_line_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("point-on-line", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(0), 1, b.p))
        .demand(offset(0, a.p, a.E.col(1), 1, b.p))
        .slides({offset(0, a.p, a.E.col(2), 1, b.p), false, {0, 1}});
    return joint;
  };
  return {.name = "point-on-line",
          .summary = "a point of the second body stays on a line of the first",
          .rows = 2,
          .axes = 1,
          .build = build};
}

}  // namespace kreisel::multibody
