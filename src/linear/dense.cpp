// LU with partial pivoting on a column-major square. For the sizes of one or two bodies kernels whose size the compiler
// knows need a third of the instructions of Eigen's blocked PartialPivLU (`make bench`).
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

#include "linear/solver.hpp"
#include "scalar.hpp"

namespace kreisel::linear {
namespace {

/// Up to this many unknowns there is a kernel per size.
constexpr int max_fixed_size = 18;

/// PA = LU. Columns of doubles are padded to even length and their diagonal is zero, the pivots being kept apart: so every
/// column operation works on whole aligned pairs, the row of the pivot and the padding receiving multiples of zero. A complex
/// number is already a pair.
template <class Scalar>
struct Factors {
  Scalar* lu;             ///< n columns of stride_of<Scalar>(n) numbers, 16-byte aligned
  Scalar* pivot_inverse;  ///< n
  int* row_of;            ///< n; row i of PA is row row_of[i] of A
};

/// Numbers that fill 16 bytes.
template <class Scalar>
constexpr int pack = 16 / sizeof(Scalar);

/// n rounded up to whole packs.
template <class Scalar>
constexpr int stride_of(int n) {
  return (n + pack<Scalar> - 1) & ~(pack<Scalar> - 1);
}

/// to[begin … end) -= factor · from[begin … end), both ends at whole packs.
[[gnu::always_inline]] inline void subtract(double factor, const double* from, double* to, int begin, int end) {
  using Pair = Eigen::Vector2d;
  for (int i = begin; i < end; i += 2)
    Eigen::Map<Pair, Eigen::Aligned16>(to + i) -= factor * Eigen::Map<const Pair, Eigen::Aligned16>(from + i);
}
[[gnu::always_inline]] inline void subtract(std::complex<double> factor, const std::complex<double>* from,
                                            std::complex<double>* to, int begin, int end) {
  for (int i = begin; i < end; ++i) to[i] -= times(factor, from[i]);
}

/// One column of the right-looking elimination. False when it has no finite pivot.
template <class Scalar>
[[gnu::always_inline]] inline bool eliminate(const Factors<Scalar>& f, int n, int k) {
  const int stride = stride_of<Scalar>(n), below = (k + 1) & ~(pack<Scalar> - 1);
  Scalar* const column = f.lu + k * stride;
  int best = k;
  double largest = magnitude(column[k]);
  for (int i = k + 1; i < n; ++i)
    if (const double candidate = magnitude(column[i]); candidate > largest) largest = candidate, best = i;
  // NaN compares false: a matrix with NaN is refused here too.
  if (!(largest > 0.0 && largest < HUGE_VAL)) return false;
  if (best != k) {
#pragma GCC unroll 3
    for (int j = 0; j < n; ++j) std::swap(f.lu[j * stride + k], f.lu[j * stride + best]);
    std::swap(f.row_of[k], f.row_of[best]);
  }
  const Scalar inverse = 1.0 / column[k];
  f.pivot_inverse[k] = inverse;
  column[k] = 0.0;
  for (int i = below; i < stride; ++i) column[i] = times(column[i], inverse);
#pragma GCC unroll 1
  for (int j = k + 1; j < n; ++j) {
    Scalar* const other = f.lu + j * stride;
    if (other[k] != 0.0) subtract(other[k], column, other, below, stride);
  }
  return true;
}

/// x, permuted, becomes the solution; it has stride_of<Scalar>(n) entries.
template <class Scalar>
[[gnu::always_inline]] inline void descend(const Factors<Scalar>& f, int n, int k, Scalar* x) {
  subtract(x[k], f.lu + k * stride_of<Scalar>(n), x, (k + 1) & ~(pack<Scalar> - 1), stride_of<Scalar>(n));
}
template <class Scalar>
[[gnu::always_inline]] inline void ascend(const Factors<Scalar>& f, int n, int k, Scalar* x) {
  x[k] = times(x[k], f.pivot_inverse[k]);
  subtract(x[k], f.lu + k * stride_of<Scalar>(n), x, 0, (k + 1) & ~(pack<Scalar> - 1));
}

/// The two operations, for one size.
template <class Scalar>
struct Kernel {
  int (*factorize)(const Factors<Scalar>&, int n);  ///< the first column without a pivot, n when there is none
  void (*solve)(const Factors<Scalar>&, int n, Scalar* x);
};

template <class Scalar>
struct AnySize {
  static int factorize(const Factors<Scalar>& f, int n) {
    int k = 0;
    while (k < n && eliminate(f, n, k)) ++k;
    return k;
  }
  static void solve(const Factors<Scalar>& f, int n, Scalar* x) {
    for (int k = 0; k < n; ++k) descend(f, n, k, x);
    for (int k = n - 1; k >= 0; --k) ascend(f, n, k, x);
  }
};

/// With n and k known, the loops over a column become straight lines.
template <class Scalar, int n, class = std::make_integer_sequence<int, n>>
struct FixedSize;
template <class Scalar, int n, int... k>
struct FixedSize<Scalar, n, std::integer_sequence<int, k...>> {
  static int factorize(const Factors<Scalar>& f, int) {
    int done = 0;
    static_cast<void>((... && (eliminate(f, n, k) && ++done > 0)));
    return done;
  }
  static void solve(const Factors<Scalar>& f, int, Scalar* x) {
    (descend(f, n, k, x), ...);
    (ascend(f, n, n - 1 - k, x), ...);
  }
};

template <class Scalar>
Kernel<Scalar> kernel_for(int n) {
  Kernel<Scalar> kernel{AnySize<Scalar>::factorize, AnySize<Scalar>::solve};
  [&]<int... n_minus_1>(std::integer_sequence<int, n_minus_1...>) {
    const auto use = [&]<class Size>(Size) { kernel = {Size::factorize, Size::solve}; };
    ((n == n_minus_1 + 1 ? use(FixedSize<Scalar, n_minus_1 + 1>{}) : void()), ...);
  }
  (std::make_integer_sequence<int, max_fixed_size>{});
  return kernel;
}

template <class Scalar>
class DenseSolver final : public SolverOf<Scalar> {
  using Values = typename SolverOf<Scalar>::Values;
  using ValuesRef = typename SolverOf<Scalar>::ValuesRef;

 public:
  explicit DenseSolver(const BlockMatrixOf<Scalar>& matrix)
      : n_(matrix.size()),
        stride_(stride_of<Scalar>(n_)),
        kernel_(kernel_for<Scalar>(n_)),
        lu_(Values::Zero(stride_ * n_)),
        pivot_inverse_(Values::Zero(n_)),
        work_(Values::Zero(stride_)),
        row_of_(n_) {
    std::vector<bool> is_filled(lu_.size(), false);
    matrix.for_each_number([&](int row, int column, int index) {
      const int place = column * stride_ + row;
      if (index == static_cast<int>(place_of_.size()))
        place_of_.push_back(place);
      else
        mirrored_.push_back({place, place_of_.back()});
      is_filled[place] = true;
    });
    for (int i = 0; i < lu_.size(); ++i)
      if (!is_filled[i]) empty_.push_back(i);
  }

  std::string_view name() const override { return "dense"; }

  bool factorize(const BlockMatrixOf<Scalar>& matrix) override {
    scatter(matrix);
    for (int i = 0; i < n_; ++i) row_of_[i] = i;
    const int done = kernel_.factorize({lu_.data(), pivot_inverse_.data(), row_of_.data()}, n_);
    if (done < n_) singular_row_ = row_of_[done];
    return done == n_;
  }

  void solve(ValuesRef b) override {
    for (int i = 0; i < n_; ++i) work_[i] = b[row_of_[i]];
    kernel_.solve({lu_.data(), pivot_inverse_.data(), row_of_.data()}, n_, work_.data());
    for (int i = 0; i < n_; ++i) b[i] = work_[i];
  }

  int singular_row() const override { return singular_row_; }

 private:
  void scatter(const BlockMatrixOf<Scalar>& matrix) {
    const Scalar* const values = matrix.values().data();
    Scalar* const lu = lu_.data();
    const int count = static_cast<int>(place_of_.size());
    const int* const place = place_of_.data();
#pragma GCC unroll 6
    for (int i = 0; i < count; ++i) lu[place[i]] = values[i];
    for (const auto& [mirror, source] : mirrored_) lu[mirror] = lu[source];
    for (const int i : empty_) lu[i] = 0.0;
  }

  int n_, stride_;
  Kernel<Scalar> kernel_;
  Values lu_, pivot_inverse_, work_;
  std::vector<int> row_of_;
  std::vector<int> place_of_, empty_;  ///< where the values of the blocks go in lu_, and where none does
  std::vector<std::pair<int, int>>
      mirrored_;  ///< of a symmetric matrix: places above the diagonal, and where they come from
  int singular_row_ = -1;
};

}  // namespace

template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_dense_solver(const BlockMatrixOf<Scalar>& matrix) {
  return std::make_unique<DenseSolver<Scalar>>(matrix);
}
template std::unique_ptr<Solver> make_dense_solver(const BlockMatrix&);
template std::unique_ptr<ComplexSolver> make_dense_solver(const ComplexBlockMatrix&);

}  // namespace kreisel::linear
