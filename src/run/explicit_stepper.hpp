// Explicit Runge-Kutta-Munthe-Kaas as a method of its own.
#pragma once

#include "plan.hpp"
#include "run/rkmk.hpp"
#include "stepper.hpp"

namespace kreisel::run {

class ExplicitStepper final : public Stepper {
 public:
  ExplicitStepper(const system::System& system, const Plan& plan, Counters& counters);

  [[nodiscard]] bool place(const system::Start& start) override;
  [[nodiscard]] bool go_on_behind(double t) override;
  bool is_at_start() const override { return is_at_start_; }

  Attempt attempt(const Proposal& proposal) override;
  const Entry& trial() const override { return trial_; }
  std::optional<double> error_at(int order, ErrorNorm& norm, bool tests_lambda) override;
  /// Every step is projected already.
  [[nodiscard]] bool project_trial(bool, bool) override { return true; }
  void commit() override;

  const Entry& now() const override { return now_; }
  int past() const override { return 1; }
  double longest_step() const override;
  /// A step of its own from the point before: full order, and the run does not see it.
  [[nodiscard]] bool at(double t, Entry& out) override;
  void recall(std::span<const Entry> past) override;
  void exchange(Archive& a) override;

 private:
  Rkmk rkmk_;
  StartUp start_up_;
  Entry before_, now_, trial_;
  Vector q_error_, v_error_;
  std::vector<Part> parts_;
  bool is_at_start_ = true;
};

}  // namespace kreisel::run
