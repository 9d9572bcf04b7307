#include "lcp.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace kreisel::run {

namespace {

bool lemke(const Matrix& W, const Vector& q, Vector& z) {
  const Eigen::Index n = q.size();
  z = Vector::Zero(n);
  if (n == 0) return true;
  // Rows in the units of their diagonal, and right-hand sides of size 1.
  Vector scale(n);
  for (Eigen::Index i = 0; i < n; ++i) scale[i] = W(i, i) > 0.0 ? 1.0 / std::sqrt(W(i, i)) : 1.0;
  const Vector rhs = scale.cwiseProduct(q);
  const double size = rhs.cwiseAbs().maxCoeff();
  if (!std::isfinite(size) || !W.allFinite()) return false;
  if (rhs.minCoeff() >= 0.0) return true;
  // w - W z - 1 z₀ = q: columns w, z, z₀, the right-hand side.
  Matrix table(n, 2 * n + 2);
  table.leftCols(n).setIdentity();
  table.middleCols(n, n) = -(scale.asDiagonal() * W * scale.asDiagonal());
  table.col(2 * n).setConstant(-1.0);
  table.col(2 * n + 1) = rhs / size;
  std::vector<Eigen::Index> basis(static_cast<std::size_t>(n));
  for (Eigen::Index i = 0; i < n; ++i) basis[static_cast<std::size_t>(i)] = i;
  constexpr double tiny = 1e-11;
  const auto pivot = [&](Eigen::Index row, Eigen::Index column) {
    table.row(row) /= table(row, column);
    for (Eigen::Index i = 0; i < n; ++i)
      if (i != row) table.row(i) -= table(i, column) * table.row(row);
    const Eigen::Index left = basis[static_cast<std::size_t>(row)];
    basis[static_cast<std::size_t>(row)] = column;
    return left;
  };
  /// Of rows whose ratio is the least, the lexicographically least: no cycles.
  const auto is_less = [&](Eigen::Index a, Eigen::Index b, Eigen::Index column) {
    const double difference = table(a, 2 * n + 1) / table(a, column) - table(b, 2 * n + 1) / table(b, column);
    if (std::abs(difference) > 1e-13) return difference < 0.0;
    if (basis[static_cast<std::size_t>(a)] == 2 * n) return true;
    if (basis[static_cast<std::size_t>(b)] == 2 * n) return false;
    for (Eigen::Index j = 0; j < n; ++j) {
      const double left = table(a, j) / table(a, column), right = table(b, j) / table(b, column);
      if (left != right) return left < right;
    }
    return false;
  };
  Eigen::Index row = 0;
  table.col(2 * n + 1).minCoeff(&row);
  Eigen::Index left = pivot(row, 2 * n);
  const Eigen::Index most = 50 * (n + 1);
  for (Eigen::Index count = 0; count < most; ++count) {
    const Eigen::Index enters = left < n ? left + n : left - n;
    row = -1;
    for (Eigen::Index i = 0; i < n; ++i)
      if (table(i, enters) > tiny && (row < 0 || is_less(i, row, enters))) row = i;
    if (row < 0) return false;  // a ray: no solution
    left = pivot(row, enters);
    if (left != 2 * n) continue;
    for (Eigen::Index i = 0; i < n; ++i)
      if (const Eigen::Index b = basis[static_cast<std::size_t>(i)]; b >= n && b < 2 * n)
        z[b - n] = scale[b - n] * size * std::max(0.0, table(i, 2 * n + 1));
    return true;
  }
  return false;
}

}  // namespace

bool solve_lcp(const Matrix& W, const Vector& q, Vector& z) {
  if (lemke(W, q, z)) return true;
  // Where W is singular, round-off may hide the pivots: a little added compliance restores them.
  Matrix softer = W;
  softer.diagonal() *= 1.0 + 1e-10;
  if (!lemke(softer, q, z)) return false;
  const Vector w = W * z + q;
  return w.minCoeff() >= -1e-7 * q.cwiseAbs().maxCoeff();
}

}  // namespace kreisel::run
