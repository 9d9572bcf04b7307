// Common part of the Adams–Moulton methods on Lie groups: the velocity relation, and q as a product whose last factor is unknown.
#pragma once

#include <algorithm>

#include "method/differences.hpp"
#include "method/method.hpp"

namespace kreisel::method {

/// With x = v_{n+1} - dv and k = order - 1 past points:
///   v = x + dv,   v_{n+1} = v_n + h Σ_{i=0…k} βᵢ v̇_{n+1-i}, solved for v̇_{n+1}   (Wieloch 2022, eq. 3.4d, 3.7b, 3.14d).
/// Constant steps, systems without constraints.
class AdamsMoulton : public Method {
 public:
  AdamsMoulton(const lie::Space& space, Counters& counters);

  int points_needed(int order) const override { return std::max(1, order - 1); }
  void guess(VectorRef x) override;
  void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) override;
  Coefficients coefficients() const override { return {1.0, 1.0 / beta0_}; }

 protected:
  /// The history, h, k and the known part of the velocity relation.
  void begin_velocity(const History& history, double h, int order);
  void linearize_velocity(MotionTangent& out) const;
  /// v_{n+1-i}, i ≥ 1.
  const Vector& past_velocity(int i) const { return (*history_)[i - 1].motion.v; }

  int k_ = 0;
  double beta0_ = 1.0;

 private:
  Differences differences_;
  Vector known_v_;  ///< v_n + h Σ_{i≥1} βᵢ v̇_{n+1-i}
};

/// q = prefix∘exp(y), y = tail + h β₀ x: only the last factor contains the new velocity, with the full weight β₀.
class ExponentialProduct : public AdamsMoulton {
 public:
  ExponentialProduct(const lie::Space& space, Counters& counters);

  bool moves_by_increment() const override { return false; }
  void position(ConstVectorRef x, VectorRef q) override;
  void linearize(ConstVectorRef x, MotionTangent& out) override;
  void record(ConstVectorRef x, Entry& entry) override;

 protected:
  /// Starts the product at q_n, with no factor and no tail.
  void begin_product(const History& history, double h, int order);
  /// prefix := prefix∘exp(y)
  void append(const Vector& y);

  Vector tail_, factor_;

 private:
  void last_exponent(ConstVectorRef x) { factor_ = tail_ + (h_ * beta0_) * x; }

  Vector prefix_;
  Vector appended_;  ///< sum of the exponents of the prefix
};

}  // namespace kreisel::method
