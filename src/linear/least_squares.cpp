// Rank-revealing dense solver: of all solutions the one of least norm, for matrices that redundant constraints make singular.
#include <fmt/format.h>

#include <cmath>

#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "linear/solver.hpp"

namespace kreisel::linear {
namespace {

/// Rows are redundant on the constraint manifold, but Newton's matrix is evaluated at a predicted point near it, where they
/// differ by the error of the prediction. Pivots below this part of the largest one count as zero.
constexpr double rank_threshold = 1e-5;
/// Dense work grows with the cube of this.
constexpr int most_unknowns = 2000;

template <class Scalar>
class LeastSquaresSolver final : public SolverOf<Scalar> {
  using Values = typename SolverOf<Scalar>::Values;
  using ValuesRef = typename SolverOf<Scalar>::ValuesRef;
  using Dense = typename BlockMatrixOf<Scalar>::Dense;

 public:
  explicit LeastSquaresSolver(const BlockMatrixOf<Scalar>& matrix)
      : scale_(matrix.size()), decomposition_(rank_threshold) {
    if (matrix.size() > most_unknowns)
      throw InvalidInput(
          fmt::format("least-squares works on dense matrices of at most {} unknowns, this model has {}; remove "
                      "the redundant constraints that 'kreisel check' names",
                      most_unknowns, matrix.size()));
  }

  std::string_view name() const override { return "least-squares"; }

  bool factorize(const BlockMatrixOf<Scalar>& matrix) override {
    matrix_ = matrix.to_dense();
    if (!matrix_.allFinite()) return false;
    for (Eigen::Index i = 0; i < matrix_.rows(); ++i) {
      const double size = matrix_.row(i).template lpNorm<Eigen::Infinity>();
      scale_[i] = size > 0.0 ? 1.0 / size : 1.0;
    }
    matrix_ = scale_.asDiagonal() * matrix_;
    decomposition_.compute(matrix_);
    return true;
  }
  void solve(ValuesRef b) override {
    const Values scaled = scale_.asDiagonal() * b;
    b = decomposition_.solve(scaled);
  }
  int singular_row() const override { return -1; }
  bool is_rank_revealing() const override { return true; }
  void remove_null_part(ValuesRef z) override {
    const Values image = matrix_ * z;
    z = decomposition_.solve(image);
  }

 private:
  Vector scale_;  ///< rows to size 1; columns keep theirs, since the norm of the solution is what is minimised
  Dense matrix_;
  LeastNormOf<Scalar> decomposition_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_least_squares_solver(const BlockMatrixOf<Scalar>& matrix) {
  return std::make_unique<LeastSquaresSolver<Scalar>>(matrix);
}
template std::unique_ptr<Solver> make_least_squares_solver(const BlockMatrix&);
template std::unique_ptr<ComplexSolver> make_least_squares_solver(const ComplexBlockMatrix&);

}  // namespace kreisel::linear
