// Interface to the constraints for methods that modify velocities, independent of the model.
#pragma once

#include "lie/motion.hpp"

namespace kreisel::method {

/// C = M⁻¹Bᵀ(B M⁻¹Bᵀ)⁻¹B over the position rows, at one motion of the past at a time. Values that cannot be computed are NaN, so
/// that the step fails.
class ConstrainedPart {
 public:
  virtual ~ConstrainedPart() = default;
  /// Sets the motion at which C and the projection below are taken.
  virtual void move_to(const lie::Motion& m) = 0;
  /// out = C l; may alias.
  virtual void apply(ConstVectorRef l, VectorRef out) = 0;
  /// The nearest velocity with B v + Φ_t = 0, in the mass metric.
  virtual void project(const lie::Motion& m, VectorRef v) = 0;
};

}  // namespace kreisel::method
