#include <cmath>

#include "multibody/joint.hpp"
#include "multibody/rolling.hpp"

namespace kreisel::multibody {

/// z₁·(P₂ - P₁) = r √(1 - (z₁·z₂)²): the lowest point of a disk with the axis z₂ lies in the plane with the normal z₁. Rows of
/// velocity level keep it from slipping there: two, or one along its path.
JointInfo wheel_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &plane = spec.frames[0], &disk = spec.frames[1];
    const double radius = spec.numbers.number("radius");
    Joint joint("wheel", spec.name, spec.bodies);
    const auto height = [radius](double h, double c) -> PlaneJet {
      const double s = std::sqrt(1.0 - c * c);
      return {.value = h - radius * s, .by_1 = 1.0, .by_2 = radius * c / s, .by_22 = radius / (s * s * s)};
    };
    joint
        .demand(function_of(0, 1, offset(0, plane.p, plane.E.col(2), 1, disk.p),
                            cosine(0, plane.E.col(2), 1, disk.E.col(2)), height))
        .rolls(std::make_shared<const Rolling>(spec.name + " rolling", spec.bodies, plane, disk, radius,
                                               spec.numbers.word("sideways") == "held"));
    return joint;
  };
  return {.name = "wheel",
          .summary =
              "a disk of the second body rolls on a plane of the first without slipping: a point and the normal "
              "of the plane, the centre and the axis of the disk",
          .rows = 3,
          .place = JointInfo::Place::two_points,
          .axes = 2,
          .build = build,
          .numbers = {{.name = "radius",
                       .meaning = "of the disk",
                       .default_number = std::nan(""),
                       .minimum = 0.0,
                       .minimum_is_excluded = true,
                       .unit = "m"},
                      {.name = "sideways",
                       .meaning = "free where another wheel of the same axle holds it: holding both would be redundant",
                       .words = {"held", "free"}}},
          .points_may_meet = true};
}

}  // namespace kreisel::multibody
