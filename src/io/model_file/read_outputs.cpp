// What a model reports beside its motion.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/named_entries.hpp"

namespace kreisel::io {

void ModelReader::read_outputs(const Json& root) {
  for (const auto& item : section(root, "outputs").items())
    if (names_.has(item.key())) read_output(below("/outputs", item.key()), item.key(), item.value());
}

void ModelReader::read_output(const std::string& at, const std::string& name, const Json& value) {
  const bool has_columns = options_.base == nullptr;
  if (has_columns && is_column_of_results(name))
    return complain(at, fmt::format("'{}' is a column of every result; choose another name", name));
  if (has_columns && body_numbers_.contains(name))
    return complain(
        at,
        fmt::format("'{}' is the name of a body, whose columns would have the same names; choose another name", name));
  static const std::vector<std::string> kinds = output_kinds();
  const Json formula{{"formula", value}};
  const bool is_formula_alone = !value.is_object();
  const Json& object = is_formula_alone ? formula : value;
  if (is_formula_alone && !value.is_string() && !value.is_number())
    return complain(at, fmt::format("is {}, expected a formula or one of {{\"{}\": ...}}", shown(value),
                                    fmt::join(kinds, "\": ...}, {\"")));
  check_keys(at, object, names_of(output_object().keys));
  std::string kind;
  for (const std::string& known : kinds) {
    if (find(object, known) == nullptr) continue;
    if (!kind.empty())
      return complain(at, fmt::format("has both \"{}\" and \"{}\"; expected one of them", kind, known));
    kind = known;
  }
  if (kind.empty())
    return complain(at, fmt::format("has nothing to report; expected one of {}", fmt::join(kinds, ", ")));
  const std::string here = is_formula_alone ? at : below(at, kind);
  const Json& what = *find(object, kind);
  system::OutputInfo info{name, "", kind, {}};
  std::vector<Node> nodes;
  bool ok = false;
  using Quantity = multibody::Quantity;
  if (kind == "formula") {
    MakeNode make;
    ok = law(here, what, no_node, no_node, make);
    if (ok) names_.define(name, std::function<std::vector<Node>()>([make] { return std::vector<Node>{make()}; }));
  } else if (kind == "angle" || kind == "displacement") {
    int joint = 0;
    ok = joint_named(here, what, joint);
    const int gauge = ok ? joint_gauge(joint, kind == "angle") : -1;
    if (ok && gauge < 0) {
      complain(here, fmt::format("'{}' is a {} joint, which has no {}", mechanism_.joints[joint]->name(),
                                 mechanism_.joints[joint]->type(), kind));
      ok = false;
    }
    if (ok) nodes = {value_of(gauge, kind == "angle", mechanism_.joints[joint]->name())};
    if (ok && kind == "angle") {
      const multibody::Joint& of = *mechanism_.joints[joint];
      mechanism_.marks.push_back({.kind = "output",
                                  .name = name,
                                  .type = kind,
                                  .bodies = {of.bodies().at(1)},
                                  .points = {of.frame().p},
                                  .axis = of.frame().E.col(2)});
    }
    info.unit = kind == "angle" ? "rad" : "m";
  } else if (kind == "distance") {
    std::vector<int> bodies;
    std::vector<Frame> frames;
    Placement layout;
    layout.place = JointInfo::Place::two_points;
    layout.place_is_optional = true;
    ok = two_bodies(here, what, bodies) && read_frames(at, object, layout, bodies, frames);
    if (ok && distance_between(bodies, frames) == 0.0) {
      complain(at, "the two points coincide at t = 0, where their distance has no rate");
      ok = false;
    }
    if (ok)
      nodes = {value_of(formulas().add({.measure = multibody::distance(0, frames[0].p, 1, frames[1].p),
                                        .bodies = {bodies[0], bodies[1]}}),
                        false, name)};
    if (ok)
      mechanism_.marks.push_back(
          {.kind = "output", .name = name, .type = kind, .bodies = bodies, .points = {frames[0].p, frames[1].p}});
    info.unit = "m";
  } else if (kind == "position" || kind == "velocity" || kind == "acceleration") {
    ok = point_nodes(at, object, name, kind, here, what, nodes);
    info.unit = kind == "position" ? "m" : kind == "velocity" ? "m/s" : "m/s^2";
    info.components = {"x", "y", "z"};
  } else if (kind == "rotation") {
    int body = multibody::ground, other = multibody::ground;
    ok = body_number(here, what, body);
    if (ok && body == multibody::ground) {
      complain(here, "is \"ground\", which does not turn; expected the name of a body");
      ok = false;
    }
    if (const Json* from = find(object, "relative_to")) ok = body_number(below(at, "relative_to"), *from, other) && ok;
    for (int i = 0; ok && i < 3; ++i) nodes.push_back(formulas().leaf({Quantity::Kind::rotation, body, i, other}));
    info.unit = "rad";
    info.components = {"x", "y", "z"};
  } else if (kind == "reaction") {
    int joint = 0, first = 0;
    ok = joint_named(here, what, joint);
    if (const Json* part = find(object, "part")) {
      std::string word;
      ok = text(below(at, "part"), *part, word) && ok;
      if (ok && word != "force" && word != "torque")
        complain(below(at, "part"), unknown_name("part", word, {"force", "torque"})), ok = false;
      first = word == "torque" ? 3 : 0;
    }
    for (int i = 0; ok && i < 3; ++i) nodes.push_back(formulas().leaf({Quantity::Kind::reaction, joint, first + i}));
    info.unit = first == 0 ? "N" : "N m";
    info.components = {"x", "y", "z"};
  } else if (kind == "section_force" || kind == "section_strain") {
    const bool are_strains = kind == "section_strain";
    int node = 0;
    const RodNodes* rod = rod_at(here, what, node);
    ok = rod != nullptr;
    if (ok) nodes = section_nodes(*rod, node, are_strains);
    info.unit = are_strains ? "1, 1/m" : "N, N m";
    info.components = are_strains ? section_strain_components() : section_force_components();
  } else if (kind == "energy") {
    std::string word;
    ok = text(here, what, word);
    const std::vector<std::string> parts{"kinetic", "potential", "elastic", "total"};
    const auto found = std::ranges::find(parts, word);
    if (ok && found == parts.end()) complain(here, unknown_name("energy", word, parts)), ok = false;
    const int part = static_cast<int>(found - parts.begin());
    formula::Graph& graph = formulas().graph();
    Node sum = graph.number(0.0);
    for (int i = 0; ok && i < 3; ++i)
      if (part == i || part == 3)
        sum = graph.apply(formula::Operation::add, sum, formulas().leaf({Quantity::Kind::energy, 0, i}));
    nodes = {sum};
    info.unit = "J";
  } else if (kind == "force" || kind == "length" || kind == "speed" || kind == "power" || kind == "gap") {
    std::string force;
    ok = text(here, what, force);
    // Forces are read later; the unit depends on whether they push or turn.
    if (ok) (kind == "gap" ? gap_outputs_ : force_outputs_).push_back({here, name, kind, force});
    if (kind == "gap") info.unit = "m";
    if (kind == "power") info.unit = "W";
  }
  if (!ok) return;
  if (!nodes.empty()) names_.define(name, std::move(nodes));
  info.unit = is_formula_alone ? info.unit : unit_of(at, object, info.unit);
  info.meaning = is_formula_alone ? "formula" : meaning_of(at, object, kind);
  output_infos_.push_back(std::move(info));
}

bool ModelReader::two_bodies(const std::string& at, const Json& value, std::vector<int>& bodies) {
  if (!value.is_array() || value.size() != 2) {
    complain(at, fmt::format("is {}, expected the names of two bodies, \"ground\" for the world", shown(value)));
    return false;
  }
  bodies.assign(2, multibody::ground);
  bool ok = true;
  for (std::size_t i = 0; i < 2; ++i) ok = body_number(below(at, i), value[i], bodies[i]) && ok;
  if (ok && bodies[0] == bodies[1]) {
    complain(at, "names the same body twice, expected two different ones");
    return false;
  }
  return ok;
}

bool ModelReader::point_nodes(const std::string& at, const Json& object, const std::string& name,
                              const std::string& kind, const std::string& here, const Json& what,
                              std::vector<Node>& nodes) {
  std::vector<int> body{multibody::ground};
  int other = multibody::ground;
  if (!body_number(here, what, body[0])) return false;
  if (const Json* given = find(object, "relative_to");
      given != nullptr && !body_number(below(at, "relative_to"), *given, other))
    return false;
  if (body[0] == other) {
    complain(here, "is the body it is relative to, expected another one");
    return false;
  }
  Placement layout;
  layout.place = JointInfo::Place::one_point;
  layout.place_is_optional = true;
  layout.bodies = 1;
  std::vector<Frame> frames;
  if (!read_frames(at, object, layout, body, frames)) return false;
  mechanism_.marks.push_back({.kind = "output", .name = name, .type = kind, .bodies = body, .points = {frames[0].p}});
  using Kind = multibody::Quantity::Kind;
  for (int i = 0; i < 3; ++i) {
    const int gauge =
        formulas().add({.measure = multibody::offset(0, Vector3::Zero(), Vector3::Unit(i), 1, frames[0].p),
                        .bodies = {other, body[0]}});
    nodes.push_back(formulas().leaf({kind == "position"   ? Kind::value
                                     : kind == "velocity" ? Kind::rate
                                                          : Kind::acceleration,
                                     gauge}));
  }
  return true;
}

void ModelReader::make_outputs() {
  report_rods();
  if (problem_count_ > 0) return;
  std::vector<multibody::Outputs::Entry> entries;
  if (options_.base != nullptr)  // programs count outputs before states
    std::stable_partition(output_infos_.begin(), output_infos_.end(),
                          [](const system::OutputInfo& info) { return !info.is_state; });
  for (system::OutputInfo& info : output_infos_)
    guarded(below(info.is_state ? "/states" : "/outputs", info.name), [&] {
      entries.push_back({info, names_.nodes_of(info.name)});
      for (const Node node : entries.back().nodes)
        formula_nodes_.push_back({below(info.is_state ? "/states" : "/outputs", info.name), node, 0.0});
    });
  if (problem_count_ > 0) return;
  entries.insert(entries.end(), rod_reports_.begin(), rod_reports_.end());
  // Without outputs in the file: the coordinates of its joints.
  const bool asks = std::ranges::any_of(output_infos_, [](const system::OutputInfo& info) { return !info.is_state; });
  for (int j = 0; !asks && j < static_cast<int>(mechanism_.joints.size()); ++j) {
    const multibody::Joint& joint = *mechanism_.joints[static_cast<std::size_t>(j)];
    if (joint.slidings().size() != 1) continue;
    const bool turns = joint.slidings()[0].is_rotation;
    const int gauge = joint_gauge(j, turns);
    const std::string unit = turns ? "rad" : "m", coordinate = turns ? "angle" : "displacement";
    const std::string range = turns && formulas().gauge(gauge).turns < 0 ? ", between -pi and pi" : "";
    entries.push_back({{fmt::format("{}.{}", joint.name(), coordinate), unit, coordinate + " of a joint" + range, {}},
                       {value_of(gauge, false, "")}});
    entries.push_back(
        {{joint.name() + ".speed", unit + "/s", "rate of the coordinate of a joint", {}}, {rate_of(gauge)}});
  }
  if (entries.empty()) return;
  guarded("/outputs", [&] { mechanism_.outputs = std::make_shared<const multibody::Outputs>(formulas(), entries); });
  mechanism_.rates = multibody::rates_of(formulas(), entries);
}

}  // namespace kreisel::io
