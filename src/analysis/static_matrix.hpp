// [S F; B 0] with S = m M + d D + k K, weighted row by row: the matrix of equilibria, their paths and modes of large
// systems.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"
#include "linear/solver.hpp"

namespace kreisel::analysis {

class StaticMatrix {
 public:
  /// Of one block of rows.
  struct Weights {
    double m = 0.0, d = 0.0, k = 1.0;
  };

  StaticMatrix(const system::System& system, std::string_view linear_solver);

  /// weights(block) for every block of rows. False: singular.
  template <class Of>
  [[nodiscard]] bool factorize(const system::KktBlocks& blocks, const Of& weights) {
    weights_.clear();
    for (int b = 0; b < block_count_; ++b) weights_.push_back(weights(b));
    return factorize(blocks);
  }
  /// (forces, rows) become (x, λ).
  void solve(VectorRef b) { solver_->solve(b); }
  int size() const { return matrix_.size(); }

 private:
  [[nodiscard]] bool factorize(const system::KktBlocks& blocks);

  const system::System& system_;
  int block_count_;
  linear::BlockMatrix matrix_;
  std::unique_ptr<linear::Solver> solver_;
  std::vector<int> coupling_entry_, force_entry_, row_entry_;
  std::vector<Weights> weights_;
};

/// Per factor: whether it is a state that only integrates motion: no force row of it depends on a position. At rest it
/// follows the moving bodies.
std::vector<bool> followers(const system::System& system, const system::KktBlocks& blocks);

}  // namespace kreisel::analysis
