// Common part of both eliminations along a tree: the general sparse solver takes over where their pivots are unreliable.
#pragma once

#include <memory>
#include <string_view>

#include "elimination.hpp"
#include "linear/solver.hpp"

namespace kreisel::linear {

template <class Scalar>
class TreeSolver : public SolverOf<Scalar> {
 public:
  std::string_view name() const final { return "tree"; }

  bool factorize(const BlockMatrixOf<Scalar>& matrix) final {
    uses_general_ = !has_order_ || !factorize_tree(matrix);
    if (!uses_general_) return true;
    if (!general_) general_ = make_sparse_solver(matrix);
    return general_->factorize(matrix);
  }
  void solve(typename SolverOf<Scalar>::ValuesRef b) final {
    uses_general_ ? general_->solve(b) : solve_tree(b.data());
  }
  const typename SolverOf<Scalar>::Values* pivot_values() const final {
    return general_ ? general_->pivot_values() : nullptr;
  }
  int singular_row() const final { return uses_general_ ? general_->singular_row() : -1; }

 protected:
  explicit TreeSolver(const Elimination& elimination) : has_order_(elimination.is_complete) {}

  /// False when a pivot is unreliable.
  virtual bool factorize_tree(const BlockMatrixOf<Scalar>& matrix) = 0;
  virtual void solve_tree(Scalar* x) = 0;

 private:
  bool has_order_ = false, uses_general_ = false;
  std::unique_ptr<SolverOf<Scalar>> general_;
};

}  // namespace kreisel::linear
