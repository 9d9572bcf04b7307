#include "kreisel/system/system.hpp"

#include <limits>

namespace kreisel::system {

void System::mass_and_jacobian(const Motion& m, KktBlocks& out) const {
  linearize(m, Vector(Vector::Zero(pattern_.rows())), out);
}

void System::constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const {
  KktBlocks blocks(pattern_);
  mass_and_jacobian(m, blocks);
  out.setZero();
  for (const Pattern::Touch& touch : pattern_.touches()) {
    const RowGroup& group = pattern_.groups()[touch.group];
    if (group.level != RowLevel::position) continue;
    const lie::Block& block = space_.blocks()[touch.block];
    const ConstMatrixMap B(blocks.B.data() + touch.at, group.rows, block.nv);
    out.segment(block.v_at, block.nv) += B.transpose() * mu.segment(group.at, group.rows);
  }
}

double System::energy(const Motion&) const { return std::numeric_limits<double>::quiet_NaN(); }

}  // namespace kreisel::system
