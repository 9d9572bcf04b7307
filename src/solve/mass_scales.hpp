// Rows of the dynamics beside those of constraints: masses may be much smaller than the round-off of directions.
#pragma once

#include "kreisel/system.hpp"
#include "linear/block_matrix.hpp"

namespace kreisel::solve {

/// Powers of two that bring the rows of M to about 1, for the rows of the dynamics; those without mass keep theirs. False when no
/// row is so small that round-off of B could be mistaken for mass: then no scaling is needed.
bool mass_scales(const system::System& system, const Vector& M, VectorRef out);
/// Multiplies the rows of the dynamics. `pattern` may be that of `copies` such matrices in one, as for stages.
void scale_rows(const system::System& system, const linear::BlockPattern& pattern, int copies, ConstVectorRef scale,
                VectorRef values);

}  // namespace kreisel::solve
