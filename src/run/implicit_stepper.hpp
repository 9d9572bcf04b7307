// An implicit method with its solver and its past.
#pragma once

#include <memory>
#include <vector>

#include "method/catalogue.hpp"
#include "method/differences.hpp"
#include "plan.hpp"
#include "run/dense_output.hpp"
#include "solve/closer.hpp"
#include "solve/kkt.hpp"
#include "solve/manifold.hpp"
#include "stepper.hpp"
#include "turns.hpp"

namespace kreisel::run {

class ConstrainedPart;

class ImplicitStepper final : public Stepper {
 public:
  ImplicitStepper(const system::System& system, const Plan& plan, Counters& counters);
  ~ImplicitStepper() override;

  bool is_one_step() const override { return method_->is_one_step(); }
  int points_needed(int order) const override { return method_->points_needed(order); }
  [[nodiscard]] bool place(const system::Start& start) override;
  [[nodiscard]] bool fill(const StartingPoints& wanted) override;
  [[nodiscard]] bool go_on_behind(double t) override;
  int starts_left() const override { return starts_left_; }
  void show_next_start() override { --starts_left_; }
  bool is_at_start() const override { return is_at_start_; }

  Attempt attempt(const Proposal& proposal) override;
  const Entry& trial() const override { return trial_; }
  std::optional<double> error_at(int order, ErrorNorm& norm, bool tests_lambda) override;
  double first_error(ErrorNorm& norm) override;
  [[nodiscard]] bool project_trial(bool position, bool velocity) override;
  void commit() override;

  const Entry& now() const override { return history_[starts_left_]; }
  int past() const override { return history_.size(); }
  double longest_step() const override;
  double vibration() const override { return closer_.vibration(); }
  double slower_vibration() const override { return closer_.slower_vibration(); }
  [[nodiscard]] bool at(double t, Entry& out) override;

  /// Both sides of a jump at every point.
  int depth() const override { return 2 * DenseOutput::max_points; }
  void recall(std::span<const Entry> past) override;

  void forget_matrix() override { closer_.forget_matrix(); }
  std::string worst_rows() const override { return closer_.worst_rows(); }
  std::string widest_turn() const override;
  std::string_view linear_solver_name() const override { return closer_.linear_solver_name(); }
  void exchange(Archive& a) override;

  // ---- for derivatives of its steps

  /// Whether a step consists of its map and its equations only: nothing is projected, and no operator of the system enters the map.
  bool is_plain() const { return manifold_ == nullptr && constrained_part_ == nullptr; }
  /// Frozen for the trial between an attempt and the next.
  method::Method& method() { return *method_; }
  const method::History& history() const { return history_; }
  const solve::Closer& closer() const { return closer_; }
  /// Whether the multipliers of the newest point follow from its q and v.
  bool has_settled_lambda() const { return has_settled_lambda_; }

 private:
  method::EntrySizes sizes() const;
  void move_past(const Entry& before);
  [[nodiscard]] bool project_onto_manifold(double h);
  double lambda_error_at(int order);
  void settle_lambda();
  void move_tangent();
  void keep_tangential_velocity();
  /// Of multipliers between the points, in steps that turn a body far.
  double interpolation_error_at(int order);

  const system::System& system_;
  const Plan& plan_;
  Counters& counters_;
  std::unique_ptr<method::Method> method_;
  solve::Closer closer_;
  method::History history_;
  Entry trial_;
  StartUp start_up_;
  std::vector<Part> parts_;
  Vector weight_, x_, q_error_, v_error_, constrained_error_, lambda_error_, lambda_guess_, hidden_lambda_;
  DenseOutput dense_;
  std::unique_ptr<solve::Kkt> tangent_;  ///< index-3 form under error control only
  system::Motion tangent_at_;            ///< where it was made
  bool has_tangent_ = false;
  int tangent_age_ = 0;        ///< in attempts
  double tangent_turn_ = 0.0;  ///< since it was made
  method::Differences lambda_differences_;
  double lambda_scale_ = 0.0;         ///< largest |λ| so far
  double lambda_noise_ = 0.0;         ///< of the trial, relative
  double h_ = 0.0;                    ///< of the trial
  double interpolation_share_ = 0.0;  ///< interpolation error between the points of the trial, as a part of its error
  Turn turn_;                         ///< the widest of the trial
  int order_ = 0;                     ///< of the trial
  int starts_left_ = 0;
  bool is_at_start_ = true;
  bool is_behind_jump_ = false;  ///< no step since the jump
  bool has_settled_lambda_ = false;
  bool controls_lambda_;
  bool tests_tangential_alone_;                        ///< d = P d̃ (Eich 1993, eq. 4.1)
  std::unique_ptr<ConstrainedPart> constrained_part_;  ///< index-3 form with given steps only
  std::unique_ptr<solve::Manifold> manifold_;          ///< of projections after each step; null: none
};

}  // namespace kreisel::run
