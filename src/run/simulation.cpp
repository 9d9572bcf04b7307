#include "kreisel/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "drive.hpp"
#include "kreisel/error.hpp"
#include "run/integrator.hpp"

namespace kreisel::run {

struct Simulation::Inside {
  Inside(Problem given, Options asked, std::optional<std::string_view> checkpoint = {})
      : problem(std::move(given)),
        options(with_events(std::move(asked), problem)),
        drive(*problem.system, problem.start, checked(), nobody, checkpoint),
        t(drive.asked()) {
    if (!checkpoint && drive.has_ended()) throw InvalidInput(drive.report().message);
  }

  static Options with_events(Options options, const Problem& problem) {
    options.events.insert(options.events.end(), problem.events.begin(), problem.events.end());
    return options;
  }
  const Options& checked() const {
    refuse_what_cannot_run(*problem.system, problem.start, options);
    return options;
  }
  double t_end() const { return std::isnan(options.t_end) ? problem.start.t_end : options.t_end; }

  State at(double wanted) {
    State state;
    if (!drive.at(wanted, state))
      throw InvalidInput(fmt::format("t = {} is not within the step taken last, from {} to {}", wanted,
                                     drive.newest_step_began(), drive.now().motion.t));
    return state;
  }

  Problem problem;
  Options options;
  Observer nobody;
  Drive drive;
  double t;
};

Simulation::Simulation(Problem problem, Options options)
    : inside_(std::make_unique<Inside>(std::move(problem), std::move(options))) {}
Simulation::Simulation(Problem problem, Options options, std::string_view checkpoint)
    : inside_(std::make_unique<Inside>(std::move(problem), std::move(options), checkpoint)) {}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

Status Simulation::advance_to(double t) {
  Inside& in = *inside_;
  if (!(t <= in.t_end()))
    throw InvalidInput(fmt::format("cannot advance to t = {}: the run ends at {}. Give a larger t_end", t, in.t_end()));
  if (t < in.t && t < in.drive.newest_step_began())
    throw InvalidInput(
        fmt::format("cannot go back to t = {}: the last step began at {}", t, in.drive.newest_step_began()));
  in.drive.advance_to(t);
  in.t = in.drive.has_ended() ? std::min(t, in.drive.report().final.motion.t) : t;
  return in.drive.report().status;
}

bool Simulation::step() {
  Inside& in = *inside_;
  const bool goes_on = in.drive.step();
  in.t = in.drive.now().motion.t;
  return goes_on;
}

double Simulation::time() const { return inside_->t; }
State Simulation::state() const { return inside_->at(inside_->t); }
State Simulation::at(double t) const { return inside_->at(t); }
double Simulation::t_end() const { return inside_->t_end(); }
bool Simulation::has_ended() const { return inside_->drive.has_ended(); }
std::string Simulation::checkpoint() const { return inside_->drive.checkpoint(inside_->t); }
const Report& Simulation::report() const { return inside_->drive.report(); }

}  // namespace kreisel::run
