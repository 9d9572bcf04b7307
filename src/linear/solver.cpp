#include "linear/solver.hpp"

#include "kreisel/error.hpp"

namespace kreisel::linear {

std::vector<std::string> solver_names() { return names_of<SolverKind>(); }

template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_solver(std::string_view kind, const BlockMatrixOf<Scalar>& matrix) {
  if (kind == "automatic") kind = matrix.size() <= dense_limit ? "dense" : suits_block_tree(matrix) ? "tree" : "sparse";
  if (kind == "dense") return make_dense_solver(matrix);
  if (kind == "tree") return make_block_tree_solver(matrix);
  if (kind == "sparse") return make_sparse_solver(matrix);
  if (kind == "least-squares") return make_least_squares_solver(matrix);
  throw InvalidInput(unknown_name("linear solver", kind, solver_names()));
}

template std::unique_ptr<Solver> make_solver(std::string_view, const BlockMatrix&);
template std::unique_ptr<ComplexSolver> make_solver(std::string_view, const ComplexBlockMatrix&);

}  // namespace kreisel::linear
