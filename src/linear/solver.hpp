// Factorise and solve block-sparse systems whose pattern stays while values change.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/choices.hpp"
#include "linear/block_matrix.hpp"

namespace kreisel::linear {

/// Scalar is double or std::complex<double>.
template <class Scalar>
class SolverOf {
 public:
  using Values = typename BlockMatrixOf<Scalar>::Values;
  using ValuesRef = Eigen::Ref<Values>;

  virtual ~SolverOf() = default;
  virtual std::string_view name() const = 0;
  /// False when the matrix is numerically singular; then `singular_row()` names a row without a pivot.
  [[nodiscard]] virtual bool factorize(const BlockMatrixOf<Scalar>& matrix) = 0;
  /// b becomes the solution. No allocation.
  virtual void solve(ValuesRef b) = 0;
  virtual int singular_row() const = 0;

  /// Values of the matrix whose pivots are still in use; null when factors depend on the present matrix only. A solver that
  /// factorises that one first and then another gets bitwise the same factors of the latter.
  virtual const Values* pivot_values() const { return nullptr; }

  /// Singular matrices are allowed: `solve` gives the solution of least norm. Other solvers may give different solutions.
  virtual bool is_rank_revealing() const { return false; }
  /// Removes from z its part in the null space of the matrix; only for rank-revealing solvers.
  virtual void remove_null_part(ValuesRef) {}
};

using Solver = SolverOf<double>;
using ComplexSolver = SolverOf<std::complex<double>>;

/// By the name of a SolverKind. The pattern of `matrix` is analysed here.
template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_solver(std::string_view kind, const BlockMatrixOf<Scalar>& matrix);
std::vector<std::string> solver_names();

/// Up to this many unknowns the dense solver is fastest.
inline constexpr int dense_limit = 60;

// One factory per implementation, for the list in solver.cpp.
template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_dense_solver(const BlockMatrixOf<Scalar>& matrix);
template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_block_tree_solver(const BlockMatrixOf<Scalar>& matrix);
std::unique_ptr<Solver> make_symmetric_tree_solver(const BlockMatrix& matrix);
template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_sparse_solver(const BlockMatrixOf<Scalar>& matrix);
template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_least_squares_solver(const BlockMatrixOf<Scalar>& matrix);

/// Elimination by blocks, leaves first, costs little more than reading the matrix: chains, trees, few loops. Expects the
/// blocks of coordinates before those of multipliers.
bool suits_block_tree(const BlockPattern& pattern);

}  // namespace kreisel::linear
