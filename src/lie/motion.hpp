// How a step map moves the state of a mechanical system.
#pragma once

#include "kreisel/motion.hpp"

namespace kreisel::lie {

/// Derivatives of the step map x ↦ (q, v, v̇) and with respect to a shift dv of the velocity relation.
/// ∂q is trivialised: δq = q ∘ (q_x δx)~. v_x and a_x are multiples of the identity unless has_blocks.
struct MotionTangent {
  Vector q_x;  ///< block diagonal
  double v_x = 0.0, a_x = 0.0;
  bool has_blocks = false;  ///< then v_x_blocks and a_x_blocks apply instead
  Vector v_x_blocks, a_x_blocks;
  double v_dv = 1.0, a_dv = 0.0;

  MotionTangent() = default;
  explicit MotionTangent(const Space& space)
      : q_x(Vector::Zero(space.block_diagonal_size())),
        v_x_blocks(Vector::Zero(space.block_diagonal_size())),
        a_x_blocks(Vector::Zero(space.block_diagonal_size())) {}
};

}  // namespace kreisel::lie
