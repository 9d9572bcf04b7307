// BLieDF: BDF for the velocity relation in terms of increments (Wieloch & Arnold 2019; Wieloch 2022, eq. 3.62).
#pragma once

#include <memory>

#include "coeff/bdf_variable.hpp"
#include "method/correction.hpp"
#include "method/differences.hpp"
#include "method/method.hpp"
#include "method/variants.hpp"
#include "method/velocity_modification.hpp"

namespace kreisel::method {

/// With x = ω_n/h:
///   v = (1/h) Σ γᵢ (ω_{n+1-i} - c_{n+1-i}) + dv - shift,   v̇ = (1/h) Σ αᵢ v_{n+1-i}.
class Bliedf final : public Method {
 public:
  /// `modifies_velocity`: in index-3 form on steps of different size, see VelocityModification.
  Bliedf(const lie::Space& space, Counters& counters, std::unique_ptr<Correction> correction,
         bool modifies_velocity = true, DefectSource defect = DefectSource::corrected,
         Linearization linearization = Linearization::leading);

  int memory_size() const override { return space_.nv(); }
  int points_needed(int order) const override { return order; }
  void set_velocity_tolerance(double relative) override { sweep_tolerance_ = relative; }
  void begin_step(const History& history, double h, int order) override;
  void guess(VectorRef x) override;
  void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) override;
  void linearize(ConstVectorRef x, MotionTangent& out) override;
  Coefficients coefficients() const override;
  void record(ConstVectorRef x, Entry& entry) override;
  void adopt(History& history) override { correction_->adopt(history); }
  bool leading_defect(int order, double h, std::span<const Vector> derivatives, bool as_printed,
                      VectorRef out) override;
  bool local_errors(int order, const Motion& accepted, VectorRef q_error, VectorRef v_error) override;
  bool follows_jumps() const override { return true; }
  bool begin_tangents(const Motion& accepted) override;
  void move_past(std::span<const PastChange> past) override;
  void tangent(ConstVectorRef dx, ConstVectorRef ddv, VectorRef dv, VectorRef da) override;
  void record_tangent(ConstVectorRef dx, ConstVectorRef dv, VectorRef domega, VectorRef dmemory) override;
  bool has_transposed() const override { return correction_->has_transposed(); }
  void transpose_tangent(ConstVectorRef v, ConstVectorRef a, ConstVectorRef omega, ConstVectorRef memory, VectorRef dx,
                         VectorRef ddv) override;
  void transpose_past(ConstVectorRef a, ConstVectorRef memory, ConstVectorRef ddv,
                      std::span<const PastWeight> past) override;

 private:
  void solve_for_velocity(ConstVectorRef x, VectorRef v);  ///< v = base_ - shift(x, v)
  void linearize_completely(ConstVectorRef x, MotionTangent& out);

  std::unique_ptr<Correction> correction_;
  Differences differences_;
  VelocityModification modification_;
  bool modifies_velocity_;
  Linearization linearization_;
  coeff::KeptNodes grid_;
  coeff::BdfCoefficients bdf_;
  int k_ = 1;
  CorrectionNeeds correction_needs_ = CorrectionNeeds::nothing;
  bool is_iterating_ = false;  ///< the last velocity belongs to this step and is the start of the next sweep
  double sweep_tolerance_ = 1e-14;
  Vector known_v_, known_a_, base_, shift_, last_v_, last_base_;
  Vector known_dv_, known_da_, past_dv_;                ///< of derivatives
  Vector stabilization_, v_, direction_, left_blocks_;  ///< of the complete linearization
};

}  // namespace kreisel::method
