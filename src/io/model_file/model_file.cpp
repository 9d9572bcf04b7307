#include "io/model_file/model_file.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/json/field_json.hpp"
#include "io/model_file/colour.hpp"
#include "io/model_file/model_schema.hpp"
#include "io/spec/run_spec.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "lie/so3.hpp"
#include "system/consistency.hpp"

namespace kreisel::io {
namespace {

using multibody::Body;
using multibody::ForceInfo;
using multibody::Frame;
using multibody::JointInfo;
using multibody::Shape;
using multibody::Signal;

/// Rotations and inertias are typed with few digits; they are refused beyond this, relative.
constexpr double typing_tolerance = 1e-6;
constexpr std::size_t max_problems = 20;
constexpr std::size_t max_elements = 1'000'000;

std::string child(std::string_view pointer, std::string_view key) {
  std::string escaped;
  for (const char c : key) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return fmt::format("{}/{}", pointer, escaped);
}
std::string child(std::string_view pointer, std::size_t index) { return fmt::format("{}/{}", pointer, index); }

class ModelReader {
 public:
  ModelReader(const JsonSource& source, const ModelFileOptions& options) : source_(source), options_(options) {}

  ModelFile read() {
    const Json& root = source_.root();
    if (!is_object("", root, "a model: {\"bodies\": [...], ...}")) finish();
    check_keys("", root, names_of(model_object().keys));
    if (const Json* name = find(root, "name")) name_text("/name", *name, mechanism_.name);
    if (const Json* gravity = find(root, "gravity")) vector("/gravity", *gravity, mechanism_.gravity);
    read_group(root);
    read_bodies(root);
    read_joints(root, false);
    read_joints(root, true);
    read_forces(root);
    double t_end = 1.0;
    read_simulation(root, t_end);
    finish();

    ModelFile file;
    auto assembly = std::make_shared<multibody::Assembly>(std::move(mechanism_));
    file.model.name = assembly->mechanism().name;
    file.model.group = lie::name_of(assembly->common_group().value_or(assembly->mechanism().group));
    file.model.start = assembly->start(t_end);
    file.assembly = assembly;
    file.model.system = assembly;
    check_consistency(*assembly, file.model.start);
    finish();
    return file;
  }

 private:
  // ---- complaints

  void complain(std::string_view pointer, std::string_view message) {
    ++problem_count_;
    if (problems_.size() < max_problems) problems_.push_back(source_.located(pointer, message));
  }
  void finish() const {
    if (problem_count_ == 0) return;
    std::string text = fmt::format("{}", fmt::join(problems_, "\n"));
    if (problem_count_ > problems_.size()) text += fmt::format("\n... and {} more", problem_count_ - problems_.size());
    throw InvalidInput(text);
  }
  /// Runs `read`, whose InvalidInput becomes a complaint at `pointer`.
  template <class Read>
  bool guarded(std::string_view pointer, Read&& read) {
    try {
      read();
      return true;
    } catch (const InvalidInput& e) {
      complain(pointer, e.what());
      return false;
    }
  }

  // ---- plain values: false after a complaint

  static const Json* find(const Json& object, std::string_view key) {
    const auto found = object.find(std::string(key));
    return found == object.end() ? nullptr : &*found;
  }
  const Json* require(std::string_view pointer, const Json& object, std::string_view key, std::string_view expected) {
    const Json* value = find(object, key);
    if (value == nullptr) complain(pointer, fmt::format("the key \"{}\" is missing; expected {}", key, expected));
    return value;
  }
  bool is_object(std::string_view pointer, const Json& value, std::string_view expected) {
    if (value.is_object()) return true;
    complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  bool is_list(std::string_view pointer, const Json& value, std::string_view expected) {
    if (value.is_array()) return true;
    complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  void check_keys(std::string_view pointer, const Json& object, const std::vector<std::string>& known) {
    for (const auto& item : object.items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        complain(child(pointer, item.key()), unknown_name("key", item.key(), known));
  }
  bool number(std::string_view pointer, const Json& value, double& out, std::string_view expected = "a number") {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
      return false;
    }
    out = value.get<double>();
    return true;
  }
  bool text(std::string_view pointer, const Json& value, std::string& out) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      complain(pointer, fmt::format("is {}, expected a text", shown(value)));
      return false;
    }
    out = value.get<std::string>();
    return true;
  }
  /// Names appear in single lines of results and messages.
  bool name_text(std::string_view pointer, const Json& value, std::string& out) {
    if (!text(pointer, value, out)) return false;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    const auto found = std::find_if(out.begin(), out.end(), is_control);
    if (found == out.end()) return true;
    complain(pointer, fmt::format("has the control character 0x{:02x} at byte {}, expected a name on one line", static_cast<unsigned char>(*found),
                                  found - out.begin() + 1));
    return false;
  }
  bool numbers(std::string_view pointer, const Json& value, std::size_t count, double* out, std::string_view expected) {
    if (!value.is_array() || value.size() != count) {
      complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
      return false;
    }
    bool ok = true;
    for (std::size_t i = 0; i < count; ++i) ok = number(child(pointer, i), value[i], out[i]) && ok;
    return ok;
  }
  bool vector(std::string_view pointer, const Json& value, Vector3& out) {
    return numbers(pointer, value, 3, out.data(), "three numbers [x, y, z]");
  }
  bool direction(std::string_view pointer, const Json& value, Vector3& out) {
    if (!vector(pointer, value, out)) return false;
    if (const double length = out.norm(); length > 0.0 && std::isfinite(length)) {
      out /= length;
      return true;
    }
    complain(pointer, "is [0, 0, 0], expected a direction: any length but zero");
    return false;
  }
  /// `derivatives` that the equations need: none of a force, the first of a target, two of a driver.
  bool signal(std::string_view pointer, const Json& value, int derivatives, Signal& out) {
    if (!read_signal(pointer, value, derivatives, out)) return false;
    const multibody::Jet jet = out.at(0.0);
    const double parts[] = {jet.value, jet.rate, jet.curve};
    constexpr std::string_view names[] = {"the value", "the first derivative", "the second derivative"};
    for (int i = 0; i <= derivatives; ++i)
      if (!std::isfinite(parts[i])) {
        complain(pointer, fmt::format("is {}, {} of which is not finite at t = 0; expected a function that the motion can follow from there",
                                      shown(value), names[i]));
        return false;
      }
    return true;
  }
  bool read_signal(std::string_view pointer, const Json& value, int derivatives, Signal& out) {
    constexpr std::string_view expected =
        "a number, a formula in t such as \"0.1*sin(2*pi*t)\" or {\"table\": [[t, value], ...]}";
    if (value.is_number()) {
      double constant = 0.0;
      if (!number(pointer, value, constant, expected)) return false;
      out = Signal(multibody::Expression(constant));
      return true;
    }
    if (value.is_string())
      return guarded(pointer, [&] { out = Signal(multibody::Expression(value.get_ref<const std::string&>())); });
    if (!is_object(pointer, value, expected)) return false;
    check_keys(pointer, value, names_of(table_object().keys));
    // A driver needs accelerations: its table is twice continuously differentiable unless told otherwise. It may not be
    // held outside, where the velocity would jump; a run that leaves the table is refused.
    const bool is_driver = derivatives > 1;
    multibody::Interpolation interpolation = is_driver ? multibody::Interpolation::spline : multibody::Interpolation::monotone;
    if (const Json* given = find(value, "interpolation")) {
      const std::string here = child(pointer, "interpolation");
      std::string name;
      if (!text(here, *given, name) || !guarded(here, [&] { interpolation = multibody::interpolation_named(name); })) return false;
      if (is_driver && interpolation == multibody::Interpolation::linear) {
        complain(here, "is \"linear\", at whose points the velocity jumps; a driver takes spline or monotone");
        return false;
      }
    }
    const Json* table = require(pointer, value, "table", "a list of points [t, value]");
    const std::string at = child(pointer, "table");
    if (table == nullptr || !is_list(at, *table, "a list of points [t, value]")) return false;
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < table->size(); ++i) {
      double point[2] = {0.0, 0.0};
      if (!numbers(child(at, i), (*table)[i], 2, point, "a point [t, value]")) return false;
      points.push_back({point[0], point[1]});
    }
    return guarded(at, [&] { out = Signal(points, interpolation, is_driver ? multibody::Outside::straight : multibody::Outside::hold); });
  }

  // ---- rotations

  bool rotation(std::string_view pointer, const Json& value, Matrix3& out) {
    constexpr std::string_view expected =
        "one of {\"axis\": [x, y, z], \"angle_deg\": a}, {\"quaternion\": [w, x, y, z]}, {\"matrix\": [[..], [..], "
        "[..]]}, "
        "{\"euler_deg\": [a, b, c], \"order\": \"zxz\"}";
    if (!is_object(pointer, value, expected)) return false;
    if (find(value, "quaternion") != nullptr) return rotation_from_quaternion(pointer, value, out);
    if (find(value, "matrix") != nullptr) return rotation_from_matrix(pointer, value, out);
    if (find(value, "euler_deg") != nullptr || find(value, "euler") != nullptr)
      return rotation_from_euler(pointer, value, out);
    if (find(value, "axis") != nullptr) return rotation_about_axis(pointer, value, out);
    const std::size_t before = problem_count_;
    check_keys(pointer, value, rotation_keys({}));
    if (problem_count_ == before) complain(pointer, fmt::format("is incomplete, expected {}", expected));
    return false;
  }
  /// Of the ways to give a rotation that have one of these keys; none: of all.
  static std::vector<std::string> rotation_keys(const std::vector<std::string>& marks) {
    std::vector<std::string> keys;
    for (const ObjectInfo& object : rotation_objects()) {
      const std::vector<std::string> names = names_of(object.keys);
      const auto has = [&](const std::string& mark) { return std::ranges::count(names, mark) > 0; };
      if (!marks.empty() && std::ranges::none_of(marks, has)) continue;
      for (const std::string& name : names)
        if (std::ranges::count(keys, name) == 0) keys.push_back(name);
    }
    return keys;
  }
  /// `name` in radians or `name`_deg in degrees, exactly one of them.
  bool angles(std::string_view pointer, const Json& value, std::string_view name, std::size_t count, double* out) {
    const std::string in_degrees = std::string(name) + "_deg";
    const Json *radians = find(value, name), *degrees = find(value, in_degrees);
    if ((radians == nullptr) == (degrees == nullptr)) {
      complain(pointer, fmt::format("expected either \"{}\" [rad] or \"{}\" [degrees]", name, in_degrees));
      return false;
    }
    const Json& given = radians != nullptr ? *radians : *degrees;
    const std::string at = child(pointer, radians != nullptr ? std::string(name) : in_degrees);
    if (count == 1 ? !number(at, given, *out) : !numbers(at, given, count, out, "three angles")) return false;
    if (degrees != nullptr)
      for (std::size_t i = 0; i < count; ++i) out[i] *= M_PI / 180.0;
    return true;
  }
  bool rotation_about_axis(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"axis"}));
    Vector3 axis;
    double angle = 0.0;
    const bool has_axis = direction(child(pointer, "axis"), *find(value, "axis"), axis);
    if (!angles(pointer, value, "angle", 1, &angle) || !has_axis) return false;
    out = about(axis, angle);
    return true;
  }
  bool rotation_from_quaternion(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"quaternion"}));
    double wxyz[4];
    const std::string at = child(pointer, "quaternion");
    if (!numbers(at, *find(value, "quaternion"), 4, wxyz, "four numbers [w, x, y, z]")) return false;
    Eigen::Vector4d q(wxyz[1], wxyz[2], wxyz[3], wxyz[0]);
    if (!(std::abs(q.norm() - 1.0) <= typing_tolerance)) {
      complain(at, fmt::format("has the norm {:.8g}, expected a unit quaternion [w, x, y, z]", q.norm()));
      return false;
    }
    q.normalize();
    out = lie::rotation_matrix(q.data());
    return true;
  }
  bool rotation_from_matrix(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"matrix"}));
    const std::string at = child(pointer, "matrix");
    Matrix3 R;
    if (!matrix(at, *find(value, "matrix"), R)) return false;
    const double defect = (R.transpose() * R - Matrix3::Identity()).cwiseAbs().maxCoeff();
    if (!(defect <= typing_tolerance)) {
      complain(at, fmt::format("is not orthogonal: R^T R differs from the identity by {:.2g}", defect));
      return false;
    }
    if (R.determinant() < 0.0) {
      complain(at, "is a reflection: its determinant is -1, expected 1");
      return false;
    }
    out = lie::rotation_matrix(lie::quaternion_from(R).data());
    return true;
  }
  bool rotation_from_euler(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"euler", "euler_deg"}));
    double angle[3];
    if (!angles(pointer, value, "euler", 3, angle)) return false;
    std::string order = "zxz";
    if (const Json* given = find(value, "order"); given != nullptr && !text(child(pointer, "order"), *given, order))
      return false;
    const bool is_order = order.size() == 3 && order.find_first_not_of("xyz") == std::string::npos &&
                          order[0] != order[1] && order[1] != order[2];
    if (!is_order) {
      complain(child(pointer, "order"),
               fmt::format("is \"{}\", expected three of x, y, z without equal neighbours: zxz, xyz, ...; "
                           "rotations follow each other about the turned axes",
                           order));
      return false;
    }
    out.setIdentity();
    for (int i = 0; i < 3; ++i) out = (out * about(Vector3::Unit(order[i] - 'x'), angle[i])).eval();
    return true;
  }
  static Matrix3 about(const Vector3& axis, double angle) {
    // exp takes any angle; whole turns first, for accuracy.
    const lie::SO3::Point q = lie::SO3::exp(std::remainder(angle, 2.0 * M_PI) * axis);
    return lie::rotation_matrix(q.data());
  }
  bool matrix(std::string_view pointer, const Json& value, Matrix3& out) {
    if (!value.is_array() || value.size() != 3) {
      complain(pointer, fmt::format("is {}, expected three rows of three numbers", shown(value)));
      return false;
    }
    bool ok = true;
    for (int i = 0; i < 3; ++i) {
      Vector3 row = Vector3::Zero();
      ok = numbers(child(pointer, i), value[i], 3, row.data(), "a row of three numbers") && ok;
      out.row(i) = row;
    }
    return ok;
  }

  // ---- the model

  static std::vector<std::string> body_groups() { return {"r3xso3", "se3"}; }
  /// A group that bodies may have.
  bool group(std::string_view pointer, const Json& value, lie::GroupId& out) {
    std::string name;
    if (!text(pointer, value, name)) return false;
    const std::vector<std::string> known = body_groups();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      complain(pointer, unknown_name("group", name, known));
      return false;
    }
    out = lie::group_named(name);
    return true;
  }
  void read_group(const Json& root) {
    if (const Json* given = find(root, "group")) group("/group", *given, mechanism_.group);
    if (options_.group.empty()) return;
    const std::string& name = options_.group;
    const std::vector<std::string> known = body_groups();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InvalidInput(fmt::format("a mechanism runs on r3xso3 or se3; '{}' was asked for", name));
    mechanism_.group = lie::group_named(name);
  }

  /// The list under `key`, empty when it is absent or wrong.
  const Json& list(const Json& root, std::string_view key) {
    static const Json empty = Json::array();
    const Json* given = find(root, key);
    if (given == nullptr || !is_list(child("", key), *given, "a list of objects {...}")) return empty;
    if (given->size() > max_elements) {
      complain(child("", key), fmt::format("has {} entries, at most {} are read", given->size(), max_elements));
      return empty;
    }
    return *given;
  }

  void read_bodies(const Json& root) {
    if (require("", root, "bodies", "a list of bodies: [{\"name\": ..., \"mass\": ..., \"inertia\": ...}]") == nullptr)
      return;
    const std::size_t before = problem_count_;
    const Json& bodies = list(root, "bodies");
    if (bodies.empty() && problem_count_ == before) complain("/bodies", "is empty, expected at least one body");
    for (std::size_t i = 0; i < bodies.size(); ++i) read_body(child("/bodies", i), bodies[i]);
  }

  void read_body(const std::string& at, const Json& value) {
    Body body;
    body.name = fmt::format("body{}", mechanism_.bodies.size() + 1);
    if (is_object(at, value, "a body {\"name\": ..., \"mass\": ..., \"inertia\": ..., \"position\": ...}")) {
      static const std::vector<std::string> known = names_of(body_object().keys);
      check_keys(at, value, known);
      if (const Json* name = find(value, "name")) {
        if (name_text(child(at, "name"), *name, body.name) && body.name == "ground")
          complain(child(at, "name"), "is \"ground\", which always means the fixed world; choose another name");
      }
      lie::GroupId own_group = mechanism_.group;
      if (const Json* given = find(value, "group"); given != nullptr && group(child(at, "group"), *given, own_group))
        body.group = own_group;
      if (const Json* mass = require(at, value, "mass", "the mass [kg]");
          mass != nullptr && number(child(at, "mass"), *mass, body.mass))
        if (body.mass < 0.0)
          complain(child(at, "mass"), fmt::format("is {}, expected a mass that is not negative [kg]", body.mass));
      if (const Json* inertia =
              require(at, value, "inertia", "three, six or 3x3 numbers about the centre of mass [kg m^2]"))
        read_inertia(child(at, "inertia"), *inertia, body.inertia);
      if (const Json* x = require(at, value, "position", "the centre of mass [x, y, z] [m]"))
        vector(child(at, "position"), *x, body.position);
      if (const Json* r = find(value, "rotation")) rotation(child(at, "rotation"), *r, body.rotation);
      if (const Json* u = find(value, "velocity")) vector(child(at, "velocity"), *u, body.velocity);
      if (const Json* w = find(value, "angular_velocity"))
        vector(child(at, "angular_velocity"), *w, body.angular_velocity);
      if (const Json* shape = find(value, "shape")) read_shape(child(at, "shape"), *shape, body);
      if (const Json* shapes = find(value, "shapes");
          shapes != nullptr && is_list(child(at, "shapes"), *shapes, "a list of shapes"))
        for (std::size_t i = 0; i < shapes->size(); ++i) read_shape(child(child(at, "shapes"), i), (*shapes)[i], body);
    }
    if (!body_numbers_.insert({body.name, static_cast<int>(mechanism_.bodies.size())}).second)
      complain(child(at, "name"),
               fmt::format("\"{}\" is the name of an earlier body; every body needs its own", body.name));
    mechanism_.bodies.push_back(std::move(body));
  }

  void read_inertia(const std::string& at, const Json& value, Matrix3& J) {
    constexpr std::string_view expected =
        "three diagonal entries, six [xx, yy, zz, xy, xz, yz] or a symmetric 3x3 matrix [kg m^2]";
    if (!value.is_array() || (value.size() != 3 && value.size() != 6))
      return complain(at, fmt::format("is {}, expected {}", shown(value), expected));
    if (value.size() == 3 && value[0].is_array()) {
      if (!matrix(at, value, J)) return;
      const double size = J.cwiseAbs().maxCoeff();
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < i; ++j)
          if (!(std::abs(J(i, j) - J(j, i)) <= 1e-9 * size))
            return complain(at, fmt::format("is not symmetric: row {} column {} is {}, row {} column {} is {}", i + 1,
                                            j + 1, J(i, j), j + 1, i + 1, J(j, i)));
      J = (0.5 * (J + J.transpose())).eval();
    } else {
      double e[6] = {0, 0, 0, 0, 0, 0};
      if (!numbers(at, value, value.size(), e, expected)) return;
      J << e[0], e[3], e[4], e[3], e[1], e[5], e[4], e[5], e[2];
    }
    if (const std::string problem = multibody::problem_with_inertia(J); !problem.empty()) complain(at, problem);
  }

  void read_shape(const std::string& at, const Json& value, Body& body) {
    constexpr Shape::Kind kinds[] = {Shape::Kind::box, Shape::Kind::sphere, Shape::Kind::cylinder, Shape::Kind::capsule, Shape::Kind::cone};
    if (!is_object(at, value, "a shape such as {\"cylinder\": {\"radius\": 0.05, \"length\": 1, \"axis\": [0, 1, 0]}}"))
      return;
    check_keys(at, value, names_in(shape_objects()));
    for (std::size_t i = 0; i < shape_objects().size(); ++i) {
      const ObjectInfo& form = shape_objects()[i];
      const Json* data = find(value, form.name);
      const std::string here = child(at, form.name);
      if (data == nullptr || !is_object(here, *data, "the data of the shape {...}")) continue;
      Shape shape;
      shape.kind = kinds[i];
      check_keys(here, *data, names_of(form.keys));
      for (const Key& key : form.keys) {
        if (!key.is_required) continue;
        const std::string& name = key.field.name;
        const Json* given = require(here, *data, name, name == "size" ? "the three edges [m]" : "a length [m]");
        if (given == nullptr) continue;
        if (name == "size") {
          if (vector(child(here, name), *given, shape.size) && !(shape.size.minCoeff() > 0.0))
            complain(child(here, name), "has an edge that is not positive");
        } else {
          double& target = name == "radius" ? shape.radius : shape.length;
          if (number(child(here, name), *given, target) && !(target > 0.0))
            complain(child(here, name), fmt::format("is {}, expected a positive length [m]", target));
        }
      }
      if (const Json* axis = find(*data, "axis")) direction(child(here, "axis"), *axis, shape.axis);
      if (const Json* centre = find(*data, "at")) vector(child(here, "at"), *centre, shape.at);
      if (const Json* color = find(*data, "color");
          color != nullptr && text(child(here, "color"), *color, shape.color) && !is_css_colour(shape.color))
        complain(child(here, "color"), fmt::format("is {}, expected a colour as in CSS: \"#1f77b4\", \"rgb(31, 119, 180)\" or a name such as \"steelblue\"",
                                                   shown(*color)));
      body.shapes.push_back(std::move(shape));
    }
  }

  // ---- joints and forces

  bool body_number(const std::string& at, const Json& value, int& out) {
    std::string name;
    if (!text(at, value, name)) return false;
    if (name == "ground") {
      out = multibody::ground;
      return true;
    }
    const auto found = body_numbers_.find(name);
    if (found == body_numbers_.end()) {
      std::vector<std::string> known{"ground"};
      for (const Body& body : mechanism_.bodies)
        if (known.size() < 30) known.push_back(body.name);
      complain(at, unknown_name("body", name, known));
      return false;
    }
    out = found->second;
    return true;
  }
  bool read_between(const std::string& at, const Json& value, std::vector<int>& bodies) {
    const Json* between = require(at, value, "between", "the names of two bodies, \"ground\" for the world");
    if (between == nullptr) return false;
    const std::string here = child(at, "between");
    if (!between->is_array() || between->size() != 2) {
      complain(here, fmt::format("is {}, expected the names of two bodies, \"ground\" for the world", shown(*between)));
      return false;
    }
    bodies.assign(2, multibody::ground);
    bool ok = true;
    for (std::size_t i = 0; i < 2; ++i) ok = body_number(child(here, i), (*between)[i], bodies[i]) && ok;
    if (ok && bodies[0] == bodies[1]) {
      complain(here, "names the same body twice, expected two different ones");
      return false;
    }
    return ok;
  }

  /// World coordinates at t = 0 to those of a body.
  Frame in_body(int body, const Vector3& p, const Matrix3& E) const {
    if (body == multibody::ground) return {p, E};
    const Body& b = mechanism_.bodies[body];
    return {b.rotation.transpose() * (p - b.position), b.rotation.transpose() * E};
  }
  Frame centre_of(int body) const {
    return body == multibody::ground ? Frame{} : in_body(body, mechanism_.bodies[body].position, Matrix3::Identity());
  }
  Vector3 in_world(int body, const Vector3& p) const {
    return body == multibody::ground ? p
                                     : Vector3(mechanism_.bodies[body].position + mechanism_.bodies[body].rotation * p);
  }

  /// Axes along `z`; "x_axis" of `value`, if given, says where the first one points.
  bool read_axes(const std::string& at, const Json& value, const Vector3& z, Matrix3& E) {
    const Json* given = find(value, "x_axis");
    if (given == nullptr) {
      E = multibody::axes_along(z);
      return true;
    }
    Vector3 x;
    const std::string here = child(at, "x_axis");
    return direction(here, *given, x) && guarded(here, [&] { E = multibody::axes_along(z, x); });
  }

  /// "at", "axis", "axes" in world coordinates, or "frames" in those of the bodies.
  bool read_frames(const std::string& at, const Json& value, const Placement& layout, const std::vector<int>& bodies,
                   std::vector<Frame>& frames) {
    if (find(value, "frames") != nullptr) return read_body_frames(at, value, layout, bodies, frames);
    const std::size_t n = bodies.size();
    std::vector<Vector3> points(n, Vector3::Zero());
    std::vector<Matrix3> axes(n, Matrix3::Identity());
    bool ok = true;
    switch (layout.place) {
      case JointInfo::Place::none:
        break;
      case JointInfo::Place::one_point: {
        const Json* given =
            layout.place_is_optional ? find(value, "at") : require(at, value, "at", "the point [x, y, z] at t = 0 [m]");
        if (given != nullptr)
          ok = vector(child(at, "at"), *given, points[0]);
        else if (layout.place_is_optional)
          points[0] = in_world(bodies[0], centre_of(bodies[0]).p);
        else
          ok = false;
        std::fill(points.begin(), points.end(), points[0]);
        break;
      }
      case JointInfo::Place::two_points: {
        constexpr std::string_view expected = "two points [[x, y, z], [x, y, z]], one on each body, at t = 0 [m]";
        const Json* given = layout.place_is_optional ? find(value, "at") : require(at, value, "at", expected);
        if (given == nullptr) {
          ok = layout.place_is_optional;
          for (std::size_t i = 0; i < n; ++i) points[i] = in_world(bodies[i], centre_of(bodies[i]).p);
        } else if (!given->is_array() || given->size() != 2) {
          complain(child(at, "at"), fmt::format("is {}, expected {}", shown(*given), expected));
          ok = false;
        } else {
          for (std::size_t i = 0; i < 2; ++i) ok = vector(child(child(at, "at"), i), (*given)[i], points[i]) && ok;
        }
        break;
      }
    }
    if (layout.axes == 1) {
      const Json* given =
          layout.axis_is_optional ? find(value, "axis") : require(at, value, "axis", "the axis [x, y, z] at t = 0");
      Vector3 axis = Vector3::UnitZ();
      if (given != nullptr)
        ok = direction(child(at, "axis"), *given, axis) && ok;
      else
        ok = layout.axis_is_optional && ok;
      ok = ok && read_axes(at, value, axis, axes[0]);
      std::fill(axes.begin(), axes.end(), axes[0]);
    } else if (layout.axes == 2) {
      constexpr std::string_view expected = "two axes [[x, y, z], [x, y, z]], one of each body, at t = 0";
      const Json* given = require(at, value, "axes", expected);
      if (given == nullptr || !given->is_array() || given->size() != 2) {
        if (given != nullptr) complain(child(at, "axes"), fmt::format("is {}, expected {}", shown(*given), expected));
        ok = false;
      } else {
        for (std::size_t i = 0; i < 2; ++i) {
          Vector3 axis = Vector3::UnitZ();
          ok = direction(child(child(at, "axes"), i), (*given)[i], axis) && ok;
          axes[i] = multibody::axes_along(axis);
        }
      }
    }
    if (!ok) return false;
    frames.clear();
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 2); ++i)
      frames.push_back(in_body(bodies[i], points[i], axes[i]));
    if (n == 3)  // the carrier
      for (std::size_t i = 0; i < 2; ++i) frames.push_back(in_body(bodies[2], points[i], axes[i]));
    return true;
  }

  bool read_body_frames(const std::string& at, const Json& value, const Placement& layout, const std::vector<int>& bodies,
                        std::vector<Frame>& frames) {
    const std::string here = child(at, "frames");
    const Json& given = *find(value, "frames");
    for (const std::string& key : names_of(place_keys(layout)))
      if (find(value, key) != nullptr) {
        complain(
            child(at, key),
            fmt::format("cannot be combined with \"frames\"; give either \"frames\" (body coordinates) or \"{}\" (world, t = 0)",
                        key));
        return false;
      }
    if (bodies.size() == 3) {
      complain(here, "joints with a carrier are given by \"axes\" in world coordinates at t = 0");
      return false;
    }
    if (!given.is_array() || given.size() != bodies.size()) {
      complain(here, fmt::format("is {}, expected one frame {{\"at\": [x, y, z], \"axis\": [x, y, z]}} per body",
                                 shown(given)));
      return false;
    }
    bool ok = true;
    frames.assign(bodies.size(), {});
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string place = child(here, i);
      if (!is_object(place, given[i], "a frame {\"at\": [x, y, z], \"axis\": [x, y, z]} in body coordinates")) {
        ok = false;
        continue;
      }
      static const std::vector<std::string> known = names_of(frame_object().keys);
      check_keys(place, given[i], known);
      if (const Json* p = find(given[i], "at")) ok = vector(child(place, "at"), *p, frames[i].p) && ok;
      const Json *axis = find(given[i], "axis"), *turned = find(given[i], "rotation");
      const Json* x_axis = find(given[i], "x_axis");
      if ((axis != nullptr || x_axis != nullptr) && turned != nullptr) {
        complain(place, fmt::format("has both \"{}\" and \"rotation\"; give one, the third axis of the rotation is the joint axis",
                                    axis != nullptr ? "axis" : "x_axis"));
        ok = false;
      } else if (axis != nullptr || (x_axis != nullptr && (layout.axes == 0 || layout.axis_is_optional))) {
        Vector3 z = Vector3::UnitZ();
        ok = (axis == nullptr || direction(child(place, "axis"), *axis, z)) && read_axes(place, given[i], z, frames[i].E) && ok;
      } else if (turned != nullptr) {
        ok = rotation(child(place, "rotation"), *turned, frames[i].E) && ok;
      } else if (layout.axes > 0 && !layout.axis_is_optional) {
        complain(place, "the key \"axis\" is missing; expected the joint axis in body coordinates");
        ok = false;
      }
    }
    return ok;
  }

  std::string element_name(const std::string& at, const Json& value, const std::string& fallback,
                           std::set<std::string>& taken) {
    std::string name = fallback;
    const Json* given = find(value, "name");
    if (given != nullptr && name_text(child(at, "name"), *given, name)) {
      if (!taken.insert(name).second)
        complain(child(at, "name"),
                 fmt::format("\"{}\" is the name of an earlier one; every name must be unique", name));
      return name;
    }
    // Counting on from the last number: a million unnamed joints between the same bodies stay quick.
    int& number = last_numbers_[fallback];
    while (!taken.insert(name).second) name = fmt::format("{} {}", fallback, number = std::max(number + 1, 2));
    return name;
  }
  std::string body_label(int body) const { return body == multibody::ground ? "ground" : mechanism_.bodies[body].name; }

  void read_joints(const Json& root, bool are_drivers) {
    const std::string_view key = are_drivers ? "drivers" : "joints";
    const Json& joints = list(root, key);
    for (std::size_t i = 0; i < joints.size(); ++i) read_joint(child(child("", key), i), joints[i], are_drivers);
  }

  void read_joint(const std::string& at, const Json& value, bool is_driver) {
    if (!is_object(at, value, "an object {\"type\": ..., \"between\": [..., ...], ...}")) return;
    std::string type;
    const Json* given_type =
        require(at, value, "type", fmt::format("one of {}", fmt::join(multibody::joint_names(is_driver), ", ")));
    if (given_type == nullptr || !text(child(at, "type"), *given_type, type)) return;
    const JointInfo* info = nullptr;
    if (!guarded(child(at, "type"), [&] { info = &multibody::find_joint(type, is_driver); })) return;

    const Placement layout = placement_of(*info);
    check_keys(at, value, known_keys(*info));
    multibody::JointSpec spec;
    bool ok = read_between(at, value, spec.bodies);
    if (info->has_teeth) ok = read_teeth(at, value, spec) && ok;
    if (info->has_carrier) ok = read_carrier(at, value, spec) && ok;
    ok = read_numbers(at, value, info->numbers, spec.numbers) && ok;
    if (info->is_driver) {
      const Json* driven = require(at, value, "value", "a number, a formula in t or a table");
      ok = driven != nullptr && signal(child(at, "value"), *driven, 2, spec.value) && ok;
    }
    // Frames depend on bodies, which may be the mistake already reported.
    ok = ok && read_frames(at, value, layout, spec.bodies, spec.frames);
    if (!ok) return;
    if (info->axes_are_perpendicular && !are_perpendicular(at, value, spec)) return;
    if (info->axes_swing && !guarded(at, [&] { swing_second_frame(spec); })) return;
    if (info->place == JointInfo::Place::two_points) {
      const double length = distance_between(spec.bodies, spec.frames);
      if (length == 0.0)
        return complain(at, "the two points coincide at t = 0; a distance needs two different points, a spherical joint one");
      if (find_field(info->numbers, "length") != nullptr) spec.numbers.numbers.insert({"length", length});
    }
    spec.name = element_name(
        at, value, fmt::format("{} {}-{}", type, body_label(spec.bodies[0]), body_label(spec.bodies[1])), joint_names_);
    joint_numbers_.insert({spec.name, static_cast<int>(mechanism_.joints.size())});
    joint_places_.push_back(at);
    mechanism_.joints.push_back(make_joint(*info, spec));
  }

  void swing_second_frame(multibody::JointSpec& spec) const {
    const auto rotation = [&](int i) -> Matrix3 {
      return spec.bodies[i] == multibody::ground ? Matrix3(Matrix3::Identity()) : mechanism_.bodies[spec.bodies[i]].rotation;
    };
    spec.frames[1].E = multibody::swung(rotation(0), spec.frames[0].E, rotation(1), spec.frames[1].E);
  }

  /// Of a universal joint. --assemble can mend a small angle, but no parallel axes: there the row has no gradient.
  bool are_perpendicular(const std::string& at, const Json& value, const multibody::JointSpec& spec) {
    const auto axis = [&](int i) -> Vector3 {
      return spec.bodies[i] == multibody::ground ? Vector3(spec.frames[i].E.col(2)) : Vector3(mechanism_.bodies[spec.bodies[i]].rotation * spec.frames[i].E.col(2));
    };
    const double cosine = axis(0).dot(axis(1));
    if (std::abs(cosine) <= (options_.accepts_gaps ? 0.99 : 1e-8)) return true;
    const std::string here = child(at, find(value, "frames") != nullptr ? "frames" : "axes");
    complain(here, fmt::format("has axes {:.6g} degrees apart at t = 0; a {} joint needs perpendicular axes, one of each body",
                               std::acos(std::clamp(cosine, -1.0, 1.0)) * 180.0 / M_PI, find(value, "type")->get<std::string>()));
    return false;
  }

  /// Of a type of joint or force, made once: files have many of them.
  template <class Info>
  const std::vector<std::string>& known_keys(const Info& info) {
    const auto [at, is_new] = known_keys_.try_emplace(&info);
    if (is_new) at->second = names_of(object_of(info).keys);
    return at->second;
  }

  /// Numbers and words of an element: given, or their defaults.
  bool read_numbers(const std::string& at, const Json& value, const std::vector<Field>& fields, multibody::Numbers& out) {
    bool ok = true;
    for (const Field& field : fields) {
      const bool is_word = kind_of(field) == FieldKind::word;
      if (is_word) out.words[field.name] = field.words.front();
      const Json* given = find(value, field.name);
      if (given != nullptr) {
        ok = guarded(child(at, field.name), [&] {
               const Value read = is_word ? value_in(field, *given) : value_with_meaning(field, *given);
               if (is_word)
                 out.words[field.name] = std::get<std::string>(read);
               else
                 out.numbers[field.name] = std::get<double>(read);
             }) && ok;
      } else if (!is_word && !field.is_optional && std::isnan(field.default_number)) {
        complain(at, fmt::format("the key \"{}\" is missing; expected a number: {}", field.name, field.meaning));
        ok = false;
      } else if (!is_word && !field.is_optional) {
        out.numbers[field.name] = field.default_number;
      }
    }
    return ok;
  }

  static Value value_with_meaning(const Field& field, const Json& given) {
    try {
      return value_in(field, given);
    } catch (const InvalidInput& e) {
      throw InvalidInput(fmt::format("{}: {}{}", e.what(), field.meaning, field.unit.empty() ? "" : fmt::format(" [{}]", field.unit)));
    }
  }
  double distance_between(const std::vector<int>& bodies, const std::vector<Frame>& frames) const {
    return (in_world(bodies[0], frames[0].p) - in_world(bodies[1], frames[1].p)).norm();
  }

  bool read_teeth(const std::string& at, const Json& value, multibody::JointSpec& spec) {
    const Json* teeth = require(at, value, "teeth", "two whole numbers, negative for an internal gear");
    bool ok = teeth != nullptr;
    if (ok) {
      ok = teeth->is_array() && teeth->size() == 2;
      for (std::size_t i = 0; ok && i < 2; ++i) {
        const Json& n = (*teeth)[i];
        ok = n.is_number_integer() && std::abs(n.get<double>()) >= 1.0 && std::abs(n.get<double>()) <= 1e6;
        if (ok) spec.teeth[i] = n.get<int>();
      }
      if (!ok)
        complain(child(at, "teeth"),
                 fmt::format("is {}, expected two whole numbers from 1 to 1000000, negative for an internal gear",
                             shown(*teeth)));
    }
    return ok;
  }

  bool read_carrier(const std::string& at, const Json& value, multibody::JointSpec& spec) {
    bool ok = true;
    int carrier = multibody::ground;
    if (const Json* given = find(value, "carrier")) ok = body_number(child(at, "carrier"), *given, carrier) && ok;
    if (carrier != multibody::ground &&
        std::find(spec.bodies.begin(), spec.bodies.end(), carrier) != spec.bodies.end()) {
      complain(child(at, "carrier"), "is one of the two bodies, expected the one that holds both axes");
      ok = false;
    }
    spec.bodies.push_back(carrier);
    return ok;
  }

  void read_forces(const Json& root) {
    const Json& forces = list(root, "forces");
    for (std::size_t i = 0; i < forces.size(); ++i) read_force(child("/forces", i), forces[i]);
  }

  void read_force(const std::string& at, const Json& value) {
    if (!is_object(at, value, "an object {\"type\": ..., ...}")) return;
    std::string type;
    const Json* given_type =
        require(at, value, "type", fmt::format("one of {}", fmt::join(multibody::force_names(), ", ")));
    if (given_type == nullptr || !text(child(at, "type"), *given_type, type)) return;
    const ForceInfo* info = nullptr;
    if (!guarded(child(at, "type"), [&] { info = &multibody::find_force(type); })) return;

    const Placement layout = placement_of(*info);
    check_keys(at, value, known_keys(*info));

    multibody::ForceSpec spec;
    bool ok = read_force_bodies(at, value, *info, spec);
    ok = read_force_values(at, value, *info, spec) && ok;
    if (const Json* frame = find(value, "frame"); info->has_frame && frame != nullptr) {
      std::string name;
      if (text(child(at, "frame"), *frame, name)) {
        if (name != "world" && name != "body")
          complain(child(at, "frame"), unknown_name("frame", name, {"world", "body"}));
        spec.in_body_frame = name == "body";
      }
    }
    ok = ok && (info->bodies == 0 || read_frames(at, value, layout, spec.bodies, spec.frames));
    if (!ok) return;
    if (info->place == JointInfo::Place::two_points) {
      const double length = distance_between(spec.bodies, spec.frames);
      if (length == 0.0)
        return complain(at, "the two points coincide at t = 0, where the direction of the force is undefined");
      if (find_field(info->numbers, "length") != nullptr) spec.numbers.insert({"length", length});
    }
    std::string where = info->bodies == 0 ? spec.joint->name() : body_label(spec.bodies[0]);
    if (info->bodies == 2) where += "-" + body_label(spec.bodies[1]);
    spec.name = element_name(at, value, fmt::format("{} {}", type, where), force_names_);
    guarded(at, [&] { mechanism_.forces.push_back(info->build(spec)); });
  }

  bool read_force_bodies(const std::string& at, const Json& value, const ForceInfo& info, multibody::ForceSpec& spec) {
    if (info.bodies == 2) return read_between(at, value, spec.bodies);
    if (info.bodies == 1) {
      const Json* on = require(at, value, "on", "the name of a body");
      spec.bodies.assign(1, 0);
      if (on == nullptr || !body_number(child(at, "on"), *on, spec.bodies[0])) return false;
      if (spec.bodies[0] != multibody::ground) return true;
      complain(child(at, "on"), "is \"ground\", which no force can move; expected the name of a body");
      return false;
    }
    const Json* joint = require(at, value, "joint", "the name of a joint");
    std::string name;
    if (joint == nullptr || !text(child(at, "joint"), *joint, name)) return false;
    const auto found = joint_numbers_.find(name);
    if (found == joint_numbers_.end()) {
      std::vector<std::string> known;
      for (const multibody::JointPtr& j : mechanism_.joints)
        if (known.size() < 30) known.push_back(j->name());
      complain(child(at, "joint"), unknown_name("joint", name, known));
      return false;
    }
    spec.joint = mechanism_.joints[found->second];
    return true;
  }

  bool read_force_values(const std::string& at, const Json& value, const ForceInfo& info, multibody::ForceSpec& spec) {
    bool ok = read_numbers(at, value, info.numbers, spec);
    for (const Field& field : info.vectors) {
      Vector3 x = Vector3::Zero();
      if (const Json* given = find(value, field.name)) {
        if (!vector(child(at, field.name), *given, x)) {
          ok = false;
        } else if (x.minCoeff() < 0.0) {
          complain(child(at, field.name), "has a negative entry; stiffness and damping are not negative");
          ok = false;
        }
      }
      spec.vectors[field.name] = x;
    }
    for (const Field& field : info.signals)
      if (const Json* given = find(value, field.name))
        ok = signal(child(at, field.name), *given, field.name == "target" ? 1 : 0, spec.signals[field.name]) && ok;
    for (const Field& field : info.vector_signals)
      if (const Json* given = find(value, field.name)) {
        const std::string here = child(at, field.name);
        if (!given->is_array() || given->size() != 3) {
          complain(here, fmt::format("is {}, expected three entries, each a number or a formula in t", shown(*given)));
          ok = false;
          continue;
        }
        auto& target = spec.vector_signals[field.name];
        for (std::size_t i = 0; i < 3; ++i) ok = signal(child(here, i), (*given)[i], 0, target[i]) && ok;
      }
    return ok;
  }

  void read_simulation(const Json& root, double& t_end) {
    const Json* given = find(root, "simulation");
    if (given == nullptr || !is_object("/simulation", *given, "an object {\"t_end\": ...}")) return;
    std::vector<std::string> known{"comment"};
    for (const RunField& field : run_fields()) known.push_back(field.field.name);
    check_keys("/simulation", *given, known);
    for (const RunField& field : run_fields()) {
      const Json* value = find(*given, field.field.name);
      if (value == nullptr) continue;
      guarded(child("/simulation", field.field.name), [&] {
        const Value read = value_in(field.field, *value);
        if (field.field.name == "t_end") t_end = std::get<double>(read);
      });
    }
    if (find(*given, "step") != nullptr && (find(*given, "rtol") != nullptr || find(*given, "atol") != nullptr))
      complain("/simulation/step", "cannot be combined with rtol or atol; a run has either constant steps or error control");
    if (!(t_end > 0.0)) complain("/simulation/t_end", fmt::format("is {}, expected a positive time [s]", t_end));
  }

  // ---- consistency

  void check_consistency(const multibody::Assembly& assembly, const system::Start& start) {
    system::Motion m(assembly.space());
    m.t = start.t0;
    m.q = start.q0;
    m.v = start.v0;
    const system::Pattern& pattern = assembly.pattern();
    system::Residual r(assembly.space().nv(), pattern.position_rows(), pattern.rows());
    const Vector no_lambda = Vector::Zero(pattern.rows());
    assembly.residual(m, no_lambda, r);
    if (!r.gap.allFinite() || !r.rate.allFinite() || !r.force.allFinite())
      return complain("", "positions, velocities or forces at the start are too large to compute with");
    check_mass(assembly, m);
    if (options_.accepts_gaps) return;
    const system::Consistency allowed = system::consistency_tolerances(assembly, m, start.t_end - start.t0);
    for (std::size_t j = 0; j < joint_places_.size(); ++j) {
      const system::RowGroup& group = pattern.groups()[j];
      const auto refuse = [&](const Vector& rows, const Vector& tolerance, std::string_view what) {
        const int row = worst_row(rows, tolerance, group);
        if (row < 0) return false;
        complain(joint_places_[j], fmt::format("'{}': the initial {} miss the joint by {:.6g} (row {} of {}); correct them or use {}", group.name,
                                               what, std::abs(rows[group.at + row]), row + 1, group.rows, spelled("assemble")));
        return true;
      };
      if (!refuse(r.gap, allowed.position, "positions")) refuse(r.rate, allowed.velocity, "velocities");
    }
  }
  /// A body without mass or inertia must be carried by others in every motion that the joints leave it.
  void check_mass(const multibody::Assembly& assembly, const system::Motion& m) {
    constexpr int most_rows = 500;  // of full matrices: a second
    const std::vector<Body>& bodies = assembly.mechanism().bodies;
    const bool is_suspicious = std::any_of(bodies.begin(), bodies.end(), [](const Body& body) {
      return body.mass == 0.0 || Eigen::SelfAdjointEigenSolver<Matrix3>(body.inertia, Eigen::EigenvaluesOnly).eigenvalues()[0] <=
                                     1e-14 * body.inertia.norm();
    });
    if (!is_suspicious || assembly.space().nv() + assembly.pattern().rows() > most_rows) return;
    const system::RankReport ranks = system::rank_report(assembly, m);
    if (ranks.has_mass) return;
    for (std::size_t b = 0; b < bodies.size(); ++b)
      if (bodies[b].name == ranks.weakest_block)
        return complain(child("/bodies", b), fmt::format("'{}' has a motion without mass or inertia that the joints allow; give it mass or inertia "
                                                         "there, or constrain it",
                                                         bodies[b].name));
  }
  /// Of a joint, the row that exceeds its tolerance most; -1: none does.
  static int worst_row(const Vector& rows, const Vector& tolerance, const system::RowGroup& group) {
    int worst = -1;
    double excess = 1.0;
    for (int i = 0; i < group.rows; ++i) {
      const double miss = std::abs(rows[group.at + i]);
      if (miss > 0.0 && miss > excess * tolerance[group.at + i]) worst = i, excess = miss / tolerance[group.at + i];
    }
    return worst;
  }

  const JsonSource& source_;
  const ModelFileOptions& options_;
  multibody::Mechanism mechanism_;
  std::map<std::string, int> body_numbers_, joint_numbers_;
  std::set<std::string> joint_names_, force_names_;
  std::map<const void*, std::vector<std::string>> known_keys_;  ///< by type
  std::map<std::string, int> last_numbers_;  ///< of elements without a name, by kind and bodies
  std::vector<std::string> joint_places_;  ///< pointer per joint
  std::vector<std::string> problems_;
  std::size_t problem_count_ = 0;
};

}  // namespace

std::vector<models::Suggestion> suggestions_in(const JsonSource& source) {
  std::vector<models::Suggestion> list;
  const Json& root = source.root();
  if (!root.is_object() || !root.contains("simulation") || !root["simulation"].is_object()) return list;
  for (const RunField& field : run_fields()) {
    const auto found = root["simulation"].find(field.field.name);
    if (found == root["simulation"].end()) continue;
    try {
      list.push_back({field.field.name, value_in(field.field, *found), source.place(child("/simulation", field.field.name))});
    } catch (const InvalidInput&) {  // the reader says so
    }
  }
  return list;
}

ModelFile read_model(const JsonSource& source, const ModelFileOptions& options) {
  return ModelReader(source, options).read();
}

ModelFile read_model_file(const Path& path, const ModelFileOptions& options) {
  return read_model(JsonSource::read(path, "model file"), options);
}

}  // namespace kreisel::io
