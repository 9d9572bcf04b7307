// Whether an equilibrium is a minimum, without its modes.
#pragma once

#include <optional>

#include "kreisel/system.hpp"

namespace kreisel::analysis {

/// By the stiffness on the motions that the constraints allow: false where it has a negative eigenvalue beyond round-off. Vibrations that
/// grow are not seen. Nothing for systems too large for full matrices.
std::optional<bool> is_minimum(const system::System& system, const system::Motion& m, const Vector& lambda);

}  // namespace kreisel::analysis
