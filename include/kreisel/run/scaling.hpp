// Sizes against which velocity updates and errors are measured: one number per translational or rotational part.
#pragma once

#include <vector>

#include "kreisel/lie/motion.hpp"

namespace kreisel::run {

/// A part of v whose entries share a unit.
struct Part {
  int v_at = 0, n = 0;
  int q_at = -1;  ///< position coordinates in q for translations and ℝⁿ; -1 for rotations
};

inline std::vector<Part> parts_of(const lie::Space& space) {
  std::vector<Part> parts;
  for (const lie::Block& block : space.blocks()) {
    switch (block.group) {
      case lie::GroupId::rn: parts.push_back({block.v_at, block.nv, block.q_at}); break;
      case lie::GroupId::so3: parts.push_back({block.v_at, 3, -1}); break;
      case lie::GroupId::r3xso3:
      case lie::GroupId::se3:
        parts.push_back({block.v_at, 3, block.q_at});
        parts.push_back({block.v_at + 3, 3, -1});
        break;
    }
  }
  return parts;
}

/// weight_i = 1/(absolute + relative·|v part| + floor·|q part|), a rotation having size 1.
inline void velocity_weights(const std::vector<Part>& parts, const lie::Motion& m, double absolute, double relative,
                             double floor, VectorRef weight) {
  for (const Part& part : parts) {
    const double size = part.q_at < 0 ? 1.0 : m.q.segment(part.q_at, part.n).norm();
    weight.segment(part.v_at, part.n)
        .setConstant(1.0 / (absolute + relative * m.v.segment(part.v_at, part.n).norm() + floor * size));
  }
}

}  // namespace kreisel::run
