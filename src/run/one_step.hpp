// A step that depends only on its initial point.
#pragma once

#include <memory>
#include <optional>

#include "kreisel/system.hpp"
#include "kreisel/types.hpp"

namespace kreisel::run {

struct Plan;

/// The result depends on the arguments alone, so that a repeated step is the same to the last bit.
class OneStep {
 public:
  virtual ~OneStep() = default;

  virtual int order() const = 0;
  /// From a motion with its v̇ and λ to the one at from.t + h, with its v̇ and λ; omega: q_to = q_from∘exp(omega) before
  /// projections. False: no solution of the equations of the step was found; `to` is then meaningless.
  [[nodiscard]] virtual bool step(const system::Motion& from, double h, system::Motion& to, VectorRef lambda,
                                  VectorRef omega) = 0;
  /// Embedded estimates of the last step, the sharper one first; none: constant steps only.
  virtual int estimates() const { return 0; }
  virtual void error_estimate(int /*which*/, VectorRef /*q_error*/, VectorRef /*v_error*/) const {}
  /// Of the last step, to its order; empty: not integrated.
  virtual std::optional<EnergyFlow> work() const { return {}; }
};

/// For methods that are not step maps (MethodInfo::make is null).
std::unique_ptr<OneStep> make_one_step(const system::System& system, const Plan& plan, Counters& counters);

}  // namespace kreisel::run
