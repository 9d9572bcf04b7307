#include "analysis/static_matrix.hpp"

#include <utility>

namespace kreisel::analysis {

using system::CoordinateKind;
using system::Pattern;

StaticMatrix::StaticMatrix(const system::System& system, std::string_view linear_solver) : system_(system) {
  const Pattern& pattern = system.pattern();
  std::vector<int> sizes;
  std::vector<std::pair<int, int>> entries;
  for (const lie::Block& block : system.space().blocks()) sizes.push_back(block.nv);
  block_count_ = static_cast<int>(sizes.size());
  for (const system::RowGroup& group : pattern.groups()) sizes.push_back(group.rows);
  for (const Pattern::Coupling& c : pattern.couplings()) entries.emplace_back(c.row, c.column);
  for (const Pattern::Touch& t : pattern.touches()) {
    entries.emplace_back(t.block, block_count_ + t.group);
    entries.emplace_back(block_count_ + t.group, t.block);
  }
  for (std::size_t b = 0; b < sizes.size(); ++b) entries.emplace_back(static_cast<int>(b), static_cast<int>(b));
  matrix_ = linear::BlockMatrix(sizes, entries);
  for (const Pattern::Coupling& c : pattern.couplings()) coupling_entry_.push_back(matrix_.find(c.row, c.column));
  for (const Pattern::Touch& t : pattern.touches()) {
    force_entry_.push_back(matrix_.find(t.block, block_count_ + t.group));
    row_entry_.push_back(matrix_.find(block_count_ + t.group, t.block));
  }
  solver_ = linear::make_solver<double>(linear_solver, matrix_);
}

bool StaticMatrix::factorize(const system::KktBlocks& blocks) {
  const Pattern& pattern = system_.pattern();
  const std::vector<lie::Block>& factors = system_.space().blocks();
  matrix_.values().setZero();
  for (std::size_t c = 0; c < coupling_entry_.size(); ++c) {
    const Pattern::Coupling& coupling = pattern.couplings()[c];
    const Weights& w = weights_[static_cast<std::size_t>(coupling.row)];
    const int r = factors[coupling.row].nv, n = factors[coupling.column].nv;
    const auto of = [&](const Vector& values) { return Eigen::Map<const Matrix>(values.data() + coupling.at, r, n); };
    matrix_.block(coupling_entry_[c]) = w.m * of(blocks.M) + w.d * of(blocks.D) + w.k * of(blocks.K);
  }
  for (std::size_t t = 0; t < row_entry_.size(); ++t) {
    const Pattern::Touch& touch = pattern.touches()[t];
    const int r = pattern.groups()[touch.group].rows, n = factors[touch.block].nv;
    matrix_.block(row_entry_[t]) = Eigen::Map<const Matrix>(blocks.B.data() + touch.at, r, n);
    matrix_.block(force_entry_[t]) = Eigen::Map<const Matrix>(blocks.F.data() + touch.at, n, r);
  }
  return solver_->factorize(matrix_);
}

std::vector<bool> followers(const system::System& system, const system::KktBlocks& blocks) {
  const std::vector<lie::Block>& factors = system.space().blocks();
  std::vector<bool> follows(factors.size(), false);
  for (std::size_t b = 0; b < factors.size(); ++b)
    follows[b] = system.pattern().kind(static_cast<int>(b)) == CoordinateKind::state;
  for (const Pattern::Coupling& c : system.pattern().couplings())
    if (follows[static_cast<std::size_t>(c.row)])
      follows[static_cast<std::size_t>(c.row)] =
          blocks.K.segment(c.at, factors[c.row].nv * factors[c.column].nv).isZero(0.0);
  return follows;
}

}  // namespace kreisel::analysis
