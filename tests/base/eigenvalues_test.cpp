// Eigenvalues of general matrices.
#include <gtest/gtest.h>

#include <cmath>

#include "base/decompositions.hpp"

namespace {

using namespace kreisel;

/// y' = A y of x'' + S x = 0 with frequencies from 1 to 1e5 rad/s, each of them double: velocities beside positions that are smaller by up
/// to 1e5. Nothing grows.
Matrix vibrations(int pairs) {
  Matrix Q = Matrix::Random(2 * pairs, 2 * pairs);
  for (Eigen::Index i = 0; i < Q.cols(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) Q.col(i) -= Q.col(j).dot(Q.col(i)) * Q.col(j);
    Q.col(i).normalize();
  }
  Vector squares(2 * pairs);
  for (int i = 0; i < 2 * pairs; ++i) squares[i] = std::pow(10.0, 10.0 * (i / 2) / (pairs - 1));
  Matrix A = Matrix::Zero(4 * pairs, 4 * pairs);
  A.topRightCorner(2 * pairs, 2 * pairs).setIdentity();
  A.bottomLeftCorner(2 * pairs, 2 * pairs) = -Q * squares.asDiagonal() * Q.transpose();
  return A;
}

TEST(GeneralEigenvalues, OfUndampedVibrationsHaveNoRealPart) {
  const Matrix A = vibrations(40);
  const GeneralEigen eigen = general_eigen(A);
  ASSERT_TRUE(eigen.is_found);
  EXPECT_LT(eigen.values.real().cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_LT(general_eigenvalues(A).real().cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_NEAR(eigen.values.imag().maxCoeff(), 1e5, 1e-6);
  for (Eigen::Index i = 0; i < A.rows(); ++i) {
    const Eigen::VectorXcd y = eigen.vectors.col(i);
    EXPECT_NEAR(y.norm(), 1.0, 1e-12);
    EXPECT_LT((A.cast<std::complex<double>>() * y - eigen.values[i] * y).norm(), 1e-4) << eigen.values[i];
  }
}

}  // namespace
