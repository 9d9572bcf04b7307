// Kinks of forces as functions of the state: where steps end because of them.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "kreisel/system.hpp"
#include "run/error_control.hpp"
#include "system/kinks.hpp"

namespace kreisel::solve {
class Kkt;
}

namespace kreisel::run {

/// The slope of a force jumps where a coordinate passes a knot, at a time that depends on the motion. A step across it has order
/// one or two, and so have steps of a multistep method that use points before it. Where error control detects this, the step ends
/// at the knot, and a multistep method drops its past.
///
/// Knots that follow each other too closely are left to error control: a restart at each would cost more.
class Kinks {
 public:
  Kinks(const system::System& system, double rtol, std::string_view linear_solver);
  ~Kinks();

  void ignore() { of_ = nullptr; }
  /// Where the next attempt has to end; not finite: anywhere.
  double landing() const { return landing_; }

  /// State kept when a method restarts.
  void inherit(const Kinks& before);

  enum class Advice {
    none,    ///< not caused by a kink
    land,    ///< at landing()
    restart  ///< here: the kink is practically here, or among the last `order` steps
  };
  /// The error of the step to `trial` is too large.
  Advice rejected(const lie::Motion& now, const lie::Motion& trial, int order);
  /// The step to `trial` may be accepted. True: it misses the knot at which it should end; landing() is better.
  [[nodiscard]] bool misses(const lie::Motion& now, const lie::Motion& trial);
  /// The step to `trial` may be accepted. True: between knots that it passes a force acts of which its ends know nothing. It has to
  /// end at landing(), or where that has failed, sooner.
  [[nodiscard]] bool hides(const lie::Motion& now, const lie::Motion& trial, ErrorNorm& norm);
  /// The step to `trial` is accepted.
  void accept(const lie::Motion& now, const lie::Motion& trial);

  void exchange(Archive& a);

 private:
  struct Crossing {
    int kink = -1;
    double knot = 0.0;
  };
  struct Rates {
    double rate = 0.0, curve = 0.0;
  };
  /// Where a coordinate has this value, from one end of the step: accelerations there into moved_. False: there are none.
  bool accelerate_at(int kink, double x, const lie::Motion& end, double s, double whole, double h);
  /// Whether a force acts where a coordinate has this value, of which the ends of the step know nothing.
  bool surprises(int kink, double x, const lie::Motion& now, const lie::Motion& trial, ErrorNorm& norm);
  Rates rates(int kink, double x, const lie::Motion& m, double h);
  double time_of_knot(const lie::Motion& at, double x, double whole, double h);
  Crossing first_between_ends() const;
  void count_restart();
  void forget_landing();

  static constexpr double nowhere = std::numeric_limits<double>::infinity();

  const system::System& system_;
  const system::KinkedSystem* of_ = nullptr;  ///< null: there are none
  std::vector<bool> jumps_;                   ///< coordinates whose knots are left to events
  double farthest_;                           ///< before a knot, in parts of a step
  Vector x_, x_trial_, x_moved_;              ///< coordinates: at `t_`, at the trial, beside a point
  double t_ = nowhere;
  lie::Motion moved_;
  Vector way_;
  std::string linear_solver_;
  Counters counters_;  ///< of probes, which are no part of the method
  std::unique_ptr<solve::Kkt> kkt_;
  Vector lambda_, q_error_, v_error_, near_v_, near_a_;

  Crossing target_;
  double landing_ = nowhere, beyond_ = nowhere;  ///< target end of the step, and a time behind the knot
  int tries_ = 0;
  int hidden_ = 0;                             ///< attempts since the last step that passed a force unnoticed
  bool is_given_up_ = false;                   ///< until the next step: error control alone
  Crossing landed_;                            ///< just before it
  int age_ = std::numeric_limits<int>::max();  ///< accepted steps since one crossed a knot
  int since_landing_ = std::numeric_limits<int>::max(), crowded_ = 0, pause_ = 0;
};

}  // namespace kreisel::run
