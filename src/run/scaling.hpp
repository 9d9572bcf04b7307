// Sizes against which velocity updates and errors are measured: one number per translational or rotational part.
#pragma once

#include <algorithm>
#include <vector>

#include "base/norm.hpp"
#include "kreisel/system.hpp"
#include "lie/group_info.hpp"

namespace kreisel::run {

/// A part of v whose entries share a unit.
struct Part {
  int v_at = 0, n = 0;
  int q_at = -1;     ///< position coordinates in q for translations and ℝⁿ; -1 for rotations
  int body_at = -1;  ///< position coordinates of the body it belongs to, -1: none
  system::CoordinateKind kind = system::CoordinateKind::dynamic;
};

inline std::vector<Part> parts_of(const system::System& system) {
  std::vector<Part> parts;
  const std::vector<lie::Block>& blocks = system.space().blocks();
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const lie::Block& block = blocks[b];
    const std::size_t first = parts.size();
    const int n = lie::translations_of(block), body_at = lie::is_pose(block) ? block.q_at : -1;
    if (n > 0) parts.push_back({block.v_at, n, block.q_at, body_at});
    if (n < block.nv) parts.push_back({block.v_at + n, block.nv - n, -1, body_at});
    for (std::size_t i = first; i < parts.size(); ++i) parts[i].kind = system.pattern().kind(static_cast<int>(b));
  }
  return parts;
}

/// The largest distance of a body from the origin: through the joints the round-off of that position reaches every body.
inline double span_of_bodies(const std::vector<Part>& parts, const lie::Motion& m) {
  double span = 0.0;
  for (const Part& part : parts)
    if (part.q_at >= 0 && part.body_at >= 0) span = std::max(span, norm_of(m.q.data() + part.body_at, 3));
  return span;
}

/// The size that determines the round-off of a part of this size; `length` is the size of the mechanism.
inline double reach_of(const Part& part, double size, double span, double length) {
  if (part.body_at < 0) return size;
  return std::max(size, part.q_at < 0 ? span / length : span);
}

/// Scale of velocity updates.
struct VelocityScale {
  double absolute = 1.0, relative = 1.0;
  double fraction = 1.0;  ///< of these, that velocities of bodies may use
  double floor = 0.0;     ///< per unit of |q|: what round-off leaves
  double length = 1.0;    ///< of the mechanism
  /// > 0: rates of states and of algebraic unknowns may move the value within this step by a thousandth of what it is allowed.
  /// Their rate alone may be pure noise: the counted angle of a stiff spring at rest changes by round-off only.
  double state_step = 0.0;
  /// > 0: velocities count by their effect on accelerations, as differences over this step.
  double acceleration_step = 0.0;
};

/// weight_i = 1/(absolute + relative·|v part| + floor·|q part|), with `reach_of` for |q part|, a rotation having size 1.
inline void velocity_weights(const std::vector<Part>& parts, const lie::Motion& m, const VelocityScale& scale,
                             VectorRef weight) {
  const double span = span_of_bodies(parts, m);
  for (const Part& part : parts) {
    const double own = part.q_at < 0 ? 1.0 : norm_of(m.q.data() + part.q_at, part.n);
    double allowed = scale.fraction * (scale.absolute + scale.relative * norm_of(m.v.data() + part.v_at, part.n));
    if (scale.state_step > 0.0 && part.kind != system::CoordinateKind::dynamic)
      allowed = std::max(allowed, 1e-3 * (scale.absolute + scale.relative * own) / scale.state_step);
    if (scale.acceleration_step > 0.0)
      allowed = std::min(
          allowed, scale.acceleration_step * (scale.absolute + scale.relative * m.a.segment(part.v_at, part.n).norm()));
    const double size = reach_of(part, own, span, scale.length);
    std::fill_n(weight.data() + part.v_at, part.n, 1.0 / (allowed + scale.floor * size));
  }
}

}  // namespace kreisel::run
