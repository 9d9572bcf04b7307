// LU with partial pivoting on a row-major square. For the sizes of one or two bodies (9 to 40 unknowns) a plain
// right-looking loop needs half the instructions of Eigen's blocked PartialPivLU (`make bench`).
#include <cmath>
#include <utility>
#include <vector>

#include "kreisel/linear/solver.hpp"

namespace kreisel::linear {
namespace {

class DenseSolver final : public Solver {
 public:
  explicit DenseSolver(const BlockMatrix& matrix)
      : n_(matrix.size()), stride_((n_ + 1) & ~1), lu_(stride_ * n_, 0.0), row_of_(n_), pivot_inverse_(n_), work_(n_) {}

  std::string_view name() const override { return "dense"; }

  bool factorize(const BlockMatrix& matrix) override {
    scatter(matrix);
    for (int i = 0; i < n_; ++i) row_of_[i] = i;
    for (int k = 0; k < n_; ++k) {
      int best = k;
      double largest = std::abs(lu_[k * stride_ + k]);
      for (int i = k + 1; i < n_; ++i)
        if (const double candidate = std::abs(lu_[i * stride_ + k]); candidate > largest) largest = candidate, best = i;
      // NaN compares false: a matrix with NaN is refused here too.
      if (!(largest > 0.0) || !std::isfinite(largest)) {
        singular_row_ = row_of_[k];
        return false;
      }
      if (best != k) {
        std::swap_ranges(&lu_[k * stride_], &lu_[k * stride_] + n_, &lu_[best * stride_]);
        std::swap(row_of_[k], row_of_[best]);
      }
      const double* __restrict upper = &lu_[k * stride_];
      const double inverse = 1.0 / upper[k];
      pivot_inverse_[k] = inverse;
      for (int i = k + 1; i < n_; ++i) {
        double* __restrict row = &lu_[i * stride_];
        if (row[k] == 0.0) continue;
        const double factor = row[k] * inverse;
        row[k] = factor;
        for (int j = k + 1; j < n_; ++j) row[j] -= factor * upper[j];
      }
    }
    return true;
  }

  void solve(VectorRef b) override {
    for (int i = 0; i < n_; ++i) {
      const double* row = &lu_[i * stride_];
      double sum = b[row_of_[i]];
      for (int j = 0; j < i; ++j) sum -= row[j] * work_[j];
      work_[i] = sum;
    }
    for (int i = n_ - 1; i >= 0; --i) {
      const double* row = &lu_[i * stride_];
      double sum = work_[i];
      for (int j = i + 1; j < n_; ++j) sum -= row[j] * b[j];
      b[i] = sum * pivot_inverse_[i];
    }
  }

  int singular_row() const override { return singular_row_; }

 private:
  void scatter(const BlockMatrix& matrix) {
    std::fill(lu_.begin(), lu_.end(), 0.0);
    for (const BlockMatrix::Entry& e : matrix.entries()) {
      const int rows = matrix.block_size(e.row), columns = matrix.block_size(e.column);
      const double* value = matrix.values().data() + e.at;
      double* corner = &lu_[matrix.block_at(e.row) * stride_ + matrix.block_at(e.column)];
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < rows; ++i) corner[i * stride_ + j] = *value++;
    }
  }

  int n_, stride_;
  std::vector<double> lu_;
  std::vector<int> row_of_;
  std::vector<double> pivot_inverse_, work_;
  int singular_row_ = -1;
};

}  // namespace

std::unique_ptr<Solver> make_dense_solver(const BlockMatrix& matrix) { return std::make_unique<DenseSolver>(matrix); }

}  // namespace kreisel::linear
