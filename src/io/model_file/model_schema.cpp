#include "io/model_file/model_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/spec/run_spec.hpp"
#include "kreisel/groups.hpp"
#include "multibody/closed_curve.hpp"

namespace kreisel::io {
namespace {

using multibody::ForceInfo;
using multibody::JointInfo;
using Place = JointInfo::Place;

Key name_key(std::string meaning) { return key("name", "name", "", std::move(meaning)); }
Key with_default(Key key, std::string fallback) {
  key.field.fallback = std::move(fallback);
  return key;
}
constexpr double no_default = std::numeric_limits<double>::quiet_NaN();  // of a number that has no default
Key comment() { return remark("comment", "for readers of the file"); }

Key number_key(const Field& field) {
  Key out{.field = field};
  out.is_required = kind_of(field) == FieldKind::number && !field.is_optional && std::isnan(field.default_number);
  return out;
}

Key type_key(std::string_view type) {
  return required(
      {.field = {.name = "type", .meaning = "of the element", .words = {std::string(type)}, .kind = FieldKind::word}});
}

Key positive_length(std::string name, std::string meaning) {
  return required({.field = {.name = std::move(name),
                             .meaning = std::move(meaning),
                             .minimum = 0.0,
                             .minimum_is_excluded = true,
                             .unit = "m"}});
}

void append(std::vector<Key>& keys, std::vector<Key> more) { keys.insert(keys.end(), more.begin(), more.end()); }

// ---- parts of the schema that are not objects

Json array_of(Json items, int count) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", count}, {"maxItems", count}};
}

/// A number, a formula or a table.
Json signal_schema(std::vector<std::string> interpolations) {
  Json table = schema_of(table_object());
  table["properties"]["interpolation"]["enum"] = std::move(interpolations);
  return {
      {"description", "a number, a formula in t such as 0.1*sin(2*pi*t), or a table"},
      {"anyOf", {Json{{"type", "number"}}, Json{{"type", "string"}, {"minLength", 1}, {"maxLength", 1000}}, table}}};
}

/// Every number in it may also be a formula of parameters.
void allow_formulas(Json& schema) {
  if (schema.is_object() && schema.contains("type") && (schema["type"] == "number" || schema["type"] == "integer")) {
    Json number = schema;
    number.erase("description");
    const Json description = schema.value("description", Json());
    schema = {{"anyOf", {number, reference_to("formula")}}};
    if (!description.is_null()) schema["description"] = description;
    return;
  }
  if (schema.is_structured())
    for (Json& part : schema) allow_formulas(part);
}

Json required_keys(const std::vector<std::string>& names) { return {{"required", names}}; }
Json lacks(const std::vector<std::string>& names) {
  Json none = Json::array();
  for (const std::string& name : names) none.push_back(required_keys({name}));
  return {{"not", {{"anyOf", none}}}};
}

/// Points and axes in world coordinates, or frames instead of all of them.
Json placement_rule(const Placement& p) {
  std::vector<std::string> needed;
  if (p.place != Place::none && !p.place_is_optional) needed.emplace_back("at");
  if (p.axes == 1 && !p.axis_is_optional) needed.emplace_back("axis");
  if (p.axes == 2 && !p.axis_is_optional) needed.emplace_back("axes");
  Json in_world = needed.empty() ? Json::object() : required_keys(needed);
  // A node of a rod is a point by itself.
  if (p.place == Place::one_point && !p.place_is_optional && p.bodies == 2) {
    needed.erase(needed.begin());
    Json at_node{{"properties", {{"between", {{"contains", {{"type", "string"}, {"pattern", "@"}}}}}}}};
    if (!needed.empty()) at_node.update(required_keys(needed));
    in_world = {{"anyOf", {in_world, at_node}}};
  }
  if (!p.has_frames) return in_world;
  in_world["not"] = required_keys({"frames"});
  Json in_bodies = required_keys({"frames"});
  const std::vector<std::string> others = names_of(place_keys(p));
  if (!others.empty()) in_bodies.update(lacks(others));
  return {{"anyOf", {in_world, in_bodies}}};
}

Json frame_schema(bool needs_axis) {
  Json schema = schema_of(frame_object());
  Json rules = Json::array();
  for (const char* other : {"axis", "x_axis"}) rules.push_back({{"not", required_keys({"rotation", other})}});
  if (needs_axis) rules.push_back({{"anyOf", {required_keys({"axis"}), required_keys({"rotation"})}}});
  schema["allOf"] = rules;
  return schema;
}

Json element_schema(const ObjectInfo& object, const Placement& placement) {
  Json schema = schema_of(object);
  const std::vector<std::string> places = names_of(place_keys(placement));
  Json needed = Json::array();  // points and axes have a separate rule
  for (const Json& name : schema["required"])
    if (std::ranges::count(places, name.get<std::string>()) == 0) needed.push_back(name);
  schema["required"] = needed;
  schema["allOf"] = Json::array({placement_rule(placement)});
  if (placement.has_frames)
    schema["properties"]["frames"]["items"] =
        reference_to(placement.axes > 0 && !placement.axis_is_optional ? "frame with an axis" : "frame");
  return schema;
}

/// By its type, one of several objects.
Json by_type(std::string_view kind, const std::vector<std::string>& types) {
  Json schema{{"type", "object"},
              {"properties", {{"type", {{"enum", types}}}}},
              {"required", {"type"}},
              {"allOf", Json::array()}};
  for (const std::string& type : types)
    schema["allOf"].push_back({{"if", {{"properties", {{"type", {{"const", type}}}}}, {"required", {"type"}}}},
                               {"then", reference_to(fmt::format("{} {}", type, kind))}});
  return schema;
}

}  // namespace

Placement placement_of(const JointInfo& info) {
  return {.place = info.place, .axes = info.axes, .bodies = 2, .has_frames = !info.has_carrier};
}

Placement placement_of(const ForceInfo& info) {
  return {.place = info.place,
          .place_is_optional = info.place_is_optional,
          .axes = info.axes,
          .axis_is_optional = info.axis_is_optional,
          .bodies = info.bodies,
          .has_frames = info.bodies > 0};
}

std::vector<Key> place_keys(const Placement& p) {
  std::vector<Key> keys;
  const auto needed = [](Key key, bool is_optional) { return is_optional ? key : required(key); };
  if (p.place == Place::one_point)
    keys.push_back(needed(key("at", "vector", "m", "point in world coordinates at t = 0"), p.place_is_optional));
  if (p.place == Place::two_points)
    keys.push_back(
        needed(list_of(key("at", "vector", "m", "points in world coordinates at t = 0, one on each body"), 2),
               p.place_is_optional));
  if (p.place_is_optional)
    keys.back().field.fallback = p.place == Place::one_point ? "the centre of mass" : "the centres of mass";
  if (p.axis_is_optional && p.axes == 1)
    keys.push_back(with_default(key("axis", "direction", "", "third axis in world coordinates at t = 0"), "z"));
  else if (p.axes == 1)
    keys.push_back(required(key("axis", "direction", "", "in world coordinates at t = 0")));
  if (p.axes == 1) keys.push_back(key("x_axis", "direction", "", "where the first axis of the frame points"));
  if (p.axes == 2) {
    const Key axes = list_of(key("axes", "direction", "", "in world coordinates at t = 0, one of each body"), 2);
    keys.push_back(p.axis_is_optional ? with_default(axes, "z") : required(axes));
  }
  return keys;
}

const ObjectInfo& model_object() {
  static const ObjectInfo object{
      "model",
      "A mechanism of rigid bodies. SI units.",
      {remark("$schema", "this schema, for editors"),
       name_key("for messages and reports"),
       comment(),
       with_default(key("gravity", "vector", "m/s^2", "acceleration in inertial axes"), "zero"),
       {.field = {.name = "group",
                  .meaning = "Lie group of the bodies",
                  .words = {"r3xso3", "se3"},
                  .kind = FieldKind::word}},
       key("parameters", "parameters", "", "numbers with names, which formulas of the file may use"),
       list_of(key("include", "include", "", "other model files, as parts of this one")),
       key("inputs", "inputs", "", "functions of time with names, which laws may use"),
       key("states", "states", "", "of first order, with the formulas of their rates"),
       key("outputs", "outputs", "", "reported in results; laws may use them"),
       list_of(key("bodies", "body", "", "at least one, unless there are rods")),
       list_of(key("materials", "material", "", "of the sections of rods")),
       list_of(key("sections", "section", "", "of rods")),
       list_of(key("rods", "rod", "", "flexible bodies")),
       list_of(key("joints", "joint", "", "that hold bodies together")),
       list_of(key("drivers", "driver", "", "joints that prescribe a motion")),
       list_of(key("forces", "force", "", "that act on bodies")),
       list_of(key("events", "event", "", "zeros of formulas along the motion")),
       key("start", "start", "", "where the motion begins, if not as drawn"),
       key("simulation", "simulation", "", "fields of a run; those given by the user take precedence")}};
  return object;
}

const ObjectInfo& start_object() {
  static const ObjectInfo object{
      "start",
      "Where the motion begins. Joints and forces stay where they are drawn on their bodies. run --write-model writes "
      "it.",
      {key("bodies", "body starts", "",
           "by name, nodes of rods included: position, rotation, velocity, angular_velocity"),
       key("states", "state starts", "", "by name, the turns of joints included: NAME turns [rad]"), comment()}};
  return object;
}

const ObjectInfo& start_of_body_object() {
  static const ObjectInfo object{"start of a body",
                                 "Only the keys that differ from the body as drawn.",
                                 {key("position", "vector", "m", "centre of mass, inertial"),
                                  key("rotation", "rotation", "", "from the body to inertial axes"),
                                  key("velocity", "vector", "m/s", "of the centre of mass, inertial"),
                                  key("angular_velocity", "vector", "rad/s", "in the body frame")}};
  return object;
}

const ObjectInfo& include_object() {
  static const ObjectInfo object{
      "include",
      "Another model file as a part of this one: its bodies, rods, joints, drivers, forces, events and names. Its "
      "gravity, "
      "group and simulation are left out.",
      {required(key("file", "text", "",
                    "path relative to the folder of this file; without slash and .json: the name of a shipped file")),
       with_default(key("prefix", "text", "", "of all its names: \"left.\" turns knee into left.knee"), "none"),
       with_default(key("at", "vector", "m", "where its origin is"), "the origin"),
       key("rotation", "rotation", "", "from its inertial axes to those of this file"),
       key("parameters", "included parameters", "", "values of its parameters: numbers, or formulas of this file"),
       key("connect", "connect", "",
           "{\"ground\": BODY}: bodies of this file that replace its ground or its own bodies"),
       comment()}};
  return object;
}

const ObjectInfo& parameter_object() {
  static const ObjectInfo object{
      "parameter",
      "A number with a name. Every number of the file may be a formula of parameters, written \"=2*L\".",
      {required({.field = {.name = "value", .meaning = "a number or a formula of other parameters"}}),
       {.field = {.name = "min", .meaning = "smallest value it may have"}},
       {.field = {.name = "max", .meaning = "largest value it may have"}},
       key("unit", "text", "", "for display"),
       key("meaning", "text", "", "one sentence, without the full stop"),
       comment()}};
  return object;
}

const ObjectInfo& body_object() {
  static const ObjectInfo object{
      "body",
      "A rigid body at t = 0.",
      {name_key("unique; not ground, which is the world"),
       {.field = {.name = "group",
                  .meaning = "Lie group of this body; default: that of the model",
                  .words = {"r3xso3", "se3"},
                  .kind = FieldKind::word}},
       required({.field = {.name = "mass", .meaning = "of the body", .minimum = 0.0, .unit = "kg"}}),
       required(key("inertia", "inertia", "kg m^2",
                    "about the centre of mass in the body frame: three diagonal entries, six (xx, yy, zz, xy, xz, yz) "
                    "or a matrix")),
       required(key("position", "vector", "m", "centre of mass, inertial")),
       key("rotation", "rotation", "", "from the body to inertial axes"),
       key("velocity", "vector", "m/s", "of the centre of mass, inertial"),
       key("angular_velocity", "vector", "rad/s", "in the body frame"),
       key("shape", "shape", "", "for pictures"),
       list_of(key("shapes", "shape", "", "for pictures")),
       comment()}};
  return object;
}

namespace {

Key damping_ratio() {
  return {.field = {.name = "damping_ratio",
                    .meaning = "instead of damping_time: damping ratio of a vibration with at_frequency",
                    .minimum = 0.0,
                    .is_optional = true}};
}
Key at_frequency() {
  return {.field = {.name = "at_frequency",
                    .meaning = "of the vibration that has damping_ratio",
                    .minimum = 0.0,
                    .minimum_is_excluded = true,
                    .is_optional = true,
                    .unit = "Hz"}};
}
Key needed_number(std::string name, std::string unit, std::string meaning) {
  return required({.field = {.name = std::move(name),
                             .meaning = std::move(meaning),
                             .default_number = no_default,
                             .unit = std::move(unit)}});
}

}  // namespace

const ObjectInfo& material_object() {
  static const ObjectInfo object{
      "material",
      "Elastic and isotropic.",
      {required(name_key("unique")),
       required({.field = {.name = "young",
                           .meaning = "Young's modulus",
                           .default_number = no_default,
                           .minimum = 0.0,
                           .minimum_is_excluded = true,
                           .unit = "Pa"}}),
       {.field = {.name = "poisson",
                  .meaning = "Poisson's ratio",
                  .default_number = 0.3,
                  .minimum = -1.0,
                  .maximum = 0.5,
                  .minimum_is_excluded = true}},
       required({.field = {.name = "density",
                           .meaning = "mass per volume",
                           .default_number = no_default,
                           .minimum = 0.0,
                           .unit = "kg/m^3"}}),
       {.field = {.name = "damping_time",
                  .meaning = "of the Kelvin-Voigt law: adds this time times the elastic stress rate",
                  .minimum = 0.0,
                  .is_optional = true,
                  .unit = "s",
                  .fallback = "0"}},
       damping_ratio(),
       at_frequency(),
       comment()}};
  return object;
}

const ObjectInfo& circle_object() {
  static const ObjectInfo object{
      "circle",
      "A full or hollow circle.",
      {required({.field = {.name = "radius",
                           .meaning = "outside",
                           .default_number = no_default,
                           .minimum = 0.0,
                           .minimum_is_excluded = true,
                           .unit = "m"}}),
       {.field = {.name = "inner_radius", .meaning = "of a tube", .minimum = 0.0, .unit = "m"}}}};
  return object;
}

const ObjectInfo& section_object() {
  static const ObjectInfo object{
      "section",
      "A cross-section: a material with a circle or a rectangle, or stiffness and mass per length. Its axes: x along "
      "the rod.",
      {required(name_key("unique")),
       key("material", "material name", "", "of this file"),
       key("circle", "circle", "", "its shape"),
       list_of({.field = {.name = "rectangle",
                          .meaning = "edges along y and z",
                          .minimum = 0.0,
                          .minimum_is_excluded = true,
                          .unit = "m"}},
               2),
       key("stiffness", "section stiffness", "N, N m^2", "EA, GA_y, GA_z, GJ, EI_y, EI_z, or a symmetric 6x6 matrix"),
       {.field = {.name = "mass_per_length",
                  .meaning = "with stiffness",
                  .minimum = 0.0,
                  .is_optional = true,
                  .unit = "kg/m"}},
       key("inertia_per_length", "inertia", "kg m",
           "with stiffness, about the centre of mass: three diagonal entries, six (xx, yy, zz, xy, xz, yz) or a "
           "matrix"),
       list_of({.field = {.name = "centre_of_mass",
                          .meaning = "with stiffness: y and z from the axis of the rod",
                          .unit = "m",
                          .fallback = "0, 0"}},
               2),
       key("shape", "section shape", "", "with stiffness, for pictures"),
       {.field = {.name = "damping_time",
                  .meaning = "instead of that of the material",
                  .minimum = 0.0,
                  .is_optional = true,
                  .unit = "s"}},
       damping_ratio(),
       at_frequency(),
       comment()}};
  return object;
}

const ObjectInfo& section_shape_object() {
  static const ObjectInfo object{
      "section shape",
      "For pictures, one of these.",
      {key("circle", "circle", "", "a circle"), list_of({.field = {.name = "rectangle",
                                                                   .meaning = "edges along y and z",
                                                                   .minimum = 0.0,
                                                                   .minimum_is_excluded = true,
                                                                   .unit = "m"}},
                                                        2)}};
  return object;
}

const ObjectInfo& arc_object() {
  static const ObjectInfo object{"arc",
                                 "A part of a circle.",
                                 {required(key("from", "vector", "m", "where it begins")),
                                  required(key("centre", "vector", "m", "of the circle, or another point of its axis")),
                                  required(key("axis", "direction", "", "about which it turns")),
                                  needed_number("angle_deg", "degrees", "by which it turns")}};
  return object;
}

const ObjectInfo& helix_object() {
  static const ObjectInfo object{"helix",
                                 "A screw line.",
                                 {required(key("from", "vector", "m", "where it begins")),
                                  required(key("centre", "vector", "m", "a point of its axis")),
                                  required(key("axis", "direction", "", "along which it climbs")),
                                  needed_number("height", "m", "by which it climbs in all"),
                                  needed_number("turns", "", "in all; negative: left-handed")}};
  return object;
}

const ObjectInfo& catenary_object() {
  static const ObjectInfo object{
      "catenary",
      "The line in which a chain hangs under the gravity of the model.",
      {required(key("from", "vector", "m", "where it begins")), required(key("to", "vector", "m", "where it ends")),
       positive_length("length", "of the chain")}};
  return object;
}

const ObjectInfo& path_object() {
  static const ObjectInfo object{
      "path",
      "Where a rod lies at t = 0, one of these.",
      {list_of(key("line", "vector", "m", "from, to"), 2),
       list_of(key("polyline", "vector", "m", "corners of straight legs")),
       key("arc", "arc", "m", "of a circle, or three points of it: from, on the way, to"),
       list_of(key("spline", "vector", "m", "points of a natural cubic spline")),
       key("helix", "helix", "", "a screw line"),
       key("catenary", "catenary", "", "a hanging chain"),
       {.field = {.name = "corners",
                  .meaning = "of a polyline; rigid: the sections of both legs are held together",
                  .words = {"rigid", "round"},
                  .kind = FieldKind::word}},
       {.field = {.name = "radius",
                  .meaning = "of round corners",
                  .minimum = 0.0,
                  .minimum_is_excluded = true,
                  .is_optional = true,
                  .unit = "m"}},
       {.field = {.name = "twist_deg",
                  .meaning = "of the last section relative to the first about the axis, evenly along the path",
                  .unit = "degrees"}}}};
  return object;
}

const ObjectInfo& rod_object() {
  static const ObjectInfo object{
      "rod",
      "A flexible body: geometrically exact beams between nodes. Joints and forces attach to it at NAME@start, "
      "NAME@end, "
      "NAME@0.3 (part of its "
      "length) or NAME@1.2m, where it gets a node.",
      {required(name_key("unique")),
       required(key("section", "section name", "", "of this file")),
       required(key("path", "path", "", "where it lies")),
       {.field = {.name = "elements",
                  .meaning = "beams along the rod; more where corners and places need nodes between them",
                  .minimum = 1,
                  .maximum = 100000,
                  .is_optional = true,
                  .kind = FieldKind::whole,
                  .fallback = "8"}},
       {.field = {.name = "element_length",
                  .meaning = "instead of elements: largest length of a beam",
                  .minimum = 0.0,
                  .minimum_is_excluded = true,
                  .is_optional = true,
                  .unit = "m"}},
       with_default(key("up", "direction", "", "direction in which z of the section points"),
                    "z, y for a vertical line"),
       {.field = {.name = "reference",
                  .meaning = "shape without load",
                  .words = {"as-drawn", "straight"},
                  .kind = FieldKind::word}},
       {.field = {.name = "shear",
                  .meaning = "rigid: sections stay perpendicular to the axis",
                  .words = {"flexible", "rigid"},
                  .kind = FieldKind::word}},
       {.field = {.name = "axial",
                  .meaning = "rigid: the rod does not stretch",
                  .words = {"flexible", "rigid"},
                  .kind = FieldKind::word}},
       {.field = {.name = "bending",
                  .meaning = "none: a cable, which pulls or is slack; only EA of the section is used",
                  .words = {"flexible", "none"},
                  .kind = FieldKind::word}},
       {.field = {.name = "law",
                  .meaning = "order 4 or 2 in the length of an element",
                  .words = {"magnus", "constant"},
                  .kind = FieldKind::word}},
       {.field = {.name = "tension", .meaning = "at t = 0", .is_optional = true, .unit = "N", .fallback = "0"}},
       list_of({.field = {.name = "prestress",
                          .meaning = "at t = 0: N, Q_y, Q_z, T, M_y, M_z in the axes of the sections",
                          .unit = "N, N m"}},
               6),
       {.field = {.name = "static_start",
                  .meaning = "begin at rest where all forces balance",
                  .kind = FieldKind::truth,
                  .fallback = "false"}},
       with_default(
           list_of({.field = {.name = "report",
                              .meaning = "parts of the length, 0 to 1, at which results have the section forces",
                              .minimum = 0.0,
                              .maximum = 1.0}}),
           "0, 1"),
       {.field = {.name = "report_all",
                  .meaning = "section forces at every node, for pictures with colours",
                  .kind = FieldKind::truth,
                  .fallback = "false"}},
       {.field = {.name = "report_strains",
                  .meaning = "results also have section strains, as columns of NAME@PLACE.strain",
                  .kind = FieldKind::truth,
                  .fallback = "false"}},
       key("velocity", "vector", "m/s", "of the first node, inertial"),
       key("angular_velocity", "vector", "rad/s", "of the whole rod, inertial"),
       comment()}};
  return object;
}

const ObjectInfo& frame_object() {
  static const ObjectInfo object{
      "frame",
      "A frame in body coordinates; its third axis is the joint axis.",
      {key("at", "vector", "m", "its origin"), key("axis", "direction", "", "its third axis"),
       key("x_axis", "direction", "", "where its first axis points"),
       key("rotation", "rotation", "", "instead of axes")}};
  return object;
}

const ObjectInfo& table_object() {
  static const ObjectInfo object{
      "table",
      "Points [t, value] and how they are joined.",
      {required(list_of(key("table", "point", "", "with increasing t"))),
       {.field = {.name = "interpolation",
                  .meaning = "linear: straight lines; monotone: cubics that stay between neighbouring points; spline: "
                             "natural cubic spline, may overshoot. "
                             "A force keeps the first and last value outside the table; a run that leaves the table of "
                             "a driver is refused, and drivers cannot be linear",
                  .words = multibody::interpolation_names(),
                  .kind = FieldKind::word,
                  .fallback = "monotone; spline for drivers"}}}};
  return object;
}

const ObjectInfo& law_table_object() {
  static const ObjectInfo object = [] {
    ObjectInfo table = table_object();
    table.meaning = "Points [x, value] and how they are joined; outside them the first or last value holds.";
    table.keys.push_back(with_default(key("of", "law", "", "the formula that it is a function of"), "x"));
    return table;
  }();
  return object;
}

const ObjectInfo& input_object() {
  static const ObjectInfo object{
      "input",
      "A function of time with a name.",
      {required(key("value", "signal", "", "function of t")), key("unit", "text", "", "for display"),
       key("meaning", "text", "", "one sentence, without the full stop"), comment()}};
  return object;
}

const ObjectInfo& state_object() {
  static const ObjectInfo object{"state",
                                 "An unknown of first order.",
                                 {required(key("rate", "law", "", "formula of t, outputs, inputs and states")),
                                  {.field = {.name = "initial", .meaning = "at the start"}},
                                  key("unit", "text", "", "for display"),
                                  key("meaning", "text", "", "one sentence, without the full stop"),
                                  comment()}};
  return object;
}

const ObjectInfo& limits_object() {
  static const ObjectInfo object{
      "limits",
      "Of the coordinate of a joint; at least one of from and to. Angles count their turns. Rigid limits, the "
      "default, cause an impact, stay closed while forces press on them and open when they would pull. Compliant "
      "limits "
      "have a stiffness.",
      {{.field = {.name = "from", .meaning = "least value", .is_optional = true, .unit = "rad or m"}},
       {.field = {.name = "to", .meaning = "largest value", .is_optional = true, .unit = "rad or m"}},
       {.field =
            {.name = "from_deg", .meaning = "of an angle, instead of from", .is_optional = true, .unit = "degrees"}},
       {.field = {.name = "to_deg", .meaning = "of an angle, instead of to", .is_optional = true, .unit = "degrees"}},
       {.field = {.name = "restitution",
                  .meaning = "of a rigid limit: ratio of the speeds after and before an impact",
                  .minimum = 0.0,
                  .maximum = 1.0,
                  .is_optional = true,
                  .fallback = "0"}},
       {.field = {.name = "stiffness",
                  .meaning = "of a compliant limit",
                  .minimum = 0.0,
                  .minimum_is_excluded = true,
                  .is_optional = true,
                  .unit = "N m/rad or N/m"}},
       {.field = {.name = "damping",
                  .meaning = "of a compliant limit, which never pulls",
                  .minimum = 0.0,
                  .is_optional = true,
                  .unit = "N m s/rad or N s/m",
                  .fallback = "0"}},
       comment()}};
  return object;
}

Key active_key() {
  return {.field = {.name = "active",
                    .meaning = "at the start; events may switch it",
                    .kind = FieldKind::truth,
                    .fallback = "true"}};
}

const ObjectInfo& line_load_object() {
  static const ObjectInfo object{
      "line-load",
      "Force and torque per length along a rod, constant or formulas in t.",
      {type_key("line-load"),
       name_key("unique"),
       required(key("on", "text", "", "name of a rod")),
       {.field = {.name = "from", .meaning = "part of the length", .minimum = 0.0, .maximum = 1.0}},
       {.field =
            {.name = "to", .meaning = "part of the length", .default_number = 1.0, .minimum = 0.0, .maximum = 1.0}},
       list_of(key("force", "signal", "N/m", "three functions of t"), 3),
       list_of(key("torque", "signal", "N", "per length, three functions of t"), 3),
       {.field = {.name = "frame",
                  .meaning = "in which force and torque are given: that of the world, or the axes of the sections",
                  .words = {"world", "body"},
                  .kind = FieldKind::word}},
       active_key(),
       comment()}};
  return object;
}

std::vector<std::string> joint_types(bool are_drivers) {
  std::vector<std::string> names = multibody::joint_names(are_drivers);
  if (!are_drivers) names.emplace_back("coupler");
  return names;
}

const ObjectInfo& coupler_object() {
  static const ObjectInfo object{
      "coupler",
      "A linear relation between the coordinates of two joints: second = ratio*first + offset. Angles count their "
      "turns.",
      {type_key("coupler"),
       name_key("unique"),
       required(list_of(key("joints", "joint name", "", "two joints that have one coordinate each"), 2)),
       {.field = {.name = "ratio",
                  .meaning = "ratio of the changes of the second and the first coordinate",
                  .default_number = 1.0}},
       {.field = {.name = "offset", .meaning = "of the second coordinate", .default_number = 0.0, .unit = "rad or m"}},
       active_key(),
       comment()}};
  return object;
}

const ObjectInfo& event_object() {
  static const ObjectInfo object{
      "event",
      "A zero of a formula along the motion, and what happens there.",
      {name_key("unique"),
       required(
           key("when", "law", "", "formula of t, outputs, inputs, states and forces; its sign change is the event")),
       {.field = {.name = "direction",
                  .meaning = "which sign change counts",
                  .words = {"either", "rising", "falling"},
                  .kind = FieldKind::word}},
       with_default(key("action", "action", "", "what happens"), "record"),
       {.field = {.name = "after",
                  .meaning = "number of the first occurrence with the action; those before are only recorded",
                  .default_number = 1.0,
                  .minimum = 1.0,
                  .kind = FieldKind::whole}},
       comment()}};
  return object;
}

std::vector<std::string> section_force_components() { return {"N", "Qy", "Qz", "T", "My", "Mz"}; }
std::vector<std::string> section_strain_components() {
  return {"extension", "shear_y", "shear_z", "twist", "curvature_y", "curvature_z"};
}

std::vector<std::string> output_kinds() {
  return {"angle",         "displacement",   "distance", "position", "velocity", "acceleration",
          "rotation",      "force",          "length",   "speed",    "power",    "reaction",
          "section_force", "section_strain", "energy",   "gap",      "formula"};
}

const ObjectInfo& output_object() {
  static const ObjectInfo object{
      "output",
      "One of the first keys gives its kind. Components are called name.x, name.y and name.z, the rate is name'.",
      {key("angle", "joint name", "rad", "of a revolute, cylindrical or screw joint, with its turns"),
       key("displacement", "joint name", "m", "of a prismatic or cylindrical joint"),
       list_of(key("distance", "body name", "m", "between points of two bodies"), 2),
       key("position", "body name", "m", "of a point of a body"),
       key("velocity", "body name", "m/s", "of a point of a body"),
       key("acceleration", "body name", "m/s^2", "of a point of a body"),
       key("rotation", "body name", "rad", "of a body: the rotation vector, whose length is at most pi"),
       key("force", "force name", "N or N m",
           "of a spring, damper, actuator, friction or law, normal force of a contact"),
       key("length", "force name", "m or rad",
           "of a spring, damper, actuator, friction or law: the distance, angle or displacement that it acts along"),
       key("speed", "force name", "m/s or rad/s", "the rate of that length"),
       key("power", "force name", "W", "of a force of any type on its bodies; positive drives them"),
       key("reaction", "joint name", "N or N m", "of a joint on its second body, in inertial axes"),
       key("section_force", "body name", "N, N m",
           "of a rod at a place such as rod@0.5: N, Qy, Qz, T, My, Mz in the axes of the section, exerted by the part "
           "behind the cut on the part before it"),
       key("section_strain", "body name", "1, 1/m",
           "of a rod at a place: extension, shear_y, shear_z, twist, curvature_y, curvature_z, from the section "
           "forces"),
       {.field = {.name = "energy",
                  .meaning = "of the mechanism",
                  .words = {"kinetic", "potential", "elastic", "total"},
                  .kind = FieldKind::word,
                  .unit = "J"}},
       key("gap", "force name", "m", "of a contact, negative where the shapes overlap"),
       key("formula", "law", "", "of t, outputs, inputs, states and forces"),
       key("at", "place", "m",
           "the point, or the two points of a distance, in world coordinates at t = 0; default: centres of mass"),
       with_default(key("relative_to", "body name", "", "body whose centre of mass and axes a point is measured from"),
                    "ground"),
       {.field = {.name = "part", .meaning = "of a reaction", .words = {"force", "torque"}, .kind = FieldKind::word}},
       key("unit", "text", "", "for display"),
       key("meaning", "text", "", "one sentence, without the full stop"),
       comment()}};
  return object;
}

const std::vector<ObjectInfo>& shape_objects() {
  static const std::vector<ObjectInfo> objects = [] {
    const auto with = [](std::string name, std::vector<Key> keys) {
      keys.push_back(key("at", "vector", "m", "its centre in the body frame"));
      keys.push_back(key("color", "text", "", "as in CSS: \"#1f77b4\", \"steelblue\""));
      return ObjectInfo{std::move(name), "For pictures.", std::move(keys)};
    };
    const std::vector<Key> round{positive_length("radius", "of the circle"),
                                 positive_length("length", "along the axis"),
                                 key("axis", "direction", "", "in the body frame")};
    const Key turn = key("rotation", "rotation", "", "from its own axes to those of the body");
    return std::vector<ObjectInfo>{
        with("box", {required(key("size", "edges", "m", "its three edges")), turn}),
        with("sphere", {positive_length("radius", "of the sphere")}),
        with("cylinder", round),
        with("capsule", round),
        with("cone", round),
        with("mesh",
             {required(key("file", "text", "", "STL or OBJ, relative to the folder of this file")),
              with_default(key("scale", "scale", "m", "length of the unit of the file, or three of them for its axes"),
                           "1"),
              turn})};
  }();
  return objects;
}

const std::vector<ObjectInfo>& rotation_objects() {
  static const std::vector<ObjectInfo> objects = [] {
    const auto number = [](std::string name, std::string unit, std::string meaning) {
      return required({.field = {.name = std::move(name), .meaning = std::move(meaning), .unit = std::move(unit)}});
    };
    const Key axis = required(key("axis", "direction", "", "about which it turns"));
    const Key order =
        with_default(key("order", "Euler order", "", "of the axes, each turned by the rotations before it"), "zxz");
    return std::vector<ObjectInfo>{
        {"axis and angle", "", {axis, number("angle", "rad", "of the rotation")}},
        {"axis and angle in degrees", "", {axis, number("angle_deg", "degrees", "of the rotation")}},
        {"quaternion",
         "",
         {required(list_of({.field = {.name = "quaternion", .meaning = "w, x, y, z of norm 1"}}, 4))}},
        {"matrix", "", {required(key("matrix", "matrix", "", "row by row, orthogonal, determinant 1"))}},
        {"Euler angles", "", {required(key("euler", "vector", "rad", "angles")), order}},
        {"Euler angles in degrees", "", {required(key("euler_deg", "vector", "degrees", "angles")), order}}};
  }();
  return objects;
}

ObjectInfo object_of(const JointInfo& info) {
  ObjectInfo object{std::string(info.name), std::string(info.summary), {type_key(info.name), name_key("unique")}};
  object.keys.push_back(
      required(list_of(key("between", "body name", "", "the two bodies, \"ground\" for the world"), 2)));
  append(object.keys, place_keys(placement_of(info)));
  if (!info.has_carrier)
    object.keys.push_back(
        list_of(key("frames", "frame", "", "in body coordinates, one per body, instead of points and axes"), 2));
  for (const Field& field : info.numbers) object.keys.push_back(number_key(field));
  if (info.has_teeth)
    object.keys.push_back(
        required(list_of(key("teeth", "teeth", "", "of the two gears; negative for an internal gear"), 2)));
  if (info.has_curve)
    object.keys.push_back(required(
        list_of(key("curve", "point", "m", "points [x, y] of a closed curve in the first frame, each listed once"))));
  if (info.has_carrier)
    object.keys.push_back(
        with_default(key("carrier", "body name", "", "the body that holds the axes of both"), "ground"));
  if (info.is_driver)
    object.keys.push_back(required(key("value", "motion", std::string(info.value_unit), "function of t")));
  if (info.coordinates > 0) {
    const std::string two = info.coordinates == 2 ? "of both coordinates, as \"angle\" and \"displacement\": " : "";
    const std::string form = info.coordinates == 2 ? " of two" : "";
    object.keys.push_back(key("initial", "initial" + form, "",
                              two + "value and rate of its coordinate at the start: the bodies it carries are placed "
                                    "and moved accordingly"));
    object.keys.push_back(
        key("limits", "limits" + form, "", two + "of its coordinate: rigid (restitution) or compliant (stiffness)"));
  }
  object.keys.push_back(active_key());
  object.keys.push_back(comment());
  return object;
}

ObjectInfo object_of(const ForceInfo& info) {
  ObjectInfo object{std::string(info.name), std::string(info.summary), {type_key(info.name), name_key("unique")}};
  if (info.bodies == 2)
    object.keys.push_back(
        required(list_of(key("between", "body name", "", "the two bodies, \"ground\" for the world"), 2)));
  if (info.bodies == 1) object.keys.push_back(required(key("on", "body name", "", "the body")));
  if (info.bodies == 0) object.keys.push_back(required(key("joint", "joint name", "", "along which it acts")));
  append(object.keys, place_keys(placement_of(info)));
  if (info.bodies > 0)
    object.keys.push_back(list_of(
        key("frames", "frame", "", "in body coordinates, one per body, instead of points and axes"), info.bodies));
  if (info.has_frame)
    object.keys.push_back({.field = {.name = "frame",
                                     .meaning = "in which force and torque are given",
                                     .words = {"world", "body"},
                                     .kind = FieldKind::word}});
  for (const Field& field : info.numbers) object.keys.push_back(number_key(field));
  const auto add = [&](const std::vector<Field>& fields, const char* form, int count) {
    for (const Field& field : fields) {
      Key key{.field = field, .form = form};
      object.keys.push_back(count > 0 ? list_of(key, count) : key);
    }
  };
  add(info.vectors, "stiffnesses", 0);
  for (const Field& field : info.signals)
    object.keys.push_back({.field = field, .form = info.law.measure != nullptr ? "law" : "signal"});
  if (info.law.measure != nullptr && find_field(info.signals, info.law.field.name) == nullptr)
    object.keys.push_back({.field = info.law.field, .form = "law"});
  add(info.vector_signals, "law", 3);
  object.keys.push_back(active_key());
  object.keys.push_back(comment());
  return object;
}

ObjectInfo object_of(const multibody::LawInfo& info) {
  ObjectInfo object{std::string(info.name), std::string(info.summary), {type_key(info.name), name_key("unique")}};
  object.keys.push_back(required(key("joint", "joint name", "", "along which it acts")));
  for (const Field& field : info.numbers) object.keys.push_back(number_key(field));
  for (const Field& field : info.laws)
    object.keys.push_back({.field = field, .form = "law", .is_required = !field.is_optional});
  for (const Field& field : info.tables) object.keys.push_back(required(list_of(Key{.field = field, .form = "point"})));
  object.keys.push_back(active_key());
  if (!info.tables.empty())
    object.keys.push_back({.field = {.name = "interpolation",
                                     .meaning = "of the table",
                                     .words = multibody::interpolation_names(),
                                     .kind = FieldKind::word,
                                     .fallback = "monotone"}});
  object.keys.push_back(comment());
  return object;
}

ObjectInfo simulation_object() {
  ObjectInfo object{"simulation", "Fields of a run that the model sets.", {comment()}};
  for (const RunField& f : run_fields()) {
    Field field = f.field;
    if (field.name == "t_end") field.minimum = 0.0, field.minimum_is_excluded = true;  // models start at t = 0
    object.keys.push_back({.field = std::move(field)});
  }
  return object;
}

Json model_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "kreisel model"}};
  schema.update(schema_of(model_object()));
  schema["anyOf"] = Json::array();
  for (const char* section : {"bodies", "rods", "include"}) {
    schema["anyOf"].push_back(required_keys({section}));
    schema["anyOf"].back()["properties"][section]["minItems"] = 1;
  }
  Json& defs = schema["$defs"];
  const Json number{{"type", "number"}}, positive{{"type", "number"}, {"exclusiveMinimum", 0}},
      not_negative{{"type", "number"}, {"minimum", 0}};
  defs["name"] = {{"type", "string"}, {"pattern", "^[^\\u0000-\\u001f\\u007f]+$"}};
  for (const char* form : {"text", "body name", "joint name", "force name", "material name", "section name"})
    defs[form] = {{"type", "string"}, {"minLength", 1}};
  defs["vector"] = array_of(number, 3);
  defs["direction"] = array_of(number, 3);
  defs["direction"]["not"] = {{"items", {{"const", 0}}}};
  defs["edges"] = array_of(positive, 3);
  const Json other_than_zero{{"allOf", {number, {{"not", {{"const", 0}}}}}}};
  defs["scale"] = {{"anyOf", {other_than_zero, array_of(other_than_zero, 3)}}};
  defs["stiffnesses"] = array_of(not_negative, 3);
  defs["matrix"] = array_of(reference_to("vector"), 3);
  defs["point"] = array_of(number, 2);
  defs["teeth"] = {{"type", "integer"}, {"minimum", -1'000'000}, {"maximum", 1'000'000}, {"not", {{"const", 0}}}};
  defs["Euler order"] = {
      {"type", "string"}, {"pattern", "^(x[yz]|y[xz]|z[xy])[xyz]$"}, {"not", {{"pattern", "(xx|yy|zz)$"}}}};
  defs["inertia"] = {{"anyOf", {reference_to("vector"), array_of(number, 6), reference_to("matrix")}}};
  defs["signal"] = signal_schema(multibody::interpolation_names());
  defs["motion"] = signal_schema({"monotone", "spline"});
  for (const char* form : {"signal", "motion"}) defs[form]["anyOf"][2]["properties"]["table"]["minItems"] = 2;
  defs["rotation"]["oneOf"] = Json::array();
  for (const ObjectInfo& object : rotation_objects()) defs["rotation"]["oneOf"].push_back(schema_of(object));
  defs["shape"] = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (const ObjectInfo& object : shape_objects()) defs["shape"]["properties"][object.name] = schema_of(object);
  defs["body"] = schema_of(body_object());
  defs["body"]["properties"]["name"]["not"] = {{"const", "ground"}};
  for (const ObjectInfo* object :
       {&include_object(), &material_object(), &circle_object(), &section_object(), &path_object(), &rod_object(),
        &helix_object(), &catenary_object(), &section_shape_object()})
    defs[object->name] = schema_of(*object);
  const auto only = [](const std::vector<std::string>& with, const std::vector<std::string>& without) {
    Json rule = required_keys(with);
    rule.update(lacks(without));
    return rule;
  };
  defs["section"]["oneOf"] = {
      only({"material", "circle"},
           {"rectangle", "stiffness", "mass_per_length", "inertia_per_length", "centre_of_mass", "shape"}),
      only({"material", "rectangle"},
           {"circle", "stiffness", "mass_per_length", "inertia_per_length", "centre_of_mass", "shape"}),
      only({"stiffness", "mass_per_length", "inertia_per_length"}, {"material", "circle", "rectangle"})};
  defs["section shape"]["minProperties"] = defs["section shape"]["maxProperties"] = 1;
  defs["path"]["oneOf"] = Json::array();
  for (const char* kind : {"line", "polyline", "arc", "spline", "helix", "catenary"})
    defs["path"]["oneOf"].push_back(required_keys({kind}));
  for (const char* kind : {"polyline", "spline"}) defs["path"]["properties"][kind]["minItems"] = 2;
  for (const char* of_corners : {"corners", "radius"}) defs["path"]["dependentRequired"][of_corners] = {"polyline"};
  defs["arc"] = {{"anyOf", {array_of(reference_to("vector"), 3), schema_of(arc_object())}}};
  for (const char* damped : {"material", "section"}) {
    defs[damped]["dependentRequired"] = {{"damping_ratio", {"at_frequency"}}, {"at_frequency", {"damping_ratio"}}};
    defs[damped]["not"] = required_keys({"damping_ratio", "damping_time"});
  }
  defs["rod"]["allOf"] = {Json{{"not", required_keys({"elements", "element_length"})}},
                          Json{{"not", required_keys({"tension", "prestress"})}}};
  // Zero where a rod is rigid.
  defs["section stiffness"] = {{"anyOf", {array_of(not_negative, 6), array_of(array_of(number, 6), 6)}}};
  defs["frame"] = frame_schema(false);
  defs["frame with an axis"] = frame_schema(true);
  for (const bool is_driver : {false, true}) {
    const char* kind = is_driver ? "driver" : "joint";
    defs[kind] = by_type(kind, joint_types(is_driver));
    for (const JointInfo& info : multibody::joint_catalogue()) {
      if (info.is_driver != is_driver) continue;
      Json& joint = defs[fmt::format("{} {}", info.name, kind)];
      joint = element_schema(object_of(info), placement_of(info));
      if (!info.has_curve) continue;
      joint["properties"]["curve"]["minItems"] = multibody::ClosedCurve::fewest_points;
      joint["properties"]["curve"]["maxItems"] = multibody::ClosedCurve::most_points;
    }
  }
  defs["coupler joint"] = schema_of(coupler_object());
  std::vector<std::string> forces = multibody::force_names();
  for (const std::string& name : multibody::law_names()) forces.push_back(name);
  forces.push_back(line_load_object().name);
  defs["force"] = by_type("force", forces);
  defs["line-load force"] = schema_of(line_load_object());
  for (const multibody::LawInfo& info : multibody::law_catalogue()) {
    defs[fmt::format("{} force", info.name)] = schema_of(object_of(info));
    if (!info.tables.empty()) defs[fmt::format("{} force", info.name)]["properties"]["table"]["minItems"] = 2;
  }
  for (const ForceInfo& info : multibody::force_catalogue())
    defs[fmt::format("{} force", info.name)] = element_schema(object_of(info), placement_of(info));
  defs["simulation"] = schema_of(simulation_object());
  defs["simulation"]["allOf"] = Json::array();
  for (const char* tolerance : {"rtol", "atol"})
    defs["simulation"]["allOf"].push_back({{"not", required_keys({"step", tolerance})}});
  // Every entry of a list or of an object by name may be repeated.
  const Json repeat{{"type", "object"},
                    {"description", "copies of this entry; the index is {i} or {i+1} in texts, i in formulas"},
                    {"properties",
                     {{"index", {{"type", "string"}, {"pattern", "^[A-Za-z_][A-Za-z0-9_]{0,59}$"}}},
                      {"count", {{"anyOf", {Json{{"type", "integer"}, {"minimum", 0}}, reference_to("formula")}}}},
                      {"from", {{"anyOf", {Json{{"type", "integer"}}, reference_to("formula")}}}}}},
                    {"required", {"count"}},
                    {"additionalProperties", false}};
  allow_formulas(schema);
  Json law_table = schema_of(law_table_object());
  law_table["properties"]["table"]["minItems"] = 2;
  defs["law"] = {{"description", "a number, a formula such as =-200*x - 5*v, or a table"},
                 {"anyOf", {number, Json{{"type", "string"}, {"minLength", 1}, {"maxLength", 1001}}, law_table}}};
  defs["place"] = {{"anyOf", {reference_to("vector"), array_of(reference_to("vector"), 2)}}};
  const auto named = [](Json entry) -> Json {
    return {{"type", "object"},
            {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]{0,59}([.][A-Za-z_][A-Za-z0-9_]{0,59})*$"}}},
            {"additionalProperties", std::move(entry)}};
  };
  const auto closed = [](Json properties) -> Json {
    return {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  };
  const Json number_or_formula{{"anyOf", {number, reference_to("formula")}}};
  defs["initial"] = closed({{"value", number_or_formula},
                            {"rate", number_or_formula},
                            {"value_deg", number_or_formula},
                            {"rate_deg", number_or_formula}});
  defs["limits"] = schema_of(limits_object());
  defs["limits"]["anyOf"] = Json::array();
  for (const char* bound : {"from", "to", "from_deg", "to_deg"})
    defs["limits"]["anyOf"].push_back(required_keys({bound}));
  defs["limits"]["allOf"] = {Json{{"not", required_keys({"restitution", "stiffness"})}},
                             Json{{"not", required_keys({"restitution", "damping"})}},
                             Json{{"not", required_keys({"from", "from_deg"})}},
                             Json{{"not", required_keys({"to", "to_deg"})}}};
  defs["limits"]["dependentRequired"] = {{"damping", {"stiffness"}}};
  allow_formulas(defs["limits"]);
  for (const std::string form : {"initial", "limits"})
    defs[form + " of two"] = closed({{"angle", reference_to(form)}, {"displacement", reference_to(form)}});
  const Json names{{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}};
  defs["action"] = {
      {"anyOf",
       {Json{{"enum", {"record", "stop"}}},
        closed({{"impact", closed({{"restitution", number_or_formula},
                                   {"between", array_of({{"type", "string"}, {"minLength", 1}}, 2)}})}}),
        closed({{"switch", closed({{"off", names}, {"on", names}})}}),
        closed({{"set", {{"type", "object"}, {"minProperties", 1}, {"additionalProperties", reference_to("law")}}}}),
        closed({{"jump",
                 {{"type", "object"},
                  {"minProperties", 1},
                  {"propertyNames", {{"pattern", "\\.(angular_)?velocity$"}}},
                  {"additionalProperties", array_of(reference_to("law"), 3)}}}})}}};
  for (const std::size_t i : {1, 2, 3, 4}) defs["action"]["anyOf"][i]["minProperties"] = 1;
  defs["event"] = schema_of(event_object());
  allow_formulas(defs["event"]);
  defs["inputs"] = named({{"anyOf", {reference_to("signal"), schema_of(input_object())}}});
  defs["states"] = named(schema_of(state_object()));
  allow_formulas(defs["states"]);
  Json output = schema_of(output_object());
  output["oneOf"] = Json::array();
  for (const std::string& kind : output_kinds()) output["oneOf"].push_back(required_keys({kind}));
  defs["outputs"] =
      named({{"anyOf", {number, Json{{"type", "string"}, {"minLength", 1}, {"maxLength", 1001}}, output}}});
  defs["formula"] = {{"description", "a formula of parameters, such as =2*L"},
                     {"type", "string"},
                     {"pattern", "^="},
                     {"maxLength", 1001}};
  defs["start"] = schema_of(start_object());
  defs["body starts"] = {{"type", "object"}, {"additionalProperties", schema_of(start_of_body_object())}};
  allow_formulas(defs["body starts"]);
  defs["state starts"] = {{"type", "object"}, {"additionalProperties", number_or_formula}};
  defs["included parameters"] = {{"type", "object"}, {"additionalProperties", number_or_formula}};
  defs["connect"] = {{"type", "object"}, {"additionalProperties", {{"type", "string"}, {"minLength", 1}}}};
  defs["parameter"] = schema_of(parameter_object());
  defs["parameter"]["properties"]["value"] = {{"anyOf", {number, reference_to("formula")}}};
  defs["parameters"] = {
      {"type", "object"},
      {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]{0,59}([.][A-Za-z_][A-Za-z0-9_]{0,59})*$"}}},
      {"additionalProperties", {{"anyOf", {number, reference_to("formula"), reference_to("parameter")}}}}};
  const auto may_repeat = [&](Json& object) { object["properties"]["repeat"] = repeat; };
  may_repeat(defs["body"]);
  may_repeat(defs["include"]);
  may_repeat(defs["event"]);
  for (const JointInfo& info : multibody::joint_catalogue())
    may_repeat(defs[fmt::format("{} {}", info.name, info.is_driver ? "driver" : "joint")]);
  may_repeat(defs["coupler joint"]);
  for (const std::string& name : forces) may_repeat(defs[fmt::format("{} force", name)]);
  may_repeat(defs["inputs"]["additionalProperties"]["anyOf"][1]);
  may_repeat(defs["states"]["additionalProperties"]);
  may_repeat(defs["outputs"]["additionalProperties"]["anyOf"][2]);
  // Names with an index become words when it is filled in.
  for (const char* section : {"inputs", "states", "outputs"})
    defs[section]["propertyNames"]["pattern"] = "^[A-Za-z_][A-Za-z0-9_.{}+*() -]{0,99}$";
  return schema;
}

std::string model_reference() {
  std::string out;
  const auto section = [&](int depth, std::string_view title, const ObjectInfo& object) {
    out += fmt::format("{} {}\n\n{}{}\n", std::string(static_cast<std::size_t>(depth), '#'), title,
                       object.meaning.empty() ? "" : object.meaning + "\n\n", table_of(object.keys));
  };
  section(2, "Model file", model_object());
  section(3, "An included file", include_object());
  section(3, "A parameter", parameter_object());
  section(3, "A body", body_object());
  for (const ObjectInfo& shape : shape_objects()) section(4, fmt::format("Shape `{}`", shape.name), shape);
  out += "### A rotation\n\nOne of these objects.\n\n";
  for (const ObjectInfo& rotation : rotation_objects())
    section(4, fmt::format("Rotation by {}", rotation.name), rotation);
  section(3, "A material", material_object());
  section(3, "A section", section_object());
  section(4, "A circle", circle_object());
  section(4, "A shape of a section", section_shape_object());
  section(3, "A rod", rod_object());
  section(4, "A path", path_object());
  section(4, "An arc", arc_object());
  section(4, "A helix", helix_object());
  section(4, "A catenary", catenary_object());
  section(3, "A frame", frame_object());
  section(3, "A signal", table_object());
  out +=
      "A signal is a number, a formula in t such as `\"0.1*sin(2*pi*t)\"`, or such an object. The signal of a driver "
      "is a "
      "motion.\n\n";
  for (const bool is_driver : {false, true})
    for (const JointInfo& info : multibody::joint_catalogue())
      if (info.is_driver == is_driver)
        section(3, fmt::format("{} `{}`", is_driver ? "Driver" : "Joint", info.name), object_of(info));
  for (const ForceInfo& info : multibody::force_catalogue())
    section(3, fmt::format("Force `{}`", info.name), object_of(info));
  for (const multibody::LawInfo& info : multibody::law_catalogue())
    section(3, fmt::format("Force `{}`", info.name), object_of(info));
  section(3, "Force `line-load`", line_load_object());
  section(3, "Joint `coupler`", coupler_object());
  section(3, "Limits of a joint", limits_object());
  section(3, "An input", input_object());
  section(3, "A state", state_object());
  section(3, "An output", output_object());
  section(3, "An event", event_object());
  section(3, "A table in a law", law_table_object());
  section(3, "A start", start_object());
  section(4, "Start of a body", start_of_body_object());
  return out;
}

}  // namespace kreisel::io
