#include "radau_coupled.hpp"

#include "solve/mass_scales.hpp"

namespace kreisel::solve {

using coeff::Radau;
using system::Pattern;
using system::RowGroup;
using system::RowLevel;

namespace {

/// W²: second derivatives.
constexpr Radau::Square w_squared = coeff::radau_proofs::product(Radau::w, Radau::w);

/// The same blocks, each with room for three stages.
linear::BlockPattern tripled(const linear::BlockPattern& pattern) {
  std::vector<int> sizes;
  for (int b = 0; b < pattern.block_count(); ++b) sizes.push_back(Radau::stages * pattern.block_size(b));
  std::vector<std::pair<int, int>> entries;
  for (const linear::BlockPattern::Entry& e : pattern.entries()) entries.push_back({e.row, e.column});
  return {sizes, entries};
}

}  // namespace

CoupledStages::CoupledStages(const system::System& system, const FormulationInfo& formulation, const Layout& layout,
                             const Vector& metric, std::string_view linear_solver)
    : system_(system),
      formulation_(formulation),
      layout_(layout),
      matrix_(tripled(layout.pattern)),
      solver_(linear::make_solver(linear_solver, matrix_)),
      metric_(metric),
      row_scale_(Vector::Ones(system.space().nv())),
      work_(Vector::Zero(matrix_.size())) {
  blocks_.fill(system::KktBlocks(system.pattern()));
  weighed_B_.fill(Vector::Zero(blocks_[0].B.size()));
  hat_.fill(Vector::Zero(system.space().block_diagonal_size()));
}

void CoupledStages::linearize(int stage, const system::Motion& m, ConstVectorRef lambda) {
  system_.linearize(m, lambda, blocks_[stage]);
  weigh_columns(system_, blocks_[stage].B, metric_, weighed_B_[stage]);
  system_.space().hat_blocks(m.v, hat_[stage]);
}

void CoupledStages::add(int entry, int row_stage, int column_stage, int rows, int columns, const double* values,
                        double scale) {
  matrix_.block(entry).block(row_stage * rows, column_stage * columns, rows, columns) +=
      scale * ConstMatrixMap(values, rows, columns);
}

void CoupledStages::add_product(int entry, int row_stage, int column_stage, int rows, int inner, int columns,
                                const double* left, const double* right, bool is_transposed, double scale) {
  const ConstMatrixMap A(left, rows, inner);
  auto block = matrix_.block(entry);
  auto out = block.block(row_stage * rows, column_stage * columns, rows, columns);
  if (is_transposed)
    out += scale * A.lazyProduct(ConstMatrixMap(right, columns, inner).transpose());
  else
    out += scale * A.lazyProduct(ConstMatrixMap(right, inner, columns));
}

/// With the stages i, j: ζ_j changes v_i by w_ij/h and, at i = j, by hat(v_i); δv_j changes v̇_i by w_ij/h.
bool CoupledStages::factorize(double h) {
  const Pattern& pattern = system_.pattern();
  const auto& spaces = system_.space().blocks();
  matrix_.values().setZero();
  for (int i = 0; i < stages; ++i)
    for (int j = 0; j < stages; ++j) {
      const system::KktBlocks& blocks = blocks_[i];
      const bool is_own = i == j;
      const double w = Radau::w[i][j], w2 = w_squared[i][j];
      for (std::size_t c = 0; c < pattern.couplings().size(); ++c) {
        const Pattern::Coupling& coupling = pattern.couplings()[c];
        const lie::Block& column = spaces[coupling.column];
        const int rows = spaces[coupling.row].nv, columns = column.nv, entry = layout_.coupling_entry[c];
        const double* M = blocks.M.data() + coupling.at;
        const double* D = blocks.D.data() + coupling.at;
        add(entry, i, j, rows, columns, M, w2);
        add(entry, i, j, rows, columns, D, h * w);
        if (is_own) add(entry, i, j, rows, columns, blocks.K.data() + coupling.at, h * h);
        if (column.group == lie::GroupId::rn) continue;
        add_product(entry, i, j, rows, columns, columns, M, hat_[j].data() + column.matrix_at, false, h * w);
        if (is_own)
          add_product(entry, i, j, rows, columns, columns, D, hat_[i].data() + column.matrix_at, false, h * h);
      }
      for (std::size_t t = 0; t < pattern.touches().size(); ++t) {
        const Pattern::Touch& touch = pattern.touches()[t];
        const RowGroup& group = pattern.groups()[touch.group];
        const lie::Block& block = spaces[touch.block];
        const int n = block.nv, r = group.rows;
        const bool turns = block.group != lie::GroupId::rn;
        const double* B = blocks.B.data() + touch.at;
        const double* H = blocks.H.data() + touch.at;
        if (is_own) add(layout_.force_entry[t], i, j, n, r, blocks.F.data() + touch.at, 1.0);
        const auto add_rate = [&](int entry) {
          add(entry, i, j, r, n, B, w);
          if (!is_own) return;
          add(entry, i, j, r, n, H, h);
          if (turns) add_product(entry, i, j, r, n, n, B, hat_[i].data() + block.matrix_at, false, h);
        };
        const int entry = layout_.lambda_entry[t];
        switch (formulation_.lambda_row) {
          case ConstraintLevel::position:
            if (group.level == RowLevel::velocity)
              add_rate(entry);
            else if (is_own)
              add(entry, i, j, r, n, B, 1.0);
            break;
          case ConstraintLevel::velocity:
            add_rate(entry);
            break;
          case ConstraintLevel::acceleration:
            add(entry, i, j, r, n, B, w2);
            add(entry, i, j, r, n, H, 2.0 * h * w);
            if (turns) add_product(entry, i, j, r, n, n, B, hat_[j].data() + block.matrix_at, false, h * w);
            if (turns && is_own)
              add_product(entry, i, j, r, n, n, H, hat_[i].data() + block.matrix_at, false, 2.0 * h * h);
            break;
        }
        if (layout_.rate_entry[t] >= 0) add_rate(layout_.rate_entry[t]);
      }
      for (const Layout::Product& p : layout_.eta_column) {
        const Pattern::Coupling& coupling = pattern.couplings()[p.left];
        const Pattern::Touch& touch = pattern.touches()[p.right];
        const int rows = spaces[coupling.row].nv, inner = spaces[coupling.column].nv,
                  columns = pattern.groups()[touch.group].rows;
        const double* B = weighed_B_[j].data() + touch.at;
        add_product(p.entry, i, j, rows, inner, columns, blocks.M.data() + coupling.at, B, true, w);
        if (is_own) add_product(p.entry, i, j, rows, inner, columns, blocks.D.data() + coupling.at, B, true, h);
      }
      if (!is_own) continue;
      for (const Layout::Product& p : layout_.eta_diagonal) {
        const Pattern::Touch& left = pattern.touches()[p.left];
        const Pattern::Touch& right = pattern.touches()[p.right];
        add_product(p.entry, i, j, pattern.groups()[left.group].rows, spaces[left.block].nv,
                    pattern.groups()[right.group].rows, blocks.B.data() + left.at, weighed_B_[i].data() + right.at,
                    true, 1.0);
      }
    }
  has_small_masses_ = mass_scales(system_, blocks_[0].M, row_scale_);
  if (has_small_masses_) scale_rows(system_, matrix_, stages, row_scale_, matrix_.values());
  return solver_->factorize(matrix_);
}

void CoupledStages::solve(Vectors& right_hand_sides) {
  if (has_small_masses_)
    for (Vector& b : right_hand_sides) b.head(row_scale_.size()).array() *= row_scale_.array();
  gather(right_hand_sides);
  solver_->solve(work_);
  scatter(right_hand_sides);
}

void CoupledStages::gather(const Vectors& from) {
  const linear::BlockPattern& pattern = layout_.pattern;
  for (int b = 0; b < pattern.block_count(); ++b)
    for (int i = 0; i < stages; ++i)
      work_.segment(matrix_.block_at(b) + i * pattern.block_size(b), pattern.block_size(b)) =
          from[i].segment(pattern.block_at(b), pattern.block_size(b));
}

void CoupledStages::scatter(Vectors& to) const {
  const linear::BlockPattern& pattern = layout_.pattern;
  for (int b = 0; b < pattern.block_count(); ++b)
    for (int i = 0; i < stages; ++i)
      to[i].segment(pattern.block_at(b), pattern.block_size(b)) =
          work_.segment(matrix_.block_at(b) + i * pattern.block_size(b), pattern.block_size(b));
}

}  // namespace kreisel::solve
