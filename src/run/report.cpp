#include "kreisel/report.hpp"

#include <fmt/format.h>

#include <ostream>

#include "kreisel/observer.hpp"

namespace kreisel::run {

const std::vector<StatusInfo>& statuses() {
  static const std::vector<StatusInfo> list{
      {Status::success, "success", "the run reached t_end"},
      {Status::newton_failed, "newton-failed", "Newton's method did not converge"},
      {Status::singular_matrix, "singular-matrix", "the iteration matrix or the matrix [M B'; B 0] is singular"},
      {Status::step_too_small, "step-too-small", "the error test requires steps below the smallest allowed one"},
      {Status::too_many_steps, "too-many-steps", "max_steps was reached before t_end"},
      {Status::event_failed, "event-failed",
       "an event could not be carried out, or triggers repeatedly (Zeno behaviour)"},
      {Status::poor_derivatives, "poor-derivatives",
       "derivatives by differences are too inaccurate for the tolerances"},
      {Status::no_consistent_start, "no-consistent-start", "the initial values admit no accelerations and multipliers"},
      {Status::interrupted, "interrupted", "stopped by the user or the calling program"},
  };
  return list;
}

const StatusInfo& info_of(Status id) { return statuses()[static_cast<int>(id)]; }

std::ostream& operator<<(std::ostream& out, const Report& r) {
  const Counters& c = r.counters;
  out << fmt::format("{}: {}, {}, order {}\n", info_of(r.status).name, r.method, r.formulation, r.order);
  if (!r.message.empty()) out << r.message << '\n';
  out << fmt::format("steps {}, rejected {}, Newton iterations {}, residuals {}, factorizations {}\n", c.steps,
                     c.rejected_steps, c.newton_iterations, c.residual_evaluations, c.factorizations);
  out << fmt::format("largest |Phi| {:.3g}, |B v| {:.3g}; energy {:.6g} to {:.6g}, balance to {:.3g}\n", r.position_max,
                     r.velocity_max, r.energy_initial, r.energy_final, r.energy_error);
  for (const std::string& warning : r.warnings) out << "warning: " << warning << '\n';
  return out;
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::accepted:
      return "accepted";
    case Outcome::newton_failed:
    case Outcome::singular_matrix:
    case Outcome::not_finite:
      return "newton failed";
    case Outcome::projection_failed:
      return "projection failed";
    case Outcome::stage_failed:
      return "stage failed";
    case Outcome::turned_too_far:
      return "turned too far";
    case Outcome::error_too_large:
      return "error too large";
  }
  return "?";
}

}  // namespace kreisel::run
