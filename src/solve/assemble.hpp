// Initial values onto the constraints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::solve {

/// How far a body, or a coordinate block that belongs to none, was moved.
struct Change {
  std::string name;
  double distance = 0.0;          ///< of the centre of mass [m]
  double angle = 0.0;             ///< [rad]
  double velocity = 0.0;          ///< [m/s]
  double angular_velocity = 0.0;  ///< [rad/s]
};

/// Projects q0, then v0, in the mass metric. Returns what moved, the largest change first. Throws InvalidInput when the
/// projection is not unique or does not converge.
std::vector<Change> assemble(const system::System& system, system::Start& start,
                             std::string_view linear_solver = "automatic");

}  // namespace kreisel::solve
