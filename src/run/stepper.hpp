// One step at a time: the interface of every method between two accepted points.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/archive.hpp"
#include "error_control.hpp"
#include "kreisel/observer.hpp"
#include "kreisel/system.hpp"
#include "method/history.hpp"
#include "run/start_up.hpp"
#include "solve/closer.hpp"

namespace kreisel::run {

/// The next step to be tried. t is not always now + h to the last bit: constant steps count from t0.
struct Proposal {
  double t = 0.0, h = 0.0;
  int order = 1;
};

/// The points a multistep method needs before its first step.
struct StartingPoints {
  bool are_wanted = false;
  double h = 0.0;
  int order = 1;
  StartUpOptions corrections;
  long last = -1;  ///< number of the point that is t_end; -1: none
  double t_end = 0.0;
  bool marks_first_step = false;  ///< the first point gets h, for which the memory of a one-step method is made
};

inline Outcome outcome_of(solve::CloseStatus status) {
  switch (status) {
    case solve::CloseStatus::converged:
      return Outcome::accepted;
    case solve::CloseStatus::diverged:
      return Outcome::newton_failed;
    case solve::CloseStatus::singular_matrix:
      return Outcome::singular_matrix;
    case solve::CloseStatus::not_finite:
      return Outcome::not_finite;
  }
  return Outcome::newton_failed;
}

/// Owner and only writer of the trial and of the past. A failed attempt changes no state; only `commit` advances time.
class Stepper {
 public:
  using Entry = method::Entry;

  virtual ~Stepper() = default;

  /// Whether the first step needs no past but the memory that `fill` makes.
  virtual bool is_one_step() const { return true; }
  virtual int points_needed(int /*order*/) const { return 1; }

  /// (t0, q0, v0) with its v̇ and λ. False: [M Bᵀ; B 0] is singular there.
  [[nodiscard]] virtual bool place(const system::Start& start) = 0;
  /// Points after the first one; `now` stays at the first until `show_next_start`. False: the starter failed.
  [[nodiscard]] virtual bool fill(const StartingPoints&) { return true; }
  /// Forces jump at t, a few units of round-off after `now`: moves there, with v̇ and λ as they are behind the jump. False: the
  /// method uses its past and must restart.
  [[nodiscard]] virtual bool go_on_behind(double /*t*/) { return false; }
  /// Starting points after `now`.
  virtual int starts_left() const { return 0; }
  virtual void show_next_start() {}
  /// Whether `now` was made by the starting procedure.
  virtual bool is_at_start() const = 0;

  /// Solves the equations of one step. Outcome::accepted: the trial is valid.
  virtual Attempt attempt(const Proposal& proposal) = 0;
  virtual const Entry& trial() const = 0;
  /// Error of the trial in multiples of the tolerance, as if its step had been taken with `order`; nothing when the past
  /// is too short to tell or the method has no such order. `norm` has the scale of the trial.
  virtual std::optional<double> error_at(int order, ErrorNorm& norm, bool tests_lambda) = 0;
  /// When no order has an estimate: the first step against the Taylor polynomial of the initial values.
  virtual double first_error(ErrorNorm&) { return 0.0; }
  /// Moves the trial onto the constraints; v̇, λ and the memory of the method stay. False: it cannot be done.
  [[nodiscard]] virtual bool project_trial(bool position, bool velocity) = 0;
  virtual void commit() = 0;

  virtual const Entry& now() const = 0;
  /// Accepted points that the method may use, including `now`.
  virtual int past() const = 0;
  /// The longest step that the method can represent for the present motion.
  virtual double longest_step() const { return std::numeric_limits<double>::infinity(); }
  /// The fastest lightly damped vibration in the present matrix [rad/s]; 0: none.
  virtual double vibration() const { return 0.0; }
  /// The same in parts of chains whose fastest vibrations are damped.
  virtual double slower_vibration() const { return 0.0; }
  /// A point within the step that ended at `now`. False: it cannot be computed.
  [[nodiscard]] virtual bool at(double t, Entry& out) = 0;

  /// Number of past points that `at` needs to give the same values as during the run.
  virtual int depth() const { return 2; }
  /// As after the commit of the last of these points, oldest first, for `at` alone. Afterwards no step can be taken.
  virtual void recall(std::span<const Entry> past) = 0;

  /// A step with a matrix of an earlier step had an error: the next attempt makes a new matrix.
  virtual void forget_matrix() {}
  /// What kept the last attempt from converging, by name.
  virtual std::string worst_rows() const { return {}; }
  /// The body that turned further than a step can describe; empty: none.
  virtual std::string widest_turn() const { return {}; }
  virtual std::string_view linear_solver_name() const { return {}; }
  virtual void exchange(Archive& a) = 0;
};

}  // namespace kreisel::run
