// Rigid limits of the coordinate of a joint.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "multibody/measure.hpp"

namespace kreisel::multibody {

/// g = ξ - bound ≥ 0 or, as an upper limit, g = bound - ξ ≥ 0.
struct Limit {
  std::string name;
  std::shared_ptr<const Measure> measure{};   ///< ξ, of the slots 0 and 1
  std::array<int, 2> bodies{ground, ground};  ///< by slot
  int turns = -1;  ///< node of a state with the rate of an angle, from which its turns are read; -1: no turns
  bool is_angle = false;
  bool is_upper = false;
  double bound = 0.0;
  double restitution = 0.0;
  int joint = 0;  ///< of the mechanism, whose coordinate it is
};

/// The row of a closed limit: ξ - bound = 0, of an angle up to turns.
ElementPtr row_of(const Limit& limit);

}  // namespace kreisel::multibody
