#include <cmath>

#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// r θ - s = 0, θ the angle of the pinion and s the displacement of the rack, both relative to the carrier. A turn more moves the rack by the
/// circumference, which is the period of the row, so no turns need to be counted.
JointInfo rack_and_pinion_joint() {
  const auto build = [](const JointSpec& spec) {
    const double radius = spec.numbers.number("radius");
    Joint joint("rack-and-pinion", spec.name, spec.bodies);
    joint.demand(combination(-radius, angle(2, spec.frames[2].E, 0, spec.frames[0].E),  //
                             1.0, offset(2, spec.frames[3].p, spec.frames[3].E.col(2), 1, spec.frames[1].p)),
                 {}, 2.0 * M_PI * std::abs(radius));
    return joint;
  };
  return {.name = "rack-and-pinion",
          .summary =
              "displacement of the second body along its axis = radius times angle of the first, relative to a carrier",
          .rows = 1,
          .place = JointInfo::Place::none,
          .axes = 2,
          .has_carrier = true,
          .build = build,
          .numbers = {{.name = "radius",
                       .meaning = "of the pinion; negative to reverse the rack",
                       .default_number = std::nan(""),
                       .unit = "m"}}};
}

}  // namespace kreisel::multibody
