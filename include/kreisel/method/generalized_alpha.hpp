// Generalized-α on Lie groups (Arnold, Brüls, Cardona 2015).
#pragma once

#include "kreisel/coeff/generalized_alpha.hpp"
#include "kreisel/method/method.hpp"

namespace kreisel::method {

///   a_{n+1} = (x + dv - v - (½-β)h a)/(βh),  v_{n+1} = v + (1-γ)h a + γh a_{n+1},
///   v̇_{n+1} = ((1-αm)a_{n+1} + αm a - αf v̇)/(1-αf),  dv = B(q_n)ᵀη.
class GeneralizedAlpha final : public Method {
 public:
  GeneralizedAlpha(const lie::Space& space, Counters& counters, const coeff::GeneralizedAlpha& parameters)
      : Method(space, counters), parameters_(parameters), next_a_(Vector::Zero(space.nv())) {
    scratch_.setZero(space.nv());
  }

  int memory_size() const override { return space_.nv(); }
  int points_needed(int) const override { return 1; }
  StabilizationPoint stabilization_point() const override { return StabilizationPoint::previous; }
  void begin_step(const History& history, double h, int order) override;
  void guess(VectorRef x) override;
  void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) override;
  void linearize(ConstVectorRef x, MotionTangent& out) override;
  void record(ConstVectorRef x, Entry& entry) override;
  bool is_one_step() const override { return true; }
  void one_step_start(ConstVectorRef jerk, double h, bool shifts_memory, Entry& entry, VectorRef defect) override;

  const coeff::GeneralizedAlpha& parameters() const { return parameters_; }

 private:
  coeff::GeneralizedAlpha parameters_;
  Vector next_a_;
};

}  // namespace kreisel::method
