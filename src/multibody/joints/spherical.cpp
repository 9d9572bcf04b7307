#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// P₁ = P₂.
JointInfo spherical_joint() {
  const auto build = [](const JointSpec& spec) {
    Joint joint("spherical", spec.name, spec.bodies);
    joint.coincide(spec.frames[0].p, spec.frames[1].p);
    return joint;
  };
  return {.name = "spherical", .summary = "two points coincide", .rows = 3, .build = build};
}

}  // namespace kreisel::multibody
