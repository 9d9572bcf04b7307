// Rank-revealing dense solver: of all solutions the one of least norm, for matrices that redundant constraints make singular.
#include <fmt/format.h>

#include <Eigen/QR>
#include <cmath>

#include "kreisel/base/error.hpp"
#include "kreisel/linear/solver.hpp"

namespace kreisel::linear {
namespace {

/// Rows are redundant on the constraint manifold, but Newton's matrix is made at a predicted point near it, where they miss
/// each other by the error of the prediction. Pivots below this part of the largest one count as zero.
constexpr double rank_threshold = 1e-5;
/// Dense work grows with the cube of this.
constexpr int most_unknowns = 2000;

class LeastSquaresSolver final : public Solver {
 public:
  explicit LeastSquaresSolver(const BlockMatrix& matrix)
      : scale_(matrix.size()), decomposition_(matrix.size(), matrix.size()) {
    if (matrix.size() > most_unknowns)
      throw InvalidInput(
          fmt::format("least-squares works on dense matrices of at most {} unknowns, this model has {}; remove "
                      "the redundant constraints that 'kreisel check' names",
                      most_unknowns, matrix.size()));
    decomposition_.setThreshold(rank_threshold);
  }

  std::string_view name() const override { return "least-squares"; }

  bool factorize(const BlockMatrix& matrix) override {
    matrix_ = matrix.to_dense();
    if (!matrix_.allFinite()) return false;
    for (Eigen::Index i = 0; i < matrix_.rows(); ++i) {
      const double size = matrix_.row(i).lpNorm<Eigen::Infinity>();
      scale_[i] = size > 0.0 ? 1.0 / size : 1.0;
    }
    matrix_ = scale_.asDiagonal() * matrix_;
    decomposition_.compute(matrix_);
    return true;
  }
  void solve(VectorRef b) override {
    const Vector scaled = scale_.cwiseProduct(b);
    b = decomposition_.solve(scaled);
  }
  int singular_row() const override { return -1; }
  bool is_rank_revealing() const override { return true; }
  void remove_null_part(VectorRef z) override {
    const Vector image = matrix_ * z;
    z = decomposition_.solve(image);
  }

 private:
  Vector scale_;  ///< rows to size 1; columns keep theirs, since the norm of the solution is what is minimised
  Matrix matrix_;
  Eigen::CompleteOrthogonalDecomposition<Matrix> decomposition_;
};

}  // namespace

std::unique_ptr<Solver> make_least_squares_solver(const BlockMatrix& matrix) {
  return std::make_unique<LeastSquaresSolver>(matrix);
}

}  // namespace kreisel::linear
