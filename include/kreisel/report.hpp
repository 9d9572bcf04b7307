// How a run ended and what it cost.
#pragma once

#include <array>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::run {

/// Energy that entered and left since the start [J].
using Work = EnergyFlow;

enum class Status {
  success,
  newton_failed,        ///< Newton's method does not converge and the step cannot be reduced
  singular_matrix,      ///< the iteration matrix, or [M Bᵀ; B 0], is singular
  step_too_small,       ///< the error test requires steps below min_step or round-off
  too_many_steps,       ///< max_steps reached
  event_failed,         ///< an event could not be carried out, or triggers repeatedly (Zeno behaviour)
  poor_derivatives,     ///< derivatives that the system computes numerically are too inaccurate for the tolerances
  no_consistent_start,  ///< initial values cannot be completed to accelerations and multipliers
  interrupted,          ///< the observer stopped the run
};

struct StatusInfo {
  Status id;
  std::string_view name;  ///< the id users see: "success", "newton-failed", ...
  std::string_view meaning;
};
const std::vector<StatusInfo>& statuses();
const StatusInfo& info_of(Status);

/// An event that happened.
struct Occurrence {
  std::string event, action;  ///< name and kind of action
  double t = 0.0;
  bool ends_the_run = false;
  method::Entry before, after;  ///< equal when the action changes nothing; λ in the rows of results
};

struct Report {
  Status status = Status::success;
  std::string message;  ///< where, what, why, what to try; empty on plain success
  std::string method, formulation, correction;
  int order = 0;      ///< highest used
  double step = 0.0;  ///< the constant step in use, the mean of given ones, 0 under error control
  bool step_was_adjusted = false;
  double t_end = 0.0;  ///< requested
  Counters counters;
  std::array<long, 9> steps_at_order{};
  long rejected_by_error = 0, rejected_by_newton = 0;
  double position_max = 0.0, velocity_max = 0.0;  ///< largest |Φ|, |B v + Φ_t| over accepted points
  double energy_initial = 0.0, energy_final = 0.0;
  Work work;                   ///< since the start
  double energy_error = 0.0;   ///< largest |energy - energy_initial - work| over accepted points; NaN without energy
  double solve_seconds = 0.0;  ///< CPU time of the step loop, without start-up
  std::string linear_solver;
  std::vector<Occurrence> events;  ///< in the order of time
  long corners = 0;                ///< at which the method restarted
  std::vector<std::string> warnings;
  method::Entry final;  ///< the last accepted point
  system::Residual final_residual;
  std::vector<std::shared_ptr<const system::System>> systems;  ///< that were active; owns those of events
};

/// Status, message and cost of the run, in a few lines.
std::ostream& operator<<(std::ostream& out, const Report& report);

}  // namespace kreisel::run
