// Joints and drivers: frames and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/json/field_json.hpp"
#include "io/model_file/model_reader.hpp"
#include "multibody/coupler.hpp"
#include "multibody/rolling.hpp"

namespace kreisel::io {

bool ModelReader::body_number(const std::string& at, const Json& value, int& out) {
  std::string name;
  if (!text(at, value, name)) return false;
  if (name == "ground") {
    out = multibody::ground;
    return true;
  }
  const auto found = body_numbers_.find(name);
  if (found == body_numbers_.end() && name.find('@') != std::string::npos) return node_number(at, name, out);
  if (found == body_numbers_.end()) {
    std::vector<std::string> known{"ground"};
    for (const auto& [rod, nodes] : rods_)
      for (const char* end : {"@start", "@end"}) known.push_back(rod + end);
    for (const Body& body : mechanism_.bodies)
      if (known.size() < 30) known.push_back(body.name);
    complain(at, unknown_name("body", name, known));
    return false;
  }
  out = found->second;
  return true;
}

bool ModelReader::read_between(const std::string& at, const Json& value, std::vector<int>& bodies) {
  const Json* between = require(at, value, "between", "the names of two bodies, \"ground\" for the world");
  if (between == nullptr) return false;
  const std::string here = below(at, "between");
  if (!between->is_array() || between->size() != 2) {
    complain(here, fmt::format("is {}, expected the names of two bodies, \"ground\" for the world", shown(*between)));
    return false;
  }
  bodies.assign(2, multibody::ground);
  bool ok = true;
  for (std::size_t i = 0; i < 2; ++i) ok = body_number(below(here, i), (*between)[i], bodies[i]) && ok;
  if (ok && bodies[0] == bodies[1]) {
    complain(here, "names the same body twice, expected two different ones");
    return false;
  }
  return ok;
}

Frame ModelReader::in_body(int body, const Vector3& p, const Matrix3& E) const {
  if (body == multibody::ground) return {p, E};
  const Body& b = mechanism_.bodies[body];
  return {b.rotation.transpose() * (p - b.position), b.rotation.transpose() * E};
}

Frame ModelReader::centre_of(int body) const {
  return body == multibody::ground ? Frame{} : in_body(body, mechanism_.bodies[body].position, Matrix3::Identity());
}

Vector3 ModelReader::in_world(int body, const Vector3& p) const {
  return body == multibody::ground ? p
                                   : Vector3(mechanism_.bodies[body].position + mechanism_.bodies[body].rotation * p);
}

bool ModelReader::read_axes(const std::string& at, const Json& value, const Vector3& z, Matrix3& E) {
  const Json* given = find(value, "x_axis");
  if (given == nullptr) {
    E = multibody::axes_along(z);
    return true;
  }
  Vector3 x;
  const std::string here = below(at, "x_axis");
  return direction(here, *given, x) && guarded(here, [&] { E = multibody::axes_along(z, x); });
}

bool ModelReader::read_frames(const std::string& at, const Json& value, const Placement& layout,
                              const std::vector<int>& bodies, std::vector<Frame>& frames) {
  if (find(value, "frames") != nullptr) return read_body_frames(at, value, layout, bodies, frames);
  const std::size_t n = bodies.size();
  std::vector<Vector3> points(n, Vector3::Zero());
  std::vector<Matrix3> axes(n, Matrix3::Identity());
  bool ok = true;
  switch (layout.place) {
    case JointInfo::Place::none:
      break;
    case JointInfo::Place::one_point: {
      const Json* given = layout.place_is_optional || node_of_rod(bodies) != multibody::ground
                              ? find(value, "at")
                              : require(at, value, "at", "the point [x, y, z] at t = 0 [m]");
      if (given != nullptr)
        ok = vector(below(at, "at"), *given, points[0]);
      else if (layout.place_is_optional)
        points[0] = in_world(bodies[0], own_point(bodies[0]));
      else if (const int node = node_of_rod(bodies); node != multibody::ground)
        points[0] = in_world(node, own_point(node));
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
        for (std::size_t i = 0; i < n; ++i) points[i] = in_world(bodies[i], own_point(bodies[i]));
      } else if (!given->is_array() || given->size() != 2) {
        complain(below(at, "at"), fmt::format("is {}, expected {}", shown(*given), expected));
        ok = false;
      } else {
        for (std::size_t i = 0; i < 2; ++i) ok = vector(below(below(at, "at"), i), (*given)[i], points[i]) && ok;
      }
      break;
    }
  }
  if (layout.axes == 1) {
    const Json* given =
        layout.axis_is_optional ? find(value, "axis") : require(at, value, "axis", "the axis [x, y, z] at t = 0");
    Vector3 axis = Vector3::UnitZ();
    if (given != nullptr)
      ok = direction(below(at, "axis"), *given, axis) && ok;
    else
      ok = layout.axis_is_optional && ok;
    ok = ok && read_axes(at, value, axis, axes[0]);
    std::fill(axes.begin(), axes.end(), axes[0]);
  } else if (layout.axes == 2) {
    constexpr std::string_view expected = "two axes [[x, y, z], [x, y, z]], one of each body, at t = 0";
    const Json* given = layout.axis_is_optional ? find(value, "axes") : require(at, value, "axes", expected);
    if (given == nullptr && layout.axis_is_optional) {
      // third axes of the world
    } else if (given == nullptr || !given->is_array() || given->size() != 2) {
      if (given != nullptr) complain(below(at, "axes"), fmt::format("is {}, expected {}", shown(*given), expected));
      ok = false;
    } else {
      for (std::size_t i = 0; i < 2; ++i) {
        Vector3 axis = Vector3::UnitZ();
        ok = direction(below(below(at, "axes"), i), (*given)[i], axis) && ok;
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

bool ModelReader::read_body_frames(const std::string& at, const Json& value, const Placement& layout,
                                   const std::vector<int>& bodies, std::vector<Frame>& frames) {
  const std::string here = below(at, "frames");
  const Json& given = *find(value, "frames");
  for (const std::string& key : names_of(place_keys(layout)))
    if (find(value, key) != nullptr) {
      complain(below(at, key), fmt::format("cannot be combined with \"frames\"; give either \"frames\" (body "
                                           "coordinates) or \"{}\" (world, t = 0)",
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
    const std::string place = below(here, i);
    if (!is_object(place, given[i], "a frame {\"at\": [x, y, z], \"axis\": [x, y, z]} in body coordinates")) {
      ok = false;
      continue;
    }
    static const std::vector<std::string> known = names_of(frame_object().keys);
    check_keys(place, given[i], known);
    if (const Json* p = find(given[i], "at")) ok = vector(below(place, "at"), *p, frames[i].p) && ok;
    const Json *axis = find(given[i], "axis"), *turned = find(given[i], "rotation");
    const Json* x_axis = find(given[i], "x_axis");
    if ((axis != nullptr || x_axis != nullptr) && turned != nullptr) {
      complain(
          place,
          fmt::format(
              "has both \"{}\" and \"rotation\"; give one of them (the third axis of the rotation is the joint axis)",
              axis != nullptr ? "axis" : "x_axis"));
      ok = false;
    } else if (axis != nullptr || (x_axis != nullptr && (layout.axes == 0 || layout.axis_is_optional))) {
      Vector3 z = Vector3::UnitZ();
      ok = (axis == nullptr || direction(below(place, "axis"), *axis, z)) &&
           read_axes(place, given[i], z, frames[i].E) && ok;
    } else if (turned != nullptr) {
      ok = rotation(below(place, "rotation"), *turned, frames[i].E) && ok;
    } else if (layout.axes > 0 && !layout.axis_is_optional) {
      complain(place, "the key \"axis\" is missing; expected the joint axis in body coordinates");
      ok = false;
    }
  }
  return ok;
}

std::string ModelReader::element_name(const std::string& at, const Json& value, const std::string& fallback,
                                      std::set<std::string>& taken) {
  std::string name = fallback;
  const Json* given = find(value, "name");
  if (given != nullptr && name_text(below(at, "name"), *given, name)) {
    if (!taken.insert(name).second)
      complain(below(at, "name"), fmt::format("\"{}\" is already in use; every name must be unique", name));
    return name;
  }
  // Starts from the last number: searching from 2 would be quadratic in the number of unnamed joints.
  int& number = last_numbers_[fallback];
  while (!taken.insert(name).second) name = fmt::format("{} {}", fallback, number = std::max(number + 1, 2));
  return name;
}

void ModelReader::read_joints(const Json& root) {
  const std::string names[] = {"joints", "drivers"};
  const Json* lists[] = {&list(root, names[0]), &list(root, names[1])};
  std::size_t next[] = {0, 0};
  const auto read = [&](bool is_driver) {
    const std::size_t i = next[is_driver]++;
    read_joint(below("/" + names[is_driver], i), (*lists[is_driver])[i], is_driver);
  };
  if (options_.base != nullptr)
    for (const bool is_driver : options_.base->are_drivers) read(is_driver);
  while (next[0] < lists[0]->size()) read(false);
  for (const auto& [at, value] : couplers_) read_coupler(at, *value);
  while (next[1] < lists[1]->size()) read(true);
}

void ModelReader::read_joint(const std::string& at, const Json& value, bool is_driver) {
  if (!is_object(at, value, "an object {\"type\": ..., \"between\": [..., ...], ...}")) return;
  std::string type;
  const Json* given_type =
      require(at, value, "type", fmt::format("one of {}", fmt::join(joint_types(is_driver), ", ")));
  if (given_type == nullptr || !text(below(at, "type"), *given_type, type)) return;
  if (type == "coupler" && !is_driver) {
    couplers_.push_back({at, &value});  // joints may follow
    return;
  }
  const JointInfo* info = nullptr;
  if (!guarded(below(at, "type"), [&] {
        if (std::ranges::count(joint_types(is_driver), type) == 0)
          throw InvalidInput(unknown_name(is_driver ? "driver" : "joint", type, joint_types(is_driver)));
        info = &multibody::find_joint(type, is_driver);
      }))
    return;

  const Placement layout = placement_of(*info);
  check_keys(at, value, known_keys(*info));
  multibody::JointSpec spec;
  bool ok = read_between(at, value, spec.bodies);
  if (info->has_teeth) ok = read_teeth(at, value, spec) && ok;
  if (info->has_carrier) ok = read_carrier(at, value, spec) && ok;
  if (info->has_curve) ok = read_curve(at, value, spec) && ok;
  ok = read_numbers(at, value, info->numbers, spec.numbers) && ok;
  if (info->is_driver) {
    const Json* driven = require(at, value, "value", "a number, a formula in t or a table");
    const bool is_read = driven != nullptr && signal(below(at, "value"), *driven, 2, spec.value);
    if (is_read && info->value_unit == "rad") suspect_degrees(below(at, "value"), *driven, spec.value);
    ok = is_read && ok;
  }
  // Frames depend on bodies, whose errors are already reported.
  ok = ok && read_frames(at, value, layout, spec.bodies, spec.frames);
  if (!ok) return;
  if (info->axes_are_perpendicular && !are_perpendicular(at, value, spec)) return;
  if (info->axes_swing && !guarded(at, [&] { swing_second_frame(spec); })) return;
  if (info->place == JointInfo::Place::two_points) {
    const double length = distance_between(spec.bodies, spec.frames);
    if (length == 0.0 && !info->points_may_meet)
      return complain(at,
                      "the two points coincide at t = 0; a distance needs two different points, a spherical joint one");
    if (find_field(info->numbers, "length") != nullptr) spec.numbers.numbers.insert({"length", length});
  }
  spec.name = element_name(
      at, value, fmt::format("{} {}-{}", type, body_label(spec.bodies[0]), body_label(spec.bodies[1])), joint_names_);
  multibody::JointPtr made;
  if (!guarded(info->has_curve ? below(at, "curve") : at, [&] { made = make_joint(*info, spec); })) return;
  joint_numbers_.insert({spec.name, static_cast<int>(mechanism_.joints.size())});
  joint_places_.push_back(at);
  if (made->rolling() != nullptr) rolling_places_[made->rolling()->name()] = at;
  mechanism_.joints.push_back(std::move(made));
  const int number = static_cast<int>(mechanism_.joints.size()) - 1;
  read_coordinates(at, value, *info, number);
  read_active(at, value, spec.name);
}

/// Two coordinates are given by their kinds, angle and displacement.
void ModelReader::read_coordinates(const std::string& at, const Json& value, const JointInfo& info, int joint) {
  for (const char* key : {"initial", "limits"}) {
    const Json* given = find(value, key);
    if (given == nullptr || info.coordinates == 0) continue;
    const std::string here = below(at, key);
    const auto read = [&](const std::string& where, const Json& what, int sliding) {
      if (std::string_view(key) == "initial")
        read_initial(where, what, joint, sliding);
      else
        read_limits(where, what, joint, sliding);
    };
    if (info.coordinates == 1) {
      read(here, *given, 0);
      continue;
    }
    if (!is_object(here, *given, "{\"angle\": {...}, \"displacement\": {...}}")) continue;
    check_keys(here, *given, {"angle", "displacement"});
    const auto& slidings = mechanism_.joints[static_cast<std::size_t>(joint)]->slidings();
    for (std::size_t i = 0; i < slidings.size(); ++i) {
      const char* name = slidings[i].is_rotation ? "angle" : "displacement";
      if (const Json* of = find(*given, name)) read(below(here, name), *of, static_cast<int>(i));
    }
  }
}

void ModelReader::read_coupler(const std::string& at, const Json& value) {
  check_keys(at, value, names_of(coupler_object().keys));
  const Json* joints = require(at, value, "joints", "the names of two joints");
  multibody::Numbers n;
  if (!read_numbers(at, value, fields_of(coupler_object()), n) || joints == nullptr) return;
  const std::string here = below(at, "joints");
  if (!joints->is_array() || joints->size() != 2)
    return complain(here, fmt::format("is {}, expected the names of two joints", shown(*joints)));
  int numbers[2] = {0, 0}, gauges[2] = {-1, -1};
  for (const std::size_t i : {0, 1}) {
    if (!joint_named(below(here, i), (*joints)[i], numbers[i])) return;
    const multibody::JointPtr& of = mechanism_.joints[numbers[i]];
    if (of->slidings().size() != 1)
      return complain(below(here, i),
                      fmt::format("'{}' is a {} joint, which does not have exactly one coordinate; expected a joint "
                                  "with one, such as a revolute or prismatic one",
                                  of->name(), of->type()));
    const bool turns = of->slidings()[0].is_rotation;
    gauges[i] = joint_gauge(numbers[i], turns);
    if (turns) value_of(gauges[i], true, of->name());
    if (const Json* offset = find(value, "offset"); turns && i == 1 && offset != nullptr)
      suspect_degrees(below(at, "offset"), *offset, n.number("offset"));
  }
  if (numbers[0] == numbers[1]) return complain(here, "names the same joint twice, expected two different ones");
  const std::string name = element_name(
      at, value,
      fmt::format("coupler {}-{}", mechanism_.joints[numbers[0]]->name(), mechanism_.joints[numbers[1]]->name()),
      joint_names_);
  mechanism_.elements.push_back(std::make_shared<const multibody::Coupler>(
      name, formulas().gauge(gauges[0]), formulas().gauge(gauges[1]), n.number("ratio"), n.number("offset")));
  coupler_places_[name] = at;
  read_active(at, value, name);
}

void ModelReader::swing_second_frame(multibody::JointSpec& spec) const {
  const auto rotation = [&](int i) -> Matrix3 {
    return spec.bodies[i] == multibody::ground ? Matrix3(Matrix3::Identity())
                                               : mechanism_.bodies[spec.bodies[i]].rotation;
  };
  spec.frames[1].E = multibody::swung(rotation(0), spec.frames[0].E, rotation(1), spec.frames[1].E);
}

bool ModelReader::are_perpendicular(const std::string& at, const Json& value, const multibody::JointSpec& spec) {
  const auto axis = [&](int i) -> Vector3 {
    return spec.bodies[i] == multibody::ground
               ? Vector3(spec.frames[i].E.col(2))
               : Vector3(mechanism_.bodies[spec.bodies[i]].rotation * spec.frames[i].E.col(2));
  };
  const double cosine = axis(0).dot(axis(1));
  if (std::abs(cosine) <= (options_.accepts_gaps ? 0.99 : 1e-8)) return true;
  const std::string here = below(at, find(value, "frames") != nullptr ? "frames" : "axes");
  complain(here, fmt::format(
                     "has axes {:.6g} degrees apart at t = 0; a {} joint needs perpendicular axes, one of each body",
                     std::acos(std::clamp(cosine, -1.0, 1.0)) * 180.0 / M_PI, find(value, "type")->get<std::string>()));
  return false;
}

bool ModelReader::read_numbers(const std::string& at, const Json& value, const std::vector<Field>& fields,
                               multibody::Numbers& out) {
  bool ok = true;
  for (const Field& field : fields) {
    const bool is_word = kind_of(field) == FieldKind::word;
    if (is_word) out.words[field.name] = field.words.front();
    const Json* given = find(value, field.name);
    if (given != nullptr) {
      ok = guarded(below(at, field.name),
                   [&] {
                     Json number;
                     if (!resolved(below(at, field.name), field, *given, number)) {
                       ok = false;
                       return;
                     }
                     const Value read = is_word ? value_in(field, *given) : value_with_meaning(field, number);
                     if (is_word)
                       out.words[field.name] = std::get<std::string>(read);
                     else
                       out.numbers[field.name] = std::holds_alternative<long>(read)
                                                     ? static_cast<double>(std::get<long>(read))
                                                     : std::get<double>(read);
                     if (!is_word && field.unit == "rad")
                       suspect_degrees(below(at, field.name), *given, out.numbers[field.name]);
                   }) &&
           ok;
    } else if (!is_word && !field.is_optional && std::isnan(field.default_number)) {
      complain(at, fmt::format("the key \"{}\" is missing; expected a number: {}", field.name, field.meaning));
      ok = false;
    } else if (!is_word && !field.is_optional) {
      out.numbers[field.name] = field.default_number;
    }
  }
  return ok;
}

Value ModelReader::value_with_meaning(const Field& field, const Json& given) {
  try {
    return value_in(field, given);
  } catch (const InvalidInput& e) {
    throw InvalidInput(
        fmt::format("{}: {}{}", e.what(), field.meaning, field.unit.empty() ? "" : fmt::format(" [{}]", field.unit)));
  }
}

double ModelReader::distance_between(const std::vector<int>& bodies, const std::vector<Frame>& frames) const {
  return (in_world(bodies[0], frames[0].p) - in_world(bodies[1], frames[1].p)).norm();
}

bool ModelReader::read_teeth(const std::string& at, const Json& value, multibody::JointSpec& spec) {
  const Json* teeth = require(at, value, "teeth", "two whole numbers, negative for an internal gear");
  bool ok = teeth != nullptr;
  if (ok) {
    ok = teeth->is_array() && teeth->size() == 2;
    for (std::size_t i = 0; ok && i < 2; ++i) {
      const Json& n = (*teeth)[i];
      double count = 0.0;
      if (is_formula(n) && !evaluated(below(below(at, "teeth"), i), n, count)) return false;
      if (n.is_number_integer()) count = n.get<double>();
      ok = count == std::round(count) && std::abs(count) >= 1.0 && std::abs(count) <= 1e6;
      if (ok) spec.teeth[i] = static_cast<int>(count);
    }
    if (!ok)
      complain(below(at, "teeth"),
               fmt::format("is {}, expected two whole numbers from 1 to 1000000, negative for an internal gear",
                           shown(*teeth)));
  }
  return ok;
}

bool ModelReader::read_curve(const std::string& at, const Json& value, multibody::JointSpec& spec) {
  const Json* curve = require(at, value, "curve", "a list of points [x, y] of a closed curve [m]");
  const std::string here = below(at, "curve");
  if (curve == nullptr || !is_list(here, *curve, "a list of points [x, y] of a closed curve [m]")) return false;
  bool ok = true;
  for (std::size_t i = 0; i < curve->size(); ++i) {
    Eigen::Vector2d point;
    ok = numbers(below(here, i), (*curve)[i], 2, point.data(), "a point [x, y] [m]") && ok;
    spec.curve.push_back(point);
  }
  return ok;
}

bool ModelReader::read_carrier(const std::string& at, const Json& value, multibody::JointSpec& spec) {
  bool ok = true;
  int carrier = multibody::ground;
  if (const Json* given = find(value, "carrier")) ok = body_number(below(at, "carrier"), *given, carrier) && ok;
  if (carrier != multibody::ground && std::find(spec.bodies.begin(), spec.bodies.end(), carrier) != spec.bodies.end()) {
    complain(below(at, "carrier"), "is one of the two bodies, expected the one that holds both axes");
    ok = false;
  }
  spec.bodies.push_back(carrier);
  return ok;
}

}  // namespace kreisel::io
