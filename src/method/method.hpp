// An implicit integration method as a step map x ↦ (q, v, v̇), its history frozen.
#pragma once

#include <span>

#include "coeff/bliedf_defect.hpp"
#include "kreisel/types.hpp"
#include "lie/motion.hpp"
#include "method/constrained_part.hpp"
#include "method/history.hpp"

namespace kreisel::method {

using lie::Motion;
using lie::MotionTangent;

/// Where the stabilisation term Bᵀη takes its B from.
enum class StabilizationPoint { next, previous };

/// Independent of the model. A failed step changes no state: everything between begin_step and record is scratch.
class Method {
 public:
  Method(const lie::Space& space, Counters& counters) : space_(space), counters_(counters) {}
  virtual ~Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  /// Doubles of Entry::memory.
  virtual int memory_size() const { return 0; }
  /// Past points that order k needs.
  virtual int points_needed(int order) const = 0;
  /// Relative accuracy to which v(x) is solved where the velocity relation is implicit; round-off by default.
  virtual void set_velocity_tolerance(double) {}
  /// Where the position constraints alone determine λ, velocities carry an error that jumps with the step size; a method may
  /// compensate it with this operator. Null (the default): velocities are not modified.
  void set_constrained_part(ConstrainedPart* part) { constrained_part_ = part; }
  virtual StabilizationPoint stabilization_point() const { return StabilizationPoint::next; }

  /// Freezes coefficients and known parts of the step from history[0] to history[0].t + h.
  virtual void begin_step(const History& history, double h, int order) = 0;
  virtual void guess(VectorRef x) = 0;
  /// q(x); the rule of most methods is q_n∘exp(h x).
  virtual void position(ConstVectorRef x, VectorRef q);
  /// v(x) and v̇(x), shifted by dv = Bᵀη in the velocity relation. trial.q is already q(x).
  virtual void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) = 0;
  virtual void linearize(ConstVectorRef x, MotionTangent& out) = 0;
  /// γ₁ = ∂v/∂x and α₀ = h ∂v̇/∂v of the frozen step, by which a kept iteration matrix is rescaled; 1, 1 where the
  /// derivatives are not multiples of the identity.
  struct Coefficients {
    double gamma = 1.0, alpha = 1.0;
  };
  virtual Coefficients coefficients() const { return {}; }
  /// Completes the accepted entry (omega, memory) from x; entry.motion is final.
  virtual void record(ConstVectorRef x, Entry& entry);
  /// Completes the memory of start-up points, which came from another method; history is uniform and full.
  virtual void adopt(History&) {}

  /// One-step methods with private memory start from v̇ and v̈ at t0 instead of past points.
  virtual bool is_one_step() const { return false; }
  /// Fills entry.memory (shifted to its natural time if requested) and the defect l^q/h of the first steps, whose
  /// constrained part must be added to v0 to avoid order reduction in λ (Arnold, Brüls, Cardona 2015, eq. 56, 57).
  virtual void one_step_start(ConstVectorRef jerk, double h, bool shifts_memory, Entry& entry, VectorRef defect);

  /// The leading local error of the velocity relation on equal steps, by the formulas of the papers, from v, v', …, v⁽ᵏ⁾ at the
  /// beginning of the step; `as_printed` where that differs. False: there is no formula for this order.
  virtual bool leading_defect(int /*order*/, double /*h*/, std::span<const Vector> /*derivatives*/, bool /*as_printed*/,
                              VectorRef /*out*/) {
    return false;
  }

  /// Local error of q (in the Lie algebra) and of v if this step had been taken with `order`; false when the past is
  /// too short to tell. Valid between the closing of a step and the next begin_step.
  virtual bool local_errors(int order, const Motion& accepted, VectorRef q_error, VectorRef v_error);

  /// Whether the next step depends on the past only through ω and v, which a jump of v̇ moves.
  virtual bool follows_jumps() const { return false; }

  // ---- the derivative of the closed step along changes of the past, its steps unchanged

  /// False: not available, use differences of the map. `accepted` is the result of the step.
  [[nodiscard]] virtual bool begin_tangents(const Motion& /*accepted*/) { return false; }
  /// Changes of the past points, newest first.
  virtual void move_past(std::span<const PastChange>) {}
  /// δv and δv̇ that δx and δ(dv) lead to; `dv` comes with a guess.
  virtual void tangent(ConstVectorRef /*dx*/, ConstVectorRef /*ddv*/, VectorRef /*dv*/, VectorRef /*da*/) {}
  /// δω and δmemory of the new point, with δv as `tangent` left it.
  virtual void record_tangent(ConstVectorRef /*dx*/, ConstVectorRef /*dv*/, VectorRef /*domega*/,
                              VectorRef /*dmemory*/) {}

  // ---- the transposed of that derivative, for gradients of scalars; valid after begin_tangents

  virtual bool has_transposed() const { return false; }
  /// What multiplies δx and δ(dv) in a scalar, from what multiplies δv, δv̇, δω and δmemory of the new point.
  virtual void transpose_tangent(ConstVectorRef /*v*/, ConstVectorRef /*a*/, ConstVectorRef /*omega*/,
                                 ConstVectorRef /*memory*/, VectorRef /*dx*/, VectorRef /*ddv*/) {}
  /// Adds what multiplies changes of the past points, newest first; `ddv` as transpose_tangent left it.
  virtual void transpose_past(ConstVectorRef /*a*/, ConstVectorRef /*memory*/, ConstVectorRef /*ddv*/,
                              std::span<const PastWeight> /*past*/) {}

  /// Whether `position` is q_n∘exp(h x).
  virtual bool moves_by_increment() const { return true; }

  const lie::Space& space() const { return space_; }

 protected:
  Counters& counters() { return counters_; }
  void bracket(ConstVectorRef a, ConstVectorRef b, VectorRef out) {
    ++counters_.brackets;
    space_.bracket(a, b, out);
  }
  /// out = h^k (-v⁽ᵏ⁾/(k+1) + Σ terms)
  void sum_defect(int k, double h, std::span<const coeff::NestedBracket> terms, std::span<const Vector> derivatives,
                  VectorRef out);

  const lie::Space& space_;
  Counters& counters_;
  const History* history_ = nullptr;  ///< set by begin_step
  ConstrainedPart* constrained_part_ = nullptr;
  double h_ = 0.0;
  Vector scratch_;
};

}  // namespace kreisel::method
