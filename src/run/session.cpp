#include "session.hpp"

#include <fmt/format.h>

namespace kreisel::run {

using method::Entry;
using system::Event;

namespace {

/// So many changes of the motion within this fraction of the run accumulate at one time.
constexpr std::size_t accumulating_changes = 10;
constexpr double accumulation_span = 1e-9;
/// Of a position constraint, relative to the positions: far more than Newton's method leaves.
constexpr double largest_gap = 1e-5;

method::EntrySizes sizes_of(const system::System& system) {
  return {system.pattern().rows(), system.pattern().position_rows(), 0};
}

system::Residual residual_of(const system::System& system) {
  return {system.space().nv(), system.pattern().position_rows(), system.pattern().rows()};
}

double largest(ConstVectorRef x) { return x.size() > 0 ? x.lpNorm<Eigen::Infinity>() : 0.0; }

double round_off_at(const Entry& entry) { return 1e-12 * std::max(std::abs(entry.motion.t), entry.h); }

}  // namespace

Session::Session(const system::System& s, const system::Start& st, const Plan& p, Course& c)
    : system(s),
      start(st),
      plan(p),
      course(c),
      observer(c.observer),
      report(c.report),
      residual(residual_of(s)),
      between(method::History::blank(s.space(), sizes_of(s))),
      map_(s.pattern(), c.layout.pattern()),
      watch_(s, p.options.events, map_, c.layout.pattern().rows(), p.options.event_tolerance),
      mapped_(method::History::blank(s.space(), sizes_of(c.layout))),
      mapped_residual_(residual_of(c.layout)) {
  if (map_.loses_rows())
    warn("an event switched constraints on that the model did not announce; their multipliers are not among the results");
}

void Course::exchange(Archive& a) {
  kreisel::run::exchange(a, report);
  schedule.exchange(a);
  a.all(shown, segment, sides, counts, changes, first_energy, last_energy);
  work.exchange(a);
  a(switches, [](Archive& archive, Switched& s) { archive.all(s.event, s.t, s.q, s.v); });
}

void Session::exchange(Archive& a) {
  a(points);
  watch_.exchange(a);
}

bool Session::accept(const Entry& entry, bool is_start, Interpolant interpolate) {
  if (points == 0) return open(entry, is_start);
  if (!watch_.is_idle()) {
    crossings_ = watch_.scan(entry, interpolate, between);
    for (std::size_t i = 0; i < crossings_.size(); ++i) {
      const Crossing& crossing = crossings_[i];
      const bool changes = !std::holds_alternative<system::Record>(watch_.event(crossing.event).action);
      if (crossing.is_at_once && !changes) continue;
      if (crossing.is_at_once) {
        fail_without_end(crossing);
        return false;
      }
      if (changes || is_terminal(crossing)) return change_at(i, entry, is_start, interpolate);
      const bool is_here = crossing.t >= entry.motion.t || !interpolate(crossing.t, between);
      const Entry& shows = in_layout(is_here ? entry : between);
      note(crossing, shows, shows, false);
    }
  }
  ++points;
  ++report.counters.steps;
  measure(entry);
  if (plan.options.linear_solver == "least-squares" && !fits_together(entry)) return false;
  const bool is_seen = course.schedule.is_active() ? show_wanted(entry, is_start, true, interpolate) : show(entry, is_start);
  const bool goes_on = observer.goes_on(entry.motion.t, report.counters.steps) && is_seen;
  if (!goes_on && entry.motion.t >= plan.t_end) return false;  // it has arrived
  if (!goes_on) fail(Status::interrupted, fmt::format("interrupted at t = {:.10g}", entry.motion.t));
  return goes_on;
}

/// Least squares make the best of constraints that contradict each other; that is no motion of the mechanism.
bool Session::fits_together(const Entry& entry) {
  Eigen::Index worst = 0;
  const double gap = residual.gap.size() > 0 ? residual.gap.cwiseAbs().maxCoeff(&worst) : 0.0;
  if (gap <= largest_gap * (1.0 + largest(entry.motion.q))) return true;
  fail(Status::newton_failed,
       fmt::format("at t = {:.10g} no motion satisfies all constraints: '{}' is missed by {:.3g}. Some are not only redundant, they contradict each other.\n"
                   "  try: `kreisel check`, which names redundant constraints, and remove or change one of them",
                   entry.motion.t, system.pattern().row_name(static_cast<int>(worst)), gap));
  return false;
}

bool Session::open(const Entry& entry, bool is_start) {
  ++points;
  if (!watch_.is_idle()) watch_.begin(entry, course.sides, look_ahead());
  course.sides.clear();
  if (!is_first_segment()) {  // the event has shown both sides of its point
    course.work.begin_anew(system, entry, course.last_energy);
    return true;
  }
  course.first_energy = system.energy(entry.motion);
  measure(entry);
  if (show(entry, is_start)) return true;
  fail(Status::interrupted, fmt::format("interrupted at t = {:.10g}", entry.motion.t));
  return false;
}

void Session::measure(const Entry& entry) {
  system.residual(entry.motion, entry.lambda, residual);
  report.position_max = std::max(report.position_max, largest(residual.gap));
  report.velocity_max = std::max(report.velocity_max, largest(residual.rate));
  report.final = in_layout(entry);
  report.final_residual = in_layout(residual);
  measure_energy(entry);
}

void Session::measure_energy(const Entry& entry) {
  course.work.push(system, entry);
  course.last_energy = system.energy(entry.motion);
  report.work = course.work.at(entry);
  const double error = std::abs(course.last_energy - course.first_energy - report.work.total());
  if (!(error <= report.energy_error)) report.energy_error = error;
}

const system::Residual& Session::in_layout(const system::Residual& rows) {
  if (map_.is_identity()) return rows;
  mapped_residual_.force = rows.force;
  map_.spread(rows.gap, mapped_residual_.gap);
  map_.spread(rows.rate, mapped_residual_.rate);
  return mapped_residual_;
}

const Entry& Session::in_layout(const Entry& entry) {
  if (map_.is_identity()) return entry;
  mapped_.motion = entry.motion;
  map_.spread(entry.lambda, mapped_.lambda);
  map_.spread(entry.eta, mapped_.eta);
  mapped_.omega = entry.omega;
  mapped_.h = entry.h;
  mapped_.order = entry.order;
  return mapped_;
}

bool Session::show(const Entry& entry, bool is_start) {
  return observer.accept({in_layout(entry), in_layout(residual), course.shown++, is_start, &system, course.work.at(entry)});
}

bool Session::show_wanted(const Entry& entry, bool is_start, bool includes_entry, Interpolant interpolate) {
  OutputSchedule& schedule = course.schedule;
  const double t = entry.motion.t, round_off = round_off_at(entry);
  while (!schedule.is_done() && schedule.next() <= t + round_off) {
    const double wanted = schedule.next();
    const bool is_here = std::abs(wanted - t) <= round_off;
    schedule.advance();
    if (is_here && !includes_entry) continue;
    if (!is_here && !interpolate(wanted, between)) continue;
    const Entry& shows = is_here ? entry : between;
    system.residual(shows.motion, shows.lambda, residual);
    if (!show(shows, is_start)) return false;
  }
  return true;
}

bool Session::is_terminal(const Crossing& crossing) const {
  const Event& event = watch_.event(crossing.event);
  const auto seen = course.counts.find(event.name);
  return event.terminal_after > 0 && (seen == course.counts.end() ? 0 : seen->second) + 1 >= event.terminal_after;
}

void Session::note(const Crossing& crossing, const Entry& before, const Entry& after, bool ends_the_run) {
  const Event& event = watch_.event(crossing.event);
  ++course.counts[event.name];
  report.events.push_back({event.name, std::string(name_of(event.action)), crossing.t, ends_the_run, before, after});
  observer.happened(report.events.back());
}

/// The step is cut at the first crossing that changes something; those at the same time are carried out with it.
bool Session::change_at(std::size_t first, const Entry& newest, bool is_start, Interpolant interpolate) {
  const double t = crossings_[first].t;
  Entry before = newest;
  if (t < newest.motion.t && !interpolate(t, before)) before = newest;
  before.h = newest.h - (newest.motion.t - t);
  before.motion.t = t;
  make_consistent(system, before, report.counters, plan.options.linear_solver);
  std::vector<const Event*> events;
  std::vector<Crossing> group;
  for (std::size_t i = first; i < crossings_.size() && crossings_[i].t <= t + watch_.tolerance_at(t); ++i) {
    group.push_back(crossings_[i]);
    events.push_back(&watch_.event(crossings_[i].event));
  }

  ++points;
  ++report.counters.steps;
  bool goes_on = !course.schedule.is_active() || show_wanted(before, is_start, false, interpolate);
  measure(before);
  const Entry before_in_layout = in_layout(before);
  goes_on = show(before, is_start) && goes_on;
  if (!goes_on) {
    fail(Status::interrupted, fmt::format("interrupted at t = {:.10g}", t));
    return false;
  }
  const bool ends = std::any_of(group.begin(), group.end(), [&](const Crossing& c) { return is_terminal(c); });
  const bool changes = std::any_of(events.begin(), events.end(), [](const Event* e) { return !std::holds_alternative<system::Record>(e->action); });
  Changed changed;
  changed.after = before;
  if (changes) {
    changed = carry_out(events, system, before, report.counters, plan.options.linear_solver);
    if (!changed.problem.empty()) {
      fail(Status::event_failed, fmt::format("at t = {:.10g} event '{}' ({}) failed: {}", t, events.front()->name,
                                             name_of(events.front()->action), changed.problem));
      return false;
    }
  }
  const system::System& next = changed.system != nullptr ? *changed.system : system;
  const RowMap next_map(next.pattern(), course.layout.pattern());
  Entry after = before_in_layout;
  after.motion = changed.after.motion;
  next_map.spread(changed.after.lambda, after.lambda);
  next_map.spread(changed.after.eta, after.eta);
  for (const Crossing& crossing : group) note(crossing, before_in_layout, after, ends);
  if (changes) {
    system::Residual left = residual_of(next);
    next.residual(changed.after.motion, changed.after.lambda, left);
    mapped_residual_.force = left.force;
    next_map.spread(left.gap, mapped_residual_.gap);
    next_map.spread(left.rate, mapped_residual_.rate);
    report.final = after;
    report.final_residual = mapped_residual_;
    if (!observer.accept({after, mapped_residual_, course.shown++, is_start, &next, course.work.now()})) {
      fail(Status::interrupted, fmt::format("interrupted at t = {:.10g}", t));
      return false;
    }
  }
  if (ends) {
    report.message = fmt::format("event '{}' ended the run at t = {:.10g}", events.front()->name, t);
    return false;
  }
  if (!can_go_on(group, changed)) return false;
  course.switches.insert(course.switches.end(), changed.switches.begin(), changed.switches.end());
  if (plan.t_end - t > round_off_at(before)) restart_at(t, changed.after.motion.q, changed.after.motion.v, changed.system);
  return false;
}

/// On which side of zero the function of an event goes on.
int Session::side_after(const Crossing& crossing, const Entry& after) {
  const Event& event = watch_.event(crossing.event);
  const int crossed_to = crossing.is_rising ? 1 : -1;
  if (const auto* impact = std::get_if<system::Impact>(&event.action))
    return impact->restitution > 0.0 ? -crossed_to : watch_.side_ahead(crossing.event, after, look_ahead());
  const double g = watch_.evaluate(crossing.event, after);
  if (std::abs(g) > watch_.noise(crossing.event)) return g > 0.0 ? 1 : -1;
  if (std::holds_alternative<system::Jump>(event.action)) return watch_.side_ahead(crossing.event, after, look_ahead());
  return crossed_to;
}

/// False, with a message, when the events can only fire again and again.
bool Session::can_go_on(const std::vector<Crossing>& group, const Changed& changed) {
  const double t = group.front().t;
  for (const Crossing& crossing : group) {
    const Event& event = watch_.event(crossing.event);
    if (changed.system != nullptr && watch_.is_own(crossing.event)) continue;  // it has gone with its system
    const int side = changed.system != nullptr ? 0 : side_after(crossing, changed.after);
    const bool stays = std::holds_alternative<system::Impact>(event.action) && side == (crossing.is_rising ? 1 : -1);
    if (stays) {
      fail(Status::event_failed,
           fmt::format("after the impact of event '{}' at t = {:.10g} the contact stays closed: nothing separates the bodies.\n"
                       "  try: an event that switches a constraint on, a restitution above 0, or a terminal event", event.name, t));
      return false;
    }
    if (side != 0) course.sides[event.name] = side;
  }
  course.changes.push_back(t);
  const std::size_t n = course.changes.size();
  if (n < accumulating_changes || t - course.changes[n - accumulating_changes] > accumulation_span * course.span) return true;
  fail_without_end(group.front());
  return false;
}

void Session::fail_without_end(const Crossing& crossing) {
  fail(Status::event_failed,
       fmt::format("event '{}' fires without end at t = {:.10g}, {} events so far: impacts accumulate there or the function stays at zero.\n"
                   "  try: an event that switches a constraint on instead, a restitution of 0, or a terminal event",
                   watch_.event(crossing.event).name, crossing.t, report.events.size()));
}

void Session::restart_at(double t, ConstVectorRef q, ConstVectorRef v, std::shared_ptr<const system::System> next) {
  restart = Restart{std::move(next), {t, plan.t_end, q, v}};
}

void Session::warn(const std::string& text) {
  if (std::find(report.warnings.begin(), report.warnings.end(), text) == report.warnings.end()) report.warnings.push_back(text);
}

void Session::fail_start() {
  fail(Status::no_consistent_start,
       "the initial values admit no accelerations and multipliers: [M B'; B 0] is singular.\n"
       "  try: `kreisel check`, which names redundant constraints and bodies without mass, or --redundant least-squares");
}

}  // namespace kreisel::run
