#include "analysis/static_stability.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "analysis/static_matrix.hpp"
#include "base/decompositions.hpp"
#include "system/dense.hpp"

namespace kreisel::analysis {

std::optional<LeastStiffness> least_stiffness(const system::System& system, const system::Motion& m,
                                              const Vector& lambda) {
  constexpr int most_coordinates = 600;
  // Directions that are softer, in parts of the terms that add up to their stiffness, are not told apart from those without any.
  constexpr double softest = 1e-5;
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
  if (N.cols() == 0) return LeastStiffness{1.0, 0.0};
  Matrix reduced = N.transpose() * K * N;
  // Stiff directions do not hide soft ones.
  const Vector terms = (N.transpose().cwiseAbs() * K.cwiseAbs() * N.cwiseAbs()).diagonal();
  Vector unit(terms.size());
  double noise = 0.0;
  for (Eigen::Index i = 0; i < unit.size(); ++i) {
    const double size = std::max(std::abs(reduced(i, i)), softest * terms[i]);
    unit[i] = size > 0.0 ? 1.0 / std::sqrt(size) : 1.0;
    noise = std::max(noise, size > 0.0 ? terms[i] / size : 0.0);
  }
  reduced = (unit.asDiagonal() * reduced * unit.asDiagonal()).eval();
  noise *= 64.0 * std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(unit.size()));
  if ((reduced - reduced.transpose()).norm() <= 1e-9 * reduced.norm())
    return LeastStiffness{symmetric_eigenvalues(reduced)[0], noise};
  // Where forces have no energy, an eigenvalue that passes zero is real.
  noise = std::max(noise, 1e-9 * reduced.norm());
  double least = std::numeric_limits<double>::infinity();
  for (const std::complex<double>& value : general_eigenvalues(reduced))
    if (std::abs(value.imag()) <= noise) least = std::min(least, value.real());
  return LeastStiffness{std::isfinite(least) ? least : 1.0, noise};
}

}  // namespace kreisel::analysis
