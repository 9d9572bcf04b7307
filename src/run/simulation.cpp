#include "kreisel/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "drive.hpp"
#include "kreisel/error.hpp"
#include "row_map.hpp"
#include "run/integrator.hpp"
#include "system/inputs.hpp"

namespace kreisel::run {

struct Simulation::Inside {
  Inside(Problem given, Options asked, Observer* observer, std::optional<std::string_view> checkpoint = {})
      : problem(std::move(given)),
        options(with_events(std::move(asked), problem)),
        inputs(checked_inputs()),
        is_open(!problem.has_end && std::isnan(options.t_end) && !is_given(options.steps)),
        drive(*problem.system, problem.start, checked(), observer != nullptr ? *observer : nobody, checkpoint, inputs,
              nullptr, nullptr, is_open),
        t(drive.asked()),
        motion(problem.system->space()) {
    for (const system::InputInfo& info : problem.system->inputs()) input_names.push_back(info.name);
    for (const system::OutputInfo& info : problem.system->outputs())
      for (int i = 0; i < info.size(); ++i) output_names.push_back(info.column(i));
    for (std::size_t i = 0; i < input_names.size(); ++i) input_numbers.emplace(input_names[i], static_cast<int>(i));
    for (std::size_t i = 0; i < output_names.size(); ++i) output_numbers.emplace(output_names[i], static_cast<int>(i));
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
  double t_end() const {
    if (is_open) return std::numeric_limits<double>::infinity();
    return std::isnan(options.t_end) ? problem.start.t_end : options.t_end;
  }
  /// The largest time that matters to round-off.
  double largest_time() const { return is_open ? std::abs(t) : std::max(std::abs(t), std::abs(t_end())); }

  std::shared_ptr<system::SetInputs> checked_inputs() const {
    if (problem.system == nullptr || problem.system->inputs().empty()) return nullptr;
    return std::make_shared<system::SetInputs>(problem.system->inputs().size());
  }
  bool has_inputs() const { return inputs != nullptr; }
  int input_named(std::string_view name) const {
    if (const auto found = input_numbers.find(name); found != input_numbers.end()) return found->second;
    throw InvalidInput(input_names.empty() ? fmt::format("there is no input '{}': the model has no inputs", name)
                                           : unknown_name("input", name, input_names));
  }
  int output_named(std::string_view name) const {
    if (const auto found = output_numbers.find(name); found != output_numbers.end()) return found->second;
    throw InvalidInput(unknown_name("output", name, output_names));
  }
  /// The newest point, as long as its time is the present one.
  bool is_at_newest() const {
    return std::abs(drive.now().motion.t - t) <= std::max(drive.slack(), Drive::round_off * largest_time());
  }
  /// Continues after inputs were set.
  void settle() {
    if (!is_set) return;
    is_set = false;
    forget_outputs();
    drive.go_on_behind(set_from);
  }

  /// Inputs were set at the start, before anything was computed.
  void settle_at_start() {
    if (is_set && set_from == drive.now().motion.t) settle();
  }

  State at(double wanted) {
    settle_at_start();
    State state;
    if (wanted == t && has_inputs() && !drive.has_ended() && is_at_newest()) wanted = drive.now().motion.t;
    if (!drive.at(wanted, state))
      throw InvalidInput(fmt::format("t = {} is not within the last step, from {} to {}", wanted,
                                     drive.newest_step_began(), drive.now().motion.t));
    return state;
  }

  /// All outputs at the present time, or their rates.
  const Vector& outputs(bool are_rates) {
    settle_at_start();
    Seen& seen = are_rates ? rates : values;
    if (seen.is_known) return seen.values;
    if (!values.is_known && !rates.is_known) {
      const State now = at(t);
      if (seen_system != now.system) {
        seen_system = now.system;
        rows.emplace(now.system->pattern(), problem.system->result_layout().pattern());
        lambda.resize(now.system->pattern().rows());
      }
      std::tie(motion.t, motion.q, motion.v, motion.a) = std::tie(now.t, now.q, now.v, now.a);
      rows->gather(now.lambda, lambda);
    }
    seen.values.resize(seen_system->output_size());
    if (are_rates)
      seen_system->evaluate_output_rates(motion, lambda, seen.values);
    else
      seen_system->evaluate_outputs(motion, lambda, seen.values);
    seen.is_known = true;
    return seen.values;
  }
  void forget_outputs() { values.is_known = rates.is_known = false; }

  struct Seen {
    Vector values{};
    bool is_known = false;
  };

  Problem problem;
  Options options;
  std::shared_ptr<system::SetInputs> inputs;  ///< null: the model has none
  Observer nobody;
  bool is_open;  ///< neither problem nor options say where it ends
  Drive drive;
  double t;
  bool is_set = false;                                  ///< inputs were set, and nothing has been computed with them
  double set_from = 0.0;                                ///< time from which they apply
  Seen values, rates;                                   ///< of outputs
  std::shared_ptr<const system::System> seen_system{};  ///< system that they were evaluated with
  std::optional<RowMap> rows{};
  lie::Motion motion;
  Vector lambda{};
  std::vector<std::string> input_names{}, output_names{};
  std::map<std::string, int, std::less<>> input_numbers{}, output_numbers{};
};

Simulation::Simulation(Problem problem, Options options, Observer* observer)
    : inside_(std::make_unique<Inside>(std::move(problem), std::move(options), observer)) {}
Simulation::Simulation(Problem problem, Options options, std::string_view checkpoint, Observer* observer)
    : inside_(std::make_unique<Inside>(std::move(problem), std::move(options), observer, checkpoint)) {}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

Status Simulation::advance_to(double t) {
  Inside& in = *inside_;
  // Round-off of accumulated durations.
  if (t > in.t_end() && t - in.t_end() <= 1e-12 * std::max(std::abs(in.t_end()), std::abs(in.problem.start.t0)))
    t = in.t_end();
  if (!std::isfinite(t)) throw InvalidInput(fmt::format("cannot advance to t = {}: expected a finite time", t));
  if (!(t <= in.t_end()))
    throw InvalidInput(fmt::format("cannot advance to t = {}: the run ends at {}. Give a larger t_end", t, in.t_end()));
  if (t < in.t && t < in.drive.newest_step_began())
    throw InvalidInput(
        fmt::format("cannot go back to t = {}: the last step began at {}", t, in.drive.newest_step_began()));
  in.settle();
  in.forget_outputs();
  in.drive.advance_to(t, in.has_inputs());
  in.t = in.drive.has_ended() ? std::min(t, in.drive.report().final.motion.t) : t;
  if (!in.drive.has_ended() && std::abs(in.drive.now().motion.t - t) <= in.drive.slack())
    in.t = in.drive.now().motion.t;
  return in.drive.report().status;
}

void Simulation::set(std::string_view input, double value) {
  Inside& in = *inside_;
  const int number = in.input_named(input);
  if (!std::isfinite(value))
    throw InvalidInput(fmt::format("input '{}' cannot be {}: expected a finite number", input, value));
  if (in.drive.has_ended())
    throw InvalidInput(fmt::format("input '{}' cannot be set: the run has ended at t = {:.10g}", input, in.t));
  if (!in.is_at_newest())
    throw InvalidInput(fmt::format(
        "input '{}' cannot be set at t = {:.10g}, within a step: the newest step ends at {:.10g}. Advance to a "
        "time at which a step ends; under error control a step ends at every time advanced to",
        input, in.t, in.drive.now().motion.t));
  if (!in.is_set) in.set_from = in.drive.first_time_behind();
  const double* present = in.inputs->find(number, in.set_from);
  if (present != nullptr && *present == value) return;
  in.inputs->set(number, in.set_from, value);
  in.is_set = true;
  if (in.set_from == in.drive.now().motion.t) in.forget_outputs();
}

double Simulation::input(std::string_view name) const {
  Inside& in = *inside_;
  const int number = in.input_named(name);
  const double t = in.is_set ? in.set_from : in.drive.now().motion.t;
  const double* value = in.inputs->find(number, t);
  return value != nullptr ? *value : in.problem.system->input_at(number, in.t);
}

double Simulation::output(std::string_view name) const {
  Inside& in = *inside_;
  const bool is_rate = name.ends_with('\'');
  const std::string_view base = is_rate ? name.substr(0, name.size() - 1) : name;
  const double value = in.outputs(is_rate)[in.output_named(base)];
  if (is_rate && std::isnan(value))
    throw InvalidInput(fmt::format("output '{}' has no rate that follows from the motion", base));
  return value;
}

bool Simulation::step() {
  Inside& in = *inside_;
  in.settle();
  in.forget_outputs();
  const bool goes_on = in.drive.step();
  in.t = in.drive.now().motion.t;
  return goes_on;
}

double Simulation::time() const { return inside_->t; }
State Simulation::state() const { return inside_->at(inside_->t); }
State Simulation::at(double t) const { return inside_->at(t); }
double Simulation::t_end() const { return inside_->t_end(); }
bool Simulation::has_ended() const {
  // The last step may reach further than the time that was asked for.
  return inside_->drive.has_ended() && !(inside_->t < inside_->drive.report().final.motion.t);
}
std::string Simulation::checkpoint() const {
  inside_->settle();
  return inside_->drive.checkpoint(inside_->t);
}
const Report& Simulation::report() const { return inside_->drive.report(); }

}  // namespace kreisel::run
