#include "kreisel/system.hpp"

#include <limits>

namespace kreisel::system {

void System::mass_and_jacobian(const Motion& m, KktBlocks& out) const {
  const Vector no_lambda = Vector::Zero(pattern_.rows());
  if (out.K.size() == pattern_.coupling_size() && out.H.size() == pattern_.touch_size())
    return linearize(m, no_lambda, out);
  KktBlocks all(pattern_);  // `out` has room for M and B only
  linearize(m, no_lambda, all);
  out.M = all.M;
  out.B = all.B;
}

void System::saddle_point(const Motion& m, ConstVectorRef lambda, KktBlocks& blocks, Residual& out, VectorRef z) const {
  residual(m, lambda, out);
  acceleration_gap(m, z);
  mass_and_jacobian(m, blocks);
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

const std::vector<OutputInfo>& System::outputs() const {
  static const std::vector<OutputInfo> none;
  return none;
}

const std::vector<InputInfo>& System::inputs() const {
  static const std::vector<InputInfo> none;
  return none;
}

int System::output_size() const {
  int size = 0;
  for (const OutputInfo& info : outputs()) size += info.size();
  return size;
}

}  // namespace kreisel::system
