// Mechanisms with other numbers than those of the built-in models.
#pragma once

#include "multibody/assembly.hpp"

namespace bench {

/// Mass, gravity along z, J, X, gravity along x and y of bench::Top, whose tip is at the origin.
kreisel::Vector numbers_of_top();
kreisel::multibody::Mechanism top_with(const kreisel::Vector& numbers);

/// bench::Chain with a rod for each mass; the inertia of a rod goes with its mass.
kreisel::multibody::Mechanism chain_with(const kreisel::Vector& masses);

}  // namespace bench
