// Every solver on complex block matrices, as the stages of radau need them, against Eigen.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <limits>
#include <random>

#include "linear/solver.hpp"

namespace {

using namespace kreisel;
using linear::ComplexBlockMatrix;
using Complex = std::complex<double>;
using Values = ComplexBlockMatrix::Values;

class EveryComplexSolver : public testing::TestWithParam<std::string> {
 protected:
  Complex number() {
    const double real = distribution_(engine_);
    return {real, distribution_(engine_)};
  }
  Values vector(int n) {
    Values v(n);
    for (Complex& x : v) x = number();
    return v;
  }
  /// [M Bᵀ; B 0] of a chain with complex M, as μ²M + hμD + h²K is.
  ComplexBlockMatrix chain(int bodies) {
    std::vector<int> sizes(bodies, 6);
    sizes.resize(2 * bodies, 3);
    std::vector<std::pair<int, int>> entries;
    for (int b = 0; b < bodies; ++b) entries.push_back({b, b});
    for (int j = 0; j < bodies; ++j)
      for (int b = std::max(0, j - 1); b <= j; ++b) {
        entries.push_back({b, bodies + j});
        entries.push_back({bodies + j, b});
      }
    ComplexBlockMatrix matrix(sizes, entries);
    matrix.values() = vector(matrix.number_count());
    for (int b = 0; b < bodies; ++b) matrix.block(matrix.find(b, b)).diagonal().array() += Complex(6.0, 2.0);
    return matrix;
  }
  void expect_solves(const ComplexBlockMatrix& matrix, linear::ComplexSolver& solver) {
    const ComplexBlockMatrix::Dense dense = matrix.to_dense();
    const Eigen::PartialPivLU<ComplexBlockMatrix::Dense> lu(dense);
    const Values b = vector(matrix.size());
    ASSERT_TRUE(solver.factorize(matrix));
    Values x = b;
    solver.solve(x);
    EXPECT_LE((dense * x - b).norm(), 1e-13 * (dense.norm() * x.norm() + b.norm()));
    EXPECT_LE((x - lu.solve(b)).norm(), 1e-13 * dense.norm() * lu.inverse().norm() * (1.0 + x.norm()));
  }

  std::mt19937 engine_{7};
  std::uniform_real_distribution<double> distribution_{-1.0, 1.0};
};

TEST_P(EveryComplexSolver, AgreesWithEigen) {
  for (const int bodies : {1, 2, 3, 7, 25}) {
    ComplexBlockMatrix matrix = chain(bodies);
    const auto solver = linear::make_solver(GetParam(), matrix);
    EXPECT_EQ(solver->name(), GetParam());
    expect_solves(matrix, *solver);
    for (Complex& x : matrix.values()) x *= number();  // other values, the pivots of the first ones may be bad
    for (int b = 0; b < bodies; ++b) matrix.block(matrix.find(b, b)).diagonal().array() += Complex(6.0, -9.0);
    expect_solves(matrix, *solver);
  }
}

TEST_P(EveryComplexSolver, RefusesValuesThatAreNotFinite) {
  ComplexBlockMatrix matrix = chain(2);
  const auto solver = linear::make_solver(GetParam(), matrix);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const Complex value : {Complex(bad, 0.0), Complex(0.0, bad)}) {
      ComplexBlockMatrix broken = matrix;
      broken.values()[3] = value;
      EXPECT_FALSE(solver->factorize(broken));
    }
  expect_solves(matrix, *solver);
}

INSTANTIATE_TEST_SUITE_P(Linear, EveryComplexSolver, testing::Values("dense", "tree", "sparse", "least-squares"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
