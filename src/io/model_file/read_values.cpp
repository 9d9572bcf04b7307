// Complaints, numbers, texts, directions, rotations and functions of time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "lie/so3.hpp"

namespace kreisel::io {

void ModelReader::complain(std::string_view pointer, std::string_view message) {
  ++problem_count_;
  if (problems_.size() < max_problems) problems_.push_back(located(pointer, message));
}

std::string ModelReader::located(std::string_view pointer, std::string_view message) const {
  const std::size_t name = pointer.find('/', 1),
                    end = name == std::string_view::npos ? name : pointer.find('/', name + 1);
  const auto origin = composed_.origins.find(pointer.substr(0, end));
  const bool has_file = options_.base == nullptr;
  if (origin == composed_.origins.end())
    return has_file ? source_.located(pointer, message) : fmt::format("{}: {}", in_words(pointer), message);
  const auto& [source, entry, note] = origin->second;
  if (source == nullptr && !has_file) return fmt::format("{}: {}", in_words(pointer), message);
  const std::string rest(end == std::string_view::npos ? "" : pointer.substr(end));
  return (source == nullptr ? source_ : *source).located(entry + rest, note + std::string(message));
}

std::string ModelReader::in_words(std::string_view pointer) const {
  const Json::json_pointer whole{std::string(pointer)};
  std::vector<std::string> keys;
  for (Json::json_pointer at = whole; !at.empty(); at = at.parent_pointer()) keys.insert(keys.begin(), at.back());
  if (keys.size() < 2) return fmt::format("mechanism '{}'", mechanism_.name);
  const Json& root = composed_.root.is_null() ? source_.root() : composed_.root;
  std::string name = keys[1];
  if (const Json::json_pointer own = Json::json_pointer() / keys[0] / keys[1] / "name";
      root.contains(own) && root.at(keys[0]).is_array())
    name = root.at(own).get<std::string>();
  const std::string kind = keys[0] == "bodies" ? "body" : keys[0].substr(0, keys[0].size() - 1);
  keys.erase(keys.begin(), keys.begin() + 2);
  return fmt::format("{} '{}'{}{}", kind, name, keys.empty() ? "" : ", ", fmt::join(keys, "/"));
}

void ModelReader::finish() const {
  if (problem_count_ == 0) return;
  std::string text = fmt::format("{}", fmt::join(problems_, "\n"));
  if (problem_count_ > problems_.size()) text += fmt::format("\n... and {} more", problem_count_ - problems_.size());
  throw InvalidInput(text);
}

void ModelReader::warn(std::string_view pointer, std::string_view message) {
  if (warnings_.size() < max_problems) warnings_.push_back(located(pointer, message));
}

const Json* ModelReader::find(const Json& object, std::string_view key) {
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

const Json* ModelReader::require(std::string_view pointer, const Json& object, std::string_view key,
                                 std::string_view expected) {
  const Json* value = find(object, key);
  if (value == nullptr) complain(pointer, fmt::format("the key \"{}\" is missing; expected {}", key, expected));
  return value;
}

bool ModelReader::is_object(std::string_view pointer, const Json& value, std::string_view expected) {
  if (value.is_object()) return true;
  complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
  return false;
}

bool ModelReader::is_list(std::string_view pointer, const Json& value, std::string_view expected) {
  if (value.is_array()) return true;
  complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
  return false;
}

void ModelReader::check_keys(std::string_view pointer, const Json& object, const std::vector<std::string>& known) {
  for (const auto& item : object.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      complain(below(pointer, item.key()), unknown_name("key", item.key(), known));
}

bool ModelReader::evaluated(std::string_view pointer, const Json& value, double& out) {
  bool is_known = true;  // else its cause is already reported
  return guarded(pointer,
                 [&] {
                   const formula::Formula formula(formula_in(value), names_.known());
                   parameters_.note_use(formula);
                   is_known = !parameters_.needs_unknown(formula);
                   refuse_settable(formula);
                   suspect_degrees_in(pointer, formula);
                   for (const formula::Formula::Name& name : formula.names())
                     if (!parameters_.names().has(name.text))
                       formula.refuse(name,
                                      fmt::format("depends on {}, but this number is constant during a run; expected a "
                                                  "formula of parameters",
                                                  name.text));
                   out = multibody::Expression(formula, parameters_.values()).at(0.0).value;
                   if (is_known && !std::isfinite(out)) throw InvalidInput(not_finite(value, out));
                 }) &&
         is_known;
}

void ModelReader::refuse_settable(const formula::Formula& formula) const {
  for (const formula::Formula::Name& name : formula.names())
    if (settable_.contains(name.text))
      formula.refuse(name,
                     fmt::format("depends on {}, which an event sets; only laws, rates, outputs and events may use it",
                                 name.text));
}

bool ModelReader::resolved(std::string_view pointer, const Field& field, const Json& given, Json& out) {
  const FieldKind kind = kind_of(field);
  out = given;
  if (kind == FieldKind::numbers && given.is_array())
    for (std::size_t i = 0; i < given.size(); ++i) {
      double value = 0.0;
      if (!is_formula(given[i])) continue;
      if (!evaluated(below(pointer, i), given[i], value)) return false;
      out[i] = value;
    }
  if (!is_formula(given) || (kind != FieldKind::number && kind != FieldKind::whole && kind != FieldKind::numbers))
    return true;
  double value = 0.0;
  if (!evaluated(pointer, given, value)) return false;
  out = value;
  return true;
}

bool ModelReader::number(std::string_view pointer, const Json& value, double& out, std::string_view expected) {
  if (is_formula(value)) return evaluated(pointer, value, out);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  out = value.get<double>();
  return true;
}

bool ModelReader::text(std::string_view pointer, const Json& value, std::string& out) {
  if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
    complain(pointer, fmt::format("is {}, expected a text", shown(value)));
    return false;
  }
  out = value.get<std::string>();
  return true;
}

bool ModelReader::name_text(std::string_view pointer, const Json& value, std::string& out) {
  if (!text(pointer, value, out)) return false;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const auto found = std::find_if(out.begin(), out.end(), is_control);
  if (found == out.end()) return true;
  complain(pointer, fmt::format("has the control character 0x{:02x} at byte {}, expected a name on one line",
                                static_cast<unsigned char>(*found), found - out.begin() + 1));
  return false;
}

bool ModelReader::numbers(std::string_view pointer, const Json& value, std::size_t count, double* out,
                          std::string_view expected) {
  if (!value.is_array() || value.size() != count) {
    complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  bool ok = true;
  for (std::size_t i = 0; i < count; ++i) ok = number(below(pointer, i), value[i], out[i]) && ok;
  return ok;
}

bool ModelReader::vector(std::string_view pointer, const Json& value, Vector3& out) {
  return numbers(pointer, value, 3, out.data(), "three numbers [x, y, z]");
}

bool ModelReader::direction(std::string_view pointer, const Json& value, Vector3& out) {
  if (!vector(pointer, value, out)) return false;
  if (const double length = out.norm(); length > 0.0 && std::isfinite(length)) {
    out /= length;
    return true;
  }
  complain(pointer, "is [0, 0, 0], expected a direction of any nonzero length");
  return false;
}

bool ModelReader::signal(std::string_view pointer, const Json& value, int derivatives, Signal& out) {
  if (!read_signal(pointer, value, derivatives, out)) return false;
  const multibody::Jet jet = out.at(0.0);
  const double parts[] = {jet.value, jet.rate, jet.curve};
  constexpr std::string_view names[] = {"the value", "the first derivative", "the second derivative"};
  for (int i = 0; i <= derivatives; ++i)
    if (!std::isfinite(parts[i])) {
      complain(pointer,
               fmt::format("is {}, {} of which is not finite at t = 0; expected a function that is finite there",
                           shown(value), names[i]));
      return false;
    }
  return true;
}

bool ModelReader::read_signal(std::string_view pointer, const Json& value, int derivatives, Signal& out) {
  constexpr std::string_view expected =
      "a number, a formula in t such as \"0.1*sin(2*pi*t)\" or {\"table\": [[t, value], ...]}";
  if (value.is_number()) {
    double constant = 0.0;
    if (!number(pointer, value, constant, expected)) return false;
    out = Signal(multibody::Expression(constant));
    return true;
  }
  bool is_known = true;
  if (value.is_string())
    return guarded(pointer,
                   [&] {
                     const formula::Formula formula(text_of(value), names_.known());
                     parameters_.note_use(formula);
                     is_known = !parameters_.needs_unknown(formula);
                     refuse_settable(formula);
                     suspect_degrees_in(pointer, formula);
                     for (const formula::Formula::Name& name : formula.names())
                       if (name.text != "t" && !parameters_.names().has(name.text))
                         formula.refuse(name, fmt::format("depends on {}; expected a function of t", name.text));
                     out = Signal(multibody::Expression(formula, parameters_.values()));
                   }) &&
           is_known;
  if (!is_object(pointer, value, expected)) return false;
  check_keys(pointer, value, names_of(table_object().keys));
  // A driver needs accelerations: its table is twice continuously differentiable unless told otherwise. It may not be
  // held outside, where the velocity would jump; a run that leaves the table is refused.
  const bool is_driver = derivatives > 1;
  multibody::Interpolation interpolation =
      is_driver ? multibody::Interpolation::spline : multibody::Interpolation::monotone;
  if (const Json* given = find(value, "interpolation")) {
    const std::string here = below(pointer, "interpolation");
    std::string name;
    if (!text(here, *given, name) || !guarded(here, [&] { interpolation = multibody::interpolation_named(name); }))
      return false;
    if (is_driver && interpolation == multibody::Interpolation::linear) {
      complain(here, "is \"linear\", at whose points the velocity jumps; a driver needs spline or monotone");
      return false;
    }
  }
  const Json* table = require(pointer, value, "table", "a list of points [t, value]");
  const std::string at = below(pointer, "table");
  std::vector<std::pair<double, double>> points;
  if (table == nullptr || !table_points(at, *table, points)) return false;
  return guarded(at, [&] {
    out = Signal(points, interpolation, is_driver ? multibody::Outside::straight : multibody::Outside::hold);
  });
}

bool ModelReader::table_points(const std::string& at, const Json& table,
                               std::vector<std::pair<double, double>>& points) {
  if (!is_list(at, table, "a list of points [t, value]")) return false;
  for (std::size_t i = 0; i < table.size(); ++i) {
    double point[2] = {0.0, 0.0};
    if (!numbers(below(at, i), table[i], 2, point, "a point [t, value]")) return false;
    points.push_back({point[0], point[1]});
  }
  return true;
}

std::string_view ModelReader::text_of(const Json& formula) {
  return is_formula(formula) ? formula_in(formula) : std::string_view(formula.get_ref<const std::string&>());
}

bool ModelReader::rotation(std::string_view pointer, const Json& value, Matrix3& out) {
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

std::vector<std::string> ModelReader::rotation_in(const JsonSource& source, std::string_view pointer, const Json& value,
                                                  Matrix3& out) {
  static const ModelFileOptions none;
  ModelReader reader(source, none);
  reader.rotation(pointer, value, out);
  return reader.problems_;
}

std::vector<std::string> ModelReader::rotation_keys(const std::vector<std::string>& marks) {
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

bool ModelReader::angles(std::string_view pointer, const Json& value, std::string_view name, std::size_t count,
                         double* out) {
  const std::string in_degrees = std::string(name) + "_deg";
  const Json *radians = find(value, name), *degrees = find(value, in_degrees);
  if ((radians == nullptr) == (degrees == nullptr)) {
    complain(pointer, fmt::format("expected either \"{}\" [rad] or \"{}\" [degrees]", name, in_degrees));
    return false;
  }
  const Json& given = radians != nullptr ? *radians : *degrees;
  const std::string at = below(pointer, radians != nullptr ? std::string(name) : in_degrees);
  if (count == 1 ? !number(at, given, *out) : !numbers(at, given, count, out, "three angles")) return false;
  for (std::size_t i = 0; radians != nullptr && i < count; ++i)
    suspect_degrees(at, count == 1 ? given : given[i], out[i]);
  if (degrees != nullptr)
    for (std::size_t i = 0; i < count; ++i) out[i] *= M_PI / 180.0;
  return true;
}

bool ModelReader::rotation_about_axis(std::string_view pointer, const Json& value, Matrix3& out) {
  check_keys(pointer, value, rotation_keys({"axis"}));
  Vector3 axis;
  double angle = 0.0;
  const bool has_axis = direction(below(pointer, "axis"), *find(value, "axis"), axis);
  if (!angles(pointer, value, "angle", 1, &angle) || !has_axis) return false;
  out = about(axis, angle);
  return true;
}

bool ModelReader::rotation_from_quaternion(std::string_view pointer, const Json& value, Matrix3& out) {
  check_keys(pointer, value, rotation_keys({"quaternion"}));
  double wxyz[4];
  const std::string at = below(pointer, "quaternion");
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

bool ModelReader::rotation_from_matrix(std::string_view pointer, const Json& value, Matrix3& out) {
  check_keys(pointer, value, rotation_keys({"matrix"}));
  const std::string at = below(pointer, "matrix");
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

bool ModelReader::rotation_from_euler(std::string_view pointer, const Json& value, Matrix3& out) {
  check_keys(pointer, value, rotation_keys({"euler", "euler_deg"}));
  double angle[3];
  if (!angles(pointer, value, "euler", 3, angle)) return false;
  std::string order = "zxz";
  if (const Json* given = find(value, "order"); given != nullptr && !text(below(pointer, "order"), *given, order))
    return false;
  const bool is_order = order.size() == 3 && order.find_first_not_of("xyz") == std::string::npos &&
                        order[0] != order[1] && order[1] != order[2];
  if (!is_order) {
    complain(below(pointer, "order"),
             fmt::format("is \"{}\", expected three of x, y, z without equal neighbours: zxz, xyz, ...; "
                         "each rotation is about an axis turned by those before",
                         order));
    return false;
  }
  out.setIdentity();
  for (int i = 0; i < 3; ++i) out = (out * about(Vector3::Unit(order[i] - 'x'), angle[i])).eval();
  return true;
}

Matrix3 ModelReader::about(const Vector3& axis, double angle) {
  // Whole turns are removed for accuracy; exp would take any angle.
  const lie::SO3::Point q = lie::SO3::exp(std::remainder(angle, 2.0 * M_PI) * axis);
  return lie::rotation_matrix(q.data());
}

bool ModelReader::matrix(std::string_view pointer, const Json& value, Matrix3& out) {
  if (!value.is_array() || value.size() != 3) {
    complain(pointer, fmt::format("is {}, expected three rows of three numbers", shown(value)));
    return false;
  }
  bool ok = true;
  for (int i = 0; i < 3; ++i) {
    Vector3 row = Vector3::Zero();
    ok = numbers(below(pointer, i), value[i], 3, row.data(), "a row of three numbers") && ok;
    out.row(i) = row;
  }
  return ok;
}

bool ModelReader::group(std::string_view pointer, const Json& value, lie::GroupId& out) {
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

const Json& ModelReader::list(const Json& root, std::string_view key) {
  static const Json empty = Json::array();
  const Json* given = find(root, key);
  if (given == nullptr || !is_list(below("", key), *given, "a list of objects {...}")) return empty;
  if (given->size() > max_elements) {
    complain(below("", key), fmt::format("has {} entries, at most {} are read", given->size(), max_elements));
    return empty;
  }
  return *given;
}

}  // namespace kreisel::io
