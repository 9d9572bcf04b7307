// Equations of motion in quadruple precision, for reference solutions.
#pragma once

#include <utility>
#include <vector>

#include "base/quad.hpp"

namespace kreisel::system {

/// Additional interface of a System whose formulas exist for any number type: the index-1 form as an ODE for the
/// numbers of q and v. With 34 digits the drift from the manifold is below double precision.
class Precise {
 public:
  virtual ~Precise() = default;
  /// q̇, v̇ and λ; sizes are those of the System. False when the matrix is singular.
  virtual bool rates(const Quad& t, const Quad* q, const Quad* v, Quad* q_rate, Quad* v_rate, Quad* lambda) const = 0;
};

/// Elimination with row pivots; A is n x n by rows, b becomes the solution. False when A is singular.
inline bool eliminate(int n, Quad* A, Quad* b) {
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (abs(A[pivot * n + k]) < abs(A[i * n + k])) pivot = i;
    if (A[pivot * n + k] == Quad(0.0)) return false;
    for (int j = k; j < n && pivot != k; ++j) std::swap(A[k * n + j], A[pivot * n + j]);
    std::swap(b[k], b[pivot]);
    for (int i = k + 1; i < n; ++i) {
      if (A[i * n + k] == Quad(0.0)) continue;
      const Quad factor = A[i * n + k] / A[k * n + k];
      for (int j = k + 1; j < n; ++j) A[i * n + j] -= factor * A[k * n + j];
      b[i] -= factor * b[k];
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int j = i + 1; j < n; ++j) b[i] -= A[i * n + j] * b[j];
    b[i] = b[i] / A[i * n + i];
  }
  return true;
}

}  // namespace kreisel::system
