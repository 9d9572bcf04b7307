// Explicit Runge-Kutta-Munthe-Kaas on the index-1 form, with projection in the mass metric after each step.
#pragma once

#include <optional>
#include <vector>

#include "coeff/runge_kutta.hpp"
#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "solve/kkt.hpp"

namespace kreisel::run {

/// u' = T(u)⁻¹ v, v' = v̇(t, q_n∘exp(u), v) with v̇ from [M Bᵀ; B 0].
class Rkmk {
 public:
  Rkmk(const system::System& system, const coeff::Tableau& tableau, Counters& counters, bool projects = true,
       std::string_view linear_solver = "automatic");

  const coeff::Tableau& tableau() const { return tableau_; }
  solve::Kkt& kkt() { return kkt_; }

  /// From a motion with its v̇ to the motion at from.t + h with its v̇ and λ. False when a matrix is singular, the
  /// projection does not contract or a value is not finite; `to` is then meaningless. omega: q_to = q_from∘exp(omega)
  /// before projection.
  [[nodiscard]] bool step(const system::Motion& from, double h, system::Motion& to, VectorRef lambda, VectorRef omega);

  /// Whether steps also integrate the power; not for systems that conserve their energy.
  void integrate_work() { integrates_work_ = !system_.is_conservative(); }
  /// Of the last step, to its order.
  const std::optional<EnergyFlow>& work() const { return work_; }

  /// Embedded error estimates of the last step, in the Lie algebra and in v; which = 0, 1 as in the tableau.
  void error_estimate(int which, VectorRef q_error, VectorRef v_error) const;

 private:
  const system::System& system_;
  const coeff::Tableau& tableau_;
  Counters& counters_;
  solve::Kkt kkt_;
  bool projects_, integrates_work_ = false;
  double h_ = 0.0;
  std::vector<Vector> q_rate_, v_rate_;
  system::Motion stage_;
  Vector u_, stage_lambda_;
  std::optional<EnergyFlow> work_;

  void add_power(int stage, const system::Motion& motion, ConstVectorRef lambda);
};

}  // namespace kreisel::run
