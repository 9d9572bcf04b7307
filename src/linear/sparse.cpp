// SuiteSparse KLU on the scalar pattern of the blocks: analysed once, refactorised while the pivots stay good.
#include <klu.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kreisel/error.hpp"
#include "linear/solver.hpp"

namespace kreisel::linear {
namespace {

/// klu_* for double, klu_z_* for complex numbers, which KLU takes as pairs of doubles.
struct RealKlu {
  static constexpr auto factor = klu_factor;
  static constexpr auto refactor = klu_refactor;
  static constexpr auto growth = klu_rgrowth;
  static constexpr auto solve = klu_solve;
  static constexpr auto free_numeric = klu_free_numeric;
};
struct ComplexKlu {
  static constexpr auto factor = klu_z_factor;
  static constexpr auto refactor = klu_z_refactor;
  static constexpr auto growth = klu_z_rgrowth;
  static constexpr auto solve = klu_z_solve;
  static constexpr auto free_numeric = klu_z_free_numeric;
};

template <class Scalar>
class SparseSolver final : public SolverOf<Scalar> {
  using Klu = std::conditional_t<std::is_same_v<Scalar, double>, RealKlu, ComplexKlu>;
  using Values = typename SolverOf<Scalar>::Values;
  using ValuesRef = typename SolverOf<Scalar>::ValuesRef;

 public:
  explicit SparseSolver(const BlockMatrixOf<Scalar>& matrix) : n_(matrix.size()) {
    klu_defaults(&common_);
    build_columns(matrix);
    symbolic_ = klu_analyze(n_, column_start_.data(), row_.data(), &common_);
    if (symbolic_ == nullptr) throw EnvironmentError("the sparse solver could not analyse its matrix (out of memory?)");
  }
  ~SparseSolver() override {
    Klu::free_numeric(&numeric_, &common_);
    klu_free_symbolic(&symbolic_, &common_);
  }

  std::string_view name() const override { return "sparse"; }

  bool factorize(const BlockMatrixOf<Scalar>& matrix) override {
    const Scalar* blocks = matrix.values().data();
    for (std::size_t i = 0; i < source_.size(); ++i) value_[i] = blocks[source_[i]];
    if (std::any_of(value_.begin(), value_.end(), [](Scalar x) { return !std::isfinite(std::abs(x)); }))
      return fail(-1);
    if (numeric_ != nullptr && refactorize()) return true;
    Klu::free_numeric(&numeric_, &common_);
    numeric_ = Klu::factor(column_start_.data(), row_.data(), numbers(value_.data()), symbolic_, &common_);
    if (numeric_ == nullptr || common_.status == KLU_SINGULAR) return fail(common_.singular_col);
    pivot_values_ = matrix.values();
    return true;
  }

  void solve(ValuesRef b) override { Klu::solve(symbolic_, numeric_, n_, 1, numbers(b.data()), &common_); }

  int singular_row() const override { return singular_row_; }
  const Values* pivot_values() const override { return numeric_ != nullptr ? &pivot_values_ : nullptr; }

 private:
  static double* numbers(Scalar* values) { return reinterpret_cast<double*>(values); }

  /// Old pivots on new values; rejected when the element growth shows that the pivots have become bad.
  bool refactorize() {
    if (!Klu::refactor(column_start_.data(), row_.data(), numbers(value_.data()), symbolic_, numeric_, &common_))
      return false;
    if (common_.status == KLU_SINGULAR) return false;
    Klu::growth(column_start_.data(), row_.data(), numbers(value_.data()), symbolic_, numeric_, &common_);
    return common_.rgrowth > 1e-8;
  }

  bool fail(int row) {
    singular_row_ = row;
    Klu::free_numeric(&numeric_, &common_);
    return false;
  }

  void build_columns(const BlockMatrixOf<Scalar>& matrix) {
    struct Number {
      int column, row, source;
    };
    std::vector<Number> numbers;
    matrix.for_each_number([&](int row, int column, int index) { numbers.push_back({column, row, index}); });
    std::sort(numbers.begin(), numbers.end(), [](const Number& a, const Number& b) {
      return std::pair{a.column, a.row} < std::pair{b.column, b.row};
    });
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
  std::vector<Scalar> value_;
  klu_common common_{};
  klu_symbolic* symbolic_ = nullptr;
  klu_numeric* numeric_ = nullptr;
  int singular_row_ = -1;
  Values pivot_values_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_sparse_solver(const BlockMatrixOf<Scalar>& matrix) {
  return std::make_unique<SparseSolver<Scalar>>(matrix);
}
template std::unique_ptr<Solver> make_sparse_solver(const BlockMatrix&);
template std::unique_ptr<ComplexSolver> make_sparse_solver(const ComplexBlockMatrix&);

}  // namespace kreisel::linear
