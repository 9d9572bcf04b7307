// Small dense equations of comparison methods: mass, constraints, and Newton's method by differences.
#pragma once

#include <cmath>
#include <memory>

#include "kreisel/system.hpp"

namespace kreisel::run {

/// One factorisation in storage that is allocated once; of least norm where the matrix may lack rank.
class DenseSolver {
 public:
  DenseSolver(int size, bool reveals_rank, Counters& counters);
  ~DenseSolver();

  /// False: singular, or not finite.
  [[nodiscard]] bool factorize();
  void solve(ConstVectorRef right_hand_side, VectorRef x) const;

 private:
  struct Decompositions;
  Counters& counters_;
  bool reveals_rank_;
  std::unique_ptr<Decompositions> decompositions_;

 public:
  Matrix matrix;
};

/// M and the rows of constraints at a motion, as dense matrices.
class DenseMechanics {
 public:
  explicit DenseMechanics(const system::System& system, Counters& counters)
      : M(Matrix::Zero(system.space().nv(), system.space().nv())),
        B(Matrix::Zero(system.pattern().rows(), system.space().nv())),
        residual(system.space().nv(), system.pattern().position_rows(), system.pattern().rows()),
        system_(system),
        counters_(counters),
        blocks_(system.pattern()),
        zero_lambda_(Vector::Zero(system.pattern().rows())),
        at_(system.space()),
        hat_(Vector::Zero(system.space().block_diagonal_size())) {}

  void set_matrices(const system::Motion& m) {
    ++counters_.jacobian_evaluations;
    system_.mass_and_jacobian(m, blocks_);
    for (const system::Pattern::Coupling& c : system_.pattern().couplings()) {
      const lie::Block &row = system_.space().blocks()[c.row], &column = system_.space().blocks()[c.column];
      M.block(row.v_at, column.v_at, row.nv, column.nv) = ConstMatrixMap(blocks_.M.data() + c.at, row.nv, column.nv);
    }
    for (const system::Pattern::Touch& t : system_.pattern().touches()) {
      const system::RowGroup& group = system_.pattern().groups()[t.group];
      const lie::Block& block = system_.space().blocks()[t.block];
      B.block(group.at, block.v_at, group.rows, block.nv) =
          ConstMatrixMap(blocks_.B.data() + t.at, group.rows, block.nv);
    }
  }
  /// force := g(t, q, v), gap := Φ, rate := B v + Φ_t, into `residual`.
  void evaluate(double t, ConstVectorRef q, ConstVectorRef v) {
    at_.t = t;
    at_.q = q;
    at_.v = v;
    ++counters_.residual_evaluations;
    system_.residual(at_, zero_lambda_, residual);
  }
  double energy(double t, ConstVectorRef q) {
    at_.t = t;
    at_.q = q;
    at_.v.setZero();
    return system_.energy(at_);
  }
  /// out += ad_vᵀ y
  void add_transposed_bracket(ConstVectorRef v, ConstVectorRef y, VectorRef out) {
    ++counters_.brackets;
    system_.space().hat_blocks(v, hat_);
    for (const lie::Block& block : system_.space().blocks())
      out.segment(block.v_at, block.nv).noalias() +=
          ConstMatrixMap(hat_.data() + block.matrix_at, block.nv, block.nv).transpose() *
          y.segment(block.v_at, block.nv);
  }

  Matrix M, B;
  system::Residual residual;

 private:
  const system::System& system_;
  Counters& counters_;
  system::KktBlocks blocks_;
  Vector zero_lambda_;
  system::Motion at_;
  Vector hat_;
};

/// F(x) = 0 by Newton's method. The matrix comes from one-sided differences at the first guess, and is recomputed when the
/// iteration converges slowly.
class DifferenceNewton {
 public:
  DifferenceNewton(int size, bool reveals_rank, Counters& counters)
      : counters_(counters),
        solver_(size, reveals_rank, counters),
        value_(Vector::Zero(size)),
        shifted_(Vector::Zero(size)),
        update_(Vector::Zero(size)),
        at_(Vector::Zero(size)) {}

  /// `F(x, out)`; `scale` has a size of every entry of x. Converged: the update is below `tolerance` of the scales, or round-off.
  template <class Function>
  [[nodiscard]] bool solve(Function&& F, ConstVectorRef scale, double tolerance, VectorRef x) {
    constexpr int most_iterations = 25;
    constexpr double slow = 0.1, nearly = 1e-8;
    double previous = HUGE_VAL;
    bool has_matrix = false;
    for (int iteration = 0; iteration < most_iterations; ++iteration) {
      F(x, value_);
      if (!value_.allFinite()) return false;
      if (value_.lpNorm<Eigen::Infinity>() == 0.0) return true;
      if (!has_matrix && !differentiate(F, scale, x)) return false;
      has_matrix = true;
      ++counters_.newton_iterations;
      solver_.solve(value_, update_);
      x -= update_;
      const double size = update_.cwiseQuotient(scale).lpNorm<Eigen::Infinity>();
      if (!std::isfinite(size)) return false;
      if (size <= tolerance) return true;
      if (iteration > 0 && size > 0.5 * previous && size < nearly) return true;
      has_matrix = size <= slow * previous || iteration == 0;
      previous = size;
    }
    return false;
  }

 private:
  template <class Function>
  bool differentiate(Function&& F, ConstVectorRef scale, ConstVectorRef x) {
    constexpr double step = 1e-7;
    ++counters_.jacobian_evaluations;
    at_ = x;
    for (Eigen::Index i = 0; i < at_.size(); ++i) {
      const double kept = at_[i], moved = kept + step * scale[i], way = moved - kept;
      at_[i] = moved;
      F(at_, shifted_);
      at_[i] = kept;
      solver_.matrix.col(i) = (shifted_ - value_) / way;
    }
    return solver_.factorize();
  }

  Counters& counters_;
  DenseSolver solver_;
  Vector value_, shifted_, update_, at_;
};

}  // namespace kreisel::run
