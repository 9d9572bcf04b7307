#include <cmath>

#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// As cylindrical, and z₁·(P₂ - P₁) = pitch·θ/2π. A turn more moves the second body by the pitch, which is the period of the row, so
/// no turns need to be counted.
JointInfo screw_joint() {
  const auto build = [](const JointSpec& spec) {
    const Frame &a = spec.frames[0], &b = spec.frames[1];
    const double pitch = spec.numbers.number("pitch");
    Joint joint("screw", spec.name, spec.bodies);
    joint.demand(offset(0, a.p, a.E.col(0), 1, b.p))
        .demand(offset(0, a.p, a.E.col(1), 1, b.p))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(0)))
        .demand(cosine(0, a.E.col(2), 1, b.E.col(1)))
        .demand(combination(1.0, offset(0, a.p, a.E.col(2), 1, b.p), -pitch / (2.0 * M_PI), angle(0, a.E, 1, b.E)), {},
                std::abs(pitch))
        .slides({angle(0, a.E, 1, b.E), true, {}, pitch / (2.0 * M_PI)});
    return joint;
  };
  return {.name = "screw",
          .summary = "rotation about an axis, with a translation along it of one pitch per turn",
          .rows = 5,
          .axes = 1,
          .build = build,
          .numbers = {{.name = "pitch",
                       .meaning = "translation along the axis per turn; negative for a left-handed thread",
                       .default_number = std::nan(""),
                       .unit = "m"}},
          .coordinates = 1};
}

}  // namespace kreisel::multibody
