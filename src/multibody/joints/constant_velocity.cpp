#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₁ = P₂, and the relative rotation has no part about the axes: it swings z₁ onto z₂. Both shafts then turn by equal angles however
/// they are bent.
JointInfo constant_velocity_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    Joint joint("constant-velocity", spec.name, spec.bodies);
    joint.coincide(a.p, b.p).demand(small_rotation(0, a.E, 1, b.E, 2));
    return joint;
  };
  return {.name = "constant-velocity",
          .summary = "two shafts that meet at a point at any angle and turn equally fast; axes along the flow of power",
          .rows = 4,
          .axes = 2,
          .axes_swing = true,
          .build = build};
}

}  // namespace kreisel::multibody
