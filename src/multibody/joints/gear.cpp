#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// n₁θ₁ + n₂θ₂ = 0 up to whole turns, θᵢ the angle of gear i relative to the carrier and nᵢ its teeth. Divided by the common
/// divisor of the teeth the sum is a function of the poses, smooth at every angle, so no turns need to be counted.
JointInfo gear_joint() {
  const auto build = [](const JointSpec& spec) {
    const int divisor = std::gcd(spec.teeth[0], spec.teeth[1]);
    const int n1 = spec.teeth[0] / divisor, n2 = spec.teeth[1] / divisor;
    const double scale = 1.0 / std::max(std::abs(n1), std::abs(n2));
    Joint joint("gear", spec.name, spec.bodies);
    joint.demand(combination(n1 * scale, angle(2, spec.frames[2].E, 0, spec.frames[0].E),  //
                             n2 * scale, angle(2, spec.frames[3].E, 1, spec.frames[1].E)),
                 {}, 2.0 * M_PI * scale);
    return joint;
  };
  return {
      .name = "gear",
      .summary = "teeth(1) angle(1) + teeth(2) angle(2) = 0 relative to a carrier; negative teeth for an internal gear",
      .rows = 1,
      .place = JointInfo::Place::none,
      .axes = 2,
      .has_carrier = true,
      .has_teeth = true,
      .build = build};
}

}  // namespace kreisel::multibody
