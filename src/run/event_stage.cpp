#include "event_stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/spelling.hpp"

namespace kreisel::run {

using method::Entry;
using system::Event;

namespace {

/// So many changes of the motion within this fraction of the run count as an accumulation point.
constexpr std::size_t accumulating_changes = 10;
constexpr double accumulation_span = 1e-9;
/// A limit that is touched so often at one time neither closes nor opens.
constexpr int most_contacts_in_place = 20;
/// How far ahead the sign of an event function is evaluated, as a fraction of the segment.
constexpr double look_ahead_fraction = 1e-7;

bool only_records(const Event& event) { return std::holds_alternative<system::Record>(event.action); }

}  // namespace

void EventStage::begin_segment(const system::System& system, ResultRows& rows, int layout_rows, double segment_span) {
  rows_ = &rows;
  look_ahead_ = look_ahead_fraction * segment_span;
  contacts_.begin_segment(system, recorder_.counters());
  watch_ = std::make_unique<EventWatch>(system, asked_, contacts_.events(), rows.map(), layout_rows, tolerance_);
  scratch_ = method::History::blank(system.space(), {system.pattern().rows(), system.pattern().position_rows(), 0});
}

void EventStage::open(const Entry& first) {
  const bool is_in_place = first.motion.t - last_contact_ <= 4.0 * watch_->tolerance_at(first.motion.t);
  contacts_.open(first, is_in_place ? contacts_in_place_ : 0);
  if (!watch_->is_idle()) watch_->begin(first, sides_, look_ahead_);
  if (!std::exchange(has_begun_, true)) zero_at_start_ = watch_->at_zero();
  sides_.clear();
}

void EventStage::end() {
  for (const auto& [event, side] : zero_at_start_)
    if (!counts_.contains(event))
      recorder_.warn(fmt::format(
          "event '{}' did not happen: its function is zero at the start{}, and to leave zero is not to cross it", event,
          side > 0   ? " and rises"
          : side < 0 ? " and falls"
                     : ""));
}

bool EventStage::changes(const Crossing& crossing) const {
  if (watch_->is_contact(crossing.event)) return true;
  const Event& event = watch_->event(crossing.event);
  return !only_records(event) && number_of(event) >= event.acts_from;
}

int EventStage::number_of(const Event& event) const {
  const auto seen = counts_.find(event.name);
  return (seen == counts_.end() ? 0 : seen->second) + 1;
}

bool EventStage::is_terminal(const Crossing& crossing) const {
  if (watch_->is_contact(crossing.event)) return false;
  const Event& event = watch_->event(crossing.event);
  return event.terminal_after > 0 && number_of(event) >= event.terminal_after;
}

std::variant<std::monostate, Happening, Failure> EventStage::cross(Stepper& stepper) {
  if (watch_->is_idle()) return {};
  const Entry& entry = stepper.now();
  const auto interpolate = [&](double t, Entry& out) { return stepper.at(t, out); };
  crossings_ = watch_->scan(entry, interpolate, scratch_);
  const auto lost = [&](double until) -> std::optional<Failure> {
    for (const auto& [event, t] : watch_->undefined()) {
      if (watch_->is_contact(event) || t > until) continue;
      const Event& of = watch_->event(event);
      if (!only_records(of) || of.terminal_after > 0)
        return Failure{
            Status::event_failed,
            fmt::format("the function of event '{}' is not a number at t = {:.10g}: whether it happens there "
                        "cannot be known.\n"
                        "  try: a function that is defined wherever the motion goes, such as max(0, x) in "
                        "place of x under a root",
                        of.name, t)};
      if (undefined_.insert(of.name).second)
        recorder_.warn(
            fmt::format("the function of event '{}' is not a number at t = {:.10g}: it cannot happen where this is so",
                        of.name, t));
    }
    return {};
  };
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    const Crossing& crossing = crossings_[i];
    if (crossing.is_at_once && !changes(crossing)) continue;
    if (crossing.is_at_once && !watch_->is_contact(crossing.event)) return without_end(crossing);
    if (changes(crossing) || is_terminal(crossing)) {
      if (std::optional<Failure> failure = lost(crossing.t)) return std::move(*failure);
      if (watch_->is_contact(crossing.event)) contacts_.reach(entry);
      return group_from(i);
    }
    const bool is_here = crossing.t >= entry.motion.t || !stepper.at(crossing.t, scratch_);
    const Entry& shows = rows_->of(is_here ? entry : scratch_);
    note(crossing, shows, shows, false);
  }
  if (std::optional<Failure> failure = lost(entry.motion.t)) return std::move(*failure);
  if (const int limit = contacts_.passed(entry); limit >= 0)
    return Failure{Status::event_failed,
                   fmt::format("limit '{}' was passed before t = {:.10g} although nothing touched it.\n"
                               "  try: a smaller {}, or a compliant limit (stiffness, damping)",
                               contacts_.name(limit), entry.motion.t, spelled("max_step"))};
  return {};
}

std::variant<std::monostate, Happening, Failure> EventStage::cross_corner(const Entry& behind) {
  if (watch_->is_idle()) return {};
  const auto nothing_between = [](double, Entry&) { return false; };
  crossings_ = watch_->scan(behind, nothing_between, scratch_);
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    crossings_[i].t = behind.motion.t;
    crossings_[i].is_at_once = false;
  }
  for (std::size_t i = 0; i < crossings_.size(); ++i) {
    if (changes(crossings_[i]) || is_terminal(crossings_[i])) return group_from(i);
    const Entry& shows = rows_->of(behind);
    note(crossings_[i], shows, shows, false);
  }
  sides_ = watch_->sides();
  return {};
}

/// Those at the same time are carried out together.
Happening EventStage::group_from(std::size_t first) const {
  Happening group;
  group.t = crossings_[first].t;
  for (std::size_t i = first; i < crossings_.size() && crossings_[i].t <= group.t + watch_->tolerance_at(group.t);
       ++i) {
    const bool changes_motion = changes(crossings_[i]), ends_run = is_terminal(crossings_[i]);
    group.crossings.push_back(crossings_[i]);
    group.crossings.back().acts = changes_motion;
    if (const int event = crossings_[i].event; watch_->is_contact(event)) {
      const int limit = contacts_.limit(watch_->contact(event));
      group.touched.resize(static_cast<std::size_t>(contacts_.limit_count()), false);
      group.touched[static_cast<std::size_t>(limit)] = true;
    } else {
      if (changes_motion) group.events.push_back(&watch_->event(event));
      if (ends_run && !group.ends) group.ended_by = watch_->event(event).name;
    }
    group.changes = group.changes || changes_motion;
    group.ends = group.ends || ends_run;
  }
  return group;
}

void EventStage::note(const Crossing& crossing, const Entry& before, const Entry& after, bool ends_the_run) {
  if (watch_->is_contact(crossing.event)) return;  // its outcome is recorded separately
  const Event& event = watch_->event(crossing.event);
  ++counts_[event.name];
  std::vector<Occurrence>& list = recorder_.report().events;
  list.push_back({event.name, std::string(crossing.acts ? name_of(event.action) : name_of(system::Record{})),
                  crossing.t, ends_the_run, before, after});
  observer_.happened(list.back());
}

void EventStage::note(const Settled::Outcome& contact, double t, const Entry& before, const Entry& after) {
  std::vector<Occurrence>& list = recorder_.report().events;
  list.push_back({contact.limit, contact.action, t, false, before, after});
  observer_.happened(list.back());
}

/// On which side of zero the function of an event continues.
int EventStage::side_after(const Crossing& crossing, const Entry& after) {
  const Event& event = watch_->event(crossing.event);
  const int crossed_to = crossing.is_rising ? 1 : -1;
  if (!crossing.acts) return crossed_to;
  if (const auto* impact = std::get_if<system::Impact>(&event.action))
    return impact->restitution > 0.0 ? -crossed_to : watch_->side_ahead(crossing.event, after, look_ahead_);
  const double g = watch_->evaluate(crossing.event, after);
  if (std::abs(g) > watch_->noise(crossing.event)) return g > 0.0 ? 1 : -1;
  if (std::holds_alternative<system::Jump>(event.action)) return watch_->side_ahead(crossing.event, after, look_ahead_);
  return crossed_to;
}

std::optional<Failure> EventStage::settle(const Happening& happening, const Changed& changed) {
  for (const Crossing& crossing : happening.crossings) {
    if (watch_->is_contact(crossing.event)) continue;
    const Event& event = watch_->event(crossing.event);
    if (changed.system != nullptr && watch_->is_own(crossing.event)) continue;  // events of the old system end with it
    const int side = changed.system != nullptr ? 0 : side_after(crossing, changed.after);
    const bool stays =
        crossing.acts && std::holds_alternative<system::Impact>(event.action) && side == (crossing.is_rising ? 1 : -1);
    if (stays)
      return Failure{
          Status::event_failed,
          fmt::format("after the impact of event '{}' at t = {:.10g} the contact stays closed: nothing separates "
                      "the bodies.\n"
                      "  try: an event that switches a constraint on, a restitution above 0, or a terminal event",
                      event.name, happening.t)};
    if (side != 0) sides_[event.name] = side;
  }
  if (!happening.touched.empty()) {
    const bool is_in_place = happening.t - last_contact_ <= 4.0 * watch_->tolerance_at(happening.t);
    contacts_in_place_ = is_in_place ? contacts_in_place_ + 1 : 0;
    last_contact_ = happening.t;
    if (contacts_in_place_ > most_contacts_in_place) return without_end(happening.crossings.front());
    if (happening.events.empty()) return {};
  }
  changes_.push_back(happening.t);
  const std::size_t n = changes_.size();
  if (n < accumulating_changes || happening.t - changes_[n - accumulating_changes] > accumulation_span * span_)
    return {};
  return without_end(happening.crossings.front());
}

Failure EventStage::without_end(const Crossing& crossing) const {
  if (watch_->is_contact(crossing.event))
    return {Status::event_failed,
            fmt::format("limit '{}' closes and opens repeatedly at t = {:.10g}, {} events so far.\n"
                        "  try: smaller tolerances, or a compliant limit (stiffness, damping)",
                        watch_->event(crossing.event).name, crossing.t, recorder_.report().events.size())};
  return {Status::event_failed,
          fmt::format(
              "event '{}' triggers repeatedly (Zeno behaviour) at t = {:.10g}, {} events so far: impacts accumulate "
              "there or the function stays at zero.\n"
              "  try: an event that switches a constraint on instead, a restitution of 0, or a terminal event",
              watch_->event(crossing.event).name, crossing.t, recorder_.report().events.size())};
}

}  // namespace kreisel::run
