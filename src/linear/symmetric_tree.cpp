// Block elimination along a tree for symmetric matrices: [M Bᵀ; B 0] with M > 0. Leaves first, every block that is eliminated
// is definite, positive for coordinates and negative for multipliers, so that A_kk = ±C Cᵀ needs no row exchanges, half the
// work and half the memory of LU.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tree_solver.hpp"

namespace kreisel::linear {
namespace {

// Column-major kernels; a size in angle brackets is known to the compiler, 0 means that the argument gives the size.

/// The lower triangle of A becomes that of C with the inverses of its diagonal; false when a pivot is unreliable.
template <int fixed>
bool factorize_definite(double* __restrict A, int any) {
  const int n = fixed > 0 ? fixed : any;
  double size = 0.0;
  for (int i = 0; i < n; ++i) size = std::max(size, A[i * n + i]);
  if (!std::isfinite(size)) return false;
  const double smallest = smallest_pivot * size;
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) {
    double* const column = A + k * n;
    // NaN compares false: whatever is not finite ends up in a pivot and is refused there.
    if (!(column[k] > smallest)) return false;
    const double inverse = 1.0 / std::sqrt(column[k]);
    column[k] = inverse;
    for (int i = k + 1; i < n; ++i) column[i] *= inverse;
    for (int j = k + 1; j < n; ++j) {
      const double factor = column[j];
      for (int i = j; i < n; ++i) A[j * n + i] -= column[i] * factor;
    }
  }
  return true;
}

/// X becomes X C⁻ᵀ, m x n. Returns the sum of the squares of its entries.
template <int fixed_m, int fixed_n>
double divide(double* __restrict X, const double* __restrict C, int any_m, int any_n) {
  const int m = fixed_m > 0 ? fixed_m : any_m, n = fixed_n > 0 ? fixed_n : any_n;
  double squares = 0.0;
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) {
    double* const column = X + k * m;
    for (int l = 0; l < k; ++l) {
      const double factor = C[l * n + k];
      for (int i = 0; i < m; ++i) column[i] -= X[l * m + i] * factor;
    }
    const double inverse = C[k * n + k];
    for (int i = 0; i < m; ++i) column[i] *= inverse;
    for (int i = 0; i < m; ++i) squares += column[i] * column[i];
  }
  return squares;
}

/// A -= ±X Yᵀ, X m x n, Y columns x n.
template <int fixed_m, int fixed_n, bool is_positive>
void subtract_outer(double* __restrict A, const double* __restrict X, const double* __restrict Y, int any_m, int any_n,
                    int columns) {
  const int m = fixed_m > 0 ? fixed_m : any_m, n = fixed_n > 0 ? fixed_n : any_n;
  for (int j = 0; j < columns; ++j)
    for (int l = 0; l < n; ++l) {
      const double factor = is_positive ? Y[l * columns + j] : -Y[l * columns + j];
      for (int i = 0; i < m; ++i) A[j * m + i] -= X[l * m + i] * factor;
    }
}

/// The lower triangle of A -= ±X Xᵀ.
template <int fixed_m, int fixed_n, bool is_positive>
void subtract_square(double* __restrict A, const double* __restrict X, int any_m, int any_n) {
  const int m = fixed_m > 0 ? fixed_m : any_m, n = fixed_n > 0 ? fixed_n : any_n;
#pragma GCC unroll 6
  for (int j = 0; j < m; ++j)
    for (int l = 0; l < n; ++l) {
      const double factor = is_positive ? X[l * m + j] : -X[l * m + j];
      for (int i = j & ~1; i < m; ++i) A[j * m + i] -= X[l * m + i] * factor;  // from an even row on: pairs
    }
}

/// The kernels of one pair of sizes.
template <int m, int n>
struct Kernels {
  /// A -= ±X Yᵀ, of the square X = Y the lower triangle.
  static void subtract(double* A, const double* X, const double* Y, int any_m, int any_n, int columns,
                       bool is_positive) {
    if (X == Y)
      is_positive ? subtract_square<m, n, true>(A, X, any_m, any_n) : subtract_square<m, n, false>(A, X, any_m, any_n);
    else
      is_positive ? subtract_outer<m, n, true>(A, X, Y, any_m, any_n, columns)
                  : subtract_outer<m, n, false>(A, X, Y, any_m, any_n, columns);
  }
  /// b -= X z
  static void subtract_product(double* __restrict b, const double* __restrict X, const double* __restrict z, int any_m,
                               int any_n) {
    const int rows = m > 0 ? m : any_m, columns = n > 0 ? n : any_n;
    for (int l = 0; l < columns; ++l)
      for (int i = 0; i < rows; ++i) b[i] -= X[l * rows + i] * z[l];
  }
  /// z -= Xᵀ x
  static void subtract_transposed(double* __restrict z, const double* __restrict X, const double* __restrict x,
                                  int any_m, int any_n) {
    const int rows = m > 0 ? m : any_m, columns = n > 0 ? n : any_n;
    for (int l = 0; l < columns; ++l) {
      double sum = z[l];
      for (int i = 0; i < rows; ++i) sum -= X[l * rows + i] * x[i];
      z[l] = sum;
    }
  }
};

/// Calls action(Kernels<m, n>{}): bodies have six unknowns, spherical joints three, hinges and rails five.
template <class Action>
void with_kernels(int m, int n, const Action& action) {
  if (m == 3 && n == 6) return action(Kernels<3, 6>{});
  if (m == 6 && n == 3) return action(Kernels<6, 3>{});
  if (m == 6 && n == 6) return action(Kernels<6, 6>{});
  if (m == 3 && n == 3) return action(Kernels<3, 3>{});
  if (m == 5 && n == 6) return action(Kernels<5, 6>{});
  if (m == 6 && n == 5) return action(Kernels<6, 5>{});
  if (m == 5 && n == 5) return action(Kernels<5, 5>{});
  action(Kernels<0, 0>{});
}

double divide_block(double* X, const double* C, int m, int n) {
  if (m == 3 && n == 6) return divide<3, 6>(X, C, m, n);
  if (m == 6 && n == 3) return divide<6, 3>(X, C, m, n);
  if (m == 5 && n == 6) return divide<5, 6>(X, C, m, n);
  if (m == 6 && n == 5) return divide<6, 5>(X, C, m, n);
  return divide<0, 0>(X, C, m, n);
}

/// z becomes C⁻¹ z.
template <int fixed>
void descend(const double* __restrict C, double* __restrict z, int any) {
  const int n = fixed > 0 ? fixed : any;
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) {
    const double zk = z[k] *= C[k * n + k];
    for (int i = k + 1; i < n; ++i) z[i] -= C[k * n + i] * zk;
  }
}

/// z becomes C⁻ᵀ z.
template <int fixed>
void ascend(const double* __restrict C, double* __restrict z, int any) {
  const int n = fixed > 0 ? fixed : any;
#pragma GCC unroll 6
  for (int k = n - 1; k >= 0; --k) {
    double sum = z[k];
    for (int i = k + 1; i < n; ++i) sum -= C[k * n + i] * z[i];
    z[k] = sum * C[k * n + k];
  }
}

class SymmetricTreeSolver final : public TreeSolver<double> {
 public:
  SymmetricTreeSolver(const BlockMatrix& matrix, const Elimination& elimination) : TreeSolver(elimination) {
    if (elimination.is_complete) lay_out(matrix, elimination);
  }

 private:
  /// With A_kk = ±C Cᵀ, X_j = A_jk C⁻ᵀ, z = C⁻¹b_k: b_j ∓= X_j z, and back Cᵀx_k = ±(z - Σ X_jᵀx_j).
  void solve_tree(double* x) override {
    for (const Node& node : nodes_) {
      double* z = x + node.at;
      const double* C = values_.data() + node.diagonal_at;
      node.size == 6 ? descend<6>(C, z, 6) : node.size == 3 ? descend<3>(C, z, 3) : descend<0>(C, z, node.size);
      if (!node.is_positive)
        for (int i = 0; i < node.size; ++i) z[i] = -z[i];
      for (int i = node.first; i < node.last; ++i) {
        const Link& link = links_[i];
        with_kernels(link.size, node.size, [&]<class K>(K) {
          K::subtract_product(x + link.at, &values_[link.values_at], z, link.size, node.size);
        });
      }
    }
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      double* z = x + node->at;
      const double* C = values_.data() + node->diagonal_at;
      // z holds ±C⁻¹b_k: the sign is removed for the sum and restored afterwards.
      if (!node->is_positive)
        for (int i = 0; i < node->size; ++i) z[i] = -z[i];
      for (int i = node->first; i < node->last; ++i) {
        const Link& link = links_[i];
        with_kernels(link.size, node->size, [&]<class K>(K) {
          K::subtract_transposed(z, &values_[link.values_at], x + link.at, link.size, node->size);
        });
      }
      if (!node->is_positive)
        for (int i = 0; i < node->size; ++i) z[i] = -z[i];
      node->size == 6 ? ascend<6>(C, z, 6) : node->size == 3 ? ascend<3>(C, z, 3) : ascend<0>(C, z, node->size);
    }
  }

  struct Node {
    int at = 0, size = 0;     ///< of the unknowns
    int diagonal_at = 0;      ///< of C
    int first = 0, last = 0;  ///< links
    int update_at = 0;        ///< first target of its updates, one per pair of links
    bool is_positive = true;  ///< the sign of A_kk
  };
  struct Link {  ///< to a node that is eliminated later
    int at = 0, size = 0;
    int values_at = 0;  ///< A_jk, then X_j
  };
  struct Source {  ///< where an entry of the matrix goes
    int to = 0;
    bool is_transposed = false;
  };

  void lay_out(const BlockMatrix& matrix, const Elimination& elimination) {
    const int n = matrix.block_count();
    std::vector<int> position(n);
    for (int p = 0; p < n; ++p) position[elimination.order[p]] = p;
    int at = 0;
    std::size_t link_count = 0, update_count = 0;
    for (const auto& list : elimination.remaining) {
      link_count += list.size();
      update_count += list.size() * (list.size() + 1) / 2;
    }
    nodes_.reserve(n);
    links_.reserve(link_count);
    update_at_.reserve(update_count);
    sources_.reserve(matrix.entries().size());
    for (const int b : elimination.order) {
      Node node{matrix.block_at(b), matrix.block_size(b), at, static_cast<int>(links_.size()), 0, 0, true};
      at += node.size * node.size;
      // In the order of elimination, so that of two links the later one has the rows of their update.
      std::vector<int> list = elimination.remaining[b];
      std::sort(list.begin(), list.end(), [&](int i, int j) { return position[i] < position[j]; });
      for (const int j : list) {
        links_.push_back({matrix.block_at(j), matrix.block_size(j), at});
        at += node.size * matrix.block_size(j);
      }
      node.last = static_cast<int>(links_.size());
      nodes_.push_back(node);
    }
    const auto place = [&](int earlier, int later) {  // where block (later, earlier) is stored
      const Node& node = nodes_[position[earlier]];
      if (earlier == later) return node.diagonal_at;
      for (int i = node.first; i < node.last; ++i)
        if (links_[i].at == matrix.block_at(later)) return links_[i].values_at;
      return -1;
    };
    for (Node& node : nodes_) {
      node.update_at = static_cast<int>(update_at_.size());
      std::vector<int> list = elimination.remaining[elimination.order[&node - nodes_.data()]];
      std::sort(list.begin(), list.end(), [&](int i, int j) { return position[i] < position[j]; });
      for (std::size_t j = 0; j < list.size(); ++j)
        for (std::size_t i = j; i < list.size(); ++i) update_at_.push_back(place(list[j], list[i]));
    }
    for (const BlockMatrix::Entry& e : matrix.entries()) {
      const bool is_transposed = position[e.row] < position[e.column];
      sources_.push_back({is_transposed ? place(e.row, e.column) : place(e.column, e.row), is_transposed});
    }
    values_.assign(at, 0.0);
    find_filled(at);
  }

  /// The parts of values_ that no entry of the matrix is copied to.
  void find_filled(int size) {
    std::vector<bool> is_target(size, false);
    for (const Source& source : sources_) is_target[source.to] = true;
    const auto add = [&](int begin, int count) {
      if (count > 0 && !is_target[begin]) filled_.push_back({begin, begin + count});
    };
    for (const Node& node : nodes_) {
      add(node.diagonal_at, node.size * node.size);
      for (int i = node.first; i < node.last; ++i) add(links_[i].values_at, node.size * links_[i].size);
    }
    filled_.shrink_to_fit();
  }

  void load(const BlockMatrix& matrix) {
    for (const auto& [begin, end] : filled_) std::fill(values_.begin() + begin, values_.begin() + end, 0.0);
    const double* from = matrix.values().data();
    for (std::size_t e = 0; e < sources_.size(); ++e) {
      const BlockMatrix::Entry& entry = matrix.entries()[e];
      const int rows = matrix.block_size(entry.row), columns = matrix.block_size(entry.column);
      double* to = &values_[sources_[e].to];
      const double* block = from + entry.at;
      if (!sources_[e].is_transposed) {
        for (int i = 0; i < rows * columns; ++i) to[i] = block[i];
      } else if (rows == 3) {
        for (int j = 0; j < columns; ++j)
          for (int i = 0; i < 3; ++i) to[i * columns + j] = block[j * 3 + i];
      } else {
        for (int j = 0; j < columns; ++j)
          for (int i = 0; i < rows; ++i) to[i * columns + j] = block[j * rows + i];
      }
    }
  }

  bool factorize_tree(const BlockMatrix& matrix) override {
    load(matrix);
    for (Node& node : nodes_) {
      double* C = values_.data() + node.diagonal_at;
      const int n = node.size;
      node.is_positive = n == 0 || C[0] > 0.0;
      if (!node.is_positive)
        for (int i = 0; i < n * n; ++i) C[i] = -C[i];
      if (!(n == 6   ? factorize_definite<6>(C, n)
            : n == 5 ? factorize_definite<5>(C, n)
            : n == 3 ? factorize_definite<3>(C, n)
                     : factorize_definite<0>(C, n)))
        return false;
      double squares = 0.0, largest_inverse = 0.0;
      for (int j = node.first; j < node.last; ++j)
        squares += divide_block(&values_[links_[j].values_at], C, links_[j].size, n);
      for (int i = 0; i < n; ++i) largest_inverse = std::max(largest_inverse, C[i * n + i]);
      // A bound of A_kk⁻¹A_kj.
      if (!(squares * largest_inverse * largest_inverse <= largest_multiplier * largest_multiplier)) return false;
      const int* target = update_at_.data() + node.update_at;
      for (int j = node.first; j < node.last; ++j)
        for (int i = j; i < node.last; ++i) {
          double* A = &values_[*target++];
          const double *X = &values_[links_[i].values_at], *Y = &values_[links_[j].values_at];
          with_kernels(links_[i].size, n,
                       [&]<class K>(K) { K::subtract(A, X, Y, links_[i].size, n, links_[j].size, node.is_positive); });
        }
    }
    return true;
  }

  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<int> update_at_;
  std::vector<Source> sources_;
  std::vector<double> values_;
  std::vector<std::pair<int, int>> filled_;
};

}  // namespace

std::unique_ptr<Solver> make_symmetric_tree_solver(const BlockMatrix& matrix) {
  return std::make_unique<SymmetricTreeSolver>(matrix, eliminate(matrix));
}

}  // namespace kreisel::linear
