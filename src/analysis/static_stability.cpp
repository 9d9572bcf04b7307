#include "analysis/static_stability.hpp"

#include <cmath>

#include "analysis/static_matrix.hpp"
#include "base/decompositions.hpp"
#include "system/dense.hpp"

namespace kreisel::analysis {

std::optional<bool> is_minimum(const system::System& system, const system::Motion& m, const Vector& lambda) {
  constexpr int most_coordinates = 600;
  constexpr double round_off = 1e-9;
  const int nv = system.space().nv();
  if (nv > most_coordinates) return {};
  system::KktBlocks blocks(system.pattern());
  system.linearize(m, lambda, blocks);
  const std::vector<bool> follows = followers(system, blocks);
  Matrix K = system::dense_coupling(system, blocks.K);
  const Matrix M = system::dense_coupling(system, blocks.M), B = system::dense_rows(system, blocks.B);
  // Counted angles follow the motion; they are held as if by a constraint.
  Matrix rows = B;
  for (std::size_t b = 0; b < follows.size(); ++b) {
    if (!follows[b]) continue;
    const lie::Block& block = system.space().blocks()[b];
    rows.conservativeResize(rows.rows() + block.nv, Eigen::NoChange);
    rows.bottomRows(block.nv).setZero();
    rows.block(rows.rows() - block.nv, block.v_at, block.nv, block.nv).setIdentity();
  }
  // In units in which masses are about one, so that stiff directions do not hide soft ones.
  Vector scale = Vector::Ones(nv);
  for (int i = 0; i < nv; ++i)
    if (M(i, i) > 0.0) scale[i] = 1.0 / std::sqrt(M(i, i));
  K = scale.asDiagonal() * K * scale.asDiagonal();
  Matrix N = Matrix::Identity(nv, nv);
  if (rows.rows() > 0) {
    const ColumnSpace held = column_space(scale.asDiagonal() * rows.transpose(), 1e-10);
    N = held.Q.rightCols(nv - held.rank);
  }
  if (N.cols() == 0) return true;
  const Matrix reduced = N.transpose() * K * N;
  const double size = reduced.norm();
  if ((reduced - reduced.transpose()).norm() <= 1e-9 * size)
    return symmetric_eigenvalues(reduced)[0] >= -round_off * size;
  for (const std::complex<double>& value : general_eigenvalues(reduced))
    if (value.real() < -round_off * size && std::abs(value.imag()) <= round_off * size) return false;
  return true;
}

}  // namespace kreisel::analysis
