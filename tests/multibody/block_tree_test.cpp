// Elimination along the tree gives what the general solvers give, and gives way to them when it cannot.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include "linear/solver.hpp"
#include "models/catalogue.hpp"
#include "run/integrator.hpp"
#include "system/random_motion.hpp"

namespace {

using namespace kreisel;
using linear::BlockMatrix;

/// [A Bᵀ; B 0] of n bodies in a row or, with `branches`, of a tree whose joint j holds body j to body (j-1)/2.
BlockMatrix saddle_point(int n, bool branches, samples::Source& source) {
  std::vector<int> sizes(n, 6);
  std::vector<std::pair<int, int>> entries;
  for (int b = 0; b < n; ++b) entries.push_back({b, b});
  for (int j = 0; j < n; ++j) {
    sizes.push_back(1 + j % 5);
    for (const int b : {j, j == 0 ? 0 : branches ? (j - 1) / 2 : j - 1}) {
      entries.push_back({b, n + j});
      entries.push_back({n + j, b});
    }
  }
  BlockMatrix matrix(sizes, entries);
  for (double& x : matrix.values()) x = source.number();
  for (int b = 0; b < n; ++b) matrix.block(matrix.find(b, b)).diagonal().array() += 5.0;
  return matrix;
}

TEST(BlockTree, SolvesChainsAndTrees) {
  samples::Source source;
  for (const bool branches : {false, true})
    for (const int n : {1, 2, 7, 40}) {
      const BlockMatrix matrix = saddle_point(n, branches, source);
      EXPECT_TRUE(linear::suits_block_tree(matrix));
      const auto solver = linear::make_solver("tree", matrix);
      const Vector b = samples::random_vector(source, matrix.size());
      for (int repeat = 0; repeat < 2; ++repeat) {
        ASSERT_TRUE(solver->factorize(matrix));
        Vector x = b;
        solver->solve(x);
        EXPECT_LT((matrix.to_dense() * x - b).norm(), 1e-9 * b.norm()) << n;
      }
    }
}

TEST(BlockTree, GivesWayWhenABlockIsSingular) {
  samples::Source source;
  BlockMatrix matrix = saddle_point(10, false, source);
  matrix.block(matrix.find(9, 9)).setZero();  // a body without mass, held by 5 rows: still singular
  const auto solver = linear::make_solver("tree", matrix);
  EXPECT_FALSE(solver->factorize(matrix));
  matrix.block(matrix.find(9, 9)).row(0).setOnes();  // mass on what the joint leaves free
  ASSERT_TRUE(solver->factorize(matrix));
  Vector x = Vector::Ones(matrix.size());
  solver->solve(x);
  EXPECT_LT((matrix.to_dense() * x - Vector::Ones(matrix.size())).norm(), 1e-8);
  matrix.values()[0] = std::nan("");
  EXPECT_FALSE(solver->factorize(matrix));
}

TEST(BlockTree, GivesTheTrajectoriesOfTheGeneralSolver) {
  const auto named = [](const char* name) {
    const models::ModelInfo& info = models::find_model(name);
    return models::make_model(info, "se3", ParameterValues(info.parameters));
  };
  const models::Model chain = named("chain"), loops = named("four-bar");
  for (const models::Model* model : {&chain, &loops})
    for (const char* formulation : {"index3", "stabilized-index2", "index1"}) {
      Vector q[2], lambda[2];
      for (const int i : {0, 1}) {
        run::Options options;
        options.step = 1e-3;
        options.t_end = 0.1;
        options.formulation = formulation;
        options.linear_solver = i == 0 ? "tree" : "sparse";
        run::Observer nobody;
        const run::Report report = run::integrate(*model->system, model->start, options, nobody);
        ASSERT_EQ(report.status, run::Status::success) << report.message;
        EXPECT_EQ(report.linear_solver, options.linear_solver.name());
        q[i] = report.final.motion.q;
        lambda[i] = report.final.lambda;
      }
      EXPECT_LT((q[0] - q[1]).norm(), 1e-9) << formulation;
      EXPECT_LT((lambda[0] - lambda[1]).norm(), 1e-6 * (1.0 + lambda[1].norm())) << formulation;
    }
}

}  // namespace
