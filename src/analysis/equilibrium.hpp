// Positions and constraint forces at rest: force(q, v = 0, λ) = 0, Φ(q, t) = 0.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kreisel/system.hpp"
#include "kreisel/types.hpp"

namespace kreisel::analysis {

struct EquilibriumOptions {
  int max_iterations = 500;
  std::string_view linear_solver = "automatic";
};

struct Equilibrium {
  bool is_found = false;
  /// With the limits closed that something leans on; null: the given one. λ belongs to it.
  std::shared_ptr<const system::System> leaning;
  system::Motion motion;  ///< v = v̇ = 0
  Vector lambda;
  int iterations = 0;   ///< 0: the start is one
  std::string message;  ///< why none was found
};

/// From the positions of `start`, downhill: implicit steps of M ẍ = force without memory, (s M + K) δ + Bᵀδλ = force, B δ = -Φ,
/// whose s falls to zero where K is positive on ker B (pseudo-transient continuation: Kelley, Keyes 1998). Drivers stand where they
/// are at t0. States whose rate depends on positions or states get the value at which it vanishes; those that only add up motion,
/// as a counted angle does, follow it, and nonholonomic rows are kept on the way. Limits that would be passed are closed, and
/// opened again where they would pull.
Equilibrium find_equilibrium(const system::System& system, const system::Start& start,
                             const EquilibriumOptions& options = {});

}  // namespace kreisel::analysis
