// Whether an equilibrium is a minimum, without its modes.
#pragma once

#include <optional>

#include "kreisel/system.hpp"

namespace kreisel::analysis {

/// The least stiffness on the motions that the constraints allow, each direction in units of its own stiffness, and what round-off leaves
/// unknown of it.
struct LeastStiffness {
  double value = 0.0, noise = 0.0;
  bool is_minimum() const { return value >= -noise; }
};

/// By the stiffness on the motions that the constraints allow: negative where the equilibrium is no minimum. Vibrations that
/// grow are not seen. Nothing for systems too large for full matrices.
std::optional<LeastStiffness> least_stiffness(const system::System& system, const system::Motion& m,
                                              const Vector& lambda);

}  // namespace kreisel::analysis
