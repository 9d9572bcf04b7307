#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// |P₂ - P₁| = length: a massless rod. λ is its tension.
JointInfo distance_joint() {
  const auto build = [](const JointSpec& spec) {
    Joint joint("distance", spec.name, spec.bodies);
    joint.demand(distance(0, spec.frames[0].p, 1, spec.frames[1].p), Signal(Expression(spec.numbers.number("length"))));
    return joint;
  };
  return {.name = "distance",
          .summary = "two points keep their distance",
          .rows = 1,
          .place = JointInfo::Place::two_points,
          .build = build,
          .numbers = {{.name = "length",
                       .meaning = "of the rod",
                       .minimum = 0.0,
                       .minimum_is_excluded = true,
                       .is_optional = true,
                       .unit = "m",
                       .fallback = "the initial distance"}}};
}

}  // namespace kreisel::multibody
