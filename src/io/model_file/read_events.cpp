// Events and their actions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"

namespace kreisel::io {

void ModelReader::read_events(const Json& root) {
  const Json& events = list(root, "events");
  for (std::size_t i = 0; i < events.size(); ++i) read_event(below("/events", i), events[i]);
}

void ModelReader::read_event(const std::string& at, const Json& value) {
  if (!is_object(at, value, "an event {\"name\": ..., \"when\": formula, ...}")) return;
  check_keys(at, value, names_of(event_object().keys));
  PendingEvent pending;
  pending.at = below(at, "when");
  std::set<std::string>& taken = event_names_;
  pending.event.name = element_name(at, value, fmt::format("event{}", taken.size() + 1), taken);
  const Json* when = require(at, value, "when", "a formula whose zero is the event");
  if (when == nullptr || !law(pending.at, *when, no_node, no_node, pending.when)) return;
  if (const Json* given = find(value, "direction")) {
    const std::vector<std::string> known{"either", "rising", "falling"};
    std::string word;
    if (!text(below(at, "direction"), *given, word)) return;
    const auto found = std::ranges::find(known, word);
    if (found == known.end()) return complain(below(at, "direction"), unknown_name("direction", word, known));
    constexpr system::Direction directions[] = {system::Direction::either, system::Direction::rising,
                                                system::Direction::falling};
    pending.event.direction = directions[found - known.begin()];
  }
  double after = 1.0;
  if (const Json* given = find(value, "after");
      given != nullptr &&
      (!number(below(at, "after"), *given, after) || after < 1.0 || after != std::round(after) || after > 1e9))
    return complain(below(at, "after"),
                    fmt::format("is {}, expected how often it happens before the run stops: 1, 2, ...", shown(*given)));
  if (const Json* action = find(value, "action");
      action != nullptr && !read_action(below(at, "action"), *action, static_cast<int>(after), pending.event))
    return;
  if (find(value, "after") != nullptr && pending.event.terminal_after == 0)
    return complain(below(at, "after"), "counts events before a stop; expected \"action\": \"stop\"");
  pending_events_.push_back(std::move(pending));
}

bool ModelReader::read_action(const std::string& at, const Json& value, int after, ModelEvent& out) {
  const std::vector<std::string> known{"record", "stop", "impact", "switch"};
  if (value.is_string()) {
    const std::string word = value;
    if (word == "stop") out.terminal_after = after;
    if (word == "record" || word == "stop") return true;
    complain(at, word == "impact" || word == "switch"
                     ? fmt::format("is \"{}\", expected {{\"{}\": {{...}}}}", word, word)
                     : unknown_name("action", word, known));
    return false;
  }
  if (!is_object(at, value,
                 "\"record\", \"stop\", {\"impact\": {\"restitution\": e}} or {\"switch\": {\"off\": [...], \"on\": "
                 "[...]}}"))
    return false;
  check_keys(at, value, {"impact", "switch"});
  if (value.size() != 1) {
    complain(at, fmt::format("has {} keys, expected one action", value.size()));
    return false;
  }
  if (const Json* impact = find(value, "impact")) {
    const std::string here = below(at, "impact");
    out.action = ModelEvent::Action::impact;
    if (!is_object(here, *impact, "{\"restitution\": e}")) return false;
    check_keys(here, *impact, {"restitution"});
    const Json* given = find(*impact, "restitution");
    if (given != nullptr && !number(below(here, "restitution"), *given, out.restitution)) return false;
    if (!(out.restitution >= 0.0 && out.restitution <= 1.0)) {
      complain(below(here, "restitution"), fmt::format("is {}, expected a number from 0 to 1", out.restitution));
      return false;
    }
    return true;
  }
  const Json* change = find(value, "switch");
  const std::string here = below(at, "switch");
  if (change == nullptr || !is_object(here, *change, "{\"off\": [...], \"on\": [...]}")) return false;
  check_keys(here, *change, {"off", "on"});
  out.action = ModelEvent::Action::switches;
  for (const char* key : {"off", "on"}) {
    const Json* names = find(*change, key);
    const std::string where = below(here, key);
    if (names == nullptr) continue;
    if (!is_list(where, *names, "a list of names of joints and forces")) return false;
    for (std::size_t i = 0; i < names->size(); ++i) {
      std::string name;
      if (!text(below(where, i), (*names)[i], name)) return false;
      (std::string_view(key) == "off" ? out.off : out.on).push_back(name);
      switched_.push_back({below(where, i), name});
    }
  }
  return true;
}

void ModelReader::make_events() {
  if (problem_count_ > 0) return;
  for (PendingEvent& pending : pending_events_)
    guarded(pending.at, [&] {
      const Node node = pending.when();
      for (const int leaf : formulas().graph().leaves_of(node))
        if (formulas().quantity(leaf).kind == multibody::Quantity::Kind::acceleration)
          throw InvalidInput("depends on an acceleration, which events do not know");
      pending.event.when =
          std::make_shared<const multibody::Outputs>(formulas(), std::vector<multibody::Outputs::Entry>{{{}, {node}}});
      events_.push_back(pending.event);
    });
}

std::shared_ptr<multibody::Assembly> ModelReader::with_events(std::shared_ptr<multibody::Assembly> all) {
  for (const auto& [at, name] : switched_) guarded(at, [&, &name = name] { all->element_named(name); });
  if (problem_count_ > 0) return all;
  std::shared_ptr<multibody::Assembly> start = all;
  if (!inactive_.empty()) {
    start = all->without(inactive_);
    start->set_result_layout(all);
  }
  if (!events_.empty()) set_events(*start, std::make_shared<const std::vector<ModelEvent>>(events_));
  return start;
}

}  // namespace kreisel::io
