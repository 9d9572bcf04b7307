// How far positions and velocities may violate the constraints, in the units of the model.
#pragma once

#include "kreisel/system.hpp"

namespace kreisel::system {

/// The size of a mechanism [m]: the largest of the distances of its bodies from their middle, the radii of inertia √(J/m)
/// and the arms at which constraints act. Of coordinates in ℝⁿ the largest; 1 when nothing has a size.
double length_scale(const System& system, const Motion& m);

/// Per row: what |Φ| and |B v + Φ_t| may be at the start. 1e-8 of the value of the row if coordinates were off by their natural
/// size, which is the length scale for translations and 1 for rotations, and velocities by those sizes per second of the fastest
/// motion or of the run. The result does not depend on the units of length and time.
struct Consistency {
  Vector position, velocity;
};
Consistency consistency_tolerances(const System& system, const Motion& m, double span);

/// Constraint violation at the start of a run.
struct Miss {
  double position = 0.0, velocity = 0.0;     ///< largest |Φ| and |B v + Φ_t|
  int position_row = -1, velocity_row = -1;  ///< the row that exceeds its tolerance most, -1: none does
};
Miss miss_of(const System& system, const Start& start);

}  // namespace kreisel::system
