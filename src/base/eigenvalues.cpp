#include <Eigen/Eigenvalues>
#include <cmath>

#include "base/decompositions.hpp"

namespace kreisel {

template <int n>
SymmetricEigen<n> symmetric_eigen(const Square<n>& A) {
  const Eigen::SelfAdjointEigenSolver<Square<n>> solver(A);
  return {solver.eigenvalues(), solver.eigenvectors()};
}
template <int n>
Column<n> symmetric_eigenvalues(const Square<n>& A) {
  return Eigen::SelfAdjointEigenSolver<Square<n>>(A, Eigen::EigenvaluesOnly).eigenvalues();
}
template SymmetricEigen<3> symmetric_eigen(const Square<3>&);
template SymmetricEigen<6> symmetric_eigen(const Square<6>&);
template SymmetricEigen<Eigen::Dynamic> symmetric_eigen(const Square<Eigen::Dynamic>&);
template Column<3> symmetric_eigenvalues(const Square<3>&);
template Column<6> symmetric_eigenvalues(const Square<6>&);
template Column<Eigen::Dynamic> symmetric_eigenvalues(const Square<Eigen::Dynamic>&);

namespace {

/// Scales D⁻¹A D to rows and columns of equal length by powers of two, as LAPACK's dgebal (Parlett, Reinsch 1969), and returns the
/// diagonal of D. Eigen's solver does not, and its errors are those of the largest entry: positions beside velocities of stiff systems
/// differ by squares of frequencies.
Vector balance(Matrix& A) {
  const Eigen::Index n = A.rows();
  Vector scale = Vector::Ones(n);
  constexpr int most_sweeps = 20;
  bool goes_on = true;
  for (int sweep = 0; sweep < most_sweeps && goes_on; ++sweep) {
    goes_on = false;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double diagonal = std::abs(A(i, i));
      const double column = A.col(i).lpNorm<1>() - diagonal, row = A.row(i).lpNorm<1>() - diagonal;
      if (!(column > 0.0 && row > 0.0) || !std::isfinite(column) || !std::isfinite(row)) continue;
      const double factor = std::exp2(std::round(0.5 * std::log2(row / column)));
      if (factor * column + row / factor >= 0.95 * (column + row)) continue;
      goes_on = true;
      scale[i] *= factor;
      A.col(i) *= factor;
      A.row(i) /= factor;
    }
  }
  return scale;
}

}  // namespace

GeneralEigen general_eigen(const Matrix& A) {
  Matrix balanced = A;
  const Vector scale = balance(balanced);
  const Eigen::EigenSolver<Matrix> solver(balanced);
  if (solver.info() != Eigen::Success) return {};
  Eigen::MatrixXcd vectors = scale.asDiagonal() * solver.eigenvectors();
  vectors.colwise().normalize();
  return {solver.eigenvalues(), std::move(vectors), true};
}
Eigen::VectorXcd general_eigenvalues(const Matrix& A) {
  Matrix balanced = A;
  balance(balanced);
  return Eigen::EigenSolver<Matrix>(balanced, false).eigenvalues();
}

}  // namespace kreisel
