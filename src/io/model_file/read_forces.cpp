// Forces, and laws along joints.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/named_entries.hpp"
#include "multibody/direction.hpp"

namespace kreisel::io {

void ModelReader::read_forces(const Json& root) {
  const Json& forces = list(root, "forces");
  for (std::size_t i = 0; i < forces.size(); ++i) read_force(below("/forces", i), forces[i]);
}

void ModelReader::read_force(const std::string& at, const Json& value) {
  if (!is_object(at, value, "an object {\"type\": ..., ...}")) return;
  std::string type;
  const Json* given_type =
      require(at, value, "type", fmt::format("one of {}", fmt::join(multibody::force_names(), ", ")));
  if (given_type == nullptr || !text(below(at, "type"), *given_type, type)) return;
  const ForceInfo* info = nullptr;
  if (type == line_load_object().name) return read_line_load(at, value);
  if (const multibody::LawInfo* law_info = multibody::find_law(type)) return read_joint_law(at, value, *law_info);
  if (!guarded(below(at, "type"), [&] {
        std::vector<std::string> known = multibody::force_names();
        for (const std::string& name : multibody::law_names()) known.push_back(name);
        known.push_back(line_load_object().name);
        if (std::ranges::count(known, type) == 0) throw InvalidInput(unknown_name("force", type, known));
        info = &multibody::find_force(type);
      }))
    return;

  const Placement layout = placement_of(*info);
  check_keys(at, value, known_keys(*info));

  multibody::ForceSpec spec;
  bool ok = read_force_bodies(at, value, *info, spec);
  const bool has_law = this->has_law(value, *info), has_wrench_law = this->has_wrench_law(value, *info);
  ok = read_force_values(at, value, *info, spec, has_law || has_wrench_law) && ok;
  if (const Json* frame = find(value, "frame"); info->has_frame && frame != nullptr) {
    std::string name;
    if (text(below(at, "frame"), *frame, name)) {
      if (name != "world" && name != "body")
        complain(below(at, "frame"), unknown_name("frame", name, {"world", "body"}));
      spec.in_body_frame = name == "body";
    }
  }
  ok = ok && (info->bodies == 0 || read_frames(at, value, layout, spec.bodies, spec.frames));
  if (!ok) return;
  if (info->place == JointInfo::Place::two_points) {
    const double length = distance_between(spec.bodies, spec.frames);
    if (length == 0.0 && !info->points_may_meet)
      return complain(at, "the two points coincide at t = 0, where the direction of the force is undefined");
    if (find_field(info->numbers, "length") != nullptr) spec.numbers.insert({"length", length});
  }
  std::string where = info->bodies == 0 ? spec.joint->name() : body_label(spec.bodies[0]);
  if (info->bodies == 2) where += "-" + body_label(spec.bodies[1]);
  spec.name = element_name(at, value, fmt::format("{} {}", type, where), force_names_);
  mechanism_.marks.push_back(multibody::mark_of(*info, spec));
  if (has_law) return read_measured_law(at, value, *info, spec);
  if (has_wrench_law) return read_wrench_law(at, value, *info, spec);
  for (const int body : spec.bodies)
    spec.masses.push_back(body == multibody::ground ? std::numeric_limits<double>::infinity()
                                                    : mechanism_.bodies[body].mass);
  const auto is_given = [&](const Field& field) { return find(value, field.name) != nullptr; };
  if (find_field(info->numbers, "stiffness") != nullptr && std::ranges::none_of(info->numbers, is_given) &&
      std::ranges::none_of(info->vectors, is_given) && std::ranges::none_of(info->signals, is_given))
    warn(at, fmt::format("'{}' exerts no force: it has neither stiffness nor damping", spec.name));
  if (!guarded(at, [&] { mechanism_.forces.push_back(info->build(spec)); })) return;
  if (info->law.counts_turns) counting_forces_.push_back({mechanism_.forces.size() - 1, info, spec});
  read_active(at, value, spec.name);
  add_touches(at, static_cast<int>(mechanism_.forces.size()) - 1);
}

/// A step ends where a gap closes or opens.
void ModelReader::add_touches(const std::string& at, int force) {
  const multibody::Force& of = *mechanism_.forces[static_cast<std::size_t>(force)];
  for (int i = 0; i < of.gaps(); ++i) {
    PendingEvent touch{.at = at, .when = {}, .event = {}};
    touch.event.name = of.gaps() == 1 ? of.name() : fmt::format("{} {}", of.name(), i + 1);
    touch.event.action = ModelEvent::Action::touches;
    touch.event.force = force;
    touch.event.gap = i;
    touch.when = [this, force, i] { return formulas().leaf({multibody::Quantity::Kind::gap, force, i}); };
    event_names_.insert(touch.event.name);
    pending_events_.push_back(std::move(touch));
  }
}

bool ModelReader::has_law(const Json& value, const ForceInfo& info) {
  if (info.law.measure == nullptr) return false;
  if (info.signals.empty()) return find(value, info.law.field.name) != nullptr;
  return std::ranges::any_of(info.signals, [&](const Field& field) {
    const Json* given = find(value, field.name);
    return given != nullptr && is_law(*given);
  });
}

bool ModelReader::has_wrench_law(const Json& value, const ForceInfo& info) {
  return std::ranges::any_of(info.vector_signals, [&](const Field& field) {
    const Json* given = find(value, field.name);
    return given != nullptr && given->is_array() &&
           std::ranges::any_of(*given, [&](const Json& component) { return is_law(component); });
  });
}

void ModelReader::read_wrench_law(const std::string& at, const Json& value, const ForceInfo& info,
                                  const multibody::ForceSpec& spec) {
  PendingLaw pending{.at = at, .type = std::string(info.name), .name = spec.name, .value = {}, .drives = true};
  const std::array bodies{multibody::ground, spec.bodies[0]};
  for (const Field& field : info.vector_signals) {
    const Json* given = find(value, field.name);
    for (std::size_t i = 0; given != nullptr && i < 3; ++i) {
      const Json& component = (*given)[i];
      MakeNode make;
      if (component.is_number() && component == 0.0) continue;
      if (!law_of_time(below(below(at, field.name), i), component, no_node, no_node, make)) return;
      const Vector3 e = Vector3::Unit(static_cast<Eigen::Index>(i));
      multibody::MeasurePtr direction = field.name == "force"
                                            ? multibody::force_direction(1, spec.frames[0].p, e, spec.in_body_frame)
                                            : multibody::torque_direction(1, e, spec.in_body_frame);
      pending.components.emplace_back(formulas().add({.measure = std::move(direction), .bodies = bodies}), make);
    }
  }
  wrench_powers_[spec.name] = [this, name = spec.name, number = pending_.size(), components = pending.components] {
    formula::Graph& graph = formulas().graph();
    Node power = graph.number(0.0);
    for (const auto& [gauge, make] : components)
      power = graph.apply(formula::Operation::add, power,
                          graph.apply(formula::Operation::multiply, make(), rate_of(gauge)));
    return reported_force(name, number, power);
  };
  if (declared_forces_.contains(spec.name))
    names_.define(spec.name, std::function<std::vector<Node>()>([name = spec.name]() -> std::vector<Node> {
                    throw InvalidInput(fmt::format(
                        "'{}' is a force with components: no single number is its value; write its formula", name));
                  }));
  read_active(at, value, spec.name);
  pending_.push_back(std::move(pending));
}

void ModelReader::read_measured_law(const std::string& at, const Json& value, const ForceInfo& info,
                                    const multibody::ForceSpec& spec) {
  const bool is_servo = !info.signals.empty();
  for (const char* other : {"stiffness", "damping"})
    if (!is_servo && find(value, other) != nullptr)
      return complain(below(at, other), fmt::format("cannot be combined with the law \"{}\"; write it into the formula",
                                                    info.law.field.name));
  PendingLaw pending{
      .at = below(at, info.law.field.name), .type = std::string(info.name), .name = spec.name, .value = {}};
  pending.gauge = formulas().add({.measure = info.law.measure(spec), .bodies = {spec.bodies[0], spec.bodies[1]}});
  pending.sense = info.law.pushes ? multibody::Law::Sense::pushes : multibody::Law::Sense::pulls;
  if (!info.law.natural.empty()) pending.x0 = spec.number(info.law.natural);
  formula::Graph& graph = formulas().graph();
  bool needs_value = !info.law.counts_turns || (is_servo && spec.number("stiffness") != 0.0);
  const auto uses_x = [&](const Field& field) {
    const Json* given = find(value, field.name);
    return given != nullptr && mentions_x(*given);
  };
  if (is_servo)
    needs_value = needs_value || std::ranges::any_of(info.signals, uses_x);
  else
    needs_value = needs_value || uses_x(info.law.field);
  const Node measured = needs_value ? value_of(pending.gauge, info.law.counts_turns, spec.name) : no_node;
  const Node x =
      measured == no_node ? no_node : graph.apply(formula::Operation::subtract, measured, graph.number(pending.x0));
  const Node v = rate_of(pending.gauge);
  if (is_servo ? !servo(at, value, info, spec, x, v, pending)
               : !law(pending.at, *find(value, info.law.field.name), x, v, pending.value))
    return;
  add_law(at, value, std::move(pending), info.law.counts_turns);
}

bool ModelReader::servo(const std::string& at, const Json& value, const ForceInfo& info,
                        const multibody::ForceSpec& spec, Node x, Node v, PendingLaw& pending) {
  std::map<std::string, MakeNode> given;
  for (const Field& field : info.signals)
    if (const Json* signal = find(value, field.name))
      if (!law_of_time(below(at, field.name), *signal, x, v, given[field.name])) return false;
  const double k = spec.number("stiffness"), c = spec.number("damping");
  const MakeNode effort = given["value"], target = given["target"];
  if (target || k != 0.0 || c != 0.0) pending.drives = true;
  if (!pending.drives) {
    pending.value = effort;
    return true;
  }
  if (target && is_law(*find(value, "target"))) pending.at = below(at, "target");
  pending.value = [this, k, c, x, v, effort, target] {
    using formula::Operation;
    formula::Graph& graph = formulas().graph();
    Node sum = effort ? effort() : graph.number(0.0);
    const Node goal = target ? target() : graph.number(0.0);
    const auto pull = [&](double gain, Node from, Node to) {
      const Node error = graph.apply(Operation::subtract, from, to);
      sum = graph.apply(Operation::subtract, sum, graph.apply(Operation::multiply, graph.number(gain), error));
    };
    if (k != 0.0) pull(k, x, goal);
    if (c != 0.0) pull(c, v, formulas().rate_of(goal));
    return sum;
  };
  return true;
}

bool ModelReader::law_of_time(const std::string& pointer, const Json& value, Node x, Node v, MakeNode& out) {
  if (!value.is_object() || find(value, "of") != nullptr) return law(pointer, value, x, v, out);
  Signal signal;
  if (!this->signal(pointer, value, 0, signal)) return false;
  const formula::Curve* curve = formulas().add(std::make_shared<const multibody::TableCurve>(std::move(signal)));
  out = [this, curve] {
    return formulas().graph().curve(curve, 0, formulas().leaf({multibody::Quantity::Kind::time}));
  };
  return true;
}

bool ModelReader::mentions_x(const Json& value) {
  if (value.is_object()) {
    const Json* of = find(value, "of");
    return of == nullptr || mentions_x(*of);
  }
  if (!value.is_string()) return false;
  try {
    const formula::Formula formula(text_of(value), law_names_);
    return std::ranges::any_of(formula.names(), [](const formula::Formula::Name& name) { return name.text == "x"; });
  } catch (const InvalidInput&) {
    return false;
  }
}

void ModelReader::read_active(const std::string& at, const Json& value, const std::string& name) {
  const Json* given = find(value, "active");
  if (given == nullptr) return;
  if (!given->is_boolean())
    return complain(below(at, "active"), fmt::format("is {}, expected true or false", shown(*given)));
  if (*given == false) inactive_.push_back(name);
}

void ModelReader::add_law(const std::string& at, const Json& value, PendingLaw pending, bool is_rotation) {
  law_gauges_[pending.name] = {pending.gauge, is_rotation, pending.sense};
  const MakeNode reported = [this, name = pending.name, number = pending_.size(), make = pending.value] {
    return reported_force(name, number, make());
  };
  law_forces_[pending.name] = reported;
  read_active(at, value, pending.name);
  if (declared_forces_.contains(pending.name))
    names_.define(pending.name,
                  std::function<std::vector<Node>()>([reported] { return std::vector<Node>{reported()}; }));
  // Through the name, so that a law that depends on itself is detected.
  if (declared_forces_.contains(pending.name))
    pending.value = [this, name = pending.name] { return names_.nodes_of(name)[0]; };
  pending_.push_back(std::move(pending));
}

ModelReader::Node ModelReader::reported_force(const std::string& name, std::size_t number, Node value) {
  const bool is_switched = std::ranges::count(inactive_, name) > 0 ||
                           std::ranges::any_of(switched_, [&](const auto& entry) { return entry.second == name; });
  if (!names_.is_reporting() || !is_switched) return value;
  const Node active = formulas().leaf({multibody::Quantity::Kind::active, static_cast<int>(first_law_ + number)});
  return formulas().graph().apply(formula::Operation::multiply, value, active);
}

void ModelReader::read_joint_law(const std::string& at, const Json& value, const multibody::LawInfo& info) {
  check_keys(at, value, known_keys(info));
  int joint = 0;
  const Json* named = require(at, value, "joint", "the name of a joint");
  bool ok = named != nullptr && joint_named(below(at, "joint"), *named, joint);
  if (ok && options_.base != nullptr && info.name == "torque" && joint_gauge(joint, true) < 0)
    if (const Json* name = find(value, "name"); name != nullptr && options_.base->efforts.contains(*name))
      return read_joint_law(at, value, *multibody::find_law("force"));
  multibody::LawParts parts;
  ok = read_numbers(at, value, info.numbers, parts.numbers) && ok;
  if (!ok) return;
  const bool turns = info.on_rotations && joint_gauge(joint, true) >= 0;
  const int gauge = turns ? joint_gauge(joint, true) : info.on_translations ? joint_gauge(joint, false) : -1;
  const multibody::JointPtr& of = mechanism_.joints[joint];
  if (gauge < 0)
    return complain(
        below(at, "joint"),
        fmt::format("'{}' is a {} joint, which has no {} for a {}", of->name(), of->type(),
                    info.on_rotations ? info.on_translations ? "coordinate" : "angle" : "displacement", info.name));
  bool needs_x = false;
  for (const Field& field : info.laws)
    if (const Json* given = find(value, field.name)) needs_x = needs_x || mentions_x(*given);
  if (needs_x) parts.x = value_of(gauge, turns, of->name());
  parts.v = rate_of(gauge);
  std::map<std::string, MakeNode> laws;
  for (const Field& field : info.laws) {
    const Json* given =
        field.is_optional ? find(value, field.name) : require(at, value, field.name, "a number or a formula");
    if (given == nullptr) {
      ok = ok && field.is_optional;
      continue;
    }
    ok = law(below(at, field.name), *given, parts.x, parts.v, laws[field.name]) && ok;
  }
  for (const Field& field : info.tables) {
    const formula::Curve* curve = nullptr;
    ok = table_curve(at, value, curve) && ok;
    parts.tables[field.name] = curve;
  }
  if (!ok) return;
  PendingLaw pending{.at = at,
                     .type = std::string(info.name),
                     .name = element_name(at, value, fmt::format("{} {}", info.name, of->name()), force_names_),
                     .value = {}};
  pending.gauge = gauge;
  pending.value = [this, &info, parts, laws] {
    multibody::LawParts all = parts;
    for (const auto& [name, make] : laws) all.laws[name] = make();
    return info.build(formulas(), all);
  };
  add_law(at, value, std::move(pending), turns);
}

bool ModelReader::read_force_bodies(const std::string& at, const Json& value, const ForceInfo& info,
                                    multibody::ForceSpec& spec) {
  if (info.bodies == 2) return read_between(at, value, spec.bodies);
  if (info.bodies == 1) {
    const Json* on = require(at, value, "on", "the name of a body");
    spec.bodies.assign(1, 0);
    if (on == nullptr || !body_number(below(at, "on"), *on, spec.bodies[0])) return false;
    if (spec.bodies[0] != multibody::ground) return true;
    complain(below(at, "on"), "is \"ground\", which no force can move; expected the name of a body");
    return false;
  }
  const Json* joint = require(at, value, "joint", "the name of a joint");
  int number = 0;
  if (joint == nullptr || !joint_named(below(at, "joint"), *joint, number)) return false;
  spec.joint = mechanism_.joints[number];
  return true;
}

bool ModelReader::read_force_values(const std::string& at, const Json& value, const ForceInfo& info,
                                    multibody::ForceSpec& spec, bool has_law) {
  bool ok = read_numbers(at, value, info.numbers, spec);
  for (const Field& field : info.vectors) {
    Vector3 x = Vector3::Zero();
    if (const Json* given = find(value, field.name)) {
      if (!vector(below(at, field.name), *given, x)) {
        ok = false;
      } else if (x.minCoeff() < 0.0) {
        complain(below(at, field.name), "has a negative entry; stiffness and damping must not be negative");
        ok = false;
      }
    }
    spec.vectors[field.name] = x;
  }
  for (const Field& field : info.signals)
    if (const Json* given = find(value, field.name); given != nullptr && !has_law) {
      const bool is_read =
          signal(below(at, field.name), *given, field.name == "target" ? 1 : 0, spec.signals[field.name]);
      if (is_read && field.unit == "rad") suspect_degrees(below(at, field.name), *given, spec.signals[field.name]);
      ok = is_read && ok;
    }
  for (const Field& field : info.vector_signals)
    if (const Json* given = find(value, field.name)) {
      const std::string here = below(at, field.name);
      if (!given->is_array() || given->size() != 3) {
        complain(here, fmt::format("is {}, expected three entries, each a number or a formula", shown(*given)));
        ok = false;
        continue;
      }
      if (has_law) continue;
      auto& target = spec.vector_signals[field.name];
      for (std::size_t i = 0; i < 3; ++i) ok = signal(below(here, i), (*given)[i], 0, target[i]) && ok;
    }
  return ok;
}

}  // namespace kreisel::io
