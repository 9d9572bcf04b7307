// Velocities with prescribed values, within the constraints.
#pragma once

#include <string>
#include <string_view>

#include "kreisel/system.hpp"

namespace kreisel::solve {

/// Moves v of m onto B v + Φ_t = 0 and S v = s, as little as possible in the mass metric. Returns empty, or why it is not
/// possible; m is unchanged then.
[[nodiscard]] std::string impose(const system::System& system, system::Motion& m, const Matrix& S, const Vector& s,
                                 Counters& counters, std::string_view linear_solver = "automatic");

}  // namespace kreisel::solve
