// Events and their actions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/named_entries.hpp"

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
    return complain(
        below(at, "after"),
        fmt::format("is {}, expected the number of the first occurrence with the action: 1, 2, ...", shown(*given)));
  if (const Json* action = find(value, "action");
      action != nullptr && !read_action(below(at, "action"), *action, static_cast<int>(after), pending))
    return;
  const bool only_records = pending.event.action == ModelEvent::Action::record && pending.event.terminal_after == 0;
  if (find(value, "after") != nullptr && only_records)
    return complain(below(at, "after"),
                    "counts occurrences before an action; every occurrence is recorded, expected an \"action\"");
  pending.event.acts_from = static_cast<int>(after);
  pending_events_.push_back(std::move(pending));
}

bool ModelReader::read_action(const std::string& at, const Json& value, int after, PendingEvent& pending) {
  const std::vector<std::string> known{"record", "stop", "impact", "switch", "set", "jump"};
  ModelEvent& out = pending.event;
  if (value.is_string()) {
    const std::string word = value;
    if (word == "stop") out.terminal_after = after;
    if (word == "record" || word == "stop") return true;
    complain(at, std::ranges::count(known, word) > 0
                     ? fmt::format("is \"{}\", expected {{\"{}\": {{...}}}}", word, word)
                     : unknown_name("action", word, known));
    return false;
  }
  if (!is_object(at, value,
                 "\"record\", \"stop\", {\"impact\": {\"restitution\": e}}, {\"switch\": {\"off\": [...], \"on\": "
                 "[...]}}, {\"set\": {name: value}} or {\"jump\": {\"body.velocity\": [x, y, z]}}"))
    return false;
  check_keys(at, value, {"impact", "switch", "set", "jump"});
  if (value.size() != 1) {
    complain(at, fmt::format("has {} keys, expected one action", value.size()));
    return false;
  }
  if (const Json* impact = find(value, "impact")) {
    const std::string here = below(at, "impact");
    out.action = ModelEvent::Action::impact;
    if (!is_object(here, *impact, "{\"restitution\": e, \"between\": [..., ...]}")) return false;
    check_keys(here, *impact, {"restitution", "between"});
    if (find(*impact, "between") != nullptr && !read_between(here, *impact, out.between)) return false;
    pending.between_at = below(here, "between");
    const Json* given = find(*impact, "restitution");
    if (given != nullptr && !number(below(here, "restitution"), *given, out.restitution)) return false;
    if (!(out.restitution >= 0.0 && out.restitution <= 1.0)) {
      complain(below(here, "restitution"), fmt::format("is {}, expected a number from 0 to 1", out.restitution));
      return false;
    }
    return true;
  }
  if (const Json* set = find(value, "set")) return read_set(below(at, "set"), *set, pending);
  if (const Json* jump = find(value, "jump")) return read_jump(below(at, "jump"), *jump, pending);
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

bool ModelReader::read_set(const std::string& at, const Json& value, PendingEvent& out) {
  if (!is_object(at, value, "{\"name\": value, ...} of parameters and inputs") || value.empty()) {
    if (value.empty()) complain(at, "sets nothing; expected {\"name\": value}");
    return false;
  }
  out.event.action = ModelEvent::Action::sets;
  for (const auto& item : value.items()) {
    const std::string here = below(at, item.key());
    MakeNode make;
    if (!set_nodes_.contains(item.key()) || !law(here, item.value(), no_node, no_node, make)) return false;
    const int state = set_nodes_.at(item.key());
    out.event.states.push_back(state);
    set_values_.push_back({here, formulas().leaf({multibody::Quantity::Kind::state, state}), item.value(), make});
    out.values.push_back({here, std::move(make)});
  }
  return true;
}

bool ModelReader::read_jump(const std::string& at, const Json& value, PendingEvent& out) {
  constexpr std::string_view expected = "{\"BODY.velocity\": [x, y, z]} or {\"BODY.angular_velocity\": [x, y, z]}";
  if (!is_object(at, value, expected)) return false;
  if (value.empty()) return complain(at, fmt::format("is empty, expected {}", expected)), false;
  out.event.action = ModelEvent::Action::jumps;
  for (const auto& item : value.items()) {
    const std::string here = below(at, item.key());
    ModelEvent::Velocity velocity;
    if (!velocity_named(here, item.key(), velocity)) return false;
    if (!item.value().is_array() || item.value().size() != 3) {
      complain(here, fmt::format("is {}, expected three numbers or formulas", shown(item.value())));
      return false;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      MakeNode make;
      if (!law(below(here, i), item.value()[i], no_node, no_node, make)) return false;
      out.values.push_back({below(here, i), std::move(make)});
    }
    out.event.velocities.push_back(velocity);
  }
  return true;
}

bool ModelReader::velocity_named(const std::string& at, const std::string& name, ModelEvent::Velocity& out) {
  const std::size_t point = name.rfind('.');
  const std::string what = point == std::string::npos ? "" : name.substr(point + 1);
  if (what != "velocity" && what != "angular_velocity") {
    complain(at, fmt::format("is \"{}\", expected BODY.velocity or BODY.angular_velocity", name));
    return false;
  }
  out.is_angular = what == "angular_velocity";
  if (!body_number(at, name.substr(0, point), out.body)) return false;
  if (out.body != multibody::ground) return true;
  complain(at, "is a velocity of the ground, which does not move");
  return false;
}

/// Formulas of what is known when the event happens.
void ModelReader::make_values(PendingEvent& pending) {
  if (pending.values.empty()) return;
  std::vector<Node> nodes;
  for (const auto& [at, make] : pending.values)
    guarded(at, [&, &make = make] {
      nodes.push_back(make());
      using Kind = multibody::Quantity::Kind;
      for (const int leaf : formulas().graph().leaves_of(nodes.back()))
        if (const Kind kind = formulas().quantity(leaf).kind; kind == Kind::acceleration || kind == Kind::effort ||
                                                              kind == Kind::power || kind == Kind::reaction ||
                                                              kind == Kind::section)
          throw InvalidInput("depends on an acceleration, a force or a reaction, which jump at events");
    });
  if (problem_count_ == 0)
    pending.event.values =
        std::make_shared<const multibody::Outputs>(formulas(), std::vector<multibody::Outputs::Entry>{{{}, nodes}});
}

/// The gap of an impact between two bodies may depend only on their positions; otherwise other bodies would be pushed too. Its normal is
/// then exact.
void ModelReader::make_normal(PendingEvent& pending, Node when) {
  if (pending.event.between.empty()) return;
  guarded(pending.between_at, [&] {
    std::set<int> read;
    for (const int leaf : formulas().graph().leaves_of(when)) {
      const multibody::Quantity& quantity = formulas().quantity(leaf);
      if (quantity.kind != multibody::Quantity::Kind::value && quantity.kind != multibody::Quantity::Kind::time)
        throw InvalidInput("needs a gap as \"when\": a formula of t and positions only");
      if (quantity.kind == multibody::Quantity::Kind::value)
        for (const int body : formulas().gauge(quantity.index).bodies) read.insert(body);
    }
    for (const int body : pending.event.between)
      if (body != multibody::ground && !read.contains(body))
        throw InvalidInput(fmt::format(
            "names '{}', on which the formula \"when\" does not depend; expected the bodies whose gap it is",
            body_label(body)));
    for (const int body : read)
      if (body != multibody::ground && std::ranges::count(pending.event.between, body) == 0)
        throw InvalidInput(fmt::format(
            "does not name '{}', on whose position the formula \"when\" depends; the impact would push it too",
            body_label(body)));
    pending.event.rate = std::make_shared<const multibody::Outputs>(
        formulas(), std::vector<multibody::Outputs::Entry>{{{}, {formulas().rate_of(when)}}});
  });
}

/// Before any formula is read.
void ModelReader::declare_settable(const Json& root) {
  const Json* events = find(root, "events");
  if (events == nullptr || !events->is_array()) return;
  for (std::size_t i = 0; i < events->size(); ++i) {
    const Json& event = (*events)[i];
    const Json* action = event.is_object() ? find(event, "action") : nullptr;
    const Json* set = action != nullptr && action->is_object() ? find(*action, "set") : nullptr;
    if (set == nullptr || !set->is_object()) continue;
    for (const auto& item : set->items()) {
      const std::string at = below(below(below(below("/events", i), "action"), "set"), item.key());
      if (parameters_.names().has(item.key()) || section(root, "inputs").contains(item.key())) {
        settable_.insert({item.key(), at});
        continue;
      }
      std::vector<std::string> known = parameters_.names().list();
      for (const auto& input : section(root, "inputs").items()) known.push_back(input.key());
      complain(at, unknown_name("parameter or input", item.key(), known));
    }
  }
}

void ModelReader::make_settable(const Json& root) {
  for (const auto& [name, at] : settable_) {
    if (!parameters_.names().has(name) || !names_.has(name)) continue;
    for (const auto& item : section(root, "parameters").items()) {
      const Json* value = item.value().is_object() ? find(item.value(), "value") : &item.value();
      if (value == nullptr || !is_formula(*value)) continue;
      guarded(at, [&, &name = name] {
        const formula::Formula formula(formula_in(*value), parameters_.names());
        for (const formula::Formula::Name& needed : formula.names())
          if (needed.text == name)
            throw InvalidInput(
                fmt::format("cannot be set: the parameter '{}' depends on it and is constant; write "
                            "its formula where it is used",
                            item.key()));
      });
    }
    set_nodes_[name] = add_set_state(name, parameters_.value(name));
    const Node own = formulas().leaf({multibody::Quantity::Kind::state, set_nodes_[name]});
    names_.define(name, {own});
    const Json& given = section(root, "parameters")[name];
    if (!doubted_.contains(name))
      note_angle(own, below("/parameters", name), given.is_object() ? given.value("value", Json{}) : given, given,
                 Signal(multibody::Expression(parameters_.value(name))));
    if (is_column_of_results(name) || body_numbers_.contains(name)) continue;
    const Json& entry = section(root, "parameters")[name];
    system::OutputInfo info{name, "", "parameter that events set", {}};
    if (entry.is_object()) info.unit = unit_of(below("/parameters", name), entry);
    info.is_state = true;
    output_infos_.push_back(std::move(info));
  }
}

void ModelReader::make_events() {
  if (problem_count_ > 0) return;
  for (PendingEvent& pending : pending_events_)
    guarded(pending.at, [&] {
      const Node node = pending.when();
      formula_nodes_.push_back({pending.at, node, 0.0});
      for (const int leaf : formulas().graph().leaves_of(node))
        if (formulas().quantity(leaf).kind == multibody::Quantity::Kind::acceleration)
          throw InvalidInput("depends on an acceleration, which is not available in events");
      pending.event.when =
          std::make_shared<const multibody::Outputs>(formulas(), std::vector<multibody::Outputs::Entry>{{{}, {node}}});
      make_values(pending);
      make_normal(pending, node);
      if (options_.base != nullptr)
        if (const auto given = options_.base->actions.find(pending.event.name); given != options_.base->actions.end()) {
          pending.event.given = given->second.action;
          pending.event.terminal_after = given->second.terminal_after;
        }
      events_.push_back(pending.event);
    });
}

std::shared_ptr<multibody::Assembly> ModelReader::with_events(std::shared_ptr<multibody::Assembly> all) {
  add_followers(inactive_);
  for (ModelEvent& event : events_)
    for (std::vector<std::string>* names : {&event.off, &event.on}) add_followers(*names);
  for (const auto& [at, name] : switched_) guarded(at, [&, &name = name] { all->element_named(name); });
  if (problem_count_ > 0) return all;
  std::shared_ptr<multibody::Assembly> start = all;
  if (!inactive_.empty()) {
    start = all->without(inactive_);
    start->set_result_layout(all->limit_count() == 0 ? all
                                                     : all->with(std::vector<bool>(all->elements().size(), true)));
  }
  if (!events_.empty()) set_events(*start, std::make_shared<const std::vector<ModelEvent>>(events_));
  return start;
}

}  // namespace kreisel::io
