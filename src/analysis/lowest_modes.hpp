// The modes of the lowest frequencies of a large system at rest, without full matrices.
#pragma once

#include <vector>

#include "kreisel/analysis.hpp"

namespace kreisel::analysis {

/// Coordinates and constraint rows up to which full matrices are used: the cubic cost is some minutes there.
inline constexpr int most_of_full_matrices = 2000;

/// About m with v = 0: the eigenvalues nearest to zero of (λ²M + λD + K) x + F μ = 0, B x = 0, by Arnoldi's method with
/// the inverse (Saad 2011, chapter 8), each exact to 1e-9 of its size. Throws InvalidInput for a motion, for algebraic
/// unknowns, and if fewer than `count` converge.
std::vector<Mode> lowest_modes(const system::System& system, const system::Motion& m, const Vector& lambda, int count);

/// The shape scaled to 1 with the name of what moves most.
void normalize(const system::System& system, double length, Mode& mode);

}  // namespace kreisel::analysis
