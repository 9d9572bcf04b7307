#include "solve/kkt.hpp"

#include <algorithm>
#include <cmath>

#include "lie/group_info.hpp"

namespace kreisel::solve {

using system::CoordinateKind;
using system::Motion;
using system::Pattern;
using system::RowLevel;

namespace {

constexpr int max_newton_iterations = 30;
constexpr int max_projection_iterations = 12;

/// Up to so many coordinates the default of System::mass_and_jacobian has room for a whole linearisation and allocates
/// nothing; above, memory matters.
constexpr int small_system = 100;

/// A projection ends at a distance this small, for velocities relative to v.
constexpr double projection_floor = 1e-15;
/// So does a correction after which, at the rate seen, less than round-off of q or v is left: no further residual is needed.
constexpr double invisible = 1e-16;
/// Largest ratio of the second correction to the first if the matrix is exact.
constexpr double exact_matrix = 1e-3;
/// Round-off of accelerations with stiff forces, whose parts cancel.
constexpr double largest_round_off = 1e-8;

}  // namespace

/// In the maximum norm: rows of joints, direction cosines beside arms, are about 1 then.
void row_lengths(const system::System& system, const Vector& B, double unit, VectorRef out) {
  const Pattern& pattern = system.pattern();
  out.setZero();
  for (const Pattern::Touch& touch : pattern.touches()) {
    const system::RowGroup& group = pattern.groups()[touch.group];
    const lie::Block& touched = system.space().blocks()[touch.block];
    const ConstMatrixMap block(B.data() + touch.at, group.rows, touched.nv);
    const int n = unit == 1.0 ? 0 : lie::translations_of(touched);
    for (int i = 0; i < group.rows; ++i) {
      double& length = out[group.at + i];
      length = std::max(length, block.row(i).tail(touched.nv - n).lpNorm<Eigen::Infinity>());
      if (n > 0) length = std::max(length, unit * block.row(i).head(n).lpNorm<Eigen::Infinity>());
    }
  }
  for (double& length : out)
    if (!(length > 0.0)) length = 1.0;
}

double unit_of_projection(double length) {
  constexpr double small_mechanism = 1e-2, large_mechanism = 1e4;
  return (length > 0.0 && length < small_mechanism) || length > large_mechanism ? length : 1.0;
}

namespace {

/// Largest entry of blocks of q or v, with translations in units of `unit`.
double largest_in(const lie::Space& space, ConstVectorRef x, double unit, int lie::Block::*at, int lie::Block::*count) {
  if (unit == 1.0) return x.size() > 0 ? x.lpNorm<Eigen::Infinity>() : 0.0;
  double largest = 0.0;
  for (const lie::Block& block : space.blocks()) {
    const int n = lie::translations_of(block);
    for (int i = 0; i < block.*count; ++i)
      largest = std::max(largest, std::abs(x[block.*at + i]) / (i < n ? unit : 1.0));
  }
  return largest;
}

}  // namespace

double largest_position(const lie::Space& space, ConstVectorRef q, double unit) {
  return largest_in(space, q, unit, &lie::Block::q_at, &lie::Block::nq);
}

double largest_velocity(const lie::Space& space, ConstVectorRef v, double unit) {
  return largest_in(space, v, unit, &lie::Block::v_at, &lie::Block::nv);
}

Kkt::Kkt(const system::System& system, Counters& counters, std::string_view linear_solver, Use use)
    : system_(system),
      counters_(counters),
      blocks_(system.pattern()),
      residual_(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()),
      needs_newton_(!system.is_affine_in_multipliers() || !system.pattern().is_all_dynamic()) {
  if (!needs_newton_ && system.space().nv() > small_system)
    for (Vector* unused : {&blocks_.D, &blocks_.K, &blocks_.H, &blocks_.F}) *unused = Vector();
  const Pattern& pattern = system.pattern();
  has_algebraic_ = !system.is_affine_in_multipliers();
  for (std::size_t b = 0; b < system.space().blocks().size(); ++b)
    has_algebraic_ = has_algebraic_ || pattern.kind(static_cast<int>(b)) == CoordinateKind::algebraic;
  const int x_count = static_cast<int>(system.space().blocks().size());
  std::vector<int> sizes;
  for (const lie::Block& block : system.space().blocks()) sizes.push_back(block.nv);
  for (const system::RowGroup& group : pattern.groups()) sizes.push_back(group.rows);
  const bool is_symmetric = !needs_newton_ || (use == Use::jumps && !has_algebraic_);
  std::vector<std::pair<int, int>> entries;
  for (const Pattern::Coupling& c : pattern.couplings())
    if (c.row == c.column || !is_symmetric ||
        (pattern.kind(c.row) == CoordinateKind::dynamic && pattern.kind(c.column) == CoordinateKind::dynamic))
      entries.push_back({c.row, c.column});
  for (const Pattern::Touch& t : pattern.touches()) {
    entries.push_back({t.block, x_count + t.group});
    entries.push_back({x_count + t.group, t.block});
  }
  // Newton has ∂force/∂λ in place of Bᵀ, and K and D of states and index-1 unknowns in place of M.
  matrix_ = linear::BlockMatrix(sizes, std::move(entries),
                                is_symmetric ? linear::Symmetry::symmetric : linear::Symmetry::none);
  for (const Pattern::Coupling& c : pattern.couplings()) coupling_entry_.push_back(matrix_.find(c.row, c.column));
  for (const Pattern::Touch& t : pattern.touches()) {
    force_entry_.push_back(matrix_.find(t.block, x_count + t.group));
    row_entry_.push_back(matrix_.find(x_count + t.group, t.block));
  }
  const auto add_copy = [&](std::vector<Copy>& copies, int from, int entry) {
    if (entry < 0) return;
    const int to = matrix_.entries()[entry].at, count = static_cast<int>(matrix_.block(entry).size());
    const bool continues = !copies.empty() && copies.back().from + copies.back().count == from &&
                           copies.back().to + copies.back().count == to;
    if (continues)
      copies.back().count += count;
    else
      copies.push_back({from, to, count});
  };
  if (matrix_.is_symmetric()) {
    for (std::size_t c = 0; c < coupling_entry_.size(); ++c) {
      if (pattern.kind(pattern.couplings()[c].row) == CoordinateKind::dynamic)
        add_copy(mass_copies_, pattern.couplings()[c].at, coupling_entry_[c]);
      else if (coupling_entry_[c] >= 0)
        unit_entries_.push_back(coupling_entry_[c]);
    }
    for (std::size_t t = 0; t < row_entry_.size(); ++t) add_copy(row_copies_, pattern.touches()[t].at, row_entry_[t]);
  }
  solver_ = linear::make_solver(linear_solver, matrix_);
  right_hand_side_.setZero(matrix_.size());
  rows_.setZero(pattern.rows());
  row_lengths_.setOnes(pattern.rows());
  zero_lambda_.setZero(pattern.rows());
  step_.setZero(system.space().nv());
  target_.setZero(system.space().nv());
  inputs_ = dynamic_cast<const system::SystemWithInputs*>(&system);
  before_jump_ = Motion(system.space());
  lambda_before_jump_.setZero(pattern.rows());
}

Kkt::~Kkt() = default;

bool Kkt::factorize(const Motion& m, Metric metric) {
  if (needs_newton_ && !has_algebraic_) blocks_.D.setZero();  // but for the rows of states
  system_.mass_and_jacobian(m, blocks_);
  assemble(metric);
  ++counters_.factorizations;
  return solver_->factorize(matrix_);
}

void Kkt::assemble_symmetric(Metric metric) {
  double* values = matrix_.values().data();
  if (metric == Metric::mass) {
    for (const Copy& copy : mass_copies_) std::copy_n(blocks_.M.data() + copy.from, copy.count, values + copy.to);
    for (const int entry : unit_entries_) matrix_.block(entry).setIdentity();
  } else {
    const Pattern& pattern = system_.pattern();
    for (std::size_t c = 0; c < pattern.couplings().size(); ++c) {
      if (coupling_entry_[c] < 0) continue;
      const Pattern::Coupling& coupling = pattern.couplings()[c];
      if (coupling.row == coupling.column)
        matrix_.block(coupling_entry_[c]).setIdentity();
      else
        matrix_.block(coupling_entry_[c]).setZero();
    }
  }
  for (const Copy& copy : row_copies_) std::copy_n(blocks_.B.data() + copy.from, copy.count, values + copy.to);
}

void Kkt::assemble(Metric metric) {
  has_row_lengths_ = false;
  if (matrix_.is_symmetric()) return assemble_symmetric(metric);
  const Pattern& pattern = system_.pattern();
  const auto& blocks = system_.space().blocks();
  double* values = matrix_.values().data();
  const auto entry_at = [&](int entry) { return values + matrix_.entries()[entry].at; };
  for (std::size_t c = 0; c < pattern.couplings().size(); ++c) {
    const Pattern::Coupling& coupling = pattern.couplings()[c];
    const int rows = blocks[coupling.row].nv, columns = blocks[coupling.column].nv;
    double* out = entry_at(coupling_entry_[c]);
    if (metric == Metric::euclidean) {
      std::fill_n(out, rows * columns, 0.0);
      if (coupling.row == coupling.column)
        for (int i = 0; i < rows; ++i) out[i * rows + i] = 1.0;
      continue;
    }
    const Vector* source = &blocks_.M;
    switch (pattern.kind(coupling.column)) {
      case CoordinateKind::dynamic:
        break;
      case CoordinateKind::state:
        source = &blocks_.D;
        break;
      case CoordinateKind::algebraic:
        source = &blocks_.K;
        break;
    }
    std::copy_n(source->data() + coupling.at, rows * columns, out);
  }
  for (std::size_t t = 0; t < pattern.touches().size(); ++t) {
    const Pattern::Touch& touch = pattern.touches()[t];
    const int r = pattern.groups()[touch.group].rows, n = blocks[touch.block].nv;
    const double* B = blocks_.B.data() + touch.at;
    std::copy_n(B, r * n, entry_at(row_entry_[t]));
    double* force = entry_at(force_entry_[t]);
    if (metric == Metric::mass && needs_newton_) {
      std::copy_n(blocks_.F.data() + touch.at, r * n, force);
    } else {
      for (int i = 0; i < r; ++i)
        for (int j = 0; j < n; ++j) force[i * n + j] = B[j * r + i];
    }
  }
}

void Kkt::solve(VectorRef top, VectorRef bottom) {
  const int nv = system_.space().nv();
  right_hand_side_.head(nv) = top;
  right_hand_side_.tail(bottom.size()) = bottom;
  solver_->solve(right_hand_side_);
  top = right_hand_side_.head(nv);
  bottom = right_hand_side_.tail(bottom.size());
}

bool Kkt::accelerate(Motion& m, VectorRef lambda) {
  if (!needs_newton_) {
    m.a.setZero();
    lambda.setZero();
    ++counters_.residual_evaluations;
    system_.saddle_point(m, lambda, blocks_, residual_, rows_);
    assemble(Metric::mass);
    ++counters_.factorizations;
    if (!solver_->factorize(matrix_)) return false;
    m.a = -residual_.force;
    lambda = -rows_;
    solve(m.a, lambda);
    return m.a.allFinite() && lambda.allFinite();
  }
  target_.setZero();
  return balance(m, lambda, false);
}

/// Newton in (v̇ | v of states | q of index-1 unknowns, λ) until force = target_ and d/dt(B v + Φ_t) = 0. Where forces do not
/// depend on rates of states, M, B and the rows of the states are the whole matrix: it is tried first, and one factorisation is
/// enough then.
bool Kkt::balance(Motion& m, VectorRef lambda, bool is_balanced) {
  bool is_whole = has_algebraic_;
  double previous = HUGE_VAL;
  for (int iteration = 0; iteration < max_newton_iterations; ++iteration) {
    if (iteration > 0 || !is_balanced) {
      ++counters_.residual_evaluations;
      system_.residual(m, lambda, residual_);
      residual_.force -= target_;
    } else {
      residual_.force.setZero();
    }
    system_.acceleration_gap(m, rows_);
    if (!is_whole && iteration == 0) is_whole = !factorize(m);
    if (is_whole) {
      ++counters_.jacobian_evaluations;
      system_.linearize(m, lambda, blocks_);
      assemble(Metric::mass);
      ++counters_.factorizations;
      if (!solver_->factorize(matrix_)) return false;
    }
    const double change = correct(m, lambda);
    if (change < 0.0) return false;
    if (change <= 1e-13) return true;
    // With the whole matrix only round-off keeps an update from falling.
    if (is_whole && change <= largest_round_off && change > 0.1 * previous) return true;
    is_whole = is_whole || change > exact_matrix * previous;
    previous = change;
  }
  return false;
}

double Kkt::correct(Motion& m, VectorRef lambda) {
  solve(residual_.force, rows_);
  if (!residual_.force.allFinite() || !rows_.allFinite()) return -1.0;
  const Vector& update = residual_.force;
  double change = 0.0, size = 0.0;
  const auto& blocks = system_.space().blocks();
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b) {
    auto part = update.segment(blocks[b].v_at, blocks[b].nv);
    change = std::max(change, part.lpNorm<Eigen::Infinity>());
    switch (system_.pattern().kind(b)) {
      case CoordinateKind::dynamic:
        m.a.segment(blocks[b].v_at, blocks[b].nv) -= part;
        size = std::max(size, m.a.segment(blocks[b].v_at, blocks[b].nv).lpNorm<Eigen::Infinity>());
        break;
      case CoordinateKind::state:
        m.v.segment(blocks[b].v_at, blocks[b].nv) -= part;
        size = std::max(size, m.v.segment(blocks[b].v_at, blocks[b].nv).lpNorm<Eigen::Infinity>());
        break;
      case CoordinateKind::algebraic:
        // Index-1 unknowns are in ℝⁿ blocks, where moving is adding.
        m.q.segment(blocks[b].q_at, blocks[b].nv) -= part;
        size = std::max(size, m.q.segment(blocks[b].q_at, blocks[b].nv).lpNorm<Eigen::Infinity>());
        break;
    }
  }
  lambda -= rows_;
  return change / (1.0 + size);
}

bool Kkt::complete(Motion& m, VectorRef lambda, bool moves_velocity) {
  const bool has_target = needs_newton_ || moves_velocity;
  if (has_target) {
    ++counters_.residual_evaluations;
    system_.residual(m, lambda, residual_);
    target_ = residual_.force;
  }
  if ((!needs_newton_ || moves_velocity) && !factorize(m)) return false;
  if (moves_velocity && !project_velocity(m)) return false;
  if (needs_newton_) return balance(m, lambda, !moves_velocity);
  residual_.force.setZero();
  if (has_target) {
    ++counters_.residual_evaluations;
    system_.residual(m, lambda, residual_);
    residual_.force -= target_;
  }
  system_.acceleration_gap(m, rows_);
  solve(residual_.force, rows_);
  m.a -= residual_.force;
  lambda -= rows_;
  return m.a.allFinite() && lambda.allFinite();
}

bool Kkt::jump_to(double t, Motion& m, VectorRef lambda) {
  if (has_algebraic_) return false;
  before_jump_ = m;
  lambda_before_jump_ = lambda;
  m.t = t;
  // The second correction is round-off, unless forces depend on rates of states.
  const int corrections = needs_newton_ ? 2 : 1;
  double change = 0.0;
  for (int i = 0; i < corrections; ++i) {
    if (i == 0 && inputs_ != nullptr) {
      inputs_->jump_of_force(before_jump_, t, lambda, residual_.force);
    } else {
      counters_.residual_evaluations += 2;
      system_.residual(before_jump_, lambda_before_jump_, residual_);
      target_ = residual_.force;
      system_.residual(m, lambda, residual_);
      residual_.force -= target_;
    }
    rows_.setZero();  // B Δv̇ = 0: constraints do not jump
    change = correct(m, lambda);
    if (change < 0.0) break;
    if (i == 0 && m.v == before_jump_.v) return true;  // no rate of a state has jumped
  }
  if (change >= 0.0 && (corrections == 1 || change <= 1e-12)) return true;
  m = before_jump_;
  lambda = lambda_before_jump_;
  return false;
}

double Kkt::distance(const Vector& rows) const {
  return rows.cwiseQuotient(row_lengths_.head(rows.size())).lpNorm<Eigen::Infinity>();
}

void Kkt::measure_rows() {
  if (has_row_lengths_) return;
  row_lengths(system_, blocks_.B, unit_, row_lengths_);
  has_row_lengths_ = true;
}

bool Kkt::project_position(Motion& m) {
  const int position_rows = system_.pattern().position_rows();
  projection_iterations_ = 0;
  if (position_rows == 0) return true;
  measure_rows();
  double first = 0.0, previous = HUGE_VAL;
  for (int iteration = 0; iteration < max_projection_iterations; ++iteration) {
    projection_iterations_ = iteration + 1;
    system_.constraints(m, zero_lambda_, residual_);
    const double size = distance(residual_.gap);
    if (!std::isfinite(size)) return false;
    if (iteration == 0) first = size;
    if (size <= projection_floor) return true;
    // Round-off of a gap is that of the positions it is the difference of.
    const double scale = std::max(1.0, largest_position(system_.space(), m.q, unit_));
    if (size > 0.5 * previous) return size <= 1e-6 * first || size < 1e-11 * scale;
    const bool is_last = iteration > 0 && size / previous * size <= invisible * scale;
    previous = size;
    step_.setZero();
    rows_.setZero();
    rows_.head(position_rows) = -residual_.gap;
    solve(step_, rows_);
    system_.space().move(m.q, step_, m.q);
    if (is_last) return true;
  }
  return false;
}

bool Kkt::project_velocity(Motion& m) {
  projection_iterations_ = 0;
  if (system_.pattern().rows() == 0) return true;
  measure_rows();
  double first = 0.0, previous = HUGE_VAL;
  for (int iteration = 0; iteration < max_projection_iterations; ++iteration) {
    projection_iterations_ = iteration + 1;
    system_.constraints(m, zero_lambda_, residual_);
    const double size = distance(residual_.rate);
    if (!std::isfinite(size)) return false;
    if (iteration == 0) first = size;
    const double scale = std::max(1.0, largest_velocity(system_.space(), m.v, unit_));
    if (size <= projection_floor * scale) return true;
    if (size > 0.5 * previous) return size <= 1e-6 * first || size < 1e-11 * scale;
    const bool is_last = iteration > 0 && size / previous * size <= invisible * scale;
    previous = size;
    step_.setZero();
    rows_ = -residual_.rate;
    solve(step_, rows_);
    m.v += step_;
    if (is_last) return true;
  }
  return false;
}

void Kkt::jump_by(ConstVectorRef impulse, VectorRef jump) {
  step_ = impulse;
  rows_.setZero();
  solve(step_, rows_);
  jump = step_;
}

/// rows_ += B x, over the position rows alone or over all of them.
void Kkt::add_rows(ConstVectorRef x, bool positions_only) {
  const Pattern& pattern = system_.pattern();
  for (const Pattern::Touch& touch : pattern.touches()) {
    const system::RowGroup& group = pattern.groups()[touch.group];
    if (positions_only && group.level != RowLevel::position) continue;
    const lie::Block& block = system_.space().blocks()[touch.block];
    const ConstMatrixMap B(blocks_.B.data() + touch.at, group.rows, block.nv);
    rows_.segment(group.at, group.rows) += B * x.segment(block.v_at, block.nv);
  }
}

void Kkt::constrained_part(ConstVectorRef l, VectorRef out) {
  rows_.setZero();
  add_rows(l, true);
  step_.setZero();
  solve(step_, rows_);
  out = step_;
}

void Kkt::velocity_part(const Motion& at, ConstVectorRef dq, ConstVectorRef dv, Motion& scratch, VectorRef out) {
  rows_.setZero();
  // H δq as a difference: a full linearisation would cost more than the step itself.
  if (const double size = largest_velocity(system_.space(), dq, length_); size > 0.0) {
    const double part = 1e-6 / size;
    scratch = at;
    step_ = part * dq;
    system_.space().move(at.q, step_, scratch.q);
    system_.constraints(scratch, zero_lambda_, residual_);
    rows_ = residual_.rate / part;
    system_.constraints(at, zero_lambda_, residual_);
    rows_ -= residual_.rate / part;
  }
  add_rows(dv, false);
  step_.setZero();
  solve(step_, rows_);
  out = step_;
}

}  // namespace kreisel::solve
