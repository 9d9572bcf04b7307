#include "base/decompositions.hpp"

#include <Eigen/LU>
#include <Eigen/QR>

namespace kreisel {

PivotOrder pivot_order(const Matrix& A, double threshold) {
  Eigen::ColPivHouseholderQR<Matrix> qr(A);
  qr.setThreshold(threshold);
  const auto& order = qr.colsPermutation().indices();
  return {{order.data(), order.data() + order.size()}, static_cast<int>(qr.rank())};
}

ColumnSpace column_space(const Matrix& A, double threshold) {
  Eigen::ColPivHouseholderQR<Matrix> qr(A);
  qr.setThreshold(threshold);
  return {qr.householderQ() * Matrix::Identity(A.rows(), A.rows()), static_cast<int>(qr.rank())};
}

Matrix orthonormal_columns(const Matrix& A) {
  return A.householderQr().householderQ() * Matrix::Identity(A.rows(), A.cols());
}

Matrix kernel_of(const Matrix& A) { return A.fullPivLu().kernel(); }

double determinant_of(const Matrix& A) { return A.partialPivLu().determinant(); }

std::optional<Matrix> solve_fully_pivoted(const Matrix& A, const Matrix& right) {
  const Eigen::FullPivLU<Matrix> lu(A);
  if (!lu.isInvertible()) return {};
  return lu.solve(right);
}

template <class Scalar>
DenseOf<Scalar> solve_square(const DenseOf<Scalar>& A, const DenseOf<Scalar>& right) {
  return A.partialPivLu().solve(right);
}
template DenseOf<double> solve_square(const DenseOf<double>&, const DenseOf<double>&);
template DenseOf<std::complex<double>> solve_square(const DenseOf<std::complex<double>>&,
                                                    const DenseOf<std::complex<double>>&);

Matrix pseudo_inverse(const Matrix& A) { return A.completeOrthogonalDecomposition().pseudoInverse(); }
Vector least_norm(const Matrix& A, const Vector& b) { return A.completeOrthogonalDecomposition().solve(b); }

Vector least_squares(const Matrix& A, const Vector& b) { return A.colPivHouseholderQr().solve(b); }

template <class Scalar>
struct LeastNormOf<Scalar>::Decomposition : Eigen::CompleteOrthogonalDecomposition<Dense> {};

template <class Scalar>
LeastNormOf<Scalar>::LeastNormOf(double threshold) : decomposition_(std::make_unique<Decomposition>()) {
  decomposition_->setThreshold(threshold);
}
template <class Scalar>
LeastNormOf<Scalar>::~LeastNormOf() = default;
template <class Scalar>
void LeastNormOf<Scalar>::compute(const Dense& A) {
  decomposition_->compute(A);
}
template <class Scalar>
auto LeastNormOf<Scalar>::solve(const Values& b) const -> Values {
  return decomposition_->solve(b);
}
template class LeastNormOf<double>;
template class LeastNormOf<std::complex<double>>;

}  // namespace kreisel
