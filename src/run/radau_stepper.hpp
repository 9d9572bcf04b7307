// Radau IIA as a stepper.
#pragma once

#include <array>

#include "plan.hpp"
#include "solve/radau.hpp"
#include "stepper.hpp"

namespace kreisel::run {

class RadauStepper final : public Stepper {
 public:
  static constexpr int method_order = 5;

  RadauStepper(const system::System& system, const Plan& plan, Counters& counters);

  [[nodiscard]] bool place(const system::Start& start) override;
  [[nodiscard]] bool go_on_behind(double t) override;
  bool is_at_start() const override { return is_at_start_; }

  Attempt attempt(const Proposal& proposal) override;
  const Entry& trial() const override { return trial_; }
  /// Filtered with the matrix of the step; at a start and after a rejection, where a large estimate may be the transient of a
  /// stiff motion, twice. The error of λ is the difference between the last stage and the new point.
  std::optional<double> error_at(int order, ErrorNorm& norm, bool tests_lambda) override;
  [[nodiscard]] bool project_trial(bool position, bool velocity) override;
  void commit() override;

  const Entry& now() const override { return now_; }
  int past() const override { return 1; }
  double longest_step() const override;
  [[nodiscard]] bool at(double t, Entry& out) override;
  /// The stages are not kept with the points: they are solved for again, with a guess from both ends of the step.
  void recall(std::span<const Entry> past) override;

  void forget_matrix() override { radau_.forget_matrix(); }
  std::string worst_rows() const override { return radau_.worst_rows(); }
  std::string widest_turn() const override;
  std::string_view linear_solver_name() const override { return radau_.linear_solver_name(); }
  void exchange(Archive& a) override;

 private:
  using Powers = std::array<system::Power, solve::Collocation::stages>;

  void weigh(const Entry& from, double h);
  void measure_power(double h);
  double work_error() const;  ///< of the trial, relative to the tolerance

  const system::System& system_;
  const Plan& plan_;
  solve::Radau radau_;
  StartUp start_up_;
  const std::vector<Part> parts_;
  const std::vector<Part> held_parts_, free_parts_;  ///< of bodies with reactions, and without
  Entry now_, trial_;
  solve::Collocation last_, next_;  ///< the step that led to now(), and the one of the trial
  solve::Collocation shown_;        ///< the last step, its stages refined for output
  solve::Collocation next_shown_;   ///< the same for the trial
  bool is_shown_ = false;           ///< shown_ belongs to last_
  bool is_refined_ = false;         ///< next_shown_ belongs to next_
  system::Motion stage_;
  Powers last_power_{}, next_power_{};
  double gross_ = 0.0, gross_of_trial_ = 0.0;  ///< work, every part counted positive
  Vector weight_, q_error_, v_error_;
  int attempts_ = 0;  ///< since the last commit
  bool is_at_start_ = true;
};

}  // namespace kreisel::run
