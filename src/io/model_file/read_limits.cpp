// Limits of the coordinates of joints.
#include <fmt/format.h>

#include <cmath>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"

namespace kreisel::io {
namespace {

/// An angle changes by less than this between two samples of a step.
constexpr double widest_look = 0.5;

}  // namespace

void ModelReader::read_limits(const std::string& here, const Json& limits, int joint, int sliding) {
  if (!is_object(here, limits, "{\"from\": ..., \"to\": ..., \"restitution\": ...}")) return;
  const multibody::JointPtr& of = mechanism_.joints[joint];
  const bool turns = of->slidings()[static_cast<std::size_t>(sliding)].is_rotation;
  const std::string name =
      of->slidings().size() == 1 ? of->name() : fmt::format("{} {}", of->name(), turns ? "angle" : "displacement");
  check_keys(here, limits, names_of(limits_object().keys));
  multibody::Numbers n;
  if (!read_numbers(here, limits, fields_of(limits_object()), n)) return;
  std::array<std::optional<double>, 2> bounds;
  for (const std::size_t i : {0, 1}) {
    const std::string key = i == 0 ? "from" : "to", in_degrees = key + "_deg";
    if (!turns && n.has_number(in_degrees))
      return complain(below(here, in_degrees),
                      fmt::format("'{}' has a displacement, not an angle; expected \"{}\" [m]", of->name(), key));
    if (n.has_number(key) && n.has_number(in_degrees))
      return complain(below(here, in_degrees), "is given twice, in radians and in degrees");
    if (n.has_number(key)) bounds[i] = n.number(key);
    if (n.has_number(in_degrees)) bounds[i] = n.number(in_degrees) * M_PI / 180.0;
    if (turns && n.has_number(key)) suspect_degrees(below(here, key), *find(limits, key), n.number(key));
  }
  if (!bounds[0] && !bounds[1]) return complain(here, "has neither \"from\" nor \"to\"; expected one of them or both");
  if (bounds[0] && bounds[1] && !(*bounds[0] < *bounds[1]))
    return complain(here, fmt::format("goes from {} to {}; expected \"from\" < \"to\"", *bounds[0], *bounds[1]));
  const bool is_compliant = n.has_number("stiffness");
  if (is_compliant && n.has_number("restitution"))
    return complain(
        below(here, "restitution"),
        "cannot be combined with \"stiffness\"; a limit is rigid (restitution) or compliant (stiffness, damping)");
  if (!is_compliant && n.has_number("damping"))
    return complain(below(here, "damping"), "is given with no \"stiffness\"; expected both, or a \"restitution\"");
  const int gauge = joint_gauge(joint, turns);
  // An angle that cannot leave (-π, π) needs no state for its turns.
  const bool is_narrow = bounds[0] && bounds[1] && *bounds[0] > widest_look - M_PI && *bounds[1] < M_PI - widest_look;
  const bool counts_turns = turns && (!is_narrow || is_compliant);
  if (is_compliant)
    return add_compliant_limits(here, joint, sliding, name, gauge, counts_turns, bounds, n.number("stiffness"),
                                n.has_number("damping") ? n.number("damping") : 0.0);
  if (counts_turns) value_of(gauge, true, of->name());
  std::array<MakeNode, 2> pushes;
  for (const std::size_t i : {0, 1}) {
    if (!bounds[i]) continue;
    pushes[i] = [this, number = static_cast<int>(mechanism_.limits.size())] {
      return formulas().leaf({multibody::Quantity::Kind::limit, number});
    };
    const multibody::Gauge& measured = formulas().gauge(gauge);
    mechanism_.limits.push_back({.name = fmt::format("{} {}", name, i == 0 ? "lower limit" : "upper limit"),
                                 .measure = measured.measure,
                                 .bodies = measured.bodies,
                                 .turns = counts_turns ? measured.turns : -1,
                                 .is_angle = turns,
                                 .is_upper = i == 1,
                                 .bound = *bounds[i],
                                 .restitution = n.has_number("restitution") ? n.number("restitution") : 0.0,
                                 .joint = joint});
  }
  name_limit_forces(name, gauge, turns, pushes);
}

void ModelReader::name_limit_forces(const std::string& name, int gauge, bool is_rotation,
                                    const std::array<MakeNode, 2>& pushes) {
  using Sense = multibody::Law::Sense;
  const auto add = [&](const char* which, Sense sense, MakeNode value) {
    const std::string force = fmt::format("{} {}", name, which);
    law_gauges_[force] = {gauge, is_rotation, sense};
    law_forces_[force] = std::move(value);
  };
  if (pushes[0]) add("lower limit", Sense::pushes, pushes[0]);
  if (pushes[1]) add("upper limit", Sense::pulls, pushes[1]);
  add("limits", Sense::pushes, [this, pushes] {
    formula::Graph& graph = formulas().graph();
    const Node zero = graph.number(0.0);
    return graph.apply(formula::Operation::subtract, pushes[0] ? pushes[0]() : zero, pushes[1] ? pushes[1]() : zero);
  });
}

/// A Kelvin-Voigt law that never pulls: max(0, k δ + c δ̇) where δ > 0.
void ModelReader::add_compliant_limits(const std::string& at, int joint, int sliding, const std::string& name,
                                       int gauge, bool counts_turns, const std::array<std::optional<double>, 2>& bounds,
                                       double stiffness, double damping) {
  const Node x = value_of(gauge, counts_turns, mechanism_.joints[joint]->name()), v = rate_of(gauge);
  PendingLaw pending{.at = at,
                     .type = "limit",
                     .name = element_name(at, Json::object(), name + " limits", force_names_),
                     .value = {},
                     .gauge = gauge,
                     .x0 = bounds[0] ? *bounds[0] : *bounds[1]};
  const auto sign_of = [](std::size_t i) { return i == 0 ? 1.0 : -1.0; };  // of a push along x
  // Spring and damper of a limit, none: no damper.
  const auto parts = [this, x, v, bounds, stiffness, damping, sign_of](std::size_t i) {
    using formula::Operation;
    formula::Graph& graph = formulas().graph();
    const Node zero = graph.number(0.0);
    const double sign = sign_of(i);
    const Node beyond = graph.apply(Operation::multiply, graph.number(sign),
                                    graph.apply(Operation::subtract, graph.number(*bounds[i]), x));
    const Node spring =
        graph.apply(Operation::multiply, graph.number(stiffness), graph.apply(Operation::max, zero, beyond));
    if (damping == 0.0) return std::pair{spring, no_node};
    const Node touches = graph.apply(Operation::max, zero, graph.apply(Operation::sign, beyond));
    const Node drag =
        graph.apply(Operation::multiply, graph.apply(Operation::multiply, graph.number(-sign * damping), v), touches);
    return std::pair{spring, graph.apply(Operation::max, graph.apply(Operation::negate, spring), drag)};
  };
  // Terms that store energy and terms that do not stay apart.
  pending.value = [this, bounds, parts, sign_of] {
    formula::Graph& graph = formulas().graph();
    Node sum = graph.number(0.0);
    for (const std::size_t i : {0, 1}) {
      if (!bounds[i]) continue;
      const auto [spring, damper] = parts(i);
      for (const Node part : {spring, damper})
        if (part != no_node)
          sum = graph.apply(formula::Operation::add, sum,
                            graph.apply(formula::Operation::multiply, graph.number(sign_of(i)), part));
    }
    return sum;
  };
  std::array<MakeNode, 2> pushes;
  for (const std::size_t i : {0, 1}) {
    if (!bounds[i]) continue;
    pushes[i] = [this, i, parts, number = pending_.size(), of = mechanism_.joints[joint]->name()] {
      const auto [spring, damper] = parts(i);
      return reported_force(
          of, number, damper == no_node ? spring : formulas().graph().apply(formula::Operation::add, spring, damper));
    };
  }
  name_limit_forces(name, gauge, mechanism_.joints[joint]->slidings()[static_cast<std::size_t>(sliding)].is_rotation,
                    pushes);
  // Damping starts abruptly, so a step ends there.
  for (const std::size_t i : {0, 1}) {
    if (!bounds[i] || damping == 0.0) continue;
    PendingEvent touch{.at = at, .when = {}, .event = {}};
    touch.event.name = fmt::format("{} {}", name, i == 0 ? "lower limit" : "upper limit");
    touch.event.direction = i == 0 ? system::Direction::falling : system::Direction::rising;
    touch.event.action = ModelEvent::Action::restarts;
    touch.when = [this, x, bound = *bounds[i]] {
      formula::Graph& graph = formulas().graph();
      return graph.apply(formula::Operation::subtract, x, graph.number(bound));
    };
    event_names_.insert(touch.event.name);
    pending_events_.push_back(std::move(touch));
  }
  compliant_limits_.push_back({at, joint, gauge, bounds});
  limit_laws_.insert({mechanism_.joints[joint]->name(), pending.name});
  pending_.push_back(std::move(pending));
}

void ModelReader::add_followers(std::vector<std::string>& names) const {
  for (std::size_t i = 0, count = names.size(); i < count; ++i) {
    for (auto [law, end] = limit_laws_.equal_range(std::string(names[i])); law != end; ++law)
      names.push_back(law->second);
    if (const auto load = load_parts_.find(names[i]); load != load_parts_.end())
      names.insert(names.end(), load->second.begin(), load->second.end());
  }
}

void ModelReader::warn_about_limits() {
  for (const CompliantLimit& limit : compliant_limits_) {
    const multibody::Gauge& gauge = formulas().gauge(limit.gauge);
    double value = initial_value(gauge);
    if (gauge.turns >= 0)
      value = multibody::unwrapped(
          value, mechanism_.nodes[static_cast<std::size_t>(gauge.turns) - mechanism_.bodies.size()].q0[0]);
    for (const std::size_t i : {0, 1})
      if (limit.bounds[i] && (i == 0 ? value < *limit.bounds[i] : value > *limit.bounds[i]))
        warn(limit.at, fmt::format("'{}' starts at {:.6g}, beyond its {} {:.6g}, which pushes it from the start",
                                   mechanism_.joints[limit.joint]->name(), value,
                                   i == 0 ? "lower limit" : "upper limit", *limit.bounds[i]));
  }
}

void ModelReader::check_limits(const multibody::Assembly& assembly, const system::Motion& m) {
  for (int i = 0; i < assembly.limit_count(); ++i) {
    const multibody::Limit& limit = assembly.mechanism().limits[static_cast<std::size_t>(i)];
    const double gap = assembly.gap(i, m).value;
    if (!assembly.is_in_force(i) || gap >= -system::start_tolerance * assembly.round_off_of_gap(i, m)) continue;
    const double at_start = limit.is_upper ? limit.bound - gap : limit.bound + gap;
    complain(below(joint_places_[static_cast<std::size_t>(limit.joint)], "limits"),
             fmt::format("'{}' starts at {:.6g}, beyond its {} {:.6g}; move the limit or the start",
                         assembly.mechanism().joints[static_cast<std::size_t>(limit.joint)]->name(), at_start,
                         limit.is_upper ? "upper limit" : "lower limit", limit.bound));
  }
}

}  // namespace kreisel::io
