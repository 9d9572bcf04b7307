// Block elimination along a tree: leaves first, pivots inside the diagonal blocks, no index arithmetic in the loops. For
// chains and trees of bodies, where eliminating a body and then its joint creates no fill, and for a few closed loops.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "scalar.hpp"
#include "tree_solver.hpp"

namespace kreisel::linear {
namespace {

/// Twice the multiplications per stored value that a chain of bodies needs.
std::size_t work_limit_of(const BlockPattern& matrix) {
  std::size_t numbers = 0;
  for (const BlockPattern::Entry& e : matrix.entries())
    numbers += static_cast<std::size_t>(matrix.is_symmetric() && e.row != e.column ? 2 : 1) * matrix.block_size(e.row) *
               matrix.block_size(e.column);
  return 24 * numbers;
}

// Column-major kernels on rows x inner times inner x columns.

/// C -= A·B for A of fixed size: the compiler unrolls.
template <int rows, int inner, class Scalar>
void subtract_product(Scalar* __restrict C, const Scalar* __restrict A, const Scalar* __restrict B, int columns) {
  for (int j = 0; j < columns; ++j) {
    Scalar sum[rows];
    for (int i = 0; i < rows; ++i) sum[i] = C[j * rows + i];
    for (int l = 0; l < inner; ++l)
      for (int i = 0; i < rows; ++i) sum[i] -= times(A[l * rows + i], B[j * inner + l]);
    for (int i = 0; i < rows; ++i) C[j * rows + i] = sum[i];
  }
}

/// C -= A·B.
template <class Scalar>
void subtract_product(Scalar* __restrict C, const Scalar* __restrict A, const Scalar* __restrict B, int rows, int inner,
                      int columns) {
  if (rows == 6 && inner == 3) return subtract_product<6, 3>(C, A, B, columns);
  if (rows == 3 && inner == 6) return subtract_product<3, 6>(C, A, B, columns);
  if (rows == 3 && inner == 3) return subtract_product<3, 3>(C, A, B, columns);
  if (rows == 6 && inner == 6) return subtract_product<6, 6>(C, A, B, columns);
  if (rows == 6 && inner == 5) return subtract_product<6, 5>(C, A, B, columns);
  if (rows == 5 && inner == 6) return subtract_product<5, 6>(C, A, B, columns);
  if (rows == 5 && inner == 5) return subtract_product<5, 5>(C, A, B, columns);
  for (int j = 0; j < columns; ++j)
    for (int l = 0; l < inner; ++l) {
      const Scalar b = B[j * inner + l];
      for (int i = 0; i < rows; ++i) C[j * rows + i] -= times(A[l * rows + i], b);
    }
}

/// LU with row exchanges, the inverses of the pivots on the diagonal; false when a pivot is unreliable. The size is
/// `fixed`, or `any` when that is 0.
template <int fixed, class Scalar>
bool factorize_block(Scalar* __restrict A, int* __restrict pivot, int any) {
  const int n = fixed > 0 ? fixed : any;
  double size = 0.0;
  for (int i = 0; i < n * n; ++i) size = std::max(size, magnitude(A[i]));
  if (!std::isfinite(size)) return false;
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int i = k + 1; i < n; ++i)
      if (magnitude(A[k * n + i]) > magnitude(A[k * n + best])) best = i;
    if (!(magnitude(A[k * n + best]) > smallest_pivot * size)) return false;
    pivot[k] = best;
    if (best != k)
      for (int j = 0; j < n; ++j) std::swap(A[j * n + k], A[j * n + best]);
    const Scalar inverse = 1.0 / A[k * n + k];
    A[k * n + k] = inverse;
    for (int i = k + 1; i < n; ++i) A[k * n + i] = times(A[k * n + i], inverse);
    for (int j = k + 1; j < n; ++j) {
      const Scalar u = A[j * n + k];
      for (int i = k + 1; i < n; ++i) A[j * n + i] -= times(A[k * n + i], u);
    }
  }
  return true;
}

template <int fixed, class Scalar>
void solve_block(const Scalar* __restrict A, const int* __restrict pivot, int any, Scalar* __restrict x, int columns) {
  const int n = fixed > 0 ? fixed : any;
  for (int c = 0; c < columns; ++c, x += n) {
    for (int k = 0; k < n; ++k)
      if (pivot[k] != k) std::swap(x[k], x[pivot[k]]);
    for (int k = 0; k < n; ++k) {
      const Scalar xk = x[k];
      for (int i = k + 1; i < n; ++i) x[i] -= times(A[k * n + i], xk);
    }
    for (int k = n - 1; k >= 0; --k) {
      const Scalar xk = x[k] = times(x[k], A[k * n + k]);
      for (int i = 0; i < k; ++i) x[i] -= times(A[k * n + i], xk);
    }
  }
}

template <class Scalar>
class BlockTreeSolver final : public TreeSolver<Scalar> {
 public:
  BlockTreeSolver(const BlockPattern& matrix, const Elimination& elimination) : TreeSolver<Scalar>(elimination) {
    if (elimination.is_complete) lay_out(matrix, elimination);
  }

 private:
  void solve_tree(Scalar* x) override {
    for (const Node& node : nodes_) {
      Scalar* y = x + node.at;
      solve_diagonal(node, y, 1);
      for (int i = node.first; i < node.last; ++i) {
        const Link& link = links_[i];
        subtract_product(x + link.at, &values_[link.lower_at], y, link.size, node.size, 1);
      }
    }
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      Scalar* y = x + node->at;
      for (int i = node->first; i < node->last; ++i) {
        const Link& link = links_[i];
        subtract_product(y, &values_[link.upper_at], x + link.at, node->size, link.size, 1);
      }
    }
  }

  struct Node {
    int at = 0, size = 0;     ///< of the unknowns
    int diagonal_at = 0;      ///< of its LU factors
    int pivot_at = 0;         ///< of its row exchanges
    int first = 0, last = 0;  ///< links
    int update_at = 0;        ///< first target of its (last - first)² updates
  };
  struct Link {  ///< to a node that is eliminated later
    int at = 0, size = 0;
    int lower_at = 0, upper_at = 0;  ///< A_jk, and A_kk⁻¹A_kj in place of A_kj
  };

  void lay_out(const BlockPattern& matrix, const Elimination& elimination) {
    const int n = matrix.block_count();
    std::vector<int> position(n);
    for (int p = 0; p < n; ++p) position[elimination.order[p]] = p;
    int at = 0, pivots = 0;
    for (const int b : elimination.order) {
      Node node{matrix.block_at(b), matrix.block_size(b), at, pivots, static_cast<int>(links_.size()), 0, 0};
      at += node.size * node.size;
      pivots += node.size;
      for (const int j : elimination.remaining[b]) {
        const int values = node.size * matrix.block_size(j);
        links_.push_back({matrix.block_at(j), matrix.block_size(j), at, at + values});
        at += 2 * values;
      }
      node.last = static_cast<int>(links_.size());
      nodes_.push_back(node);
    }
    const auto place = [&](int row, int column) {  // where block (row, column) is stored
      const int earlier = position[row] < position[column] ? row : column, later = earlier == row ? column : row;
      const Node& node = nodes_[position[earlier]];
      if (row == column) return node.diagonal_at;
      const auto& list = elimination.remaining[earlier];
      const int i = static_cast<int>(std::lower_bound(list.begin(), list.end(), later) - list.begin());
      const Link& link = links_[node.first + i];
      return row == later ? link.lower_at : link.upper_at;
    };
    for (Node& node : nodes_) {
      node.update_at = static_cast<int>(update_at_.size());
      const auto& list = elimination.remaining[elimination.order[&node - nodes_.data()]];
      for (const int i : list)
        for (const int j : list) update_at_.push_back(place(i, j));
    }
    for (const BlockPattern::Entry& e : matrix.entries()) target_at_.push_back(place(e.row, e.column));
    values_.assign(at, 0.0);
    find_filled(at);
    pivots_.assign(pivots, 0);
    links_.shrink_to_fit();
    update_at_.shrink_to_fit();
  }

  /// The parts of values_ that no entry of the matrix is copied to.
  void find_filled(int size) {
    std::vector<std::pair<int, int>> blocks;  // (begin, end) of every stored block
    for (const Node& node : nodes_) {
      blocks.push_back({node.diagonal_at, node.diagonal_at + node.size * node.size});
      for (int i = node.first; i < node.last; ++i)
        for (const int begin : {links_[i].lower_at, links_[i].upper_at})
          blocks.push_back({begin, begin + node.size * links_[i].size});
    }
    std::vector<bool> is_target(size, false);
    for (const int target : target_at_) is_target[target] = true;
    for (const auto& block : blocks)
      if (block.first < block.second && !is_target[block.first]) filled_.push_back(block);
  }

  bool factorize_tree(const BlockMatrixOf<Scalar>& matrix) override {
    for (const auto& [begin, end] : filled_) std::fill(values_.begin() + begin, values_.begin() + end, 0.0);
    const Scalar* source = matrix.values().data();
    for (std::size_t e = 0; e < target_at_.size(); ++e) {
      const BlockPattern::Entry& entry = matrix.entries()[e];
      std::copy_n(source + entry.at, matrix.block_size(entry.row) * matrix.block_size(entry.column),
                  &values_[target_at_[e]]);
    }
    for (const Node& node : nodes_) {
      if (!factorize_diagonal(node)) return false;
      double largest = 0.0;
      for (int j = node.first; j < node.last; ++j) {
        Scalar* W = values_.data() + links_[j].upper_at;
        const int count = node.size * links_[j].size;
        solve_diagonal(node, W, links_[j].size);
        for (int i = 0; i < count; ++i) largest = std::max(largest, magnitude(W[i]));
      }
      if (!(largest <= largest_multiplier)) return false;
      const int* target = update_at_.data() + node.update_at;
      for (int i = node.first; i < node.last; ++i)
        for (int j = node.first; j < node.last; ++j)
          subtract_product(&values_[*target++], &values_[links_[i].lower_at], &values_[links_[j].upper_at],
                           links_[i].size, node.size, links_[j].size);
    }
    return true;
  }

  bool factorize_diagonal(const Node& node) {
    Scalar* A = values_.data() + node.diagonal_at;
    int* pivot = pivots_.data() + node.pivot_at;
    if (node.size == 6) return factorize_block<6>(A, pivot, 6);
    if (node.size == 3) return factorize_block<3>(A, pivot, 3);
    if (node.size == 5) return factorize_block<5>(A, pivot, 5);
    return factorize_block<0>(A, pivot, node.size);
  }
  void solve_diagonal(const Node& node, Scalar* x, int columns) const {
    const Scalar* A = values_.data() + node.diagonal_at;
    const int* pivot = pivots_.data() + node.pivot_at;
    if (node.size == 6) return solve_block<6>(A, pivot, 6, x, columns);
    if (node.size == 3) return solve_block<3>(A, pivot, 3, x, columns);
    if (node.size == 5) return solve_block<5>(A, pivot, 5, x, columns);
    solve_block<0>(A, pivot, node.size, x, columns);
  }

  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<int> update_at_, target_at_, pivots_;
  std::vector<Scalar> values_;
  std::vector<std::pair<int, int>> filled_;
};

}  // namespace

bool suits_block_tree(const BlockPattern& pattern) { return eliminate(pattern, work_limit_of(pattern)).is_complete; }

template <class Scalar>
std::unique_ptr<SolverOf<Scalar>> make_block_tree_solver(const BlockMatrixOf<Scalar>& matrix) {
  if constexpr (std::is_same_v<Scalar, double>)
    if (matrix.is_symmetric()) return make_symmetric_tree_solver(matrix);
  return std::make_unique<BlockTreeSolver<Scalar>>(matrix, eliminate(matrix));
}
template std::unique_ptr<Solver> make_block_tree_solver(const BlockMatrix&);
template std::unique_ptr<ComplexSolver> make_block_tree_solver(const ComplexBlockMatrix&);

}  // namespace kreisel::linear
