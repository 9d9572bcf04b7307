// Increments that may turn a block by more than half a turn, where the logarithm of Space::difference loses turns.
#pragma once

#include "kreisel/groups.hpp"

namespace kreisel::lie {

/// Moves x, an approximation, such that q0∘exp(x) = q1, on the turn x is on. Rotations of x are below 2π. False where no such x was
/// found near it: a body has turned too far.
[[nodiscard]] bool follow(const Space& space, ConstVectorRef q0, ConstVectorRef q1, VectorRef x);

}  // namespace kreisel::lie
