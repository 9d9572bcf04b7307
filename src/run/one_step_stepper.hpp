// A one-step method with the point before: Runge-Kutta-Munthe-Kaas, half-explicit, variational, energy-momentum.
#pragma once

#include <memory>

#include "plan.hpp"
#include "run/one_step.hpp"
#include "stepper.hpp"
#include "turns.hpp"

namespace kreisel::run {

class OneStepStepper final : public Stepper {
 public:
  OneStepStepper(const system::System& system, const Plan& plan, Counters& counters);

  [[nodiscard]] bool place(const system::Start& start) override;
  [[nodiscard]] bool go_on_behind(double t) override;
  bool is_at_start() const override { return is_at_start_; }

  Attempt attempt(const Proposal& proposal) override;
  const Entry& trial() const override { return trial_; }
  std::optional<double> error_at(int order, ErrorNorm& norm, bool tests_lambda) override;
  [[nodiscard]] bool project_trial(bool position, bool velocity) override {
    return start_up_.project(trial_.motion, position, velocity);
  }
  void commit() override;

  const Entry& now() const override { return now_; }
  int past() const override { return 1; }
  double longest_step() const override;
  /// A separate step from the point before: full order, and without effect on the run.
  [[nodiscard]] bool at(double t, Entry& out) override;
  void recall(std::span<const Entry> past) override;
  void exchange(Archive& a) override;

 private:
  std::unique_ptr<OneStep> map_;
  StartUp start_up_;
  Entry before_, now_, trial_;
  Vector q_error_, v_error_;
  std::vector<Part> parts_;
  bool is_at_start_ = true;
};

}  // namespace kreisel::run
