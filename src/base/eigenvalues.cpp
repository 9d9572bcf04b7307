#include <Eigen/Eigenvalues>

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

GeneralEigen general_eigen(const Matrix& A) {
  const Eigen::EigenSolver<Matrix> solver(A);
  if (solver.info() != Eigen::Success) return {};
  return {solver.eigenvalues(), solver.eigenvectors(), true};
}
Eigen::VectorXcd general_eigenvalues(const Matrix& A) { return Eigen::EigenSolver<Matrix>(A, false).eigenvalues(); }

}  // namespace kreisel
