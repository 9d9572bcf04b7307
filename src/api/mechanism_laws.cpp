// Names, laws, outputs, states, inputs and events of a mechanism in C++.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "kreisel/mechanism.hpp"
#include "multibody/assembly.hpp"
#include "multibody/expression.hpp"
#include "multibody/names.hpp"
#include "system/differences.hpp"

namespace kreisel {
namespace {

using multibody::FormulaNames;
using multibody::Formulas;
using multibody::Quantity;
using Node = Formulas::Node;

constexpr Node no_node = formula::Graph::none;

/// A function of the user with its derivatives; the first argument is t.
class UserFunction final : public formula::Function {
 public:
  explicit UserFunction(const Law& law) : function_(law.function), derivative_(law.derivative) {}

  double at(std::span<const double> arguments, int by) const override {
    if (by == value) return function_(arguments[0], arguments.subspan(1));
    if (by > 0 && derivative_) return derivative_(arguments[0], arguments.subspan(1), by - 1);
    // The steps depend on nothing but the arguments: a run that goes on from a checkpoint has the same ones.
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

/// Runs `act`; what is wrong is said with where.
template <class Act>
auto at(const std::string& where, const Act& act) {
  try {
    return act();
  } catch (const InvalidInput& e) {
    throw InvalidInput(fmt::format("{}: {}", where, e.what()));
  }
}

/// x and v are those of a force along its own measure, or none.
Node node_of(const Law& law, FormulaNames& names, Node x = no_node, Node v = no_node) {
  Formulas& formulas = names.formulas();
  formula::Names known = names.known();
  if (v != no_node)
    for (const char* own : {"x", "v"})
      if (!known.has(own)) known.add(own);
  if (law.constant) return formulas.graph().number(*law.constant);
  if (!law.function) return names.resolve(formula::Formula(law.formula, known), x, v);
  std::vector<Node> arguments{formulas.leaf({Quantity::Kind::time})};
  for (const std::string& use : law.uses) arguments.push_back(names.resolve(formula::Formula(use, known), x, v));
  return formulas.graph().call(formulas.add(std::make_shared<const UserFunction>(law)), formula::Function::value,
                               arguments);
}

/// What an event asks: a number of the assembly it belongs to. Accelerations are not known to events.
double value_of(const multibody::Assembly& assembly, const multibody::Outputs& when, double t, const Vector& q,
                const Vector& v, const Vector& lambda) {
  thread_local lie::Motion m;
  thread_local Vector value(1);
  m.t = t;
  m.q = q;
  m.v = v;
  m.a.setZero(v.size());
  assembly.evaluate(when, m, lambda, value);
  return value[0];
}

}  // namespace

void Mechanism::take_name(const std::string& name) {
  if (std::ranges::find(names_, name) != names_.end())
    throw InvalidInput(fmt::format("there is something named '{}' already; formulas need one meaning per name", name));
  if (const std::string problem = formula::problem_with_name(name); !problem.empty())
    throw InvalidInput(fmt::format("'{}' {}; choose another name", name, problem));
  names_.push_back(name);
}

Mechanism& Mechanism::add_parameter(std::string name, double value) {
  take_name(name);
  if (!std::isfinite(value))
    throw InvalidInput(fmt::format("parameter '{}' is {}, expected a finite number", name, value));
  parameters_.emplace_back(std::move(name), value);
  return *this;
}

Mechanism& Mechanism::add_input(std::string name, const Law& value, std::string unit) {
  if (value.function)
    throw InvalidInput(fmt::format("input '{}' is a function; expected a number or a formula of t", name));
  take_name(name);
  inputs_.push_back({.name = std::move(name), .unit = std::move(unit), .law = value});
  return *this;
}

Mechanism& Mechanism::add_output(std::string name, MeasureDescription measure) {
  take_name(name);
  const std::string where = fmt::format("output '{}'", name);
  for (const Body body : measure.bodies) check(body, where);
  using Kind = MeasureDescription::Kind;
  const bool needs_force = measure.kind == Kind::effort || measure.kind == Kind::gap;
  if (needs_force && (measure.joint < 0 || measure.joint >= static_cast<int>(forces_.size())))
    throw InvalidInput(
        fmt::format("{}: there is no force number {}; the mechanism has {}", where, measure.joint, forces_.size()));
  const bool needs_joint = measure.kind == Kind::angle || measure.kind == Kind::displacement;
  if (needs_joint && (measure.joint < 0 || measure.joint >= static_cast<int>(joints_.size())))
    throw InvalidInput(
        fmt::format("{}: there is no joint number {}; the mechanism has {}", where, measure.joint, joints_.size()));
  outputs_.push_back({.name = std::move(name), .unit = {}, .law = 0.0, .measure = std::move(measure)});
  const Kind kind = outputs_.back().measure->kind;
  outputs_.back().unit = kind == Kind::angle ? "rad" : kind == Kind::effort ? "N" : "m";
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
  if (joint < 0 || joint >= static_cast<int>(joints_.size()))
    throw InvalidInput(
        fmt::format("law '{}': there is no joint number {}; the mechanism has {}", name, joint, joints_.size()));
  laws_.push_back({.name = std::move(name), .unit = {}, .law = std::move(law), .joint = joint});
  return *this;
}

Mechanism& Mechanism::add_event(std::string name, Law when, system::Direction direction, system::Action action,
                                int terminal_after) {
  events_.push_back({.name = std::move(name),
                     .unit = {},
                     .law = std::move(when),
                     .direction = direction,
                     .action = std::move(action),
                     .terminal_after = terminal_after});
  return *this;
}

std::function<void(multibody::Assembly&)> Mechanism::add_laws(multibody::Mechanism& parts) const {
  formula::Constants constants;
  for (const auto& [name, value] : parameters_) constants.set(name, value);
  FormulaNames names(constants);
  Formulas& formulas = names.formulas();
  for (const auto& [name, value] : parameters_) names.declare(name, "parameter");
  for (const NamedLaw& input : inputs_) names.declare(input.name, "input");
  for (const NamedLaw& state : states_) names.declare(state.name, "state");
  for (const NamedLaw& output : outputs_) {
    const bool is_vector = output.measure && output.measure->kind == MeasureDescription::Kind::position;
    names.declare(output.name, "output",
                  is_vector ? std::vector<std::string>{"x", "y", "z"} : std::vector<std::string>());
  }

  for (const NamedLaw& input : inputs_) {
    names.define(input.name, {formulas.leaf({Quantity::Kind::input, static_cast<int>(parts.inputs.size())})});
    const std::string text = input.law.constant ? fmt::format("{:.17g}", *input.law.constant) : input.law.formula;
    parts.inputs.push_back(at(fmt::format("input '{}'", input.name), [&] {
      return multibody::Input{{input.name, input.unit, ""},
                              multibody::Signal(multibody::Expression(std::string_view(text)))};
    }));
  }
  const auto add_node = [&](const std::string& name, double initial) {
    parts.nodes.push_back({.name = name,
                           .factor = {lie::GroupId::rn, 1},
                           .kind = system::CoordinateKind::state,
                           .q0 = Vector::Constant(1, initial)});
    return static_cast<int>(parts.bodies.size() + parts.nodes.size()) - 1;
  };
  struct Pending {
    std::string name;
    int state;
  };
  std::vector<Pending> rates;
  for (const NamedLaw& state : states_) {
    const int node = add_node(state.name, state.initial);
    names.define(state.name, {formulas.leaf({Quantity::Kind::state, node})});
    formulas.set_rate(node, [&law = state.law, &names] { return node_of(law, names); });
    rates.push_back({state.name, node});
  }

  std::map<std::pair<int, bool>, int> gauges;
  const auto joint_gauge = [&](int joint, bool is_rotation) {
    const auto [entry, is_new] = gauges.insert({{joint, is_rotation}, -1});
    if (!is_new) return entry->second;
    const multibody::JointPtr& of = parts.joints[static_cast<std::size_t>(joint)];
    for (const multibody::Joint::Sliding& sliding : of->slidings())
      if (sliding.is_rotation == is_rotation)
        entry->second =
            formulas.add({.measure = {of, sliding.measure.get()}, .bodies = {of->bodies()[0], of->bodies()[1]}});
    return entry->second;
  };
  const auto value_at_start = [&](const multibody::Gauge& gauge) {
    multibody::BodyState s[2];
    for (const int i : {0, 1})
      if (const int body = gauge.bodies[static_cast<std::size_t>(i)]; body != multibody::ground) {
        s[i].x = parts.bodies[static_cast<std::size_t>(body)].position;
        s[i].R = parts.bodies[static_cast<std::size_t>(body)].rotation;
      }
    return gauge.measure->value(s);
  };
  /// The value of a gauge; an angle has a state for its turns.
  const auto value_of_gauge = [&](int gauge, bool counts_turns, const std::string& name) {
    if (counts_turns && formulas.gauge(gauge).turns < 0) {
      const int node = add_node(name + " turns", value_at_start(formulas.gauge(gauge)));
      formulas.gauge(gauge).turns = node;
      const Node rate = formulas.leaf({Quantity::Kind::rate, gauge});
      formulas.set_rate(node, [rate] { return rate; });
      rates.push_back({name + " turns", node});
    }
    return formulas.leaf({Quantity::Kind::value, gauge});
  };

  // Forces that are formulas act along a gauge of their own; the others stand in the parts in the same order.
  struct ForceLaw {
    const ForceDescription* force;
    int gauge;
    multibody::Law::Sense sense;
    double x0;
    Node value = no_node;
    bool is_made = false;
  };
  std::map<int, ForceLaw> force_laws;
  std::map<int, int> built;
  for (std::size_t f = 0; f < forces_.size(); ++f) {
    const ForceDescription& force = forces_[f];
    const int number = static_cast<int>(f);
    if (!is_law(force)) {
      built.insert({number, static_cast<int>(built.size())});
      continue;
    }
    const multibody::ForceInfo& info = multibody::find_force(force.type);
    for (const char* other : {"stiffness", "damping"})
      if (std::ranges::any_of(force.numbers, [&](const auto& given) { return given.first == other; }))
        throw InvalidInput(fmt::format("force '{}': {} stands beside the law '{}'; write it into the formula",
                                       force.name, other, info.law.field.name));
    const multibody::ForceSpec spec = spec_of(force, parts);
    parts.marks.push_back(multibody::mark_of(info, spec));
    const int gauge = formulas.add({.measure = info.law.measure(spec), .bodies = {spec.bodies[0], spec.bodies[1]}});
    force_laws.insert({number,
                       {&force, gauge, info.law.pushes ? multibody::Law::Sense::pushes : multibody::Law::Sense::pulls,
                        info.law.natural.empty() ? 0.0 : spec.number(info.law.natural)}});
  }
  const auto value_of_law = [&](ForceLaw& law) {
    if (law.is_made) return law.value;
    const multibody::ForceInfo& info = multibody::find_force(law.force->type);
    const Law* formula = nullptr;
    for (const auto& [key, laws] : law.force->laws)
      if (key == info.law.field.name) formula = &laws[0];
    formula::Graph& graph = formulas.graph();
    const Node x = graph.apply(formula::Operation::subtract,
                               value_of_gauge(law.gauge, info.law.counts_turns, law.force->name), graph.number(law.x0));
    law.value = node_of(*formula, names, x, formulas.leaf({Quantity::Kind::rate, law.gauge}));
    law.is_made = true;
    return law.value;
  };

  using Kind = MeasureDescription::Kind;
  for (const NamedLaw& output : outputs_) {
    const std::string where = fmt::format("output '{}'", output.name);
    if (!output.measure) {
      names.define(output.name, std::function<std::vector<Node>()>(
                                    [&law = output.law, &names] { return std::vector<Node>{node_of(law, names)}; }));
      continue;
    }
    const MeasureDescription& measure = *output.measure;
    std::vector<Node> nodes;
    switch (measure.kind) {
      case Kind::angle:
      case Kind::displacement: {
        const bool is_angle = measure.kind == Kind::angle;
        const multibody::Joint& joint = *parts.joints[static_cast<std::size_t>(measure.joint)];
        const int gauge = joint_gauge(measure.joint, is_angle);
        if (gauge < 0)
          throw InvalidInput(fmt::format("{}: '{}' is a {} joint, which has no {}", where, joint.name(), joint.type(),
                                         is_angle ? "angle" : "displacement"));
        nodes = {value_of_gauge(gauge, is_angle, joint.name())};
        break;
      }
      case Kind::effort: {
        const auto law = force_laws.find(measure.joint);
        if (law != force_laws.end()) {
          names.define(output.name, std::function<std::vector<Node>()>([&value_of_law, &of = law->second] {
                         return std::vector<Node>{value_of_law(of)};
                       }));
          continue;
        }
        nodes = {formulas.leaf({Quantity::Kind::effort, built.at(measure.joint)})};
        break;
      }
      case Kind::gap: {
        const auto force = built.find(measure.joint);
        const int gaps = force == built.end() ? 0 : parts.forces[static_cast<std::size_t>(force->second)]->gaps();
        if (gaps == 0) throw InvalidInput(fmt::format("{}: '{}' is no contact", where, forces_[measure.joint].name));
        nodes = {formulas.leaf({Quantity::Kind::gap, force->second, 0})};
        for (int i = 1; i < gaps; ++i)
          nodes[0] = formulas.graph().apply(formula::Operation::min, nodes[0],
                                            formulas.leaf({Quantity::Kind::gap, force->second, i}));
        break;
      }
      case Kind::position:
        if (measure.bodies[0].number == multibody::ground)
          throw InvalidInput(where + ": the ground does not move, expected a body");
        for (int i = 0; i < 3; ++i) {
          const Vector3 point = in_body(measure.bodies[0], measure.points[0], Matrix3::Identity()).p;
          nodes.push_back(
              formulas.leaf({Quantity::Kind::value,
                             formulas.add({.measure = multibody::offset(0, Vector3::Zero(), Vector3::Unit(i), 1, point),
                                           .bodies = {multibody::ground, measure.bodies[0].number}})}));
        }
        break;
      case Kind::distance: {
        if (measure.bodies[0].number == measure.bodies[1].number)
          throw InvalidInput(where + ": names the same body twice, expected two different ones");
        if ((measure.points[0] - measure.points[1]).norm() == 0.0)
          throw InvalidInput(where + ": the two points coincide at the start, where their distance has no rate");
        const std::vector<multibody::Frame> frames = frames_of(measure.bodies, measure.points, {});
        nodes = {value_of_gauge(formulas.add({.measure = multibody::distance(0, frames[0].p, 1, frames[1].p),
                                              .bodies = {measure.bodies[0].number, measure.bodies[1].number}}),
                                false, output.name)};
        break;
      }
    }
    names.define(output.name, std::move(nodes));
  }

  std::vector<multibody::ElementPtr> elements;
  for (const NamedLaw& law : laws_) {
    const std::string where = fmt::format("law '{}'", law.name);
    const multibody::Joint& joint = *parts.joints[static_cast<std::size_t>(law.joint)];
    const bool has_angle = joint_gauge(law.joint, true) >= 0, has_displacement = joint_gauge(law.joint, false) >= 0;
    if (has_angle == has_displacement)
      throw InvalidInput(fmt::format("{}: '{}' is a {} joint, expected one with a single coordinate", where,
                                     joint.name(), joint.type()));
    const int gauge = joint_gauge(law.joint, has_angle);
    elements.push_back(at(where, [&] {
      return multibody::Law::along(has_angle ? "torque" : "force", law.name, formulas, node_of(law.law, names), gauge,
                                   multibody::Law::Sense::pushes, value_at_start(formulas.gauge(gauge)));
    }));
  }
  for (auto& [number, law] : force_laws)
    elements.push_back(at(fmt::format("force '{}'", law.force->name), [&, &law = law] {
      return multibody::Law::along(law.force->type, law.force->name, formulas, value_of_law(law), law.gauge, law.sense,
                                   law.x0);
    }));
  std::vector<multibody::Outputs::Entry> entries;
  for (const NamedLaw& output : outputs_)
    entries.push_back(at(fmt::format("output '{}'", output.name), [&] {
      multibody::Outputs::Entry entry{{output.name, output.unit, "", {}}, names.nodes_of(output.name)};
      if (entry.nodes.size() > 1) entry.info.components = {"x", "y", "z"};
      return entry;
    }));
  for (const NamedLaw& state : states_) {
    entries.push_back({{state.name, state.unit, "state", {}}, names.nodes_of(state.name)});
    entries.back().info.is_state = true;
  }
  struct Asked {
    NamedLaw event;
    std::shared_ptr<const multibody::Outputs> when;
    int force = -1, gap = 0;  ///< that closes or opens
  };
  auto events = std::make_shared<std::vector<Asked>>();
  for (std::size_t f = 0; f < parts.forces.size(); ++f)
    for (int i = 0; i < parts.forces[f]->gaps(); ++i) {
      const int force = static_cast<int>(f);
      const Node gap = formulas.leaf({Quantity::Kind::gap, force, i});
      const std::string& name = parts.forces[f]->name();
      events->push_back(
          {{.name = parts.forces[f]->gaps() == 1 ? name : fmt::format("{} {}", name, i + 1), .unit = {}, .law = 0.0},
           std::make_shared<const multibody::Outputs>(formulas, std::vector<multibody::Outputs::Entry>{{{}, {gap}}}),
           force,
           i});
    }
  for (const NamedLaw& event : events_)
    events->push_back({event, at(fmt::format("event '{}'", event.name), [&] {
                         return std::make_shared<const multibody::Outputs>(
                             formulas, std::vector<multibody::Outputs::Entry>{{{}, {node_of(event.law, names)}}});
                       })});
  for (const Pending& rate : rates)
    elements.push_back(at(fmt::format("state '{}'", rate.name), [&] {
      return multibody::Law::rate(rate.name, formulas, formulas.rate_of_state(rate.state), rate.state);
    }));
  parts.elements.insert(parts.elements.end(), elements.begin(), elements.end());
  if (!entries.empty()) {
    parts.outputs = std::make_shared<const multibody::Outputs>(formulas, entries);
    parts.rates = multibody::rates_of(formulas, entries);
  }
  if (events->empty()) return [](multibody::Assembly&) {};

  struct GiveEvents {
    decltype(events) list;

    void operator()(multibody::Assembly& assembly) const {
      std::vector<system::Event> all;
      for (const auto& [event, when, force, gap] : *list) {
        system::Event& out = all.emplace_back();
        out.name = event.name;
        out.direction = event.direction;
        out.action = event.action;
        if (force >= 0)
          out.action = system::Jump{[own = &assembly, force = force, gap = gap](double, Vector& q, Vector& v) {
            own->touch(force, gap, v, q);
          }};
        out.terminal_after = event.terminal_after;
        out.function = [own = &assembly, asked = when](double t, const Vector& q, const Vector& v,
                                                       const Vector& lambda) {
          return value_of(*own, *asked, t, q, v, lambda);
        };
      }
      assembly.set_events(std::move(all));
      assembly.set_events_of_copies(*this);
    }
  };
  return GiveEvents{events};
}

}  // namespace kreisel
