#include "method/block_diagonal.hpp"

#include <cmath>

namespace kreisel::method {

void set_multiple_of_identity(const lie::Space& space, double factor, VectorRef blocks) {
  blocks.setZero();
  for (const lie::Block& block : space.blocks())
    for (int i = 0; i < block.nv; ++i) blocks[block.matrix_at + i * (block.nv + 1)] = factor;
}

/// By elimination with row exchanges.
void divide_blocks(const lie::Space& space, VectorRef left, VectorRef right) {
  for (const lie::Block& block : space.blocks()) {
    if (!has_brackets(block)) continue;
    const int n = block.nv;
    MatrixMap A(left.data() + block.matrix_at, n, n), B(right.data() + block.matrix_at, n, n);
    for (int c = 0; c < n; ++c) {
      int pivot = c;
      for (int i = c + 1; i < n; ++i)
        if (std::abs(A(i, c)) > std::abs(A(pivot, c))) pivot = i;
      A.row(c).swap(A.row(pivot));
      B.row(c).swap(B.row(pivot));
      for (int i = 0; i < n; ++i) {
        if (i == c) continue;
        const double factor = A(i, c) / A(c, c);
        A.row(i) -= factor * A.row(c);
        B.row(i) -= factor * B.row(c);
      }
    }
    for (int i = 0; i < n; ++i) B.row(i) /= A(i, i);
  }
}

}  // namespace kreisel::method
