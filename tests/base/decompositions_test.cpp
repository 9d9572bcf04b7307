// Decompositions against what defines them.
#include "base/decompositions.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using namespace kreisel;

constexpr double round_off = 1e-13;

/// 5 x 4 of rank 3: the last column is the sum of the first two.
Matrix of_rank_three() {
  Matrix A(5, 4);
  A << 1, 2, 0, 3, 0, 1, 4, 1, 2, -1, 1, 1, 5, 0, 2, 5, -3, 1, 1, -2;
  return A;
}

TEST(Decompositions, SymmetricEigenvaluesAscendWithOrthonormalVectors) {
  Matrix A(4, 4);
  A << 4, 1, 0, 2, 1, 3, 1, 0, 0, 1, 2, 1, 2, 0, 1, 5;
  const auto eigen = symmetric_eigen(A);
  EXPECT_LT((eigen.vectors * eigen.values.asDiagonal() * eigen.vectors.transpose() - A).norm(), round_off);
  EXPECT_LT((eigen.vectors.transpose() * eigen.vectors - Matrix::Identity(4, 4)).norm(), round_off);
  EXPECT_LT((symmetric_eigenvalues(A) - eigen.values).norm(), round_off);
  for (int i = 1; i < 4; ++i) EXPECT_LE(eigen.values[i - 1], eigen.values[i]);
  const Matrix3 small = A.topLeftCorner<3, 3>();
  EXPECT_NEAR(symmetric_eigenvalues(small).sum(), small.trace(), round_off);
}

TEST(Decompositions, GeneralEigenvectorsAreMappedToMultiples) {
  Matrix A(3, 3);
  A << 0, -2, 0, 2, 0, 1, 0, 0, -3;
  const GeneralEigen eigen = general_eigen(A);
  ASSERT_TRUE(eigen.is_found);
  const Eigen::MatrixXcd miss =
      A.cast<std::complex<double>>() * eigen.vectors - eigen.vectors * eigen.values.asDiagonal();
  EXPECT_LT(miss.norm(), round_off);
  EXPECT_LT((general_eigenvalues(A) - eigen.values).norm(), round_off);
  EXPECT_NEAR(eigen.values.imag().cwiseAbs().maxCoeff(), 2.0, round_off);
  Matrix bad = A;
  bad(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(general_eigen(bad).is_found);
}

TEST(Decompositions, SingularValuesTellTheRank) {
  const Matrix A = of_rank_three();
  for (const auto& decompose : {svd, jacobi_svd}) {
    const Svd right = decompose(A, SingularVectors::full_v), left = decompose(A, SingularVectors::full_u);
    EXPECT_EQ(right.rank(1e-10), 3);
    EXPECT_EQ(right.rank(0.9), 1);
    EXPECT_EQ(right.U.size(), 0);
    EXPECT_LT((A * right.V.rightCols(1)).norm(), round_off);
    EXPECT_LT((left.U.rightCols(2).transpose() * A).norm(), round_off);
    EXPECT_LT((A.transpose() * A * right.V - right.V * right.values.cwiseAbs2().asDiagonal()).norm(), 100 * round_off);
    EXPECT_EQ(decompose(A, SingularVectors::thin_u).U.cols(), 4);
    EXPECT_LT((decompose(A, SingularVectors::none).values - right.values).norm(), round_off);
  }
  EXPECT_EQ(svd(Matrix::Zero(2, 3), SingularVectors::none).rank(1e-10), 0);
}

TEST(Decompositions, PivotsFindIndependentColumns) {
  const Matrix A = of_rank_three();
  const PivotOrder order = pivot_order(A, 1e-10);
  ASSERT_EQ(order.rank, 3);
  ASSERT_EQ(order.columns.size(), 4U);
  Matrix chosen(5, 3);
  for (int i = 0; i < 3; ++i) chosen.col(i) = A.col(order.columns[i]);
  EXPECT_EQ(svd(chosen, SingularVectors::none).rank(1e-10), 3);
  const ColumnSpace space = column_space(A, 1e-10);
  EXPECT_EQ(space.rank, 3);
  EXPECT_LT((space.Q.rightCols(2).transpose() * A).norm(), round_off);
  EXPECT_LT((A * kernel_of(A)).norm(), round_off);
  EXPECT_EQ(kernel_of(A).cols(), 1);
  const Matrix basis = orthonormal_columns(chosen);
  EXPECT_LT((basis * (basis.transpose() * A) - A).norm(), 10 * round_off);
}

TEST(Decompositions, SquareSystemsAreSolvedOrRefused) {
  const Matrix A = of_rank_three().topLeftCorner(3, 3), right = of_rank_three().topRightCorner(3, 2);
  EXPECT_NEAR(determinant_of(A), 1 * (1 * 1 - 4 * -1) - 2 * (0 * 1 - 4 * 2), round_off);
  const std::optional<Matrix> solution = solve_fully_pivoted(A, right);
  ASSERT_TRUE(solution);
  EXPECT_LT((A * *solution - right).norm(), round_off);
  EXPECT_LT((A * solve_square(A, right) - right).norm(), round_off);
  EXPECT_FALSE(solve_fully_pivoted(Matrix::Ones(2, 2), Matrix::Ones(2, 1)));
  const Eigen::MatrixXcd C = A.cast<std::complex<double>>() * std::complex<double>(0.0, 2.0);
  EXPECT_LT((C * solve_square(C, Eigen::MatrixXcd(right.cast<std::complex<double>>())) - right).norm(), round_off);
}

TEST(Decompositions, LeastNormIsTheShortestBestSolution) {
  const Matrix A = of_rank_three();
  const Vector b = Vector::LinSpaced(5, 1.0, 3.0);
  const Matrix inverse = pseudo_inverse(A);
  // The conditions of Penrose.
  EXPECT_LT((A * inverse * A - A).norm(), 10 * round_off);
  EXPECT_LT((inverse * A * inverse - inverse).norm(), round_off);
  EXPECT_LT((A * inverse - (A * inverse).transpose()).norm(), round_off);
  EXPECT_LT((inverse * A - (inverse * A).transpose()).norm(), round_off);
  EXPECT_LT((LeastNorm(A, 1e-10).solve(b) - inverse * b).norm(), round_off);
  EXPECT_LT((least_norm(A, b) - inverse * b).norm(), round_off);
  const Matrix full = A.leftCols(3);
  EXPECT_LT((full.transpose() * (full * least_squares(full, b) - b)).norm(), 10 * round_off);
}

}  // namespace
