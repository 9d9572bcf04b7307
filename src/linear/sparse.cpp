// SuiteSparse KLU on the scalar pattern of the blocks: analysed once, refactorised while the pivots stay good.
#include <klu.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kreisel/base/error.hpp"
#include "kreisel/linear/solver.hpp"

namespace kreisel::linear {
namespace {

class SparseSolver final : public Solver {
 public:
  explicit SparseSolver(const BlockMatrix& matrix) : n_(matrix.size()) {
    klu_defaults(&common_);
    build_columns(matrix);
    symbolic_ = klu_analyze(n_, column_start_.data(), row_.data(), &common_);
    if (symbolic_ == nullptr) throw EnvironmentError("the sparse solver could not analyse its matrix (out of memory?)");
  }
  ~SparseSolver() override {
    klu_free_numeric(&numeric_, &common_);
    klu_free_symbolic(&symbolic_, &common_);
  }

  std::string_view name() const override { return "sparse"; }

  bool factorize(const BlockMatrix& matrix) override {
    const double* blocks = matrix.values().data();
    for (std::size_t i = 0; i < source_.size(); ++i) value_[i] = blocks[source_[i]];
    if (std::any_of(value_.begin(), value_.end(), [](double x) { return !std::isfinite(x); })) return fail(-1);
    if (numeric_ != nullptr && refactorize()) return true;
    klu_free_numeric(&numeric_, &common_);
    numeric_ = klu_factor(column_start_.data(), row_.data(), value_.data(), symbolic_, &common_);
    if (numeric_ == nullptr || common_.status == KLU_SINGULAR) return fail(common_.singular_col);
    pivot_values_ = matrix.values();
    return true;
  }

  void solve(VectorRef b) override { klu_solve(symbolic_, numeric_, n_, 1, b.data(), &common_); }

  int singular_row() const override { return singular_row_; }
  const Vector* pivot_values() const override { return numeric_ != nullptr ? &pivot_values_ : nullptr; }

 private:
  /// Old pivots on new values; refused when the element growth says that the pivots have become bad.
  bool refactorize() {
    if (!klu_refactor(column_start_.data(), row_.data(), value_.data(), symbolic_, numeric_, &common_)) return false;
    if (common_.status == KLU_SINGULAR) return false;
    klu_rgrowth(column_start_.data(), row_.data(), value_.data(), symbolic_, numeric_, &common_);
    return common_.rgrowth > 1e-8;
  }

  bool fail(int row) {
    singular_row_ = row;
    klu_free_numeric(&numeric_, &common_);
    return false;
  }

  void build_columns(const BlockMatrix& matrix) {
    struct Number {
      int column, row, source;
    };
    std::vector<Number> numbers;
    matrix.for_each_number([&](int row, int column, int index) { numbers.push_back({column, row, index}); });
    std::sort(numbers.begin(), numbers.end(),
              [](const Number& a, const Number& b) { return std::pair{a.column, a.row} < std::pair{b.column, b.row}; });
    column_start_.assign(n_ + 1, 0);
    for (const Number& number : numbers) {
      ++column_start_[number.column + 1];
      row_.push_back(number.row);
      source_.push_back(number.source);
    }
    for (int column = 0; column < n_; ++column) column_start_[column + 1] += column_start_[column];
    value_.assign(row_.size(), 0.0);
  }

  int n_;
  std::vector<int> column_start_, row_, source_;
  std::vector<double> value_;
  klu_common common_{};
  klu_symbolic* symbolic_ = nullptr;
  klu_numeric* numeric_ = nullptr;
  int singular_row_ = -1;
  Vector pivot_values_;
};

}  // namespace

std::unique_ptr<Solver> make_sparse_solver(const BlockMatrix& matrix) { return std::make_unique<SparseSolver>(matrix); }

}  // namespace kreisel::linear
