#include "solve/mass_scales.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::solve {

bool mass_scales(const system::System& system, const Vector& M, VectorRef out) {
  // Rows of B are about 1, and elimination leaves 1e-16 of them: much larger masses are not affected.
  constexpr double small_mass = 1e-6;
  const auto& blocks = system.space().blocks();
  out.setZero();
  for (const system::Pattern::Coupling& c : system.pattern().couplings()) {
    const lie::Block &row = blocks[c.row], &column = blocks[c.column];
    const ConstMatrixMap A(M.data() + c.at, row.nv, column.nv);
    for (int j = 0; j < column.nv; ++j)
      for (int i = 0; i < row.nv; ++i) out[row.v_at + i] = std::max(out[row.v_at + i], std::abs(A(i, j)));
  }
  bool has_small = false;
  for (double& scale : out) {
    has_small = has_small || (scale > 0.0 && scale < small_mass);
    scale = scale > 0.0 && std::isfinite(scale) ? std::ldexp(1.0, -std::ilogb(scale)) : 1.0;
  }
  return has_small;
}

void scale_rows(const system::System& system, const linear::BlockPattern& pattern, int copies, ConstVectorRef scale,
                VectorRef values) {
  const int x_count = static_cast<int>(system.space().blocks().size());
  for (const linear::BlockPattern::Entry& e : pattern.entries()) {
    if (e.row >= x_count) continue;
    const int rows = pattern.block_size(e.row), own = rows / copies, first = pattern.block_at(e.row) / copies;
    double* value = values.data() + e.at;
    for (int j = 0; j < pattern.block_size(e.column); ++j)
      for (int i = 0; i < rows; ++i) *value++ *= scale[first + i % own];
  }
}

}  // namespace kreisel::solve
