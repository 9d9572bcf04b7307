#include "kreisel/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/field.hpp"
#include "kreisel/error.hpp"
#include "multibody/assembly.hpp"
#include "multibody/closed_curve.hpp"
#include "multibody/law.hpp"

namespace kreisel {

using multibody::JointInfo;

namespace {

using Numbers = std::vector<std::pair<std::string, double>>;

bool has(const Numbers& numbers, std::string_view key) {
  return std::any_of(numbers.begin(), numbers.end(), [&](const auto& number) { return number.first == key; });
}

void check_numbers(const std::string& where, const std::vector<Field>& fields, const Numbers& numbers) {
  for (const auto& [key, value] : numbers) {
    const Field* field = find_field(fields, key);
    if (field == nullptr) throw InvalidInput(where + ": " + unknown_name("number", key, names_in(fields)));
    try {
      checked(*field, value);
    } catch (const InvalidInput& e) {
      throw InvalidInput(fmt::format("{}: {} {}", where, key, e.what()));
    }
  }
}

void check_words(const std::string& where, const std::vector<Field>& fields,
                 const std::vector<std::pair<std::string, std::string>>& words) {
  for (const auto& [key, word] : words) {
    const Field* field = find_field(fields, key);
    if (field == nullptr || field->words.empty()) throw InvalidInput(fmt::format("{} has no word '{}'", where, key));
    if (std::ranges::count(field->words, word) == 0)
      throw InvalidInput(where + ": " + unknown_name(key, word, field->words));
  }
}

}  // namespace

JointDescription spherical(Bodies b, const Vector3& at) { return {"spherical", {b.first, b.second}, {at}, {}}; }
JointDescription revolute(Bodies b, const Vector3& at, const Vector3& axis) {
  return {"revolute", {b.first, b.second}, {at}, {axis}};
}
JointDescription prismatic(Bodies b, const Vector3& at, const Vector3& axis) {
  return {"prismatic", {b.first, b.second}, {at}, {axis}};
}
JointDescription cylindrical(Bodies b, const Vector3& at, const Vector3& axis) {
  return {"cylindrical", {b.first, b.second}, {at}, {axis}};
}
JointDescription planar(Bodies b, const Vector3& at, const Vector3& normal) {
  return {"planar", {b.first, b.second}, {at}, {normal}};
}
JointDescription universal(Bodies b, const Vector3& at, const Vector3& first, const Vector3& second) {
  return {"universal", {b.first, b.second}, {at}, {first, second}};
}
JointDescription fixed(Bodies b, const Vector3& at) { return {"fixed", {b.first, b.second}, {at}, {}}; }
JointDescription distance(Bodies b, const Vector3& from, const Vector3& to) {
  return {"distance", {b.first, b.second}, {from, to}, {}};
}
JointDescription wheel(Bodies b, const Vector3& point_of_plane, const Vector3& normal, const Vector3& centre,
                       const Vector3& axis, double radius) {
  JointDescription joint{"wheel", {b.first, b.second}, {point_of_plane, centre}, {normal, axis}};
  joint.numbers = {{"radius", radius}};
  return joint;
}
JointDescription cam(Bodies b, const Vector3& origin, const Vector3& axis, const Vector3& point,
                     std::vector<Eigen::Vector2d> curve, double roller_radius) {
  JointDescription joint{"cam", {b.first, b.second}, {origin, point}, {axis}};
  joint.numbers = {{"radius", roller_radius}};
  joint.curve = std::move(curve);
  return joint;
}
JointDescription angle_driver(Bodies b, const Vector3& axis, Law value) {
  JointDescription driver{"angle", {b.first, b.second}, {}, {axis}};
  driver.value = std::move(value);
  return driver;
}
ForceDescription spring_damper(Bodies b, const Vector3& from, const Vector3& to, double stiffness, double damping) {
  return {"spring-damper", {b.first, b.second}, {from, to}, {}, {{"stiffness", stiffness}, {"damping", damping}}};
}

Mechanism::Mechanism(std::string name, lie::GroupId group) : name_(std::move(name)), group_(group) {
  if (group != lie::GroupId::r3xso3 && group != lie::GroupId::se3)
    throw InvalidInput("a mechanism has bodies on R3xSO(3) or SE(3)");
}

Mechanism& Mechanism::set_gravity(const Vector3& gravity) {
  gravity_ = gravity;
  return *this;
}

Body Mechanism::add_body(multibody::Body body) {
  const int number = static_cast<int>(bodies_.size());
  if (!nodes_.empty()) throw InvalidInput("bodies are numbered before nodes; add all bodies before the first node");
  if (!parts_.empty())
    throw InvalidInput("bodies are numbered before those of model files; add all bodies before the first file");
  if (body.name.empty()) body.name = fmt::format("body{}", number + 1);
  for (const multibody::Body& other : bodies_)
    if (other.name == body.name)
      throw InvalidInput(fmt::format("there is already a body '{}'; give another name", body.name));
  if (!(body.mass >= 0.0) || !std::isfinite(body.mass))
    throw InvalidInput(fmt::format("body '{}': mass is {}, must not be negative [kg]", body.name, body.mass));
  if (body.group && *body.group != lie::GroupId::r3xso3 && *body.group != lie::GroupId::se3)
    throw InvalidInput(
        fmt::format("body '{}': the group of a body is r3xso3 or se3, not {}", body.name, lie::name_of(*body.group)));
  if (!body.position.allFinite() || !body.rotation.allFinite() || !body.inertia.allFinite())
    throw InvalidInput(fmt::format("body '{}' has values that are not finite", body.name));
  bodies_.push_back(std::move(body));
  return {number};
}

void Mechanism::check(Body body, std::string_view where) const {
  const std::size_t count = bodies_.size() + part_bodies_.size();
  if (body.number >= static_cast<int>(count) || body.number < multibody::ground)
    throw InvalidInput(fmt::format("{}: there is no body number {}; the mechanism has {}", where, body.number, count));
}

void Mechanism::check_joint(int joint, std::string_view where) const {
  if (joint < 0 || joint >= static_cast<int>(joints_.size()))
    throw InvalidInput(
        fmt::format("{}: there is no joint number {}; the mechanism has {}", where, joint, joints_.size()));
}

std::string Mechanism::label(Body body) const {
  if (body.number == multibody::ground) return "ground";
  const std::size_t number = static_cast<std::size_t>(body.number);
  return number < bodies_.size() ? bodies_[number].name : part_bodies_.at(number - bodies_.size());
}

Body Mechanism::body(std::string_view name) const {
  if (name == "ground") return ground;
  std::vector<std::string> known;
  for (const multibody::Body& body : bodies_) known.push_back(body.name);
  known.insert(known.end(), part_bodies_.begin(), part_bodies_.end());
  const auto found = std::ranges::find(known, name);
  if (found == known.end()) throw InvalidInput(unknown_name("body", std::string(name), known));
  return {static_cast<int>(found - known.begin())};
}

int Mechanism::add_joint(const JointDescription& given) {
  JointDescription joint = given;
  if (const auto& value = joint.value;  // an empty formula is none
      value && value->formula.empty() && !value->constant && !value->table && !value->function)
    joint.value.reset();
  const bool is_driver = joint.value.has_value();
  const JointInfo& info = multibody::find_joint(joint.type, is_driver);
  if (joint.bodies.size() < 2) throw InvalidInput(fmt::format("a {} joint needs two bodies", joint.type));
  for (const Body body : joint.bodies) check(body, fmt::format("{} joint", joint.type));
  JointDescription added = joint;
  if (added.name.empty())
    added.name = fmt::format("{} {}-{}", joint.type, label(joint.bodies.at(0)), label(joint.bodies.at(1)));
  for (const JointDescription& other : joints_)
    if (other.name == added.name)
      throw InvalidInput(fmt::format("there is already a joint '{}'; give another name", added.name));
  const std::string where = fmt::format("joint '{}'", added.name);
  if (info.has_carrier && joint.bodies.size() == 2) added.bodies.push_back(ground);
  if (added.bodies.size() != (info.has_carrier ? 3 : 2))
    throw InvalidInput(where + (info.has_carrier ? " needs two bodies and a carrier" : " needs two bodies"));
  if (info.has_teeth && (joint.teeth.first == 0 || joint.teeth.second == 0))
    throw InvalidInput(where + " needs the teeth of both gears, negative for an internal one");
  for (const Body body : joint.bodies) check(body, where);
  if (joint.bodies[0] == joint.bodies[1])
    throw InvalidInput(where + " names the same body twice, expected two different ones");
  const std::size_t points = info.place == JointInfo::Place::none        ? 0
                             : info.place == JointInfo::Place::one_point ? 1
                                                                         : 2;
  if (joint.points.size() != points || static_cast<int>(joint.axes.size()) != info.axes)
    throw InvalidInput(fmt::format("{} has {} points and {} axes, expected {} and {}", where, joint.points.size(),
                                   joint.axes.size(), points, info.axes));
  check_numbers(where, info.numbers, joint.numbers);
  for (const Field& field : info.numbers)
    if (field.words.empty() && !field.is_optional && field.name != "length" && std::isnan(field.default_number) &&
        !has(joint.numbers, field.name))
      throw InvalidInput(fmt::format("{} needs the number {}: {}", where, field.name, field.meaning));
  check_words(where, info.numbers, joint.words);
  for (const Vector3& axis : joint.axes)
    if (!(axis.norm() > 0.0) || !axis.allFinite())
      throw InvalidInput(where + " has an axis that is zero or not finite");
  if (info.has_curve) try {
      multibody::ClosedCurve{joint.curve};
    } catch (const InvalidInput& e) {
      throw InvalidInput(fmt::format("{}: its curve {}", where, e.what()));
    }
  if (is_driver && joint.value->function)
    throw InvalidInput(where + " is driven by a function; expected a number, a formula of t or a table");
  const auto is_given = [](const InitialValue& initial) { return initial.value || initial.rate; };
  const auto is_limited = [](const Limits& l) { return l.from || l.to || l.restitution || l.stiffness || l.damping; };
  if (info.coordinates == 0 && (is_given(joint.initial) || is_limited(joint.limits)))
    throw InvalidInput(
        fmt::format("{} is of type {}, which has no coordinate to start at or to limit", where, joint.type));
  if (info.coordinates < 2 && (is_given(joint.initial_displacement) || is_limited(joint.limits_of_displacement)))
    throw InvalidInput(
        fmt::format("{} is of type {}, which has no second coordinate; use initial and limits", where, joint.type));
  joints_.push_back(std::move(added));
  return static_cast<int>(joints_.size()) - 1;
}

Mechanism& Mechanism::add_coupler(const CouplerDescription& coupler) {
  const std::string where = fmt::format("coupler '{}'", coupler.name);
  check_joint(coupler.first, where);
  check_joint(coupler.second, where);
  if (!std::isfinite(coupler.ratio) || !std::isfinite(coupler.offset))
    throw InvalidInput(where + " has a ratio or an offset that is not finite");
  couplers_.push_back(coupler);
  return *this;
}

int Mechanism::add_force(const ForceDescription& force) {
  const multibody::LawInfo* law = multibody::find_law(force.type);
  std::vector<std::string> types = multibody::force_names();
  for (const std::string& type : multibody::law_names()) types.push_back(type);
  if (std::ranges::count(types, force.type) == 0) throw InvalidInput(unknown_name("force", force.type, types));
  static const multibody::ForceInfo along_joint{
      .name = "", .summary = "", .bodies = 0, .place = JointInfo::Place::none};
  const multibody::ForceInfo& info = law != nullptr ? along_joint : multibody::find_force(force.type);
  const std::vector<Field>& fields = law != nullptr ? law->numbers : info.numbers;
  ForceDescription added = force;
  if (added.name.empty()) added.name = fmt::format("{} {}", force.type, forces_.size() + 1);
  const std::string where = fmt::format("force '{}'", added.name);
  if (static_cast<int>(force.bodies.size()) != info.bodies)
    throw InvalidInput(fmt::format("{} has {} bodies, expected {}", where, force.bodies.size(), info.bodies));
  if (info.bodies == 0) check_joint(force.joint, where);
  for (const Body body : force.bodies) check(body, where);
  if (info.bodies == 2 && force.bodies[0] == force.bodies[1])
    throw InvalidInput(where + " names the same body twice, expected two different ones");
  for (const ForceDescription& other : forces_)
    if (other.name == added.name)
      throw InvalidInput(fmt::format("there is already a force '{}'; give another name", added.name));
  const std::size_t points = info.place == JointInfo::Place::none        ? 0
                             : info.place == JointInfo::Place::one_point ? 1
                                                                         : 2;
  if (force.points.size() > points || static_cast<int>(force.axes.size()) > info.axes)
    throw InvalidInput(fmt::format("{} has {} points and {} axes, expected at most {} and {}", where,
                                   force.points.size(), force.axes.size(), points, info.axes));
  for (const Vector3& axis : force.axes)
    if (!(axis.norm() > 0.0) || !axis.allFinite())
      throw InvalidInput(where + " has an axis that is zero or not finite");
  check_numbers(where, fields, force.numbers);
  for (const Field& field : fields)
    if (field.words.empty() && !field.is_optional && std::isnan(field.default_number) &&
        !has(force.numbers, field.name))
      throw InvalidInput(fmt::format("{} needs the number {}: {}", where, field.name, field.meaning));
  check_words(where, fields, force.words);
  for (const auto& [key, vector] : force.vectors)
    if (find_field(info.vectors, key) == nullptr)
      throw InvalidInput(where + ": " + unknown_name("vector", key, names_in(info.vectors)));
  for (const auto& [key, laws] : force.laws) {
    const bool is_law = info.law.measure != nullptr && key == info.law.field.name;
    const bool is_vector = find_field(info.vector_signals, key) != nullptr;
    if (!is_law && !is_vector && find_field(info.signals, key) == nullptr &&
        (law == nullptr || find_field(law->laws, key) == nullptr))
      throw InvalidInput(fmt::format("{} does not take a law '{}'", where, key));
    if (laws.size() != (is_vector ? 3 : 1))
      throw InvalidInput(fmt::format("{}: '{}' has {} laws, expected {}", where, key, laws.size(), is_vector ? 3 : 1));
    for (const Law& one : laws)
      if (one.function && info.law.measure == nullptr && law == nullptr && !is_vector)
        throw InvalidInput(fmt::format("{}: '{}' is a function; expected a number or a formula of t", where, key));
    for (const char* other : {"stiffness", "damping"})
      if (is_law && find_field(info.signals, key) == nullptr && has(force.numbers, other))
        throw InvalidInput(
            fmt::format("{}: {} cannot be combined with the law '{}'; write it into the formula", where, other, key));
  }
  if (force.table && (law == nullptr || law->tables.empty()))
    throw InvalidInput(
        fmt::format("{} is of type {}, which does not take a table; a law may be a table", where, force.type));
  forces_.push_back(std::move(added));
  return static_cast<int>(forces_.size()) - 1;
}

int Mechanism::add_node(multibody::Node node) {
  if (!parts_.empty())
    throw InvalidInput(
        "a mechanism with model files cannot have its own nodes: their numbers would follow those of the files");
  nodes_.push_back(std::move(node));
  return static_cast<int>(bodies_.size() + nodes_.size()) - 1;
}

void Mechanism::add_element(multibody::ElementPtr element) {
  if (element == nullptr) throw InvalidInput("add_element: the element is null");
  elements_.push_back(std::move(element));
}

run::Problem Mechanism::problem(const Span& span) const {
  std::shared_ptr<const multibody::Assembly> assembly = this->assembly();
  run::Problem problem;
  problem.start = assembly->start(span.t_end.value_or(span.t0 + 1.0));
  problem.has_end = span.t_end.has_value();
  problem.start.t0 = span.t0;
  problem.system = std::move(assembly);
  return problem;
}

std::shared_ptr<const system::System> without(const run::Problem& problem, const std::vector<std::string>& names) {
  const auto* assembly = dynamic_cast<const multibody::Assembly*>(problem.system.get());
  if (assembly == nullptr) throw InvalidInput("only the system of a mechanism has joints and forces to switch off");
  return assembly->without(names);
}

}  // namespace kreisel
