// Linear complementarity problems of a few dozen rows.
#pragma once

#include "kreisel/types.hpp"

namespace kreisel::run {

/// z ≥ 0 with w = W z + q ≥ 0 and zᵀw = 0, by the method of Lemke (Cottle, Pang, Stone 2009, algorithm 4.4.5). W is
/// positive semidefinite; where it is singular, the columns of the positive entries of z are independent. False: there
/// is no such z, or none was found within the pivots that round-off allows.
[[nodiscard]] bool solve_lcp(const Matrix& W, const Vector& q, Vector& z);

}  // namespace kreisel::run
