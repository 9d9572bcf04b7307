#include "multibody/force.hpp"

namespace kreisel::multibody {

/// τ = k (θ - angle) + c θ̇ about the z axis of the first frame; θ counts its turns from the drawn position on.
ForceInfo torsional_spring_damper() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    auto force = std::make_unique<MeasuredForce>("torsional-spring-damper", spec.name, spec.bodies);
    force->act({.measure = angle(0, spec.frames[0].E, 1, spec.frames[1].E),
                .stiffness = spec.number("stiffness"),
                .damping = spec.number("damping"),
                .target = Signal(Expression(spec.number("angle"))),
                .counts_turns = true,
                .turned = spec.turned});
    return force;
  };
  return {.name = "torsional-spring-damper",
          .summary = "spring and damper against rotation about an axis",
          .place = JointInfo::Place::none,
          .axes = 1,
          .numbers = {{.name = "stiffness", .meaning = "stiffness", .minimum = 0.0, .unit = "N m/rad"},
                      {.name = "damping", .meaning = "damping", .minimum = 0.0, .unit = "N m s/rad"},
                      {.name = "angle", .meaning = "angle without torque, from the initial position", .unit = "rad"}},
          .law = {.field =
                      {.name = "torque",
                       .meaning =
                           "law instead of stiffness and damping: a formula of x, the angle beyond `angle`, and v, its "
                           "rate; positive turns it back",
                       .unit = "N m"},
                  .natural = "angle",
                  .counts_turns = true,
                  .measure = [](const ForceSpec& spec) { return angle(0, spec.frames[0].E, 1, spec.frames[1].E); }},
          .build = build};
}

}  // namespace kreisel::multibody
