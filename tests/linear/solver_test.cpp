// Every linear solver against Eigen on random block matrices, and what they refuse.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <limits>
#include <random>

#include "kreisel/error.hpp"
#include "linear/solver.hpp"

namespace {

using namespace kreisel;
using linear::BlockMatrix;

class Random {
 public:
  double number() { return distribution_(engine_); }
  int integer(int first, int last) { return std::uniform_int_distribution<int>(first, last)(engine_); }
  Vector vector(int n) {
    Vector v(n);
    for (double& x : v) x = number();
    return v;
  }

 private:
  std::mt19937 engine_{20240607};
  std::uniform_real_distribution<double> distribution_{-1.0, 1.0};
};

/// Blocks of 1 to 6 unknowns, the diagonal and some couplings; values on every entry.
BlockMatrix random_matrix(Random& random, int blocks, double density) {
  std::vector<int> sizes;
  for (int b = 0; b < blocks; ++b) sizes.push_back(random.integer(1, 6));
  std::vector<std::pair<int, int>> entries;
  for (int i = 0; i < blocks; ++i)
    for (int j = 0; j < blocks; ++j)
      if (i == j || 0.5 * (1.0 + random.number()) < density) entries.push_back({i, j});
  BlockMatrix matrix(sizes, entries);
  matrix.values() = random.vector(static_cast<int>(matrix.values().size()));
  return matrix;
}

/// [M Bᵀ; B 0] of a chain: n bodies with 6 unknowns, joints of 3 rows between neighbours.
BlockMatrix chain_matrix(Random& random, int bodies) {
  std::vector<int> sizes(bodies, 6);
  sizes.resize(2 * bodies, 3);
  std::vector<std::pair<int, int>> entries;
  for (int b = 0; b < bodies; ++b) entries.push_back({b, b});
  for (int j = 0; j < bodies; ++j)
    for (int b = std::max(0, j - 1); b <= j; ++b) {
      entries.push_back({b, bodies + j});
      entries.push_back({bodies + j, b});
    }
  BlockMatrix matrix(sizes, entries);
  for (int e = 0; e < static_cast<int>(matrix.entries().size()); ++e) {
    const auto [row, column, at] = matrix.entries()[e];
    MatrixMap block = matrix.block(e);
    if (row == column) {
      const Matrix A = Matrix::NullaryExpr(6, 6, [&] { return random.number(); });
      block = A * A.transpose() + Matrix::Identity(6, 6);
    } else if (row > column) {
      block = Matrix::NullaryExpr(block.rows(), block.cols(), [&] { return random.number(); });
      matrix.block(matrix.find(column, row)) = block.transpose();
    }
  }
  return matrix;
}

/// The same matrix, its half above the diagonal left out.
BlockMatrix symmetric_half(const BlockMatrix& matrix) {
  std::vector<int> sizes;
  for (int b = 0; b < matrix.block_count(); ++b) sizes.push_back(matrix.block_size(b));
  std::vector<std::pair<int, int>> entries;
  for (const BlockMatrix::Entry& e : matrix.entries()) entries.push_back({e.row, e.column});
  BlockMatrix half(sizes, entries, linear::Symmetry::symmetric);
  for (int e = 0; e < static_cast<int>(half.entries().size()); ++e)
    half.block(e) = matrix.block(matrix.find(half.entries()[e].row, half.entries()[e].column));
  return half;
}

/// [M Bᵀ; B 0] of bodies with 1 to 6 unknowns in a tree, joints of any number of rows, and `loops` joints more.
BlockMatrix tree_matrix(Random& random, int bodies, int loops) {
  std::vector<int> sizes;
  std::vector<std::pair<int, int>> entries;
  for (int b = 0; b < bodies; ++b) {
    sizes.push_back(random.integer(2, 6));
    entries.push_back({b, b});
    if (b > 0) entries.push_back({b, random.integer(0, b - 1)});  // of M
  }
  for (int j = 0; j < bodies + loops; ++j) {
    const int body = j < bodies ? j : random.integer(0, bodies - 1);
    sizes.push_back(j < bodies ? random.integer(1, sizes[body] - 1) : 1);
    entries.push_back({bodies + j, body});
    if (body > 0) entries.push_back({bodies + j, random.integer(0, body - 1)});
  }
  BlockMatrix matrix(sizes, entries, linear::Symmetry::symmetric);
  matrix.values() = random.vector(static_cast<int>(matrix.values().size()));
  for (int b = 0; b < bodies; ++b) {
    MatrixMap M = matrix.block(matrix.find(b, b));
    M = (M + M.transpose()).eval();
    M.diagonal().array() += 2.0 * bodies;
  }
  return matrix;
}

class EverySolver : public testing::TestWithParam<std::string> {
 protected:
  void expect_solves(const BlockMatrix& matrix, linear::Solver& solver, const Vector& b) const {
    const Matrix dense = matrix.to_dense();
    const Eigen::PartialPivLU<Matrix> lu(dense);
    ASSERT_TRUE(solver.factorize(matrix));
    Vector x = b;
    solver.solve(x);
    const Vector expected = lu.solve(b);
    // Backward stable: the error is that of a perturbation of eps·growth in the matrix.
    const double tolerance = 1e-13 * dense.norm() * lu.inverse().norm() * (1.0 + expected.norm());
    EXPECT_LE((x - expected).norm(), tolerance);
    EXPECT_LE((dense * x - b).norm(), 1e-13 * (dense.norm() * x.norm() + b.norm()));
  }
  Random random_;
};

TEST_P(EverySolver, AgreesWithEigenOnRandomBlockMatrices) {
  for (const int blocks : {1, 2, 3, 5, 8, 13, 30})
    for (const double density : {0.1, 0.3, 1.0}) {
      BlockMatrix matrix = random_matrix(random_, blocks, density);
      const auto solver = linear::make_solver(GetParam(), matrix);
      EXPECT_EQ(solver->name(), GetParam());
      expect_solves(matrix, *solver, random_.vector(matrix.size()));
    }
}

TEST_P(EverySolver, AgreesWithEigenOnSaddlePointMatrices) {
  for (const int bodies : {1, 2, 5, 20}) {
    BlockMatrix matrix = chain_matrix(random_, bodies);
    const auto solver = linear::make_solver(GetParam(), matrix);
    expect_solves(matrix, *solver, random_.vector(matrix.size()));
  }
}

TEST_P(EverySolver, SolvesSymmetricMatricesFromTheirLowerHalf) {
  for (const int bodies : {1, 2, 5, 20}) {
    const BlockMatrix matrix = chain_matrix(random_, bodies), half = symmetric_half(matrix);
    EXPECT_LT(half.entries().size(), matrix.entries().size());
    EXPECT_EQ(half.to_dense(), matrix.to_dense());
    const auto solver = linear::make_solver(GetParam(), half);
    EXPECT_EQ(solver->name(), GetParam());
    expect_solves(half, *solver, random_.vector(half.size()));
    expect_solves(half, *solver, random_.vector(half.size()));
  }
  for (const int bodies : {1, 3, 8, 20})
    for (const int loops : {0, 1, 3}) {
      const BlockMatrix matrix = tree_matrix(random_, bodies, loops > bodies ? 0 : loops);
      const auto solver = linear::make_solver(GetParam(), matrix);
      expect_solves(matrix, *solver, random_.vector(matrix.size()));
    }
}

TEST_P(EverySolver, SolvesSymmetricMatricesThatAreNotDefiniteBlockByBlock) {
  BlockMatrix matrix = symmetric_half(chain_matrix(random_, 6));
  const auto solver = linear::make_solver(GetParam(), matrix);
  matrix.block(matrix.find(5, 5)).diagonal()[2] = -3.0;  // no mass matrix
  expect_solves(matrix, *solver, random_.vector(matrix.size()));
  matrix.block(matrix.find(2, 2)).topLeftCorner<3, 3>().setZero();  // no mass where the joints hold
  matrix.block(matrix.find(2, 2)).bottomLeftCorner<3, 3>().setZero();
  matrix.block(matrix.find(2, 2)).topRightCorner<3, 3>().setZero();
  expect_solves(matrix, *solver, random_.vector(matrix.size()));
  matrix.values()[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(solver->factorize(matrix));
}

TEST_P(EverySolver, RefactorizesChangingValues) {
  BlockMatrix matrix = chain_matrix(random_, 4);
  const auto solver = linear::make_solver(GetParam(), matrix);
  for (int round = 0; round < 20; ++round) {
    expect_solves(matrix, *solver, random_.vector(matrix.size()));
    matrix.values() += 0.1 * random_.vector(static_cast<int>(matrix.values().size()));
  }
  // Values for which the old pivots are useless.
  matrix = chain_matrix(random_, 4);
  for (int b = 0; b < 4; ++b) matrix.block(matrix.find(b, b)) *= 1e-12;
  expect_solves(matrix, *solver, random_.vector(matrix.size()));
}

TEST_P(EverySolver, SolvesManyRightHandSides) {
  BlockMatrix matrix = random_matrix(random_, 6, 0.4);
  const auto solver = linear::make_solver(GetParam(), matrix);
  ASSERT_TRUE(solver->factorize(matrix));
  for (int i = 0; i < 10; ++i) {
    const Vector b = random_.vector(matrix.size());
    Vector x = b;
    solver->solve(x);
    EXPECT_LE((matrix.to_dense() * x - b).norm(), 1e-12 * (1.0 + x.norm()) * matrix.to_dense().norm());
  }
}

TEST_P(EverySolver, NamesARowOfASingularMatrix) {
  BlockMatrix matrix = chain_matrix(random_, 3);
  const auto solver = linear::make_solver(GetParam(), matrix);
  // The second joint says nothing: rows and columns of zeros.
  for (int e = 0; e < static_cast<int>(matrix.entries().size()); ++e)
    if (matrix.entries()[e].row == 4 || matrix.entries()[e].column == 4) matrix.block(e).setZero();
  EXPECT_FALSE(solver->factorize(matrix));
  EXPECT_GE(solver->singular_row(), 0);
  EXPECT_LT(solver->singular_row(), matrix.size());
  // It recovers.
  matrix = chain_matrix(random_, 3);
  expect_solves(matrix, *solver, random_.vector(matrix.size()));
}

TEST_P(EverySolver, RefusesValuesThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const int at : {0, 7, 30}) {
      BlockMatrix matrix = chain_matrix(random_, 2);
      const auto solver = linear::make_solver(GetParam(), matrix);
      const BlockMatrix good = matrix;
      matrix.values()[at] = bad;
      EXPECT_FALSE(solver->factorize(matrix)) << bad << " at " << at;
      EXPECT_TRUE(solver->factorize(good));
      matrix.values()[at] = bad;
      EXPECT_FALSE(solver->factorize(matrix)) << bad << " at " << at << ", the second time";
    }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EverySolver, testing::Values("dense", "tree", "sparse"),
                         [](const auto& tested) { return tested.param; });

TEST(MakeSolver, ChoosesBySizeAndKnowsItsNames) {
  Random random;
  EXPECT_EQ(linear::make_solver("automatic", chain_matrix(random, 2))->name(), "dense");
  EXPECT_EQ(linear::make_solver("automatic", chain_matrix(random, 20))->name(), "tree");
  EXPECT_EQ(linear::make_solver("automatic", random_matrix(random, 30, 0.5))->name(), "sparse");
  EXPECT_THROW(linear::make_solver("banded", chain_matrix(random, 2)), InvalidInput);
}

TEST(BlockMatrix, FindsItsEntries) {
  const BlockMatrix matrix({2, 3, 1}, {{0, 0}, {2, 1}, {0, 2}, {2, 1}});
  EXPECT_EQ(matrix.size(), 6);
  EXPECT_EQ(matrix.entries().size(), 3u) << "repeated entries are one";
  EXPECT_EQ(matrix.find(1, 1), -1);
  const int entry = matrix.find(2, 1);
  ASSERT_GE(entry, 0);
  EXPECT_EQ(matrix.block(entry).rows(), 1);
  EXPECT_EQ(matrix.block(entry).cols(), 3);
}

}  // namespace
