// Explicit Runge-Kutta-Munthe-Kaas on the index-1 form, with projection in the mass metric after each step.
#pragma once

#include <optional>
#include <vector>

#include "coeff/runge_kutta.hpp"
#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "run/one_step.hpp"
#include "solve/kkt.hpp"

namespace kreisel::run {

/// u' = T(u)⁻¹ v, v' = v̇(t, q_n∘exp(u), v) with v̇ from [M Bᵀ; B 0].
class Rkmk final : public OneStep {
 public:
  Rkmk(const system::System& system, const coeff::Tableau& tableau, Counters& counters, bool projects = true,
       std::string_view linear_solver = "automatic");

  int order() const override { return tableau_.order; }
  solve::Kkt& kkt() { return kkt_; }

  /// From a motion with its v̇ to the motion at from.t + h with its v̇ and λ. False when a matrix is singular, the
  /// projection does not contract or a value is not finite; `to` is then meaningless. omega: q_to = q_from∘exp(omega)
  /// before projection.
  [[nodiscard]] bool step(const system::Motion& from, double h, system::Motion& to, VectorRef lambda,
                          VectorRef omega) override;

  /// q' is the stage velocity projected onto B v + Φ_t = 0: derivative projection (Eich 1993, section 1).
  void project_derivatives() { projects_derivatives_ = true; }
  /// Whether steps also integrate the power; not for systems that conserve their energy.
  void integrate_work() { integrates_work_ = !system_.is_conservative(); }
  /// Of the last step, to its order.
  std::optional<EnergyFlow> work() const override { return work_; }

  /// Embedded error estimates of the last step, in the Lie algebra and in v; which = 0, 1 as in the tableau.
  int estimates() const override { return tableau_.error_count; }
  void error_estimate(int which, VectorRef q_error, VectorRef v_error) const override;

 private:
  const system::System& system_;
  const coeff::Tableau& tableau_;
  Counters& counters_;
  solve::Kkt kkt_;
  bool projects_, integrates_work_ = false, projects_derivatives_ = false;
  double h_ = 0.0;
  std::vector<Vector> q_rate_, v_rate_;
  system::Motion stage_;
  Vector u_, stage_lambda_, kept_v_;
  /// v of the stage at hand as the rate of q.
  [[nodiscard]] bool set_position_rate(int stage);
  std::optional<EnergyFlow> work_;

  void add_power(int stage, const system::Motion& motion, ConstVectorRef lambda);
};

}  // namespace kreisel::run
