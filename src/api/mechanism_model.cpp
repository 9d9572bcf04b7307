// Names, laws, outputs, events and parts of a mechanism in C++: written as a model, for the reader of model files.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/field.hpp"
#include "io/model_file/model_compose.hpp"
#include "io/model_file/model_file.hpp"
#include "kreisel/error.hpp"
#include "kreisel/mechanism.hpp"
#include "multibody/assembly.hpp"
#include "multibody/law.hpp"
#include "system/differences.hpp"

namespace kreisel {
namespace {

using io::Json;

/// A function of the user with its derivatives; the first argument is t.
class UserFunction final : public formula::Function {
 public:
  explicit UserFunction(const Law& law) : function_(law.function), derivative_(law.derivative) {}

  double at(std::span<const double> arguments, int by) const override {
    if (by == value) return function_(arguments[0], arguments.subspan(1));
    if (by > 0 && derivative_) return derivative_(arguments[0], arguments.subspan(1), by - 1);
    // The steps depend only on the arguments: a run that continues from a checkpoint has the same ones.
    constexpr double accuracy = 1e-6;  // of the matrix of Newton's method
    std::vector<double> moved(arguments.begin(), arguments.end());
    const double x = arguments[static_cast<std::size_t>(by)];
    const system::Steps steps =
        system::largest_steps({by == 0 ? system::time_range(1.0, x) : system::range_of(std::max(std::abs(x), 1.0), x)});
    const system::Columns along = [&](int, double s) -> Vector {
      moved[static_cast<std::size_t>(by)] = x + s;
      return Vector::Constant(1, function_(moved[0], std::span<const double>(moved).subspan(1)));
    };
    return system::differentiate(along, steps, accuracy).value(0, 0);
  }

 private:
  Law::Function function_;
  Law::Derivative derivative_;
};

Json as_json(const Vector3& x) { return {x[0], x[1], x[2]}; }

std::string as_formula(const std::string& text) { return text.starts_with("=") ? text : "=" + text; }

/// Into `to`, as a model file has it.
void add_table(const Table& table, Json& to) {
  Json points = Json::array();
  for (const auto& [x, y] : table.points) points.push_back(Json::array({x, y}));
  to["table"] = std::move(points);
  if (!table.interpolation.empty()) to["interpolation"] = table.interpolation;
  if (!table.of.empty()) to["of"] = as_formula(table.of);
}

/// Laws as values of a model file; functions get names.
class LawWriter {
 public:
  explicit LawWriter(io::UserFunctions& functions) : functions_(functions) {}

  Json operator()(const Law& law) {
    if (law.constant) return *law.constant;
    if (law.table) {
      Json table = Json::object();
      add_table(*law.table, table);
      return table;
    }
    if (!law.function) return as_formula(law.formula);
    const std::string name = fmt::format("law_function_{}", functions_.size() + 1);
    functions_[name] = {law.uses, std::make_shared<const UserFunction>(law)};
    return "=" + name;
  }
  Json list(const std::vector<Law>& laws) {
    Json all = Json::array();
    for (const Law& law : laws) all.push_back((*this)(law));
    return all;
  }

 private:
  io::UserFunctions& functions_;
};

Json points_of(const std::vector<Vector3>& points, std::size_t count) {
  if (count == 1) return as_json(points[0]);
  Json all = Json::array();
  for (std::size_t i = 0; i < count; ++i) all.push_back(as_json(points[std::min(i, points.size() - 1)]));
  return all;
}

std::size_t count_of(multibody::JointInfo::Place place) {
  return place == multibody::JointInfo::Place::none ? 0 : place == multibody::JointInfo::Place::one_point ? 1 : 2;
}

void add_numbers(const std::vector<std::pair<std::string, double>>& numbers,
                 const std::vector<std::pair<std::string, std::string>>& words, const std::vector<Field>& fields,
                 Json& to) {
  for (const auto& [key, value] : numbers) {
    const Field* field = find_field(fields, key);
    if (field != nullptr && kind_of(*field) == FieldKind::whole)
      to[key] = static_cast<long>(value);
    else
      to[key] = value;
  }
  for (const auto& [key, word] : words) to[key] = word;
}

Json initial_of(const InitialValue& initial) {
  Json out = Json::object();
  if (initial.value) out["value"] = *initial.value;
  if (initial.rate) out["rate"] = *initial.rate;
  return out;
}

Json limits_of(const Limits& limits) {
  Json out = Json::object();
  const std::pair<const char*, std::optional<double>> all[] = {{"from", limits.from},
                                                               {"to", limits.to},
                                                               {"restitution", limits.restitution},
                                                               {"stiffness", limits.stiffness},
                                                               {"damping", limits.damping}};
  for (const auto& [key, number] : all)
    if (number) out[key] = *number;
  return out;
}

/// Two coordinates are given by their kinds, angle and displacement.
void add_coordinates(const char* key, Json angle, Json displacement, int coordinates, Json& to) {
  if (coordinates == 1 && !angle.empty()) to[key] = std::move(angle);
  if (coordinates < 2) return;
  if (!angle.empty()) to[key]["angle"] = std::move(angle);
  if (!displacement.empty()) to[key]["displacement"] = std::move(displacement);
}

Json joint_json(const JointDescription& joint, const std::vector<std::string>& labels, LawWriter& law) {
  const multibody::JointInfo& info = multibody::find_joint(joint.type, joint.value.has_value());
  Json out{{"type", joint.type}, {"name", joint.name}, {"between", Json::array({labels[0], labels[1]})}};
  if (info.has_carrier) out["carrier"] = labels.at(2);
  if (const std::size_t count = count_of(info.place); count > 0) out["at"] = points_of(joint.points, count);
  if (info.axes > 0) out[info.axes == 1 ? "axis" : "axes"] = points_of(joint.axes, static_cast<std::size_t>(info.axes));
  if (joint.x_axis) out["x_axis"] = as_json(*joint.x_axis);
  add_numbers(joint.numbers, joint.words, info.numbers, out);
  if (joint.length > 0.0 && find_field(info.numbers, "length") != nullptr) out["length"] = joint.length;
  if (info.has_teeth) out["teeth"] = {joint.teeth.first, joint.teeth.second};
  for (const Eigen::Vector2d& point : joint.curve) out["curve"].push_back(Json::array({point[0], point[1]}));
  if (joint.value) out["value"] = law(*joint.value);
  add_coordinates("initial", initial_of(joint.initial), initial_of(joint.initial_displacement), info.coordinates, out);
  add_coordinates("limits", limits_of(joint.limits), limits_of(joint.limits_of_displacement), info.coordinates, out);
  if (!joint.is_active) out["active"] = false;
  return out;
}

Json force_json(const ForceDescription& force, const std::vector<std::string>& labels, const std::string& joint,
                LawWriter& law) {
  Json out{{"type", force.type}, {"name", force.name}};
  if (const multibody::LawInfo* along = multibody::find_law(force.type)) {
    out["joint"] = joint;
    add_numbers(force.numbers, force.words, along->numbers, out);
    if (force.table) add_table(*force.table, out);
  } else {
    const multibody::ForceInfo& info = multibody::find_force(force.type);
    if (info.bodies == 2) out["between"] = labels;
    if (info.bodies == 1) out["on"] = labels[0];
    if (info.bodies == 0) out["joint"] = joint;
    if (const std::size_t count = count_of(info.place); !force.points.empty())
      out["at"] = points_of(force.points, count);
    if (!force.axes.empty())
      out[info.axes == 1 ? "axis" : "axes"] = points_of(force.axes, static_cast<std::size_t>(info.axes));
    if (force.x_axis) out["x_axis"] = as_json(*force.x_axis);
    add_numbers(force.numbers, force.words, info.numbers, out);
    for (const auto& [key, vector] : force.vectors) out[key] = as_json(vector);
    if (force.in_body_frame) out["frame"] = "body";
  }
  for (const auto& [key, laws] : force.laws) out[key] = laws.size() == 1 ? law(laws[0]) : law.list(laws);
  if (!force.is_active) out["active"] = false;
  return out;
}

}  // namespace

void Mechanism::take_name(const std::string& name) {
  if (std::ranges::find(names_, name) != names_.end())
    throw InvalidInput(fmt::format("the name '{}' is already in use; formulas need one meaning per name", name));
  if (const std::string problem = formula::problem_with_name(name); !problem.empty())
    throw InvalidInput(fmt::format("'{}' {}; choose another name", name, problem));
  names_.push_back(name);
}

Mechanism& Mechanism::add_parameter(std::string name, const Law& value) {
  if (value.function || value.table)
    throw InvalidInput(
        fmt::format("parameter '{}' is a function or a table; expected a number or a formula of parameters", name));
  if (value.constant && !std::isfinite(*value.constant))
    throw InvalidInput(fmt::format("parameter '{}' is {}, expected a finite number", name, *value.constant));
  take_name(name);
  parameters_.push_back({.name = std::move(name), .unit = {}, .law = value});
  return *this;
}

Mechanism& Mechanism::add_input(std::string name, const Law& value, std::string unit) {
  if (value.function)
    throw InvalidInput(fmt::format("input '{}' is a function; expected a number, a formula of t or a table", name));
  take_name(name);
  inputs_.push_back({.name = std::move(name), .unit = std::move(unit), .law = value});
  return *this;
}

Mechanism& Mechanism::add_output(std::string name, MeasureDescription measure) {
  const std::string where = fmt::format("output '{}'", name);
  for (const Body body : measure.bodies) check(body, where);
  using Kind = MeasureDescription::Kind;
  switch (measure.kind) {
    case Kind::effort:
    case Kind::length:
    case Kind::speed:
    case Kind::power:
    case Kind::gap:
      if (!measure.name.empty()) break;
      if (measure.joint < 0 || measure.joint >= static_cast<int>(forces_.size()))
        throw InvalidInput(
            fmt::format("{}: there is no force number {}; the mechanism has {}", where, measure.joint, forces_.size()));
      break;
    case Kind::angle:
    case Kind::displacement:
    case Kind::reaction:
    case Kind::reaction_torque:
      if (measure.name.empty()) check_joint(measure.joint, where);
      break;
    case Kind::position:
    case Kind::velocity:
    case Kind::acceleration:
    case Kind::rotation:
      if (measure.bodies.empty() || measure.bodies.size() > 2) throw InvalidInput(where + ": expected a body");
      break;
    case Kind::distance:
      if (measure.bodies.size() != 2 || measure.points.size() != 2)
        throw InvalidInput(where + ": expected two bodies and two points");
      break;
    case Kind::energy:
      break;
  }
  take_name(name);
  outputs_.push_back({.name = std::move(name), .unit = {}, .law = 0.0, .measure = std::move(measure)});
  return *this;
}

Mechanism& Mechanism::add_output(std::string name, Law law, std::string unit) {
  take_name(name);
  outputs_.push_back({.name = std::move(name), .unit = std::move(unit), .law = std::move(law)});
  return *this;
}

Mechanism& Mechanism::add_state(std::string name, Law rate, double initial, std::string unit) {
  take_name(name);
  states_.push_back({.name = std::move(name), .unit = std::move(unit), .law = std::move(rate), .initial = initial});
  return *this;
}

Mechanism& Mechanism::add_law(std::string name, int joint, Law law) {
  check_joint(joint, fmt::format("law '{}'", name));
  laws_.push_back({.name = std::move(name), .unit = {}, .law = std::move(law), .joint = joint});
  return *this;
}

Mechanism& Mechanism::add_event(std::string name, Law when, system::Direction direction, system::Action action,
                                int terminal_after) {
  events_.push_back({.event = {.name = std::move(name), .when = std::move(when), .direction = direction},
                     .action = std::move(action),
                     .terminal_after = terminal_after});
  return *this;
}

Mechanism& Mechanism::add_event(EventDescription event) {
  const std::string where = fmt::format("event '{}'", event.name);
  for (const Body body : event.between) check(body, where);
  const bool switches = !event.off.empty() || !event.on.empty();
  if (int{event.stops} + int{!event.set.empty()} + int{switches} + int{event.restitution.has_value()} +
          int{!event.jump.empty()} >
      1)
    throw InvalidInput(where + " has more than one action; expected one of stops, set, off and on, restitution, jump");
  if (!event.between.empty() && (!event.restitution || event.between.size() != 2))
    throw InvalidInput(where + ": between needs two bodies and a restitution");
  const bool has_action = event.stops || !event.set.empty() || switches || event.restitution || !event.jump.empty();
  if (event.after != 1 && !has_action)
    throw InvalidInput(where + ": after counts occurrences before an action; every occurrence is recorded");
  events_.push_back({.event = std::move(event)});
  return *this;
}

Mechanism& Mechanism::add_model(const ModelPart& part) {
  if (!nodes_.empty())
    throw InvalidInput(
        "a mechanism with its own nodes cannot include a model file: their numbers would follow those of the file");
  for (const auto& [own, body] : part.connect) check(body, fmt::format("model '{}'", part.file));
  for (const auto& [name, law] : part.parameters)
    if (law.function || law.table)
      throw InvalidInput(fmt::format(
          "model '{}': its parameter '{}' is a function or a table; expected a number or a formula", part.file, name));
  parts_.push_back(part);
  try {
    part_bodies_ = names_of_parts();
  } catch (...) {
    parts_.pop_back();
    throw;
  }
  return *this;
}

std::vector<std::string> Mechanism::names_of_parts() const {
  io::ModelBase base;
  const io::JsonSource source("mechanism '" + name_ + "'", model_text(base));
  const io::Composed whole = io::composed(source, {});
  if (!whole.problems.empty()) throw InvalidInput(fmt::format("{}", fmt::join(whole.problems, "\n")));
  std::vector<std::string> names;
  const Json& bodies = whole.root.at("bodies");
  for (std::size_t i = bodies_.size(); i < bodies.size(); ++i)
    names.push_back(bodies[i].value("name", fmt::format("body{}", i + 1)));
  return names;
}

std::string Mechanism::model_text(io::ModelBase& base) const {
  base.bodies = bodies_;
  base.nodes = nodes_;
  base.elements = elements_;
  LawWriter law(base.functions);
  Json root{
      {"name", name_}, {"gravity", as_json(gravity_)}, {"group", lie::name_of(group_)}, {"bodies", Json::array()}};
  for (const multibody::Body& body : bodies_) root["bodies"].push_back({{"name", body.name}});
  const auto labels_of = [&](const std::vector<Body>& bodies) {
    std::vector<std::string> labels;
    for (const Body body : bodies) labels.push_back(label(body));
    return labels;
  };
  const auto joint_name = [&](int joint) {
    return joint < 0 ? std::string() : joints_[static_cast<std::size_t>(joint)].name;
  };
  for (const JointDescription& joint : joints_) {
    const bool is_driver = joint.value.has_value();
    root[is_driver ? "drivers" : "joints"].push_back(joint_json(joint, labels_of(joint.bodies), law));
    base.are_drivers.push_back(is_driver);
  }
  for (const CouplerDescription& coupler : couplers_) {
    Json entry{{"type", "coupler"},
               {"joints", Json::array({joint_name(coupler.first), joint_name(coupler.second)})},
               {"ratio", coupler.ratio},
               {"offset", coupler.offset}};
    if (!coupler.name.empty()) entry["name"] = coupler.name;
    if (!coupler.is_active) entry["active"] = false;
    root["joints"].push_back(std::move(entry));
    base.are_drivers.push_back(false);
  }
  for (const ForceDescription& force : forces_)
    root["forces"].push_back(force_json(force, labels_of(force.bodies), joint_name(force.joint), law));
  for (const NamedLaw& along : laws_) {
    base.efforts.insert(along.name);
    const JointDescription& joint = joints_[static_cast<std::size_t>(along.joint)];
    if (!joint.value && multibody::find_joint(joint.type, false).coordinates > 1)
      throw InvalidInput(fmt::format("law '{}': '{}' is a {} joint, expected one with a single coordinate", along.name,
                                     joint.name, joint.type));
    root["forces"].push_back(
        {{"type", "torque"}, {"name", along.name}, {"joint", joint_name(along.joint)}, {"value", law(along.law)}});
  }
  const auto with_unit = [](Json entry, const std::string& unit) {
    if (!unit.empty()) entry["unit"] = unit;
    return entry;
  };
  for (const NamedLaw& parameter : parameters_) root["parameters"][parameter.name] = law(parameter.law);
  for (const NamedLaw& input : inputs_) root["inputs"][input.name] = with_unit({{"value", law(input.law)}}, input.unit);
  for (const NamedLaw& state : states_)
    root["states"][state.name] = with_unit({{"rate", law(state.law)}, {"initial", state.initial}}, state.unit);
  using Kind = MeasureDescription::Kind;
  for (const NamedLaw& output : outputs_) {
    Json& entry = root["outputs"][output.name];
    if (!output.measure) {
      entry = with_unit({{"formula", law(output.law)}}, output.unit);
      continue;
    }
    const MeasureDescription& of = *output.measure;
    const std::string joint = !of.name.empty() ? of.name : "";
    const auto joint_or_name = [&] { return !joint.empty() ? joint : joint_name(of.joint); };
    const auto force_or_name = [&] {
      return !joint.empty() ? joint : forces_[static_cast<std::size_t>(of.joint)].name;
    };
    switch (of.kind) {
      case Kind::angle:
        entry["angle"] = joint_or_name();
        break;
      case Kind::displacement:
        entry["displacement"] = joint_or_name();
        break;
      case Kind::position:
      case Kind::velocity:
      case Kind::acceleration:
        entry[of.kind == Kind::position   ? "position"
              : of.kind == Kind::velocity ? "velocity"
                                          : "acceleration"] = label(of.bodies[0]);
        if (!of.points.empty()) entry["at"] = as_json(of.points[0]);
        if (of.bodies.size() > 1) entry["relative_to"] = label(of.bodies[1]);
        break;
      case Kind::rotation:
        entry["rotation"] = label(of.bodies[0]);
        break;
      case Kind::distance:
        entry["distance"] = labels_of(of.bodies);
        entry["at"] = points_of(of.points, 2);
        break;
      case Kind::effort:
        entry["force"] = force_or_name();
        break;
      case Kind::length:
        entry["length"] = force_or_name();
        break;
      case Kind::speed:
        entry["speed"] = force_or_name();
        break;
      case Kind::power:
        entry["power"] = force_or_name();
        break;
      case Kind::gap:
        entry["gap"] = force_or_name();
        break;
      case Kind::reaction:
      case Kind::reaction_torque:
        entry["reaction"] = joint_or_name();
        entry["part"] = of.kind == Kind::reaction ? "force" : "torque";
        break;
      case Kind::energy:
        entry["energy"] = of.name;
        break;
    }
  }
  for (const NamedEvent& named : events_) {
    const EventDescription& event = named.event;
    Json entry{{"name", event.name}, {"when", law(event.when)}};
    entry["direction"] = event.direction == system::Direction::either   ? "either"
                         : event.direction == system::Direction::rising ? "rising"
                                                                        : "falling";
    if (event.stops) entry["action"] = "stop";
    if (event.after != 1) entry["after"] = event.after;
    for (const auto& [name, value] : event.set) entry["action"]["set"][name] = law(value);
    if (!event.off.empty()) entry["action"]["switch"]["off"] = event.off;
    if (!event.on.empty()) entry["action"]["switch"]["on"] = event.on;
    if (event.restitution) entry["action"]["impact"]["restitution"] = *event.restitution;
    if (!event.between.empty()) entry["action"]["impact"]["between"] = labels_of(event.between);
    for (const auto& [velocity, values] : event.jump) entry["action"]["jump"][velocity] = law.list(values);
    if (named.action) base.actions[event.name] = {*named.action, named.terminal_after};
    root["events"].push_back(std::move(entry));
  }
  for (const ModelPart& part : parts_) {
    Json entry{{"file", part.file}};
    if (!part.prefix.empty()) entry["prefix"] = part.prefix;
    if (part.at != Vector3::Zero()) entry["at"] = as_json(part.at);
    if (part.rotation != Matrix3::Identity())
      for (int i = 0; i < 3; ++i) entry["rotation"]["matrix"].push_back(as_json(part.rotation.row(i).transpose()));
    for (const auto& [name, value] : part.parameters) entry["parameters"][name] = law(value);
    for (const auto& [own, body] : part.connect) entry["connect"][own] = label(body);
    root["include"].push_back(std::move(entry));
  }
  try {
    return root.dump(1);
  } catch (const nlohmann::json::exception& e) {
    throw InvalidInput(fmt::format("mechanism '{}': a text is not UTF-8 ({})", name_, e.what()));
  }
}

std::shared_ptr<const multibody::Assembly> Mechanism::assembly() const {
  io::ModelBase base;
  const io::JsonSource source("mechanism '" + name_ + "'", model_text(base));
  io::ModelFileOptions options;
  options.accepts_gaps = true;  // a run reports or corrects initial values that violate the joints
  options.functions = base.functions;
  options.base = &base;
  return io::read_model(source, options).assembly;
}

}  // namespace kreisel
