// Lengths of short vectors.
#pragma once

#include <cmath>

#include "kreisel/types.hpp"

namespace kreisel {

/// The Euclidean norm of n numbers. Most are positions and rotations, for which the loop of a vector operation costs more than the sum.
inline double norm_of(const double* x, int n) {
  if (n == 3) return std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  return Eigen::Map<const Vector>(x, n).norm();
}

}  // namespace kreisel
