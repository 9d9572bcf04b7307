// Decompositions of dense matrices. Eigen's templates for them take longer to compile than anything else in this library, so
// they are compiled once, behind plain functions.
#pragma once

#include <complex>
#include <memory>
#include <optional>
#include <vector>

#include "base/matrix_products.hpp"
#include "kreisel/types.hpp"

namespace kreisel {

template <int n>
using Square = Eigen::Matrix<double, n, n>;
template <int n>
using Column = Eigen::Matrix<double, n, 1>;

/// Of a symmetric matrix, of which the lower triangle is read: values ascending, orthonormal vectors as columns.
/// n: 3, 6 or Eigen::Dynamic.
template <int n>
struct SymmetricEigen {
  Column<n> values;
  Square<n> vectors;
};
template <int n>
SymmetricEigen<n> symmetric_eigen(const Square<n>& A);
template <int n>
Column<n> symmetric_eigenvalues(const Square<n>& A);

/// Of any square matrix. `is_found` is false where the iteration does not converge.
struct GeneralEigen {
  Eigen::VectorXcd values;
  Eigen::MatrixXcd vectors;
  bool is_found = false;
};
GeneralEigen general_eigen(const Matrix& A);
Eigen::VectorXcd general_eigenvalues(const Matrix& A);

enum class SingularVectors { none, thin_u, thin_v, full_u, full_v };

/// A = U diag(values) Vᵀ, values descending; of U and V only the requested ones.
struct Svd {
  Vector values;
  Matrix U, V;
  /// Values of at least this part of the largest one.
  int rank(double threshold) const;
};
/// Divide and conquer.
Svd svd(const Matrix& A, SingularVectors wanted);
/// Slower; small singular values keep more digits.
Svd jacobi_svd(const Matrix& A, SingularVectors wanted);

/// Householder QR with column pivoting: which columns come first, and how many of them are independent.
struct PivotOrder {
  std::vector<int> columns;
  int rank = 0;
};
PivotOrder pivot_order(const Matrix& A, double threshold);

/// The same decomposition: the first `rank` columns of Q span the columns of A, the others their orthogonal complement.
struct ColumnSpace {
  Matrix Q;
  int rank = 0;
};
ColumnSpace column_space(const Matrix& A, double threshold);

/// Orthonormal columns that span those of A, which are independent.
Matrix orthonormal_columns(const Matrix& A);
/// Columns that span the kernel of A; one zero column where there is none.
Matrix kernel_of(const Matrix& A);
double determinant_of(const Matrix& A);
/// A⁻¹ right by LU with full pivoting; nothing where A is singular.
std::optional<Matrix> solve_fully_pivoted(const Matrix& A, const Matrix& right);
/// A⁻¹ right by LU with partial pivoting. Scalar: double or std::complex<double>.
template <class Scalar>
using DenseOf = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
DenseOf<Scalar> solve_square(const DenseOf<Scalar>& A, const DenseOf<Scalar>& right);
Matrix pseudo_inverse(const Matrix& A);
/// Of all x that minimise |A x - b| the one of least norm, with the numerical rank.
Vector least_norm(const Matrix& A, const Vector& b);
/// min |A x - b| where the columns of A are independent.
Vector least_squares(const Matrix& A, const Vector& b);

/// Of all x that minimise |A x - b| the one of least norm. Scalar: double or std::complex<double>.
template <class Scalar>
class LeastNormOf {
 public:
  using Values = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  /// Pivots below this part of the largest one count as zero.
  explicit LeastNormOf(double threshold);
  LeastNormOf(const Dense& A, double threshold) : LeastNormOf(threshold) { compute(A); }
  ~LeastNormOf();
  void compute(const Dense& A);
  Values solve(const Values& b) const;

 private:
  struct Decomposition;
  std::unique_ptr<Decomposition> decomposition_;
};
using LeastNorm = LeastNormOf<double>;

}  // namespace kreisel
