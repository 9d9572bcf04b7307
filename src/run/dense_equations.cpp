#include "run/dense_equations.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <limits>

namespace kreisel::run {

struct DenseSolver::Decompositions {
  Eigen::PartialPivLU<Matrix> lu;
  Eigen::CompleteOrthogonalDecomposition<Matrix> orthogonal;
};

DenseSolver::DenseSolver(int size, bool reveals_rank, Counters& counters)
    : counters_(counters),
      reveals_rank_(reveals_rank),
      decompositions_(new Decompositions{Eigen::PartialPivLU<Matrix>(size), {}}),
      matrix(Matrix::Zero(size, size)) {}

DenseSolver::~DenseSolver() = default;

bool DenseSolver::factorize() {
  ++counters_.factorizations;
  if (!matrix.allFinite()) return false;
  if (reveals_rank_) {
    decompositions_->orthogonal.compute(matrix);
    return true;
  }
  decompositions_->lu.compute(matrix);
  if (matrix.rows() == 0) return true;
  const auto pivots = decompositions_->lu.matrixLU().diagonal().cwiseAbs();
  return pivots.minCoeff() > 1e-3 * std::numeric_limits<double>::epsilon() * pivots.maxCoeff();
}

void DenseSolver::solve(ConstVectorRef right_hand_side, VectorRef x) const {
  if (reveals_rank_)
    x = decompositions_->orthogonal.solve(right_hand_side);
  else
    x = decompositions_->lu.solve(right_hand_side);
}

}  // namespace kreisel::run
