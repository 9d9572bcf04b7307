#include "io/model_file/urdf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/decompositions.hpp"
#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/files/xml.hpp"
#include "kreisel/error.hpp"
#include "kreisel/types.hpp"
#include "lie/so3.hpp"
#include "multibody/body.hpp"

namespace kreisel::io {
namespace {

constexpr std::size_t max_problems = 20;

struct Pose {
  Vector3 x = Vector3::Zero();
  Matrix3 R = Matrix3::Identity();
  Pose operator*(const Pose& b) const { return {x + R * b.x, R * b.R}; }
};

struct Inertia {
  double mass = 0.0;
  Vector3 centre = Vector3::Zero();  ///< world
  Matrix3 J = Matrix3::Zero();       ///< about the centre, world axes

  /// Parallel axes (Steiner).
  void add(const Inertia& other) {
    const double total = mass + other.mass;
    if (total <= 0.0) {
      J += other.J;
      return;
    }
    const Vector3 c = (mass * centre + other.mass * other.centre) / total;
    const auto shifted = [&](const Inertia& part) -> Matrix3 {
      const Vector3 r = part.centre - c;
      return part.J + part.mass * (r.squaredNorm() * Matrix3::Identity() - r * r.transpose());
    };
    J = (shifted(*this) + shifted(other)).eval();
    centre = c;
    mass = total;
  }
};

struct Link {
  const XmlElement* element = nullptr;
  Pose pose;      ///< of its frame, all joints zero
  int body = -1;  ///< number, -1: ground
  bool is_placed = false;
};

struct JointElement {
  const XmlElement* element = nullptr;
  std::string name, type, parent, child;
};

Json rounded_list(const Vector3& v) {
  Json out = Json::array();
  for (const double x : v) out.push_back(std::abs(x) < 1e-15 ? 0.0 : x);
  return out;
}

class UrdfReader {
 public:
  UrdfReader(std::string_view name, std::string_view text, const UrdfOptions& options)
      : name_(name), options_(options), root_(parse_xml(name, text)) {}

  ImportedModel read() {
    if (root_.name != "robot") complain(root_, fmt::format("<{}> where <robot> was expected", root_.name));
    finish();
    refuse_macros();
    check_inertias();
    finish();
    collect();
    finish();
    place();
    for (const auto& [joint, position] : options_.positions)
      if (const auto found = std::ranges::find(joints_, joint, &JointElement::name); found == joints_.end()) {
        std::vector<std::string> known;
        for (const JointElement& of : joints_) known.push_back(of.name);
        complain(root_, unknown_name("joint", joint, known));
      } else if (found->type == "fixed" || found->type == "floating" || found->type == "planar") {
        complain(*found->element, fmt::format("joint '{}' is {}; it has no initial position", joint, found->type));
      }
    finish();
    ImportedModel out;
    out.model = {
        {"name", attribute(root_, "name").value_or("robot")}, {"gravity", {0.0, 0.0, -9.81}}, {"group", "se3"}};
    out.model["bodies"] = bodies();
    out.model["joints"] = joints();
    if (!forces_.empty()) out.model["forces"] = forces_;
    if (!inputs_.empty()) out.model["inputs"] = inputs_;
    finish();
    out.notes = std::move(notes_);
    return out;
  }

 private:
  void complain(const XmlElement& at, std::string_view message) {
    ++problem_count_;
    if (problems_.size() < max_problems)
      problems_.push_back(clipped(fmt::format("{}:{}:{}: {}", name_, at.line, at.column, message), longest_message));
  }
  void finish() const {
    if (problems_.empty()) return;
    std::string text = fmt::format("{}", fmt::join(problems_, "\n"));
    if (problem_count_ > problems_.size()) text += fmt::format("\n... and {} more", problem_count_ - problems_.size());
    throw InvalidInput(text);
  }
  void note(std::string text) {
    if (noted_.insert(text).second) notes_.push_back(std::move(text));
  }

  /// Elements and substitutions of xacro, before anything that depends on them.
  void refuse_macros() {
    const XmlElement* first = nullptr;
    std::string what;
    int count = 0;
    std::vector<const XmlElement*> open{&root_};
    while (!open.empty()) {
      const XmlElement& element = *open.back();
      open.pop_back();
      std::string found = element.name.starts_with("xacro:") ? fmt::format("<{}>", element.name) : "";
      for (const auto& [key, value] : element.attributes)
        if (found.empty() && (value.find("${") != std::string::npos || value.find("$(") != std::string::npos))
          found = fmt::format("{}=\"{}\"", key, clipped(value, 40));
      if (!found.empty()) {
        ++count;
        if (first == nullptr) first = &element, what = found;
        if (element.name.starts_with("xacro:")) continue;
      }
      for (auto child = element.children.rbegin(); child != element.children.rend(); ++child) open.push_back(&*child);
    }
    if (first == nullptr) return;
    const std::string more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
    complain(*first, fmt::format("{}{}: xacro macros are not URDF; expand them first: `xacro {} > robot.urdf`", what,
                                 more, name_));
  }
  void check_inertias() {
    for (const XmlElement& link : root_.children) {
      const XmlElement* inertial = link.name == "link" ? link.child("inertial") : nullptr;
      const XmlElement* inertia = inertial == nullptr ? nullptr : inertial->child("inertia");
      if (inertia == nullptr) continue;
      const std::string problem = multibody::problem_with_inertia(matrix_of(*inertia)),
                        name = attribute(link, "name").value_or("");
      if (problem.empty()) continue;
      if (!options_.repairs_inertia) {
        complain(*inertia,
                 fmt::format("the inertia of link '{}' {}; correct it, or {} replaces it by the nearest possible one",
                             name, problem, spelled("repair_inertia")));
        continue;
      }
      const Vector3 moments = symmetric_eigen(multibody::nearest_inertia(matrix_of(*inertia))).values;
      note(fmt::format("the inertia of link '{}' {}: repaired to {:.6g}, {:.6g}, {:.6g}", name, problem, moments[0],
                       moments[1], moments[2]));
    }
  }
  Matrix3 matrix_of(const XmlElement& inertia) {
    Matrix3 J;
    const double xy = number(inertia, "ixy"), xz = number(inertia, "ixz"), yz = number(inertia, "iyz");
    J << number(inertia, "ixx"), xy, xz, xy, number(inertia, "iyy"), yz, xz, yz, number(inertia, "izz");
    return J;
  }

  static std::optional<std::string> attribute(const XmlElement& element, std::string_view key) {
    const auto found = element.attributes.find(key);
    if (found == element.attributes.end()) return std::nullopt;
    return found->second;
  }
  std::string required(const XmlElement& element, std::string_view key) {
    const std::optional<std::string> value = attribute(element, key);
    if (!value || value->empty()) complain(element, fmt::format("<{}> has no attribute '{}'", element.name, key));
    return value.value_or("");
  }
  std::vector<double> numbers(const XmlElement& element, std::string_view key, std::size_t count, double otherwise) {
    std::vector<double> out;
    const std::optional<std::string> text = attribute(element, key);
    if (!text) return std::vector<double>(count, otherwise);
    constexpr std::string_view blanks = " \t\r\n";
    bool is_valid = true;
    for (std::size_t at = text->find_first_not_of(blanks); at != std::string::npos && is_valid;) {
      const std::size_t end = std::min(text->find_first_of(blanks, at), text->size());
      const std::optional<double> value = number_in(std::string_view(*text).substr(at, end - at));
      is_valid = value.has_value();
      out.push_back(value.value_or(0.0));
      at = text->find_first_not_of(blanks, end);
    }
    if (is_valid && out.size() == count) return out;
    complain(element, fmt::format("{}=\"{}\" of <{}>: expected {} number{}", key, *text, element.name, count,
                                  count > 1 ? "s" : ""));
    return std::vector<double>(count, otherwise);
  }
  double number(const XmlElement& element, std::string_view key, double otherwise = 0.0) {
    return numbers(element, key, 1, otherwise)[0];
  }
  Vector3 vector(const XmlElement& element, std::string_view key) {
    const std::vector<double> x = numbers(element, key, 3, 0.0);
    return {x[0], x[1], x[2]};
  }
  static Matrix3 about(const Vector3& axis, double angle) {
    return lie::rotation_matrix(lie::SO3::exp(std::remainder(angle, 2.0 * M_PI) * axis).data());
  }
  /// <origin xyz rpy> of an element; fixed axes x, y, z.
  Pose origin(const XmlElement& element) {
    const XmlElement* at = element.child("origin");
    if (at == nullptr) return {};
    const Vector3 rpy = vector(*at, "rpy");
    return {vector(*at, "xyz"),
            about(Vector3::UnitZ(), rpy[2]) * about(Vector3::UnitY(), rpy[1]) * about(Vector3::UnitX(), rpy[0])};
  }

  void collect() {
    for (const XmlElement& element : root_.children) {
      if (element.name == "link") {
        const std::string name = required(element, "name");
        if (!links_.insert({name, Link{.element = &element, .pose = {}}}).second)
          complain(element, fmt::format("link '{}' is defined twice", name));
        order_.push_back(name);
      } else if (element.name == "joint") {
        JointElement joint{&element, required(element, "name"), required(element, "type"), "", ""};
        for (const auto& [key, target] : {std::pair{"parent", &joint.parent}, std::pair{"child", &joint.child}}) {
          const XmlElement* end = element.child(key);
          if (end == nullptr)
            complain(element, fmt::format("joint '{}' has no <{} link=...>", joint.name, key));
          else
            *target = required(*end, "link");
        }
        joints_.push_back(std::move(joint));
      } else if (element.name != "material") {
        note(fmt::format("<{}> has no counterpart", element.name));
      }
    }
    if (links_.empty()) complain(root_, "there is no <link>");
    const std::vector<std::string> types{"revolute", "continuous", "prismatic", "fixed", "floating", "planar"};
    std::set<std::string> children, names;
    for (const JointElement& joint : joints_) {
      if (!names.insert(joint.name).second)
        complain(*joint.element, fmt::format("joint '{}' is defined twice", joint.name));
      if (std::find(types.begin(), types.end(), joint.type) == types.end())
        complain(*joint.element, unknown_name("joint type", joint.type, types));
      for (const std::string& link : {joint.parent, joint.child})
        if (!link.empty() && !links_.contains(link))
          complain(*joint.element,
                   unknown_name("link", link,
                                {order_.begin(), order_.begin() + std::min<std::ptrdiff_t>(30, std::ssize(order_))}));
      if (!children.insert(joint.child).second)
        complain(*joint.element, fmt::format("link '{}' has two parents; URDF describes trees", joint.child));
    }
  }

  /// Walks the tree from its root: poses and bodies. Without recursion: long chains would overflow the stack.
  void place() {
    std::map<std::string, std::vector<const JointElement*>, std::less<>> below;
    std::set<std::string> children;
    for (const JointElement& joint : joints_) {
      below[joint.parent].push_back(&joint);
      children.insert(joint.child);
    }
    std::vector<std::string> roots;
    for (const std::string& name : order_)
      if (!children.contains(name)) roots.push_back(name);
    if (roots.size() != 1)
      return complain(root_, roots.empty() ? std::string("the joints form a cycle; URDF describes trees")
                                           : fmt::format("{} links have no parent, expected one: {}", roots.size(),
                                                         fmt::join(roots, ", ")));
    Link& base = links_.find(roots[0])->second;
    base.is_placed = true;
    if (options_.has_free_base) base.body = new_body(roots[0]);
    std::vector<std::string> open{roots[0]};
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      const Link parent = links_.find(name)->second;
      for (const JointElement* joint : below[name]) {
        Link& child = links_.find(joint->child)->second;
        child.pose = parent.pose * origin(*joint->element);
        child.is_placed = true;
        child.body = joint->type == "fixed" ? parent.body : new_body(joint->child);
        open.push_back(joint->child);
      }
    }
    for (const std::string& name : order_)
      if (!links_.find(name)->second.is_placed)
        complain(*links_.find(name)->second.element, fmt::format("link '{}' is part of a cycle of joints", name));
  }
  int new_body(const std::string& link) {
    names_.push_back(link);
    frames_.push_back(link);
    return static_cast<int>(names_.size()) - 1;
  }

  Inertia inertia_of(const Link& link) {
    Inertia out;
    const XmlElement* inertial = link.element->child("inertial");
    if (inertial == nullptr) return out;
    const Pose pose = link.pose * origin(*inertial);
    if (const XmlElement* mass = inertial->child("mass")) out.mass = number(*mass, "value");
    if (out.mass < 0.0) complain(*inertial, fmt::format("the mass is {}, must not be negative", out.mass));
    if (const XmlElement* J = inertial->child("inertia")) {
      const Matrix3 given = matrix_of(*J);
      const bool is_repaired = options_.repairs_inertia && !multibody::problem_with_inertia(given).empty();
      out.J = pose.R * (is_repaired ? multibody::nearest_inertia(given) : given) * pose.R.transpose();
    }
    out.centre = pose.x;
    return out;
  }

  Json bodies() {
    std::vector<Inertia> inertias(names_.size());
    for (const std::string& name : order_) {
      const Link& link = links_.find(name)->second;
      const Inertia part = inertia_of(link);
      if (link.body >= 0) inertias[link.body].add(part);
    }
    Json list = Json::array();
    for (std::size_t b = 0; b < names_.size(); ++b) {
      const Link& link = links_.find(frames_[b])->second;
      if (!(inertias[b].mass > 0.0))
        complain(*link.element,
                 fmt::format("link '{}' and the links fixed to it have no mass; a moving body needs mass", names_[b]));
      const Vector3 centre = inertias[b].mass > 0.0 ? inertias[b].centre : link.pose.x;
      const Pose body{centre, link.pose.R};
      const Matrix3 J = body.R.transpose() * inertias[b].J * body.R;
      Json entry{{"name", names_[b]}, {"mass", inertias[b].mass}};
      entry["inertia"] = {J(0, 0), J(1, 1), J(2, 2), J(0, 1), J(0, 2), J(1, 2)};
      entry["position"] = rounded_list(centre);
      if (!body.R.isIdentity(1e-14)) {
        const Eigen::Vector4d q = lie::quaternion_from(body.R);
        entry["rotation"] = {{"quaternion", {q[3], q[0], q[1], q[2]}}};
      }
      bodies_.push_back(body);
      list.push_back(std::move(entry));
    }
    for (const std::string& name : order_) {
      const Link& link = links_.find(name)->second;
      if (link.body >= 0)
        add_shapes(link, list[link.body]);
      else if (link.element->child("visual") != nullptr)
        note(fmt::format("the shapes of link '{}', which is fixed to the ground, were left out", name));
    }
    return list;
  }

  void add_shapes(const Link& link, Json& body) {
    for (const XmlElement& visual : link.element->children) {
      const XmlElement* geometry = visual.name == "visual" ? visual.child("geometry") : nullptr;
      if (geometry == nullptr) continue;
      const Pose in_world = link.pose * origin(visual), frame = bodies_[link.body];
      const Matrix3 R = frame.R.transpose() * in_world.R;
      Json shape = shape_of(*geometry, R, attribute(*link.element, "name").value_or(""));
      if (shape.is_null()) continue;
      shape.begin().value()["at"] = rounded_list(frame.R.transpose() * (in_world.x - frame.x));
      body["shapes"].push_back(shape);
    }
  }
  Json shape_of(const XmlElement& geometry, const Matrix3& R, const std::string& link) {
    if (const XmlElement* sphere = geometry.child("sphere"))
      return positive({{"sphere", {{"radius", number(*sphere, "radius")}}}});
    if (const XmlElement* cylinder = geometry.child("cylinder"))
      return positive({{"cylinder",
                        {{"radius", number(*cylinder, "radius")},
                         {"length", number(*cylinder, "length")},
                         {"axis", rounded_list(R.col(2))}}}});
    if (const XmlElement* box = geometry.child("box")) {
      const Vector3 size = vector(*box, "size");
      if (!(size.minCoeff() > 0.0)) return nullptr;
      return {{"box", with_rotation({{"size", rounded_list(size)}}, R)}};
    }
    if (const XmlElement* mesh = geometry.child("mesh")) return mesh_of(*mesh, R, link);
    note(fmt::format("the shape of link '{}' is not known and was left out", link));
    return nullptr;
  }
  static Json with_rotation(Json shape, const Matrix3& R) {
    if (R.isIdentity(1e-14)) return shape;
    const Eigen::Vector4d q = lie::quaternion_from(R);
    shape["rotation"] = {{"quaternion", {q[3], q[0], q[1], q[2]}}};
    return shape;
  }
  Json mesh_of(const XmlElement& mesh, const Matrix3& R, const std::string& link) {
    const std::string file = attribute(mesh, "filename").value_or("");
    Json shape = Json::object();
    try {
      if (!options_.mesh_file) throw InvalidInput("meshes were not asked for");
      shape["file"] = options_.mesh_file(file);
    } catch (const InvalidInput& problem) {
      note(fmt::format("the mesh '{}' of link '{}' was left out: {}", file, link, problem.what()));
      return nullptr;
    }
    if (attribute(mesh, "scale")) shape["scale"] = list_of(vector(mesh, "scale"));
    return {{"mesh", with_rotation(std::move(shape), R)}};
  }
  static Json positive(Json shape) {
    for (const auto& item : shape.begin().value().items())
      if (item.value().is_number() && !(item.value().get<double>() > 0.0)) return nullptr;
    return shape;
  }

  Json joints() {
    Json list = Json::array();
    for (const JointElement& joint : joints_) {
      if (joint.type == "fixed" || joint.type == "floating") continue;
      const Link &parent = links_.find(joint.parent)->second, &child = links_.find(joint.child)->second;
      Vector3 axis = Vector3::UnitX();
      if (const XmlElement* given = joint.element->child("axis")) axis = vector(*given, "xyz");
      if (!(axis.norm() > 0.0)) {
        complain(*joint.element, fmt::format("the axis of joint '{}' is zero", joint.name));
        continue;
      }
      axis = child.pose.R * axis.normalized();
      const Json between{body_name(parent), body_name(child)};
      const std::string type = joint.type == "continuous" ? "revolute" : joint.type;
      Json entry{{"type", type},
                 {"name", joint.name},
                 {"between", between},
                 {"at", rounded_list(child.pose.x)},
                 {"axis", rounded_list(axis)}};
      if (joint.type != "planar") add_range(joint, entry);
      list.push_back(std::move(entry));
      add_forces(joint, between, axis);
      add_motor(joint);
    }
    for (const JointElement& joint : joints_) add_coupler(joint, list);
    for (const JointElement& joint : joints_) name_what_is_left_out(joint);
    return list;
  }
  /// Limits and the position at the start, which lies between them.
  void add_range(const JointElement& joint, Json& entry) {
    const XmlElement* limit = joint.element->child("limit");
    double initial = initial_of(joint);
    if (limit != nullptr && joint.type != "continuous" && (attribute(*limit, "lower") || attribute(*limit, "upper"))) {
      const double lower = number(*limit, "lower"), upper = number(*limit, "upper");
      if (!(lower < upper))
        return complain(*limit, fmt::format("joint '{}' has the limits {} and {}; expected lower < upper", joint.name,
                                            lower, upper));
      entry["limits"] = {{"from", lower}, {"to", upper}, {"restitution", 0.0}};
      if (initial < lower || initial > upper) {
        const double inside = std::clamp(initial, lower, upper);
        if (options_.positions.contains(joint.name))
          complain(*limit, fmt::format("joint '{}' is to start at {}, outside its range from {} to {}", joint.name,
                                       initial, lower, upper));
        else
          note(fmt::format("joint '{}' cannot be at {}; it starts at its limit {}", joint.name, initial, inside));
        initial = inside;
      }
    }
    if (initial != 0.0) entry["initial"] = {{"value", initial}};
  }
  /// The requested value; that of a mimic joint follows from its master.
  double initial_of(const JointElement& joint) {
    const auto given = options_.positions.find(joint.name);
    if (given != options_.positions.end()) return given->second;
    const JointElement* at = &joint;
    double factor = 1.0, sum = 0.0;
    for (std::size_t i = 0; i <= joints_.size(); ++i) {
      const XmlElement* mimic = at->element->child("mimic");
      if (const auto asked = options_.positions.find(at->name); asked != options_.positions.end())
        return sum + factor * asked->second;
      if (mimic == nullptr) return sum;
      sum += factor * number(*mimic, "offset");
      factor *= number(*mimic, "multiplier", 1.0);
      const auto master = std::ranges::find(joints_, attribute(*mimic, "joint").value_or(""), &JointElement::name);
      if (master == joints_.end()) return sum;
      at = &*master;
    }
    complain(*joint.element, fmt::format("joint '{}' mimics itself", joint.name));
    return 0.0;
  }
  void add_coupler(const JointElement& joint, Json& list) {
    const XmlElement* mimic = joint.element->child("mimic");
    if (mimic == nullptr || joint.type == "fixed") return;
    const std::string master = required(*mimic, "joint");
    const auto found = std::ranges::find(joints_, master, &JointElement::name);
    const auto has_coordinate = [](const std::string& type) {
      return type == "revolute" || type == "continuous" || type == "prismatic";
    };
    if (found == joints_.end()) {
      std::vector<std::string> known;
      for (const JointElement& of : joints_) known.push_back(of.name);
      return complain(*mimic, fmt::format("joint '{}' mimics an {}", joint.name, unknown_name("joint", master, known)));
    }
    if (!has_coordinate(found->type) || !has_coordinate(joint.type))
      return complain(*mimic,
                      fmt::format("joint '{}' mimics '{}', which is not a revolute, continuous or prismatic joint",
                                  joint.name, master));
    list.push_back({{"type", "coupler"},
                    {"name", joint.name + " mimic"},
                    {"joints", {master, joint.name}},
                    {"ratio", number(*mimic, "multiplier", 1.0)},
                    {"offset", number(*mimic, "offset")}});
  }
  /// A force given by an input, bounded by the effort limit.
  void add_motor(const JointElement& joint) {
    const XmlElement* limit = joint.element->child("limit");
    if (!options_.has_motors || limit == nullptr || joint.type == "planar" || joint.element->child("mimic") != nullptr)
      return;
    const double effort = number(*limit, "effort");
    if (!(effort > 0.0)) return;
    std::string name = "motor_" + joint.name;
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    if (inputs_.contains(name)) name += fmt::format("_{}", inputs_.size());
    const bool slides = joint.type == "prismatic";
    inputs_[name] = {{"value", 0.0}, {"unit", slides ? "N" : "N m"}};
    forces_.push_back({{"type", slides ? "force" : "torque"},
                       {"name", joint.name + " motor"},
                       {"joint", joint.name},
                       {"value", fmt::format("=max(-{0}, min({0}, {1}))", effort, name)}});
  }
  void name_what_is_left_out(const JointElement& joint) {
    if (joint.type == "fixed") return;
    if (const XmlElement* limit = joint.element->child("limit")) {
      const bool is_mimic = joint.element->child("mimic") != nullptr;  // it has no motor of its own
      const bool has_motor = !is_mimic && options_.has_motors && number(*limit, "effort") > 0.0;
      const bool loses_effort = number(*limit, "effort") != 0.0 && !has_motor,
                 loses_velocity = number(*limit, "velocity") != 0.0;
      if (loses_effort || loses_velocity)
        note(fmt::format("joint '{}': the <limit> on {} was left out{}", joint.name,
                         !loses_effort     ? "velocity"
                         : !loses_velocity ? "effort"
                                           : "effort and velocity",
                         loses_effort && !is_mimic
                             ? fmt::format("; {} adds a motor bounded by the effort", spelled("motors"))
                             : ""));
    }
    for (const char* ignored : {"safety_controller", "calibration"})
      if (joint.element->child(ignored) != nullptr)
        note(fmt::format("joint '{}': <{}> was left out", joint.name, ignored));
    const XmlElement* dynamics = joint.element->child("dynamics");
    if (dynamics == nullptr) return;
    if ((joint.type == "planar" || joint.type == "floating") && number(*dynamics, "damping") != 0.0)
      note(fmt::format("joint '{}': its damping of {} was left out; a {} joint has none here", joint.name,
                       attribute(*dynamics, "damping").value_or(""), joint.type));
  }
  std::string body_name(const Link& link) const { return link.body < 0 ? "ground" : names_[link.body]; }

  void add_forces(const JointElement& joint, const Json& between, const Vector3& axis) {
    const XmlElement* dynamics = joint.element->child("dynamics");
    if (dynamics == nullptr) return;
    const double damping = number(*dynamics, "damping");
    if (damping < 0.0) return complain(*dynamics, fmt::format("damping is {}, must not be negative", damping));
    const double friction = number(*dynamics, "friction");
    if (friction < 0.0) return complain(*dynamics, fmt::format("friction is {}, must not be negative", friction));
    if (friction > 0.0 && joint.type != "planar") {
      forces_.push_back({{"type", "friction"}, {"joint", joint.name}, {"coulomb", friction}, {"viscous", damping}});
      return;
    }
    if (damping == 0.0) return;
    if (joint.type == "prismatic")
      forces_.push_back(
          {{"type", "joint-friction"}, {"joint", joint.name}, {"coefficient", 0.0}, {"viscous", damping}});
    else if (joint.type != "planar")
      forces_.push_back({{"type", "torsional-spring-damper"},
                         {"between", between},
                         {"axis", rounded_list(axis)},
                         {"damping", damping}});
  }

  std::string_view name_;
  const UrdfOptions& options_;
  XmlElement root_;
  std::map<std::string, Link, std::less<>> links_;
  std::vector<std::string> order_;
  std::vector<JointElement> joints_;
  std::vector<std::string> names_, frames_;  ///< of bodies; the link whose frame gives the axes
  std::vector<Pose> bodies_;
  Json forces_ = Json::array(), inputs_ = Json::object();
  std::vector<std::string> problems_, notes_;
  std::set<std::string> noted_;
  std::size_t problem_count_ = 0;
};

}  // namespace

ImportedModel import_urdf(std::string_view name, std::string_view text, const UrdfOptions& options) {
  return UrdfReader(name, text, options).read();
}

}  // namespace kreisel::io
