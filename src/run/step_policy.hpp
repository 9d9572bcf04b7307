// Which step and order are tried next, and whether an attempt is accepted.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "corners.hpp"
#include "kreisel/report.hpp"
#include "plan.hpp"
#include "stepper.hpp"

namespace kreisel::run {

/// The failure of a run that cannot continue.
struct Failure {
  Status status = Status::newton_failed;
  std::string message;
};

/// [M Bᵀ; B 0] cannot be solved where a method begins.
Failure no_accelerations(double t, bool is_first);

/// `restart`: the attempt is not repeated; the method restarts at the present point.
enum class Verdict { accept, retry, restart, give_up };

class StepPolicy {
 public:
  virtual ~StepPolicy() = default;

  /// The stepper is at its first point.
  virtual StartingPoints begin(const Stepper& stepper) = 0;
  virtual Failure failure_of_start(const Stepper& stepper) const;
  /// Requests a step that ends at t; no effect on constant and given steps.
  virtual void stop_at(double /*t*/) {}
  virtual std::variant<Proposal, Failure> next(const Stepper& stepper) = 0;
  /// Whether the last proposal ends at a given time: the end, a corner, a requested time.
  virtual bool ends_at_stop() const { return false; }
  /// Decides, completes the record of the attempt and, unless it accepts, prepares the next proposal.
  virtual Verdict judge(Attempt& attempt, Stepper& stepper) = 0;
  /// After Verdict::give_up.
  virtual Failure failure(const Attempt& attempt, const Stepper& stepper) const = 0;
  /// The accepted attempt has been committed; a failure ends the run, for example without progress.
  virtual void committed(const Attempt&) {}
  virtual std::optional<Failure> complaint(const Stepper&) { return {}; }
  /// The step that another method would have to exceed by far; empty: the present method is suitable.
  virtual std::optional<double> crawl() { return {}; }
  /// The time after a corner that the stepper has reached, if the method is to restart there.
  virtual std::optional<double> restart(const Stepper& stepper) const = 0;
  /// State kept when a method restarts.
  virtual void inherit(const StepPolicy& /*before*/) {}
  /// Steps do not end at kinks of forces. Neighbouring runs take the steps of this one and pass the kinks elsewhere: derivatives
  /// of the discrete motion need steps that do not depend on kinks.
  virtual void ignore_kinks() {}
  virtual void exchange(Archive& a) = 0;
};

/// Constant steps, given ones, or those of error control, as the plan says.
std::unique_ptr<StepPolicy> make_policy(const Plan& plan, const system::System& system);
std::unique_ptr<Stepper> make_stepper(const Plan& plan, const system::System& system, Counters& counters);

}  // namespace kreisel::run
