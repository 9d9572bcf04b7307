#include "drive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <tuple>
#include <utility>

#include "base/spelling.hpp"
#include "explain.hpp"
#include "follower.hpp"
#include "kreisel/error.hpp"

namespace kreisel::run {

using method::Entry;
using system::Event;

namespace {

/// Largest gap of a position constraint, relative to the positions: far above the error of Newton's method.
constexpr double largest_gap = 1e-5;

/// Of this thread: studies run several integrations at once.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double round_off_at(const Entry& entry) { return 1e-12 * std::max(std::abs(entry.motion.t), entry.h); }

std::shared_ptr<const system::System> unowned(const system::System& system) {
  return {std::shared_ptr<const void>(), &system};
}

std::shared_ptr<const system::System> reading(std::shared_ptr<const system::System> system,
                                              const std::shared_ptr<system::SetInputs>& inputs) {
  std::shared_ptr<const system::System> next = inputs != nullptr ? system->with_inputs(inputs) : nullptr;
  return next != nullptr ? next : system;
}

/// The system that the switches of a checkpoint led to.
std::shared_ptr<const system::System> replayed(const std::vector<Switched>& switches, const Options& options,
                                               std::shared_ptr<const system::System> system) {
  for (const Switched& switched : switches) {
    if (switched.event.empty()) {
      system = with_closed(*system, switched.closed);
      continue;
    }
    const system::Switch* change = nullptr;
    for (const std::vector<Event>* list : {&options.events, &system->events()})
      for (const Event& event : *list)
        if (event.name == switched.event && std::holds_alternative<system::Switch>(event.action))
          change = &std::get<system::Switch>(event.action);
    if (change == nullptr)
      throw InvalidInput(fmt::format("the checkpoint has an event '{}' that the model does not have", switched.event));
    system = next_system(*change, switched.t, switched.q, switched.v);
  }
  return system;
}

/// Refers to the stepper.
auto within_step(Stepper& stepper) {
  return [&stepper](double t, Entry& out) { return stepper.at(t, out); };
}

Plan planned(const Options& options, const system::System& system, const system::Start& start, bool ends_at_corner) {
  Plan plan = make_plan(options, system, start);
  if (ends_at_corner) end_at_corner(plan, system);
  return plan;
}

/// Segments shorter than this many steps are too short for a multistep method.
int shortest_segment(const Plan& plan) { return plan.order + 1; }

void describe(const Plan& plan, Report& report) {
  report.method = plan.options.method.name();
  report.formulation = plan.options.formulation.name();
  report.correction = plan.method->has_corrections ? plan.options.correction : "";
  report.step = plan.has_error_control() ? 0.0 : plan.span() / static_cast<double>(plan.step_count);
  report.step_was_adjusted = plan.options.step > 0.0 ? std::abs(plan.h - plan.options.step) > 1e-12 * plan.options.step
                                                     : plan.step_factor != 1.0;
  report.t_end = plan.t_end;
}

}  // namespace

std::shared_ptr<const system::System> made_ready(const system::System& system, const system::Start& start,
                                                 const Options& options) {
  system::Start from = start;
  if (!std::isnan(options.t_end)) from.t_end = options.t_end;
  std::shared_ptr<const system::System> prepared = system.prepared_for(from);
  return prepared != nullptr ? prepared : unowned(system);
}

Drive::Segment::Segment(std::shared_ptr<const system::System> in_force, const system::Start& from,
                        const Options& options, const system::System& layout, Counters& counters, bool ends_at_corner)
    : system(std::move(in_force)),
      start(from),
      plan(planned(options, *system, start, ends_at_corner)),
      rows(*system, layout),
      stepper(make_stepper(plan, *system, counters)),
      policy(make_policy(plan, *system)) {}

Drive::Drive(const system::System& system, const system::Start& start, const Options& options, Observer& observer,
             std::optional<std::string_view> checkpoint, std::shared_ptr<system::SetInputs> inputs, Tape* tape,
             Follower* follower, bool is_open)
    : options_(options),
      method_in_force_(options.method.name()),
      first_start_(start),
      asked_(start.t0),
      first_system_(reading(made_ready(system, start, options), inputs)),
      identity_(options_, system, first_start_),
      layout_(first_system_->result_layout()),
      observer_(observer),
      recorder_(report_, observer, {options.rtol, options.atol}),
      output_(options_, start.t0, std::isnan(options.t_end) ? start.t_end : options.t_end, observer),
      events_(options_.events, options.event_tolerance,
              (std::isnan(options.t_end) ? start.t_end : options.t_end) - start.t0, options_.linear_solver.name(),
              recorder_, observer),
      inputs_(std::move(inputs)),
      tape_(tape),
      follower_(follower),
      is_open_(is_open),
      wanted_(start.t0) {
  if (options_.threads > 1) workers_.emplace(options_.threads);
  const WorkersInForce team(workers_ ? &*workers_ : nullptr);
  const Plan whole = make_plan(options_, system, start);
  describe(whole, report_);
  ends_at_corners_ = choose_corners(whole, system);
  if (!checkpoint) {
    begin_at_limits(start);
    return;
  }
  Archive state(identity_.state_in(*checkpoint));
  state(asked_);
  exchange_run(state);
  system::Start from = start;
  run::exchange(state, from);
  begin_segment(replayed(switches_, options_, first_system_), from, &state);
  state.require(state.is_at_end());
}

Drive::~Drive() = default;

/// Contacts and impacts at limits at the start take effect from the first point on.
void Drive::begin_at_limits(const system::Start& start) {
  Entry first = method::History::blank(first_system_->space(),
                                       {first_system_->pattern().rows(), first_system_->pattern().position_rows(), 0});
  std::tie(first.motion.t, first.motion.q, first.motion.v) = std::tie(start.t0, start.q0, start.v0);
  const Settled settled = events_.contacts().settle_start(*first_system_, first, recorder_.counters());
  if (!settled.problem.empty()) throw InvalidInput(fmt::format("limits at the start: {}", settled.problem));
  if (settled.outcomes.empty()) return begin_segment(first_system_, start);
  if (follower_ != nullptr) follower_->stop("limits are touched at the start");
  system::Start from = start;
  from.v0 = first.motion.v;
  if (settled.system != nullptr) {
    std::string closed;
    for (const bool is_closed : settled.closed) closed += is_closed ? '1' : '0';
    switches_.push_back({"", start.t0, start.q0, from.v0, std::move(closed)});
  }
  ResultRows rows(*first_system_, layout_);
  const Entry shown = rows.of(first);
  begin_segment(settled.system != nullptr ? settled.system : first_system_, from);
  for (const Settled::Outcome& contact : settled.outcomes) events_.note(contact, start.t0, shown, shown);
}

/// Constant steps are equal between two corners, so that they end there. Corners too close for a start of the method are crossed
/// instead; given steps cross all corners.
bool Drive::choose_corners(const Plan& plan, const system::System& system) {
  if (plan.has_error_control()) return false;
  const Corners corners(system, options_, plan.t0, plan.t_end);
  const bool is_constant = options_.step > 0.0;
  const long most = is_constant ? plan.step_count / shortest_segment(plan) : 0;
  const long count = corners.restarts_after(plan.t0, most);
  if (count <= most) return count > 0;
  recorder_.warn(fmt::format(
      "forces or drivers have corners (the first at t = {:.10g}) that the {} steps cross; order and accuracy "
      "are lost there.\n  try: error control ({}, {}), which ends steps at corners{}",
      corners.next_restart(plan.t0).after, is_constant ? "constant" : "given", spelled("rtol"), spelled("atol"),
      is_constant ? ", or smaller steps" : ""));
  return false;
}

void Drive::begin_segment(std::shared_ptr<const system::System> system, const system::Start& start, Archive* state) {
  const double begin = cpu_seconds();
  previous_ = std::move(segment_);
  if (state == nullptr) is_behind_jump_ = false;
  Options options = options_with(method_in_force_);
  // A closed contact does not move: only its multiplier shows when it opens.
  options.control_lambda = options.control_lambda || has_closed_limits(*system);
  system::Start from = start;
  // Constant steps of an open run divide every segment, also one that is lengthened.
  if (const double h = options_.step; is_open_ && h > 0.0)
    from.t_end = from.t0 + h * std::ceil((from.t_end - from.t0) / h * (1.0 - 1e-12));
  segment_ =
      std::make_unique<Segment>(std::move(system), from, options, layout_, recorder_.counters(), ends_at_corners_);
  Segment& s = *segment_;
  if (tape_ != nullptr || follower_ != nullptr) s.policy->ignore_kinks();
  if (tape_ != nullptr) s.policy = tape_->policy_for(std::move(s.policy), s.plan, *s.system);
  if (previous_ != nullptr) s.policy->inherit(*previous_->policy);
  s.policy->stop_at(wanted_);
  report_.linear_solver = s.stepper->linear_solver_name();
  if (report_.systems.empty() || report_.systems.back() != s.system) report_.systems.push_back(s.system);
  if (s.rows.map().loses_rows())
    recorder_.warn(
        "an event switched on constraints that the model does not list; their multipliers are not among the results");
  if (s.plan.formulation == solve::Formulation::index3 && s.plan.has_error_control() && s.plan.method->make != nullptr)
    recorder_.warn("index3 with variable steps: lambda loses one order after step changes; stabilized-index2 does not");
  if (s.plan.method->make != nullptr && !s.stepper->is_one_step())
    if (const std::string problem = growth_problem(s.plan); !problem.empty()) recorder_.warn(problem);
  if (const std::string problem = damping_problem(s.plan, *s.system); !problem.empty()) recorder_.warn(problem);
  if (!s.plan.has_error_control()) report_.order = std::max(report_.order, s.plan.order);
  events_.begin_segment(*s.system, s.rows, layout_.pattern().rows(), s.plan.span());
  between_ =
      method::History::blank(s.system->space(), {s.system->pattern().rows(), s.system->pattern().position_rows(), 0});
  if (state != nullptr) {
    exchange_segment(*state);
    s.is_open = true;
  } else if (!s.stepper->place(s.start)) {
    Failure failure = no_accelerations(s.start.t0, segment_number_ == 0);
    if (const std::string found = describe_undefined(*s.system, s.start); !found.empty())
      failure.message = failure.message.substr(0, failure.message.find("\n  try:")) + found;
    fail(std::move(failure));
    if (previous_ != nullptr) segment_ = std::move(previous_);  // its end is the last known point
  } else {
    if (segment_number_ == 0) recorder_.begin(*s.system, now());
    const StartingPoints wanted = s.policy->begin(*s.stepper);
    if (!s.stepper->fill(wanted)) {
      if (open()) fail(s.policy->failure_of_start(*s.stepper));
    } else if (follower_ != nullptr && follower_->is_going()) {
      follower_->begin(s.system, s.plan, options, ends_at_corners_, *s.stepper, wanted);
    }
  }
  start_up_seconds_ += cpu_seconds() - begin;
}

void Drive::lengthen() {
  const system::System& system = *segment_->system;
  system::Start from = segment_->start;
  from.t_end = now().motion.t + 2.0 * (segment_->plan.run_end - first_start_.t0);
  report_.t_end = from.t_end;
  const bool had_corners = ends_at_corners_;
  ends_at_corners_ =
      choose_corners(make_plan(options_, system, {first_start_.t0, from.t_end, from.q0, from.v0}), system);
  // Constant steps are divided anew between corners.
  if (had_corners || ends_at_corners_) {
    ++segment_number_;
    begin_segment(segment_->system, {now().motion.t, from.t_end, now().motion.q, now().motion.v});
    return;
  }
  Archive past;
  exchange_segment(past);
  Archive state(past.bytes());
  std::unique_ptr<Segment> before = std::move(previous_);
  begin_segment(segment_->system, from, &state);
  previous_ = std::move(before);
  segment_->policy->stop_at(wanted_);
}

void Drive::exchange_run(Archive& a) {
  recorder_.exchange(
      a, method::History::blank(layout_.space(), {layout_.pattern().rows(), layout_.pattern().position_rows(), 0}));
  output_.exchange(a);
  events_.exchange(a);
  a(segment_number_);
  a.require(segment_number_ >= 0);
  a.all(method_in_force_, report_.method, has_told_of_crawl_);
  a.require(options_.method == method_in_force_ || method_in_force_ == "radau");
  a(switches_, [&](Archive& archive, Switched& s) {
    archive.all(s.event, s.t, s.q, s.v, s.closed);
    archive.require(s.q.size() == layout_.space().nq() && s.v.size() == layout_.space().nv());
  });
  bool has_inputs = inputs_ != nullptr;
  a(has_inputs);
  a.require(has_inputs == (inputs_ != nullptr));
  if (inputs_ == nullptr) return;
  inputs_->exchange(a);
  a.all(steps_at_setting_, short_spells_, has_started_anew_, is_behind_jump_);
}

void Drive::exchange_segment(Archive& a) {
  events_.exchange_segment(a);
  segment_->stepper->exchange(a);
  segment_->policy->exchange(a);
  // Functions cannot be stored, but their values at the newest point can.
  const std::uint64_t equations = fingerprint_of_equations(*segment_->system, now().motion, now().lambda);
  std::uint64_t kept = equations;
  a(kept);
  if (kept != equations)
    throw InvalidInput(
        fmt::format("the checkpoint belongs to another run: at t = {:.10g}, where it was written, the equations "
                    "of the model have changed; restore the model, or start the run from the beginning",
                    now().motion.t));
}

std::string Drive::checkpoint(double asked) {
  if (!has_ended_ && !segment_->is_open) static_cast<void>(open());  // a resumed run expects an open segment
  Archive a;
  a(asked);
  exchange_run(a);
  run::exchange(a, segment_->start);
  exchange_segment(a);
  return identity_.checkpoint_of(a);
}

double Drive::slack() const {
  const Plan& plan = segment_->plan;
  return plan.has_error_control() ? 0.0 : 1e-9 * plan.h;
}

void Drive::advance_to(double t, bool stops) {
  const WorkersInForce team(workers_ ? &*workers_ : nullptr);
  const double begin = cpu_seconds() - start_up_seconds_;
  wanted_ = stops ? t : first_start_.t0;
  segment_->policy->stop_at(wanted_);
  // Starting points must not pass the first requested time.
  if (stops && segment_number_ == 0 && !segment_->is_open && segment_->plan.controls_lambda)
    begin_segment(segment_->system, segment_->start), previous_.reset();
  const double there =
      stops ? t - std::max(slack(), round_off * std::max(std::abs(t), std::abs(segment_->plan.run_end))) : t;
  while (!has_ended_ && !(segment_->is_open && now().motion.t >= there) && take_step()) {
  }
  report_.solve_seconds += cpu_seconds() - start_up_seconds_ - begin;
}

bool Drive::step() {
  const WorkersInForce team(workers_ ? &*workers_ : nullptr);
  const double begin = cpu_seconds() - start_up_seconds_;
  const bool goes_on = take_step();
  report_.solve_seconds += cpu_seconds() - start_up_seconds_ - begin;
  return goes_on;
}

double Drive::first_time_behind() const {
  const double t = now().motion.t;
  return segment_->is_open ? std::nextafter(t, std::numeric_limits<double>::infinity()) : t;
}

void Drive::go_on_behind(double t) {
  const WorkersInForce team(workers_ ? &*workers_ : nullptr);
  Segment& s = *segment_;
  if (!s.is_open) {  // its first point again
    begin_segment(s.system, s.start);
    previous_.reset();
    return;
  }
  // Where jumps are so large that a multistep method has to restart, and so frequent that it only restarts, a one-step method
  // takes over.
  constexpr long short_spell = 50;
  constexpr int patience = 6;
  const long steps = recorder_.counters().steps;
  if (steps - steps_at_setting_ >= short_spell)
    short_spells_ = 0;
  else if (has_started_anew_)
    ++short_spells_;
  else if (short_spells_ > 0)
    --short_spells_;
  steps_at_setting_ = steps;
  has_started_anew_ = false;
  const bool gives_way = s.plan.may_give_way && short_spells_ >= patience;
  if (gives_way) {
    report_.method = "bliedf, radau";
    method_in_force_ = "radau";
  }
  static_cast<void>(start_behind(t, !gives_way));
}

double Drive::newest_step_began() const {
  const bool is_cut = previous_ != nullptr && now().motion.t == segment_->start.t0;
  const Entry& newest = is_cut ? previous_->stepper->now() : now();
  return newest.motion.t - newest.h;
}

bool Drive::at(double t, State& out) {
  const bool is_before = previous_ != nullptr && t < segment_->start.t0;
  Segment& s = is_before ? *previous_ : *segment_;
  out.system = s.system;
  if (has_ended_ && has_final_ && t == report_.final.motion.t) {
    const Entry& final = report_.final;
    std::tie(out.t, out.q, out.v, out.a, out.lambda) =
        std::tie(t, final.motion.q, final.motion.v, final.motion.a, final.lambda);
    return true;
  }
  const Entry* entry = &s.stepper->now();
  if (is_before || t != entry->motion.t) {
    if (!(t >= newest_step_began() - round_off_at(*entry) && t <= entry->motion.t)) return false;
    between_ =
        method::History::blank(s.system->space(), {s.system->pattern().rows(), s.system->pattern().position_rows(), 0});
    if (!s.stepper->at(t, between_)) return false;
    entry = &between_;
  }
  const Entry& shown = s.rows.of(*entry);
  std::tie(out.t, out.q, out.v, out.a, out.lambda) =
      std::tie(t, shown.motion.q, shown.motion.v, shown.motion.a, shown.lambda);
  return true;
}

bool Drive::take_step() {
  if (has_ended_) return false;
  Segment& s = *segment_;
  if (!s.is_open) return open();
  if (is_open_ && s.stepper->starts_left() == 0 &&
      s.plan.run_end - now().motion.t < 0.5 * (s.plan.run_end - first_start_.t0)) {
    lengthen();
    return !has_ended_;
  }
  if (now().motion.t >= s.plan.run_end) return end();
  if (s.stepper->starts_left() > 0) {
    s.stepper->show_next_start();
    if (follower_ != nullptr) follower_->show_start(*s.stepper);
    return take();
  }
  return attempt();
}

bool Drive::open() {
  Segment& s = *segment_;
  const Entry& entry = now();
  s.is_open = true;
  has_final_ = false;
  events_.open(entry);
  if (segment_number_ > 0) {  // the event has shown both sides of its point
    recorder_.reopen(*s.system, entry);
    return true;
  }
  recorder_.open(*s.system, entry);
  return show(entry) || interrupt(entry.motion.t);
}

std::string Drive::cause_of_short_steps() const {
  constexpr double most_steps_per_period = 1000.0, many_periods = 100.0;
  const Segment& s = *segment_;
  const double rate = s.plan.has_error_control() ? s.stepper->vibration() : 0.0;
  const double steps = rate > 0.0 ? 2.0 * M_PI / (rate * now().h) : HUGE_VAL;
  const double periods = rate * (s.plan.run_end - now().motion.t) / (2.0 * M_PI);
  if (steps > most_steps_per_period || periods < many_periods) return {};
  return fmt::format(
      "  lightly damped vibrations of {:.2g} rad/s take {:.2g} steps per period, and {:.2g} periods remain{}\n", rate,
      steps, periods,
      method_in_force_ == "radau" ? "; more damping would end them"
                                  : fmt::format("; {} radau steps over them once they are small", spelled("method")));
}

bool Drive::attempt() {
  Segment& s = *segment_;
  const double t = now().motion.t;
  if (recorder_.counters().steps >= options_.max_steps)
    return fail({Status::too_many_steps,
                 fmt::format("max_steps = {} reached at t = {:.10g}, {:.1f} % of the way; the last step was {:.3g}.\n{}"
                             "  try: {}, {}",
                             options_.max_steps, t, 100.0 * (t - s.plan.t0) / (s.plan.run_end - s.plan.t0), now().h,
                             cause_of_short_steps(), spelled("max_steps"),
                             s.plan.has_error_control() ? "or looser tolerances" : "or larger steps")});
  while (true) {
    std::variant<Proposal, Failure> next = s.policy->next(*s.stepper);
    if (auto* failure = std::get_if<Failure>(&next)) return fail(std::move(*failure));
    const Proposal proposal = std::get<Proposal>(next);
    Attempt attempt = s.stepper->attempt(proposal);
    const Verdict verdict = s.policy->judge(attempt, *s.stepper);
    recorder_.attempted(attempt);
    if (verdict == Verdict::give_up) return fail(s.policy->failure(attempt, *s.stepper));
    if (verdict == Verdict::restart) return start_behind(t, false);
    if (verdict == Verdict::retry && std::exchange(is_behind_jump_, false)) {  // the past does not predict this step
      has_started_anew_ = true;
      ++segment_number_;
      begin_segment(s.system, {t, s.plan.run_end, now().motion.q, now().motion.v});
      return !has_ended_;
    }
    if (verdict == Verdict::retry) continue;
    if (!project_on_demand()) return false;
    if (follower_ != nullptr) follower_->take(*s.stepper, proposal, s.policy->ends_at_stop());
    s.stepper->commit();
    if (follower_ != nullptr) follower_->committed(*s.stepper);
    s.policy->committed(attempt);
    is_behind_jump_ = false;
    return take();
  }
}

/// Whether one of the times lies in a step of size h that ends at t.
bool Drive::is_due(const std::vector<double>& times, double t, double h) const {
  const double margin = 1e-9 * h;
  return std::any_of(times.begin(), times.end(),
                     [&](double wanted) { return wanted <= t + margin && wanted > t - h + margin; });
}

/// Projects the accepted trial where the options require it.
bool Drive::project_on_demand() {
  if (options_.project_position_at.empty() && options_.project_velocity_at.empty()) return true;
  const Entry& trial = segment_->stepper->trial();
  const double t = trial.motion.t, h = trial.h;
  const bool at_position = is_due(options_.project_position_at, t, h),
             at_velocity = is_due(options_.project_velocity_at, t, h);
  const bool restarts = options_.restart == Restart::corrected && (at_position || at_velocity);
  if (!at_position && !at_velocity) return true;
  if (segment_->stepper->project_trial(restarts || at_position, restarts || at_velocity)) return true;
  return fail(
      {Status::singular_matrix,
       fmt::format(
           "at t = {:.10g} the requested projection failed: [M B'; B 0] is singular there.\n  try: `kreisel check`",
           t)});
}

/// Whether the method restarts after a projection at the newest point, as at t0.
bool Drive::restarts_here() const {
  if (options_.restart != Restart::corrected || segment_->stepper->is_at_start()) return false;
  const Entry& newest = now();
  const double t = newest.motion.t, h = newest.h;
  return t < segment_->plan.t_end - 1e-9 * h &&
         (is_due(options_.project_position_at, t, h) || is_due(options_.project_velocity_at, t, h));
}

bool Drive::take() {
  Segment& s = *segment_;
  std::variant<std::monostate, Happening, Failure> crossed = events_.cross(*s.stepper);
  if (auto* failure = std::get_if<Failure>(&crossed)) return fail(std::move(*failure));
  if (const auto* happening = std::get_if<Happening>(&crossed)) return change(*happening);

  const Entry& entry = now();
  const double t = entry.motion.t;
  ++recorder_.counters().steps;
  recorder_.measure(*s.system, entry, within_step(*s.stepper));
  if (!recorder_.doubt().empty()) return fail({Status::poor_derivatives, recorder_.doubt()});
  if (options_.linear_solver == linear::SolverKind::least_squares && !fits_together(entry)) return false;
  const bool is_seen = output_.schedule().is_active() ? show_wanted(entry, true) : show(entry);
  const bool goes_on = observer_.goes_on(t, recorder_.counters().steps) && is_seen;
  if (t >= s.plan.run_end && !is_open_) return end();  // even if the observer requested a stop
  if (!goes_on) return interrupt(t);
  if (const std::optional<double> after = s.policy->restart(*s.stepper)) return start_behind(*after);
  if (s.stepper->is_at_start()) return true;
  if (restarts_here()) {
    ++segment_number_;
    begin_segment(s.system, {t, s.plan.run_end, entry.motion.q, entry.motion.v});
    return !has_ended_;
  }
  if (std::optional<Failure> complaint = s.policy->complaint(*s.stepper)) return fail(std::move(*complaint));
  if (const std::optional<double> crawl = s.policy->crawl()) {
    if (s.plan.may_give_way) {
      if (give_way(*crawl)) return !has_ended_;
    } else if (!has_told_of_crawl_) {
      tell_of_crawl(*crawl);
    }
  }
  if (observer_.wants_checkpoint()) observer_.checkpoint(checkpoint(t));
  return true;
}

bool Drive::give_way(double crawl) {
  Segment& s = *segment_;
  const system::Start from{now().motion.t, s.plan.run_end, now().motion.q, now().motion.v};
  const double h = tape_ != nullptr && tape_->is_followed() ? crawl : step_of_radau(from, crawl);
  if (h == 0.0) return false;
  recorder_.warn(
      fmt::format("at t = {:.6g} radau takes over: lightly damped vibrations limit the steps of bliedf to {:.2g}, "
                  "radau takes {:.2g}; set the method to avoid this",
                  from.t0, crawl, h));
  report_.method = "bliedf, radau";
  method_in_force_ = "radau";
  if (follower_ != nullptr) follower_->stop("radau takes over");
  ++segment_number_;
  begin_segment(s.system, from);
  return true;
}

void Drive::tell_of_crawl(double crawl) {
  const Segment& s = *segment_;
  const double h = step_of_radau({now().motion.t, s.plan.run_end, now().motion.q, now().motion.v}, crawl);
  if (h == 0.0) return;
  has_told_of_crawl_ = true;
  recorder_.warn(
      fmt::format("at t = {:.6g} lightly damped vibrations of {:.2g} rad/s limit the steps of {} to {:.2g}, radau "
                  "would take {:.2g}; try {} radau",
                  now().motion.t, s.stepper->vibration(), method_in_force_, crawl, h, spelled("method")));
}

Options Drive::options_with(std::string_view method) const {
  Options options = options_;
  if (options.method == method) return options;
  options.method = method;
  options.correction.clear();
  return options;
}

double Drive::step_of_radau(const system::Start& from, double crawl) {
  constexpr double worth = 4.0;  // a step of radau costs as much as several of bliedf
  constexpr int most_attempts = 16;
  // These attempts cost as much as 80 steps of bliedf: where few are left, nothing can be gained.
  constexpr double fewest_steps = 10.0 * most_attempts;
  // Steps find their size within a few attempts. Where they are still this far from worth it, more would be wasted.
  constexpr int few_attempts = 6;
  constexpr double hopeless = 0.6 * worth;
  if (from.t_end - from.t0 < fewest_steps * crawl) return 0.0;
  Options options = options_with("radau");
  if (!method::find_method("radau").serves(options.formulation.name())) options.formulation = {};
  options.initial_step = std::min(2.0 * crawl, 0.1 * (from.t_end - from.t0));
  options.t_end = from.t_end;
  const system::System& system = *segment_->system;
  const Plan plan = make_plan(options, system, from);
  const std::unique_ptr<Stepper> stepper = make_stepper(plan, system, recorder_.counters());
  const std::unique_ptr<StepPolicy> policy = make_policy(plan, system);
  if (!stepper->place(from) || !stepper->fill(policy->begin(*stepper))) return 0.0;
  double longest = 0.0;
  for (int i = 0; i < most_attempts && stepper->now().motion.t < from.t_end; ++i) {
    if (i == few_attempts && longest < hopeless * crawl) return 0.0;
    std::variant<Proposal, Failure> next = policy->next(*stepper);
    if (std::holds_alternative<Failure>(next)) return 0.0;
    Attempt attempt = stepper->attempt(std::get<Proposal>(next));
    switch (policy->judge(attempt, *stepper)) {
      case Verdict::give_up:
        return 0.0;
      case Verdict::retry:
      case Verdict::restart:
        continue;
      case Verdict::accept:
        stepper->commit();
        policy->committed(attempt);
    }
    if (attempt.h > worth * crawl) return attempt.h;
    longest = std::max(longest, attempt.h);
  }
  return 0.0;
}

/// Least squares find a compromise for contradictory constraints, which is not a motion of the mechanism.
bool Drive::fits_together(const Entry& entry) {
  const Vector& gaps = recorder_.residual().gap;
  Eigen::Index worst = 0;
  const double gap = gaps.size() > 0 ? gaps.cwiseAbs().maxCoeff(&worst) : 0.0;
  if (gap <= largest_gap * (1.0 + entry.motion.q.lpNorm<Eigen::Infinity>())) return true;
  return fail(
      {Status::newton_failed,
       fmt::format("at t = {:.10g} no motion satisfies all constraints: '{}' is violated by {:.3g}. Some are not only "
                   "redundant but contradict each other.\n"
                   "  try: `kreisel check`, which names redundant constraints, and remove or change one of them",
                   entry.motion.t, segment_->system->pattern().row_name(static_cast<int>(worst)), gap)});
}

bool Drive::show(const Entry& entry) {
  Segment& s = *segment_;
  return output_.show(s.rows.of(entry), s.rows.of(recorder_.residual()), s.stepper->is_at_start(), *s.system,
                      recorder_.work_at(entry), segment_number_, s.plan.method->name,
                      &entry != &between_ ? &recorder_.energy() : nullptr);
}

bool Drive::show_wanted(const Entry& entry, bool includes_entry) {
  Segment& s = *segment_;
  OutputSchedule& schedule = output_.schedule();
  const double t = entry.motion.t, margin = round_off_at(entry);
  while (!schedule.is_done() && schedule.next() <= t + margin) {
    const double wanted = schedule.next();
    const bool is_here = std::abs(wanted - t) <= margin;
    schedule.advance();
    if (is_here && !includes_entry) continue;
    if (!is_here && !s.stepper->at(wanted, between_)) continue;
    const Entry& shows = is_here ? entry : between_;
    recorder_.evaluate(*s.system, shows);
    if (!show(shows)) return false;
    if (!is_here && !observer_.goes_on(wanted, recorder_.counters().steps)) return false;
  }
  return true;
}

bool Drive::start_behind(double after, bool may_go_on) {
  Segment& s = *segment_;
  ++report_.corners;
  const bool jumps = after > now().motion.t;
  const double h = now().h;
  // Neighbouring motions and derivatives use the past of one segment only.
  const bool is_followed = tape_ != nullptr || follower_ != nullptr;
  const bool goes_on = may_go_on && !(is_followed && !s.stepper->is_one_step()) && s.plan.has_error_control() &&
                       s.stepper->go_on_behind(after);
  Entry behind = now();
  behind.h = h;
  if (!goes_on) {
    behind.motion.t = after;
    make_consistent(*s.system, behind, recorder_.counters(), options_.linear_solver.name());
  }
  std::variant<std::monostate, Happening, Failure> crossed = events_.cross_corner(behind);
  if (auto* failure = std::get_if<Failure>(&crossed)) return fail(std::move(*failure));
  if (const auto* happening = std::get_if<Happening>(&crossed)) {
    if (follower_ != nullptr) follower_->stop("an event occurs at a corner");
    return change(*happening);
  }
  const bool keeps_past = goes_on && !s.stepper->is_one_step();
  if (!keeps_past) ++segment_number_;
  if (follower_ != nullptr) follower_->pass_corner(*s.stepper, after, behind);
  // Both sides of a jump are shown, as at an event.
  if (jumps && !output_.schedule().is_active()) {
    if (!keeps_past) recorder_.evaluate(*s.system, behind);  // otherwise the residual before the jump stays after it
    if (!show(behind)) return interrupt(after);
  }
  if (keeps_past) {
    events_.open(now());
    recorder_.reopen(*s.system, now());
    has_final_ = false;
    is_behind_jump_ = true;
    return true;
  }
  if (goes_on) return open();
  has_started_anew_ = true;
  begin_segment(s.system, {after, s.plan.run_end, now().motion.q, now().motion.v});
  return !has_ended_;
}

bool Drive::change(const Happening& happening) {
  Segment& s = *segment_;
  const double t = happening.t;
  const Entry& newest = now();
  Entry before = newest;
  if (t < newest.motion.t && !s.stepper->at(t, before)) before = newest;
  before.h = newest.h - (newest.motion.t - t);
  before.motion.t = t;
  make_consistent(*s.system, before, recorder_.counters(), options_.linear_solver.name());

  if (follower_ != nullptr)
    follower_->cut(*s.stepper, happening, events_.event_of(happening.crossings.front()), before);

  ++recorder_.counters().steps;
  bool goes_on = !output_.schedule().is_active() || show_wanted(before, false);
  recorder_.measure(*s.system, before, within_step(*s.stepper));
  const Entry before_in_layout = s.rows.of(before);
  set_final(before_in_layout, s.rows.of(recorder_.residual()));
  goes_on = show(before) && goes_on;
  if (!goes_on) return interrupt(t);
  Changed changed;
  changed.after = before;
  if (happening.changes) {
    changed = carry_out(happening.events, events_.contacts(), happening.touched, *s.system, before,
                        recorder_.counters(), options_.linear_solver.name());
    if (!changed.problem.empty() && happening.events.empty())
      return fail({Status::event_failed, fmt::format("at t = {:.10g} limit '{}' failed: {}", t,
                                                     events_.called(happening.crossings.front()), changed.problem)});
    if (!changed.problem.empty()) {
      const Event& event = *happening.events.front();
      return fail({Status::event_failed, fmt::format("at t = {:.10g} event '{}' ({}) failed: {}", t, event.name,
                                                     name_of(event.action), changed.problem)});
    }
  }
  if (follower_ != nullptr) follower_->change(happening, changed);
  const std::shared_ptr<const system::System> next = changed.system != nullptr ? changed.system : s.system;
  ResultRows next_rows(*next, layout_);
  Entry after = before_in_layout;
  after.motion = changed.after.motion;
  next_rows.map().spread(changed.after.lambda, after.lambda);
  next_rows.map().spread(changed.after.eta, after.eta);
  for (const Crossing& crossing : happening.crossings) events_.note(crossing, before_in_layout, after, happening.ends);
  for (const Settled::Outcome& contact : changed.contacts) events_.note(contact, t, before_in_layout, after);
  if (happening.changes) {
    system::Residual left = residual_of(*next);
    next->residual(changed.after.motion, changed.after.lambda, left);
    ++recorder_.counters().residual_evaluations;
    set_final(after, next_rows.of(left));
    const bool is_start = s.stepper->is_at_start();
    if (!output_.show(after, report_.final_residual, is_start, *next, recorder_.work(), segment_number_ + 1,
                      s.plan.method->name))
      return interrupt(t);
  }
  if (happening.ends) {
    report_.message = fmt::format("event '{}' ended the run at t = {:.10g}", happening.ended_by, t);
    return end();
  }
  if (std::optional<Failure> failure = events_.settle(happening, changed)) return fail(std::move(*failure));
  switches_.insert(switches_.end(), changed.switches.begin(), changed.switches.end());
  double until = s.plan.run_end;
  if (!(until - t > round_off_at(before))) {
    if (!is_open_) return end();
    until += until - first_start_.t0;
  }
  ++segment_number_;
  begin_segment(next, {t, until, changed.after.motion.q, changed.after.motion.v});
  return !has_ended_;
}

void Drive::set_final(const Entry& entry, const system::Residual& residual) {
  report_.final = entry;
  report_.final_residual = residual;
  has_final_ = true;
}

bool Drive::fail(Failure failure) {
  const Segment& s = *segment_;
  report_.status = failure.status;
  report_.message = std::move(failure.message);
  if (s.is_open)
    report_.message =
        explained(std::move(report_.message), failure.status, *s.system, now(), s.plan.run_end - s.plan.t0);
  const bool is_numerical = failure.status == Status::step_too_small || failure.status == Status::newton_failed ||
                            failure.status == Status::too_many_steps;
  if (is_numerical && s.plan.has_error_control() && s.plan.formulation == solve::Formulation::index3)
    report_.message += fmt::format(
        "\n  in index-3 form lambda contains the round-off of q over h^2, which is too large with short steps; try: {} "
        "stabilized-index2",
        spelled("formulation"));
  if (const std::string remark = segment_->system->remark(); failure.status != Status::interrupted && !remark.empty())
    report_.message += "\n  " + remark;
  return end();
}

bool Drive::interrupt(double t) { return fail({Status::interrupted, fmt::format("interrupted at t = {:.10g}", t)}); }

bool Drive::end() {
  if (has_ended_) return false;
  has_ended_ = true;
  Segment& s = *segment_;
  if (s.is_open) events_.end();
  if (!has_final_ && s.is_open) set_final(s.rows.of(now()), s.rows.of(recorder_.evaluate(*s.system, now())));
  report_.energy_final =
      report_.final.motion.q.size() > 0 ? s.system->energy(report_.final.motion) : report_.energy_initial;
  return false;
}

}  // namespace kreisel::run
