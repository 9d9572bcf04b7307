#include "multibody/force.hpp"

namespace kreisel::multibody {

/// τ = k (|P₂ - P₁| - length) + c d/dt|P₂ - P₁|, pulling the points together.
ForceInfo spring_damper() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    auto force = std::make_unique<MeasuredForce>("spring-damper", spec.name, spec.bodies);
    force->act({.measure = distance(0, spec.frames[0].p, 1, spec.frames[1].p),
                .stiffness = spec.number("stiffness"),
                .damping = spec.number("damping"),
                .target = Signal(Expression(spec.number("length")))});
    return force;
  };
  return {
      .name = "spring-damper",
      .summary = "spring and damper between two points",
      .place = JointInfo::Place::two_points,
      .place_is_optional = true,
      .numbers = {{.name = "stiffness", .meaning = "stiffness", .minimum = 0.0, .unit = "N/m"},
                  {.name = "damping", .meaning = "damping", .minimum = 0.0, .unit = "N s/m"},
                  {.name = "length",
                   .meaning = "length without force",
                   .minimum = 0.0,
                   .is_optional = true,
                   .unit = "m",
                   .fallback = "the initial distance"}},
      .law = {.field = {.name = "force",
                        .meaning =
                            "law instead of stiffness and damping: a formula of x, the distance beyond length, and v, "
                            "its rate; positive pulls the points together",
                        .unit = "N"},
              .natural = "length",
              .measure = [](const ForceSpec& spec) { return distance(0, spec.frames[0].p, 1, spec.frames[1].p); }},
      .build = build};
}

}  // namespace kreisel::multibody
