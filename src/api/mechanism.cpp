#include "kreisel/mechanism.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/field.hpp"
#include "kreisel/error.hpp"
#include "multibody/assembly.hpp"
#include "multibody/closed_curve.hpp"
#include "multibody/expression.hpp"

namespace kreisel {

using multibody::Frame;
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
JointDescription angle_driver(Bodies b, const Vector3& axis, std::string value) {
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
  if (body.name.empty()) body.name = fmt::format("body{}", number + 1);
  for (const multibody::Body& other : bodies_)
    if (other.name == body.name)
      throw InvalidInput(fmt::format("there is a body '{}' already; give another name", body.name));
  if (!(body.mass >= 0.0) || !std::isfinite(body.mass))
    throw InvalidInput(fmt::format("body '{}': mass is {}, must not be negative [kg]", body.name, body.mass));
  if (body.group && *body.group != lie::GroupId::r3xso3 && *body.group != lie::GroupId::se3)
    throw InvalidInput(
        fmt::format("body '{}': bodies live on r3xso3 or se3, not on {}", body.name, lie::name_of(*body.group)));
  if (!body.position.allFinite() || !body.rotation.allFinite() || !body.inertia.allFinite())
    throw InvalidInput(fmt::format("body '{}' has values that are not finite", body.name));
  bodies_.push_back(std::move(body));
  return {number};
}

void Mechanism::check(Body body, std::string_view where) const {
  if (body.number >= static_cast<int>(bodies_.size()) || body.number < multibody::ground)
    throw InvalidInput(
        fmt::format("{}: there is no body number {}; the mechanism has {}", where, body.number, bodies_.size()));
}

std::string Mechanism::label(Body body) const {
  return body.number == multibody::ground ? "ground" : bodies_[body.number].name;
}

Vector3 Mechanism::centre_of(Body body) const {
  return body.number == multibody::ground ? Vector3(Vector3::Zero()) : bodies_[body.number].position;
}

Frame Mechanism::in_body(Body body, const Vector3& p, const Matrix3& axes) const {
  if (body.number == multibody::ground) return {p, axes};
  const multibody::Body& b = bodies_[body.number];
  return {b.rotation.transpose() * (p - b.position), b.rotation.transpose() * axes};
}

/// One point or axis is shared, several belong to the bodies one by one.
std::vector<Frame> Mechanism::frames_of(const std::vector<Body>& bodies, const std::vector<Vector3>& points,
                                        const std::vector<Vector3>& axes) const {
  std::vector<Frame> frames;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Vector3 p = points.empty() ? centre_of(bodies[i]) : points[std::min(i, points.size() - 1)];
    const Matrix3 E =
        axes.empty() ? Matrix3(Matrix3::Identity()) : multibody::axes_along(axes[std::min(i, axes.size() - 1)]);
    frames.push_back(in_body(bodies[i], p, E));
  }
  return frames;
}

int Mechanism::add_joint(const JointDescription& joint) {
  const bool is_driver = !joint.value.empty();
  const JointInfo& info = multibody::find_joint(joint.type, is_driver);
  if (joint.bodies.size() < 2) throw InvalidInput(fmt::format("a {} joint needs two bodies", joint.type));
  for (const Body body : joint.bodies) check(body, fmt::format("{} joint", joint.type));
  JointDescription added = joint;
  if (added.name.empty())
    added.name = fmt::format("{} {}-{}", joint.type, label(joint.bodies.at(0)), label(joint.bodies.at(1)));
  for (const JointDescription& other : joints_)
    if (other.name == added.name)
      throw InvalidInput(fmt::format("there is a joint '{}' already; give another name", added.name));
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
    if (!(axis.norm() > 0.0) || !axis.allFinite()) throw InvalidInput(where + " has an axis without direction");
  if (info.has_curve) try {
      multibody::ClosedCurve{joint.curve};
    } catch (const InvalidInput& e) {
      throw InvalidInput(fmt::format("{}: its curve {}", where, e.what()));
    }
  joints_.push_back(std::move(added));
  return static_cast<int>(joints_.size()) - 1;
}

int Mechanism::add_force(const ForceDescription& force) {
  const multibody::ForceInfo& info = multibody::find_force(force.type);
  ForceDescription added = force;
  if (added.name.empty()) added.name = fmt::format("{} {}", force.type, forces_.size() + 1);
  const std::string where = fmt::format("force '{}'", added.name);
  if (static_cast<int>(force.bodies.size()) != info.bodies)
    throw InvalidInput(fmt::format("{} has {} bodies, expected {}", where, force.bodies.size(), info.bodies));
  if (info.bodies == 0 && (force.joint < 0 || force.joint >= static_cast<int>(joints_.size())))
    throw InvalidInput(
        fmt::format("{}: there is no joint number {}; the mechanism has {}", where, force.joint, joints_.size()));
  for (const Body body : force.bodies) check(body, where);
  if (info.bodies == 2 && force.bodies[0] == force.bodies[1])
    throw InvalidInput(where + " names the same body twice, expected two different ones");
  for (const ForceDescription& other : forces_)
    if (other.name == added.name)
      throw InvalidInput(fmt::format("there is a force '{}' already; give another name", added.name));
  check_numbers(where, info.numbers, force.numbers);
  for (const Field& field : info.numbers)
    if (field.words.empty() && !field.is_optional && std::isnan(field.default_number) &&
        !has(force.numbers, field.name))
      throw InvalidInput(fmt::format("{} needs the number {}: {}", where, field.name, field.meaning));
  check_words(where, info.numbers, force.words);
  for (const auto& [key, vector] : force.vectors)
    if (find_field(info.vectors, key) == nullptr)
      throw InvalidInput(where + ": " + unknown_name("vector", key, names_in(info.vectors)));
  for (const auto& [key, laws] : force.laws) {
    const bool is_law = info.law.measure != nullptr && key == info.law.field.name;
    const bool is_vector = find_field(info.vector_signals, key) != nullptr;
    if (!is_law && !is_vector && find_field(info.signals, key) == nullptr)
      throw InvalidInput(fmt::format("{} takes no law '{}'", where, key));
    if (laws.size() != (is_vector ? 3 : 1))
      throw InvalidInput(fmt::format("{}: '{}' has {} laws, expected {}", where, key, laws.size(), is_vector ? 3 : 1));
  }
  forces_.push_back(std::move(added));
  return static_cast<int>(forces_.size()) - 1;
}

int Mechanism::add_node(multibody::Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<int>(bodies_.size() + nodes_.size()) - 1;
}

void Mechanism::add_element(multibody::ElementPtr element) {
  if (element == nullptr) throw InvalidInput("add_element: the element is null");
  elements_.push_back(std::move(element));
}

/// Its effort is a formula of more than t, or a function.
bool Mechanism::is_law(const ForceDescription& force) {
  const multibody::ForceInfo& info = multibody::find_force(force.type);
  for (const auto& [key, laws] : force.laws) {
    if (info.law.measure == nullptr || key != info.law.field.name) continue;
    if (find_field(info.signals, key) == nullptr || laws[0].function) return true;
    if (laws[0].constant) return false;
    try {
      multibody::Expression{std::string_view(laws[0].formula)};
    } catch (const InvalidInput&) {
      return true;
    }
  }
  return false;
}

multibody::ForceSpec Mechanism::spec_of(const ForceDescription& force, const multibody::Mechanism& parts) const {
  const multibody::ForceInfo& info = multibody::find_force(force.type);
  multibody::ForceSpec spec;
  spec.name = force.name;
  spec.bodies.assign(force.bodies.begin(), force.bodies.end());
  spec.frames = frames_of(force.bodies, force.points, force.axes);
  if (info.bodies == 0) spec.joint = parts.joints[static_cast<std::size_t>(force.joint)];
  spec.in_body_frame = force.in_body_frame;
  for (const Body body : force.bodies)
    spec.masses.push_back(body.number == multibody::ground ? std::numeric_limits<double>::infinity()
                                                           : bodies_[body.number].mass);
  for (const Field& field : info.numbers)
    if (!field.words.empty())
      spec.words[field.name] = field.words.front();
    else if (!field.is_optional && !std::isnan(field.default_number))
      spec.numbers[field.name] = field.default_number;
  for (const auto& [key, word] : force.words) spec.words[key] = word;
  for (const auto& [key, value] : force.numbers) spec.numbers[key] = value;
  for (const Field& field : info.vectors) spec.vectors[field.name] = Vector3::Zero();
  for (const auto& [key, value] : force.vectors) spec.vectors[key] = value;
  if (find_field(info.numbers, "length") != nullptr && !spec.numbers.contains("length") && force.bodies.size() == 2) {
    const Vector3 from = force.points.empty() ? centre_of(force.bodies[0]) : force.points[0];
    const Vector3 to = force.points.empty() ? centre_of(force.bodies[1]) : force.points.back();
    spec.numbers["length"] = (from - to).norm();
  }
  for (const auto& [key, laws] : force.laws) {
    const auto signal = [&](const Law& law) {
      if (law.function)
        throw InvalidInput(
            fmt::format("force '{}': '{}' is a function; expected a number or a formula of t", force.name, key));
      return law.constant ? multibody::Signal(multibody::Expression(*law.constant))
                          : multibody::Signal(multibody::Expression(std::string_view(law.formula)));
    };
    if (find_field(info.vector_signals, key) != nullptr)
      spec.vector_signals[key] = {signal(laws[0]), signal(laws[1]), signal(laws[2])};
    else if (find_field(info.signals, key) != nullptr && !is_law(force))
      spec.signals[key] = signal(laws[0]);
  }
  return spec;
}

std::shared_ptr<multibody::Assembly> Mechanism::assembly() const {
  multibody::Mechanism parts;
  parts.name = name_;
  parts.group = group_;
  parts.gravity = gravity_;
  parts.bodies = bodies_;
  for (const JointDescription& joint : joints_) {
    const JointInfo& info = multibody::find_joint(joint.type, !joint.value.empty());
    multibody::JointSpec spec;
    spec.name = joint.name;
    spec.bodies.assign(joint.bodies.begin(), joint.bodies.end());
    spec.frames = frames_of(joint.bodies, joint.points, joint.axes);
    for (const Field& number : info.numbers)
      if (!number.words.empty())
        spec.numbers.words[number.name] = number.words.front();
      else if (!number.is_optional && !std::isnan(number.default_number))
        spec.numbers.numbers[number.name] = number.default_number;
    for (const auto& [key, word] : joint.words) spec.numbers.words[key] = word;
    for (const auto& [key, value] : joint.numbers) spec.numbers.numbers[key] = value;
    if (info.axes_swing) {
      const auto rotation = [&](Body body) -> Matrix3 {
        return body.number == multibody::ground ? Matrix3(Matrix3::Identity()) : bodies_[body.number].rotation;
      };
      spec.frames[1].E =
          multibody::swung(rotation(joint.bodies[0]), spec.frames[0].E, rotation(joint.bodies[1]), spec.frames[1].E);
    }
    if (find_field(info.numbers, "length") != nullptr && !has(joint.numbers, "length"))
      spec.numbers.numbers["length"] = joint.length > 0.0 ? joint.length : (joint.points[0] - joint.points[1]).norm();
    spec.curve = joint.curve;
    spec.teeth = {joint.teeth.first, joint.teeth.second};
    if (info.has_carrier) {  // the frames of both, as the carrier sees them
      const std::size_t n = spec.frames.size();
      spec.frames.resize(2);
      for (const std::size_t i : {0, 1}) {
        const Vector3 p =
            joint.points.empty() ? Vector3(Vector3::Zero()) : joint.points[std::min(i, joint.points.size() - 1)];
        const Matrix3 E = multibody::axes_along(joint.axes[std::min(i, joint.axes.size() - 1)]);
        spec.frames[i] = in_body(joint.bodies[i], p, E);
        spec.frames.push_back(in_body(joint.bodies[n - 1], p, E));
      }
    }
    if (!joint.value.empty()) spec.value = multibody::Signal(multibody::Expression(std::string_view(joint.value)));
    parts.joints.push_back(make_joint(info, spec));
  }
  for (const ForceDescription& force : forces_)
    if (!is_law(force)) {
      const multibody::ForceInfo& info = multibody::find_force(force.type);
      const multibody::ForceSpec spec = spec_of(force, parts);
      parts.marks.push_back(multibody::mark_of(info, spec));
      parts.forces.push_back(info.build(spec));
    }
  parts.nodes = nodes_;
  parts.elements = elements_;
  const std::function<void(multibody::Assembly&)> give_events = add_laws(parts);
  auto assembly = std::make_shared<multibody::Assembly>(std::move(parts));
  give_events(*assembly);
  return assembly;
}

run::Problem Mechanism::problem(const Span& span) const {
  std::shared_ptr<multibody::Assembly> assembly = this->assembly();
  run::Problem problem;
  problem.start = assembly->start(span.t_end);
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
