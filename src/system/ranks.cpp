#include "kreisel/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/decompositions.hpp"
#include "lie/group_info.hpp"
#include "system/consistency.hpp"
#include "system/dense.hpp"

namespace kreisel::system {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Below this part of the largest entry, numbers are round-off.
constexpr double exact_tolerance = 1e-12;

constexpr double rank_tolerance = 1e-10;

/// Columns (and rows) of the dynamic coordinates.
std::vector<int> dynamic_coordinates(const System& system) {
  std::vector<int> list;
  const auto& blocks = system.space().blocks();
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b)
    if (system.pattern().kind(b) == CoordinateKind::dynamic)
      for (int i = 0; i < blocks[b].nv; ++i) list.push_back(blocks[b].v_at + i);
  return list;
}

/// Rows of length 1; rows that are round-off beside the longest become zero.
Matrix with_unit_rows(Matrix B) {
  const double longest = B.rows() == 0 ? 0.0 : B.rowwise().norm().maxCoeff();
  for (Eigen::Index i = 0; i < B.rows(); ++i) {
    const double length = B.row(i).norm();
    if (length > exact_tolerance * longest)
      B.row(i) /= length;
    else
      B.row(i).setZero();
  }
  return B;
}

/// B over the dynamic coordinates, with translations in parts of the mechanism's size and rows of length 1: its rank does not depend on the
/// unit of length. Rows that move points along have that unit, rows that only turn have none; both are about 1 before round-off is judged.
Matrix without_units(const System& system, const Motion& m, Matrix B) {
  const double length = length_scale(system, m);
  const auto& blocks = system.space().blocks();
  Vector along = Vector::Zero(B.rows());
  Eigen::Index column = 0;
  for (int b = 0; b < static_cast<int>(blocks.size()); ++b) {
    if (system.pattern().kind(b) != CoordinateKind::dynamic) continue;
    if (lie::is_pose(blocks[b])) {
      auto translations = B.middleCols(column, lie::translations_of(blocks[b]));
      along = along.cwiseMax(translations.rowwise().norm());
      translations *= length;
    }
    column += blocks[b].nv;
  }
  for (Eigen::Index i = 0; i < B.rows(); ++i)
    if (length * along[i] > exact_tolerance * B.row(i).norm()) B.row(i) /= length;
  return with_unit_rows(std::move(B));
}

/// Of two equivalent rows the first is kept: lengths fall by more than round-off from row to row.
PivotOrder pivoted(const Matrix& unit_rows) {
  const Vector preference = Vector::LinSpaced(unit_rows.rows(), 1.0, 1.0 - 1e-3);
  return pivot_order(unit_rows.transpose() * preference.asDiagonal(), rank_tolerance);
}

/// The rows behind the first `rank` pivots, in their own order.
std::vector<int> rows_past(int rank, const PivotOrder& order) {
  std::vector<int> rows(order.columns.begin() + rank, order.columns.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

int rank_of_mass(const Matrix& M) {
  Vector scale = M.diagonal().cwiseAbs().cwiseSqrt();
  for (double& s : scale) s = s > 0.0 ? 1.0 / s : 0.0;
  const Matrix scaled = scale.asDiagonal() * M * scale.asDiagonal();
  return static_cast<int>((symmetric_eigenvalues(scaled).array().abs() > rank_tolerance).count());
}

/// Whether M > 0 on ker B, after scaling the diagonal of M to 1, so that masses and inertias compare.
bool has_mass(const Matrix& M, const Matrix& B) {
  const Vector size = M.diagonal().unaryExpr([](double mass) { return mass > 0.0 ? 1.0 / std::sqrt(mass) : 1.0; });
  const Matrix scaled = size.asDiagonal() * M * size.asDiagonal();
  Matrix kernel = Matrix::Identity(M.rows(), M.rows());
  if (B.rows() > 0) {
    const Svd parts = svd(with_unit_rows(B * size.asDiagonal()), SingularVectors::full_v);
    kernel = parts.V.rightCols(M.rows() - parts.rank(rank_tolerance));
  }
  return kernel.cols() == 0 || symmetric_eigenvalues(Matrix(kernel.transpose() * scaled * kernel))[0] > exact_tolerance;
}

/// Of [M F; B 0], after scaling the diagonal of M and the rows of B to 1.
double condition_of_saddle(const Matrix& M, const Matrix& B, const Matrix& F) {
  const Eigen::Index n = M.rows(), r = B.rows();
  const Vector size = M.diagonal().unaryExpr([](double mass) { return mass > 0.0 ? 1.0 / std::sqrt(mass) : 1.0; });
  const Matrix scaled = B * size.asDiagonal();
  const Vector row = scaled.rowwise().norm().unaryExpr([](double length) { return length > 0.0 ? 1.0 / length : 1.0; });
  Matrix A = Matrix::Zero(n + r, n + r);
  A.topLeftCorner(n, n) = size.asDiagonal() * M * size.asDiagonal();
  A.topRightCorner(n, r) = size.asDiagonal() * F * row.asDiagonal();
  A.bottomLeftCorner(r, n) = row.asDiagonal() * scaled;
  const Vector values = jacobi_svd(A, SingularVectors::none).values;
  return values.size() == 0                                       ? 1.0
         : values[values.size() - 1] > rank_tolerance * values[0] ? values[0] / values[values.size() - 1]
                                                                  : infinity;
}

/// The same with F = Bᵀ, by eigenvalues.
double condition_of_kkt(const Matrix& M, const Matrix& B) {
  const Eigen::Index n = M.rows(), r = B.rows();
  const Vector size = M.diagonal().unaryExpr([](double mass) { return mass > 0.0 ? 1.0 / std::sqrt(mass) : 1.0; });
  Matrix rows = B * size.asDiagonal();
  for (Eigen::Index i = 0; i < r; ++i)
    if (const double length = rows.row(i).norm(); length > 0.0) rows.row(i) /= length;
  Matrix kkt = Matrix::Zero(n + r, n + r);
  kkt.topLeftCorner(n, n) = size.asDiagonal() * M * size.asDiagonal();
  kkt.bottomLeftCorner(r, n) = rows;
  kkt.topRightCorner(n, r) = rows.transpose();
  const Vector sizes = symmetric_eigenvalues(kkt).cwiseAbs();
  const double smallest = sizes.minCoeff(), greatest = sizes.maxCoeff();
  return smallest > std::numeric_limits<double>::epsilon() * greatest ? greatest / smallest : infinity;
}

}  // namespace

RankReport rank_report(const System& system, const Motion& m) {
  KktBlocks blocks(system.pattern());
  system.mass_and_jacobian(m, blocks);
  const std::vector<int> dynamic = dynamic_coordinates(system);
  const Matrix M = dense_coupling(system, blocks.M)(dynamic, dynamic);
  const Matrix B = dense_rows(system, blocks.B)(Eigen::all, dynamic);

  RankReport report;
  report.rows = static_cast<int>(B.rows());
  report.coordinates = static_cast<int>(M.rows());
  if (report.coordinates == 0) return report;
  report.rank_of_M = rank_of_mass(M);

  Matrix kernel = Matrix::Identity(M.rows(), M.rows());
  if (report.rows > 0) {
    const Matrix unit = without_units(system, m, B);
    report.rank_of_B = svd(unit, SingularVectors::none).rank(rank_tolerance);
    kernel = svd(with_unit_rows(B), SingularVectors::full_v).V.rightCols(M.rows() - report.rank_of_B);

    report.redundant_rows = rows_past(report.rank_of_B, pivoted(unit));
    for (const int row : report.redundant_rows) report.redundant_names.push_back(system.pattern().row_name(row));
  }
  report.smallest_mass = infinity;
  if (kernel.cols() > 0) {
    const auto mass = symmetric_eigen(Matrix(kernel.transpose() * M * kernel));
    report.smallest_mass = mass.values[0];
    Eigen::Index worst = 0;
    (kernel * mass.vectors.col(0)).cwiseAbs().maxCoeff(&worst);
    const auto& blocks_of_space = system.space().blocks();
    for (int b = 0; b < static_cast<int>(blocks_of_space.size()); ++b)
      if (dynamic[worst] >= blocks_of_space[b].v_at && dynamic[worst] < blocks_of_space[b].v_at + blocks_of_space[b].nv)
        report.weakest_block = system.pattern().block_name(b);
  }
  report.condition = condition_of_kkt(M, B);
  report.has_mass = has_mass(M, B);
  report.is_regular = report.rank_of_B == report.rows && report.has_mass;
  return report;
}

Redundancy redundancy(const System& system, const Motion& m) {
  Redundancy out;
  const Pattern& pattern = system.pattern();
  if (pattern.rows() == 0) return out;
  KktBlocks blocks(pattern);
  system.mass_and_jacobian(m, blocks);
  const Matrix B = without_units(system, m, dense_rows(system, blocks.B)(Eigen::all, dynamic_coordinates(system)));
  const PivotOrder order = pivoted(B);
  const std::vector<int> rows = rows_past(order.rank, order);
  if (rows.empty()) return out;
  for (const int row : rows) out.rows.push_back(pattern.row_name(row));

  // Combinations of rows that vanish: the left null space of B.
  const Matrix null_space = svd(B, SingularVectors::full_u).U.rightCols(static_cast<Eigen::Index>(rows.size()));
  std::vector<int> joint_rows;
  for (const RowGroup& group : pattern.groups()) {
    for (int i = 0; i < group.rows && !group.is_driver; ++i) joint_rows.push_back(group.at + i);
    if (group.is_driver) out.driver_rows += group.rows;
  }
  const int held = joint_rows.empty() ? 0 : pivoted(B(joint_rows, Eigen::all)).rank;
  out.freedom = static_cast<int>(B.cols()) - held;
  for (const RowGroup& group : pattern.groups()) {
    const bool is_involved = null_space.middleRows(group.at, group.rows).cwiseAbs().maxCoeff() > 1e-6;
    if (is_involved) out.involved.push_back(group.name);
    if (group.is_driver && (is_involved || out.has_too_many_drivers())) out.drivers.push_back(group.name);
  }
  return out;
}

std::string Redundancy::in_words() const {
  constexpr std::size_t most = 12;
  std::string text = fmt::format(
      "they belong to '{}'", fmt::join(involved.begin(), involved.begin() + std::min(involved.size(), most), "', '"));
  if (involved.size() > most) text += fmt::format(" and {} more", involved.size() - most);
  if (has_too_many_drivers())
    text = fmt::format("drivers '{}' prescribe {} motions, but the joints leave {} degree{} of freedom: remove {}",
                       fmt::join(drivers, "', '"), driver_rows, freedom, freedom == 1 ? "" : "s",
                       driver_rows - freedom == 1 ? "one of them" : fmt::format("{} of them", driver_rows - freedom));
  else if (!drivers.empty())
    text += fmt::format("; '{}' prescribe{} a motion that is already constrained", fmt::join(drivers, "', '"),
                        drivers.size() == 1 ? "s" : "");
  return text;
}

double multiplier_condition(const System& system, const Motion& m, ConstVectorRef lambda) {
  KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  const std::vector<int> dynamic = dynamic_coordinates(system);
  const Matrix M = dense_coupling(system, blocks.M)(dynamic, dynamic);
  const Matrix B = dense_rows(system, blocks.B)(Eigen::all, dynamic);
  const Matrix F = dense_forces(system, blocks.F)(dynamic, Eigen::all);
  return condition_of_saddle(M, B, F);
}

}  // namespace kreisel::system
