#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₁ = P₂; x₁ ⟂ y₂, y₁ ⟂ z₂, z₁ ⟂ x₂.
JointInfo fixed_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("fixed", spec.name, spec.bodies);
    joint.coincide(a.p, b.p)
        .demand(cosine(0, a.E.col(0), 1, b.E.col(1)))
        .demand(cosine(0, a.E.col(1), 1, b.E.col(2)))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(0)));
    return joint;
  };
  return {.name = "fixed", .summary = "no relative motion", .rows = 6, .build = build};
}

JointInfo weld_joint() {
  JointInfo info = fixed_joint();
  info.name = "weld";
  info.summary = "another name for fixed";
  return info;
}

}  // namespace kreisel::multibody
