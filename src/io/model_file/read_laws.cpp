// Names, inputs, states and the formulas of laws.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/named_entries.hpp"

namespace kreisel::io {

const Json& ModelReader::section(const Json& root, std::string_view key) {
  static const Json empty = Json::object();
  const Json* given = find(root, key);
  return given == nullptr || !is_object(below("", key), *given, "{\"name\": ..., ...}") ? empty : *given;
}

void ModelReader::declare_names(const Json& root) {
  const auto declare = [&](const std::string& at, const std::string& name, const char* kind,
                           std::vector<std::string> components = {}) {
    return guarded(at, [&] { names_.declare(name, kind, std::move(components)); });
  };
  for (const std::string& name : parameters_.names().list()) declare(below("/parameters", name), name, "parameter");
  for (const auto& item : section(root, "inputs").items()) declare(below("/inputs", item.key()), item.key(), "input");
  for (const auto& item : section(root, "states").items()) declare(below("/states", item.key()), item.key(), "state");
  for (const auto& item : section(root, "outputs").items()) {
    const std::string at = below("/outputs", item.key());
    std::vector<std::string> components;
    if (item.value().is_object())
      for (const char* vector : {"position", "velocity", "acceleration", "rotation", "reaction"})
        if (item.value().contains(vector)) components = {"x", "y", "z"};
    if (item.value().is_object() && item.value().contains("section_force")) components = section_force_components();
    if (item.value().is_object() && item.value().contains("section_strain")) components = section_strain_components();
    declare(at, item.key(), "output", std::move(components));
  }
  for (const auto& [name, function] : options_.functions) declare("", name, "function");
  // Names of forces are used only where nothing else has the name.
  if (const Json* forces = find(root, "forces"); forces != nullptr && forces->is_array())
    for (const Json& force : *forces) {
      const Json* name = force.is_object() ? find(force, "name") : nullptr;
      if (name == nullptr || !name->is_string() || names_.has(*name) ||
          !formula::problem_with_name(name->get<std::string>()).empty())
        continue;
      names_.declare(*name, "force");
      declared_forces_.insert(*name);
    }
  law_names_ = names_.known();
  for (const char* own : {"x", "v"}) law_names_.add(own);
}

bool ModelReader::is_law(const Json& value) {
  if (value.is_object()) return find(value, "of") != nullptr;
  if (!value.is_string()) return false;
  try {
    const formula::Formula formula(text_of(value), law_names_);
    return std::ranges::any_of(formula.names(), [&](const formula::Formula::Name& name) {
      return name.text != "t" && (!parameters_.names().has(name.text) || settable_.contains(name.text));
    });
  } catch (const InvalidInput&) {
    return false;  // the reader of functions of t reports what is wrong
  }
}

bool ModelReader::law(const std::string& pointer, const Json& value, Node x, Node v, MakeNode& out) {
  if (value.is_number()) {
    double number = 0.0;
    if (!this->number(pointer, value, number)) return false;
    out = [this, number] { return formulas().graph().number(number); };
    return true;
  }
  if (value.is_string())
    return guarded(pointer, [&] {
      formula::Formula formula(text_of(value), law_names_);
      parameters_.note_use(formula);
      suspect_degrees_in(pointer, formula);
      out = [this, formula = std::move(formula), x, v] { return names_.resolve(formula, x, v); };
    });
  if (!is_object(pointer, value, "a number, a formula such as \"=-200*x - 5*v\" or {\"table\": [[x, value], ...]}"))
    return false;
  check_keys(pointer, value, names_of(law_table_object().keys));
  const formula::Curve* curve = nullptr;
  if (!table_curve(pointer, value, curve)) return false;
  MakeNode of = [x] { return x; };
  const Json* given = find(value, "of");
  if (given == nullptr && x == no_node) {
    complain(pointer, "the key \"of\" is missing; expected the formula that the table depends on");
    return false;
  }
  if (given != nullptr && !law(below(pointer, "of"), *given, x, v, of)) return false;
  out = [this, curve, of] { return formulas().graph().curve(curve, 0, of()); };
  return true;
}

bool ModelReader::table_curve(const std::string& pointer, const Json& value, const formula::Curve*& out) {
  multibody::Interpolation interpolation = multibody::Interpolation::monotone;
  if (const Json* given = find(value, "interpolation")) {
    const std::string here = below(pointer, "interpolation");
    std::string name;
    if (!text(here, *given, name) || !guarded(here, [&] { interpolation = multibody::interpolation_named(name); }))
      return false;
  }
  const Json* table = require(pointer, value, "table", "a list of points [x, value]");
  const std::string at = below(pointer, "table");
  std::vector<std::pair<double, double>> points;
  if (table == nullptr || !table_points(at, *table, points)) return false;
  return guarded(at, [&] {
    out = formulas().add(
        std::make_shared<const multibody::TableCurve>(Signal(points, interpolation, multibody::Outside::hold)));
    for (const auto& [x, y] : points) abscissas_[out].second.push_back(x);
    abscissas_[out].first = at;
  });
}

ModelReader::Node ModelReader::value_of(int gauge, bool counts_turns, const std::string& name) {
  if (counts_turns && formulas().gauge(gauge).turns < 0) {
    const int node = add_state(name + " turns", 0.0);
    winding_.push_back({node, gauge});
    formulas().gauge(gauge).turns = node;
    const Node rate = formulas().leaf({multibody::Quantity::Kind::rate, gauge});
    formulas().set_rate(node, [rate] { return rate; });
    pending_.push_back({.at = "", .type = "state", .name = name + " turns", .value = {}, .state = node});
  }
  return formulas().leaf({multibody::Quantity::Kind::value, gauge});
}

int ModelReader::add_state(std::string name, double initial) {
  mechanism_.nodes.push_back({.name = std::move(name),
                              .factor = {lie::GroupId::rn, 1},
                              .kind = system::CoordinateKind::state,
                              .q0 = Vector::Constant(1, initial)});
  return static_cast<int>(mechanism_.bodies.size() + mechanism_.nodes.size()) - 1;
}

int ModelReader::add_set_state(const std::string& name, double initial) {
  const int node = add_state(name, initial);
  formulas().set_rate(node, [this] { return formulas().graph().number(0.0); });
  return node;
}

double ModelReader::initial_value(const multibody::Gauge& gauge) const {
  multibody::BodyState s[2];
  for (const int i : {0, 1})
    if (const int body = gauge.bodies[i]; body != multibody::ground) {
      s[i].x = mechanism_.bodies[body].position;
      s[i].R = mechanism_.bodies[body].rotation;
    }
  return gauge.measure->value(s);
}

double ModelReader::start_of(int gauge) const {
  const auto winding = std::ranges::find(winding_, gauge, &std::pair<int, int>::second);
  if (winding != winding_.end())
    return mechanism_.nodes[static_cast<std::size_t>(winding->first) - mechanism_.bodies.size()].q0[0];
  return initial_value(names_.formulas().gauges()[static_cast<std::size_t>(gauge)]);
}

int ModelReader::joint_gauge(int joint, bool is_rotation) {
  const auto known = joint_gauges_.find({joint, is_rotation});
  if (known != joint_gauges_.end()) return known->second;
  const multibody::JointPtr& of = mechanism_.joints[joint];
  int gauge = -1;
  for (const multibody::Joint::Sliding& sliding : of->slidings())
    if (sliding.is_rotation == is_rotation)
      gauge = formulas().add({.measure = {of, sliding.measure.get()}, .bodies = {of->bodies()[0], of->bodies()[1]}});
  joint_gauges_[{joint, is_rotation}] = gauge;
  return gauge;
}

bool ModelReader::joint_named(const std::string& at, const Json& value, int& out) {
  std::string name;
  if (!text(at, value, name)) return false;
  const auto found = joint_numbers_.find(name);
  if (found == joint_numbers_.end()) {
    std::vector<std::string> known;
    for (const multibody::JointPtr& j : mechanism_.joints)
      if (known.size() < 30) known.push_back(j->name());
    if (problem_count_ == 0 ||
        !is_listed(composed_.root.is_null() ? source_.root() : composed_.root, {"joints", "drivers"}, name))
      complain(at, unknown_name("joint", name, known));
    return false;
  }
  out = found->second;
  return true;
}

void ModelReader::read_inputs(const Json& root) {
  for (const auto& item : section(root, "inputs").items()) {
    const std::string at = below("/inputs", item.key());
    if (!names_.has(item.key())) continue;
    const Json* value = &item.value();
    std::string here = at;
    if (value->is_object() && find(*value, "table") == nullptr) {
      check_keys(at, *value, names_of(input_object().keys));
      value = require(at, item.value(), "value", "a number, a formula in t or a table");
      here = below(at, "value");
      if (value == nullptr) continue;
    }
    Signal signal;
    if (!this->signal(here, *value, 0, signal)) continue;
    if (const auto set = settable_.find(item.key()); set != settable_.end()) {
      if (!signal.is_constant()) {
        complain(set->second,
                 fmt::format("cannot be set: the input '{}' is a function of t; give it a number", item.key()));
        continue;
      }
      set_nodes_[item.key()] = add_set_state(item.key(), signal.at(0.0).value);
      const Node own = formulas().leaf({multibody::Quantity::Kind::state, set_nodes_[item.key()]});
      names_.define(item.key(), {own});
      note_angle(own, here, *value, item.value(), signal);
      if (is_column_of_results(item.key()) || body_numbers_.contains(item.key())) continue;
      system::OutputInfo set_by_events{item.key(), "", "input that events set", {}};
      if (value != &item.value()) set_by_events.unit = unit_of(at, item.value());
      set_by_events.is_state = true;
      output_infos_.push_back(std::move(set_by_events));
      continue;
    }
    system::InputInfo info{item.key(), "", ""};
    if (value != &item.value()) info = {item.key(), unit_of(at, item.value()), meaning_of(at, item.value(), "")};
    const int number = static_cast<int>(mechanism_.inputs.size());
    const Node own = formulas().leaf({multibody::Quantity::Kind::input, number});
    names_.define(item.key(), {own});
    note_angle(own, here, *value, item.value(), signal);
    mechanism_.inputs.push_back({std::move(info), std::move(signal)});
  }
}

void ModelReader::define_functions() {
  for (const auto& [name, user] : options_.functions)
    if (names_.has(name))
      names_.define(name, std::function<std::vector<Node>()>([this, &user = user] {
                      std::vector<Node> arguments{formulas().leaf({multibody::Quantity::Kind::time})};
                      for (const std::string& use : user.uses)
                        arguments.push_back(names_.resolve(formula::Formula(use, names_.known()), no_node, no_node));
                      return std::vector<Node>{
                          formulas().graph().call(formulas().add(user.function), formula::Function::value, arguments)};
                    }));
}

void ModelReader::read_states(const Json& root) {
  for (const auto& item : section(root, "states").items()) {
    const std::string at = below("/states", item.key());
    const Json& value = item.value();
    if (!names_.has(item.key()) || !is_object(at, value, "a state {\"rate\": formula, \"initial\": number}")) continue;
    check_keys(at, value, names_of(state_object().keys));
    double initial = 0.0;
    if (const Json* given = find(value, "initial"); given != nullptr && !number(below(at, "initial"), *given, initial))
      continue;
    const Json* rate = require(at, value, "rate", "its rate: a formula");
    if (rate == nullptr) continue;
    const int node = add_state(item.key(), initial);
    PendingLaw law_of_state{.at = below(at, "rate"), .type = "state", .name = item.key(), .value = {}, .state = node};
    const Node own = formulas().leaf({multibody::Quantity::Kind::state, node});
    names_.define(item.key(), {own});
    if (const Json* given = find(value, "initial"))
      note_angle(own, below(at, "initial"), *given, value, Signal(multibody::Expression(initial)));
    MakeNode make;
    if (!law(law_of_state.at, *rate, no_node, no_node, make)) continue;
    formulas().set_rate(node, make);
    pending_.push_back(std::move(law_of_state));
    system::OutputInfo info{item.key(), unit_of(at, value), meaning_of(at, value, "state"), {}};
    info.is_state = true;
    output_infos_.push_back(std::move(info));
  }
}

std::string ModelReader::unit_of(const std::string& at, const Json& value, std::string otherwise) {
  if (const Json* unit = find(value, "unit")) text(below(at, "unit"), *unit, otherwise);
  return otherwise;
}

std::string ModelReader::meaning_of(const std::string& at, const Json& value, std::string otherwise) {
  if (const Json* meaning = find(value, "meaning")) text(below(at, "meaning"), *meaning, otherwise);
  return otherwise;
}

void ModelReader::define_forces() {
  for (std::size_t i = 0; i < mechanism_.forces.size(); ++i) {
    const std::string& name = mechanism_.forces[i]->name();
    efforts_[name] = formulas().leaf({multibody::Quantity::Kind::effort, static_cast<int>(i)});
    if (declared_forces_.contains(name)) names_.define(name, {efforts_[name]});
  }
  for (const ForceOutput& output : force_outputs_) define_force_output(output);
}

void ModelReader::define_force_output(const ForceOutput& asked) {
  const auto& [at, output, kind, force] = asked;
  const auto set_unit = [&, &name = output, &kind = kind](bool is_rotation) {
    const auto info = std::ranges::find(output_infos_, name, &system::OutputInfo::name);
    if (info == output_infos_.end() || !info->unit.empty()) return;
    info->unit = kind == "force" ? is_rotation ? "N m" : "N" : is_rotation ? "rad" : "m";
    if (kind == "speed") info->unit += "/s";
  };
  using Quantity = multibody::Quantity;
  formula::Graph& graph = formulas().graph();
  const auto built =
      std::ranges::find(mechanism_.forces, force, [](const auto& f) -> const std::string& { return f->name(); });
  if (const auto law = law_gauges_.find(force); law != law_gauges_.end() && built == mechanism_.forces.end()) {
    const LawGauge along = law->second;
    set_unit(along.is_rotation);
    const MakeNode value = law_forces_.at(force);
    if (kind == "length") return names_.define(output, {value_of(along.gauge, along.is_rotation, force)});
    if (kind == "speed") return names_.define(output, {rate_of(along.gauge)});
    const Node rate = kind == "power" ? rate_of(along.gauge) : no_node;
    return names_.define(output, std::function<std::vector<Node>()>([&graph, value, rate, sense = along.sense] {
                           if (rate == no_node) return std::vector<Node>{value()};
                           const Node power = graph.apply(formula::Operation::multiply, value(), rate);
                           return std::vector<Node>{sense == multibody::Law::Sense::pushes
                                                        ? power
                                                        : graph.apply(formula::Operation::negate, power)};
                         }));
  }
  if (const auto wrench = wrench_powers_.find(force); wrench != wrench_powers_.end()) {
    if (kind != "power")
      return complain(at,
                      fmt::format("'{}' is of type applied and acts along no coordinate; expected \"power\"", force));
    return names_.define(
        output, std::function<std::vector<Node>()>([make = wrench->second] { return std::vector<Node>{make()}; }));
  }
  if (built == mechanism_.forces.end()) {
    std::vector<std::string> list;
    for (const auto& [name, node] : efforts_) list.push_back(name);
    for (const auto& [name, node] : law_forces_) list.push_back(name);
    if (std::ranges::any_of(mechanism_.elements, [&, &name = force](const auto& e) { return e->name() == name; }))
      complain(at, fmt::format("'{}' is a {}, which has no {}", force, line_load_object().name, kind));
    else if (problem_count_ == 0 ||
             !is_listed(composed_.root.is_null() ? source_.root() : composed_.root, {"forces"}, force))
      complain(at, unknown_name("force", force, list));
    return;
  }
  const int number = static_cast<int>(built - mechanism_.forces.begin());
  const multibody::Force& of = **built;
  const multibody::Force::Along along = of.along();
  if (kind == "power") return names_.define(output, {formulas().leaf({Quantity::Kind::power, number})});
  if (kind == "force" ? !of.has_effort() : along.measure == nullptr)
    return complain(at, fmt::format("'{}' is of type {} and acts along {}; expected \"power\"{}", force, of.type(),
                                    of.has_effort() ? "no coordinate" : "more than one coordinate or none",
                                    of.gaps() > 0 ? " or \"gap\"" : ""));
  set_unit(along.is_rotation);
  if (kind == "force") return names_.define(output, {efforts_.at(force)});
  const int gauge = formulas().add({.measure = {*built, along.measure}, .bodies = {of.bodies()[0], of.bodies()[1]}});
  names_.define(output, {kind == "length" ? value_of(gauge, along.is_rotation, force) : rate_of(gauge)});
}

/// The smallest of the gaps of a contact.
void ModelReader::define_gaps() {
  for (const auto& [at, output, kind, force] : gap_outputs_) {
    std::vector<std::string> known;
    Node smallest = no_node;
    for (std::size_t i = 0; i < mechanism_.forces.size(); ++i) {
      const multibody::Force& of = *mechanism_.forces[i];
      if (of.gaps() > 0) known.push_back(of.name());
      for (int k = 0; of.name() == force && k < of.gaps(); ++k) {
        const Node gap = formulas().leaf({multibody::Quantity::Kind::gap, static_cast<int>(i), k});
        smallest = smallest == no_node ? gap : formulas().graph().apply(formula::Operation::min, smallest, gap);
      }
    }
    if (smallest == no_node)
      complain(at, unknown_name("contact", force, known));
    else
      names_.define(output, {smallest});
  }
}

void ModelReader::make_laws() {
  define_forces();
  define_gaps();
  for (const auto& [node, gauge] : winding_) {
    const multibody::Gauge& of = formulas().gauge(gauge);
    double turned = initial_value(of);
    if (!turned_.empty())
      turned = multibody::unwrapped(turned, turned_angle(*of.measure, {of.bodies[0], of.bodies[1]}));
    for (const auto& [joint, value] : start_of_turns_)
      if (const auto own = joint_gauges_.find({joint, true}); own != joint_gauges_.end() && own->second == gauge)
        turned = multibody::unwrapped(turned, value);
    mechanism_.nodes[static_cast<std::size_t>(node) - mechanism_.bodies.size()].q0 = Vector::Constant(1, turned);
  }
  if (problem_count_ > 0) return;  // names may be undefined
  first_law_ = mechanism_.elements.size();
  for (const PendingLaw& law : pending_)
    guarded(law.at, [&] {
      if (!law.components.empty()) {
        std::vector<multibody::Law::Component> components;
        for (const auto& [gauge, make] : law.components) {
          components.push_back({make(), gauge});
          formula_nodes_.push_back({law.at, components.back().value, 0.0});
        }
        return mechanism_.elements.push_back(multibody::Law::driving(law.type, law.name, formulas(), components));
      }
      const Node value = law.state >= 0 ? formulas().rate_of_state(law.state) : law.value();
      formula_nodes_.push_back({law.at, value, law.x0});
      mechanism_.elements.push_back(law.state >= 0
                                        ? multibody::Law::rate(law.name, formulas(), value, law.state)
                                        : multibody::Law::along(law.type, law.name, formulas(), value, law.gauge,
                                                                law.sense, law.x0, start_of(law.gauge), law.drives));
    });
  names_.begin_reports();
}

}  // namespace kreisel::io
