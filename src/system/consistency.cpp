#include "system/consistency.hpp"
#include "lie/group_info.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kreisel::system {
namespace {

constexpr double relative_tolerance = 1e-8;
/// Coordinates far from the origin are known to round-off only.
constexpr double round_off = 64.0 * std::numeric_limits<double>::epsilon();

/// In space: three translations, three rotations.
bool is_body(const lie::Block& block) { return lie::is_pose(block) && block.nv == 6; }

/// Sizes of single coordinates, and how far they are from the origin.
struct Sizes {
  Vector natural, distance;
  double length = 0.0;
};

Sizes sizes_of(const System& system, const Motion& m, const KktBlocks& blocks) {
  const auto& space_blocks = system.space().blocks();
  const Pattern& pattern = system.pattern();
  const int nv = system.space().nv();
  // Bodies have a size; for numbers in ℝⁿ their value is the size.
  Vector3 middle = Vector3::Zero();
  int bodies = 0;
  for (const lie::Block& block : space_blocks)
    if (is_body(block)) middle += m.q.segment<3>(block.q_at), ++bodies;
  if (bodies > 0) middle /= bodies;
  double length = 0.0, numbers = 0.0;
  for (std::size_t b = 0; b < space_blocks.size(); ++b) {
    const lie::Block& block = space_blocks[b];
    if (is_body(block)) {
      length = std::max(length, (m.q.segment<3>(block.q_at) - middle).norm());
      const ConstMatrixMap M(
          blocks.M.data() + pattern.couplings()[pattern.coupling(static_cast<int>(b), static_cast<int>(b))].at, 6, 6);
      const double mass = M.topLeftCorner<3, 3>().trace() / 3.0, inertia = M.bottomRightCorner<3, 3>().trace() / 3.0;
      if (mass > 0.0 && inertia > 0.0) length = std::max(length, std::sqrt(inertia / mass));
    } else if (block.group == lie::GroupId::rn && pattern.kind(static_cast<int>(b)) == CoordinateKind::dynamic) {
      numbers = std::max(numbers, m.q.segment(block.q_at, block.nq).lpNorm<Eigen::Infinity>());
    }
  }
  for (const Pattern::Touch& touch : pattern.touches()) {
    if (!is_body(space_blocks[touch.block])) continue;
    const ConstMatrixMap B(blocks.B.data() + touch.at, pattern.groups()[touch.group].rows, 6);
    for (Eigen::Index i = 0; i < B.rows(); ++i)
      if (const double along = B.row(i).head<3>().norm(); along > 0.0)
        length = std::max(length, B.row(i).tail<3>().norm() / along);
  }
  if (!(length > 0.0)) length = numbers > 0.0 ? numbers : 1.0;
  if (!(numbers > 0.0)) numbers = length;
  Sizes sizes{Vector::Ones(nv), Vector::Zero(nv), length};
  for (const lie::Block& block : space_blocks) {
    const int n = lie::translations_of(block);
    if (n == 0) continue;
    sizes.natural.segment(block.v_at, n).setConstant(is_body(block) ? length : numbers);
    sizes.distance.segment(block.v_at, n).setConstant(m.q.segment(block.q_at, n).lpNorm<Eigen::Infinity>());
  }
  return sizes;
}

KktBlocks evaluated(const System& system, const Motion& m) {
  KktBlocks blocks(system.pattern());
  system.mass_and_jacobian(m, blocks);
  return blocks;
}

/// Σ |B_ij| x_j by row.
Vector rows_for(const System& system, const KktBlocks& blocks, const Vector& x) {
  const Pattern& pattern = system.pattern();
  Vector out = Vector::Zero(pattern.rows());
  for (const Pattern::Touch& touch : pattern.touches()) {
    const RowGroup& group = pattern.groups()[touch.group];
    const lie::Block& block = system.space().blocks()[touch.block];
    const ConstMatrixMap B(blocks.B.data() + touch.at, group.rows, block.nv);
    out.segment(group.at, group.rows) += B.cwiseAbs() * x.segment(block.v_at, block.nv);
  }
  return out;
}

}  // namespace

double length_scale(const System& system, const Motion& m) { return sizes_of(system, m, evaluated(system, m)).length; }

Consistency consistency_tolerances(const System& system, const Motion& m, double span) {
  const KktBlocks blocks = evaluated(system, m);
  const Sizes sizes = sizes_of(system, m, blocks);
  double frequency = span > 0.0 && std::isfinite(span) ? 1.0 / span : 0.0;
  for (Eigen::Index i = 0; i < m.v.size(); ++i) frequency = std::max(frequency, std::abs(m.v[i]) / sizes.natural[i]);
  const Vector size = rows_for(system, blocks, sizes.natural), distance = rows_for(system, blocks, sizes.distance);
  Consistency out;
  out.position = (relative_tolerance * size + round_off * distance).head(system.pattern().position_rows());
  out.velocity = frequency * (relative_tolerance * size + round_off * distance);
  return out;
}

Miss miss_of(const System& system, const Start& start) {
  Motion m(system.space());
  m.t = start.t0;
  m.q = start.q0;
  m.v = start.v0;
  Residual r(system.space().nv(), system.pattern().position_rows(), system.pattern().rows());
  system.constraints(m, Vector(Vector::Zero(system.pattern().rows())), r);
  const Consistency allowed = consistency_tolerances(system, m, start.t_end - start.t0);
  Miss miss;
  const auto examine = [](const Vector& rows, const Vector& tolerance, double& largest, int& worst) {
    double excess = 1.0;
    for (Eigen::Index i = 0; i < rows.size(); ++i) {
      largest = std::isnan(rows[i]) ? rows[i] : std::max(largest, std::abs(rows[i]));
      const double ratio = rows[i] == 0.0 ? 0.0 : std::abs(rows[i]) / tolerance[i];
      if (!(ratio <= excess)) excess = ratio, worst = static_cast<int>(i);
    }
  };
  examine(r.gap, allowed.position, miss.position, miss.position_row);
  examine(r.rate, allowed.velocity, miss.velocity, miss.velocity_row);
  return miss;
}

}  // namespace kreisel::system
