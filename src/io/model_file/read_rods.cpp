// Materials, sections and rods.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/named_entries.hpp"

namespace kreisel::io {

bool ModelReader::new_name(const std::string& at, const Json& value, std::string_view kind,
                           bool is_taken(const ModelReader&, const std::string&), std::string& out) {
  const Json* given = require(at, value, "name", fmt::format("the name of the {}", kind));
  if (given == nullptr || !name_text(below(at, "name"), *given, out)) return false;
  if (!is_taken(*this, out)) return true;
  complain(below(at, "name"), fmt::format("\"{}\" is the name of an earlier {}; every name must be unique", out, kind));
  return false;
}

std::vector<Field> ModelReader::fields_of(const ObjectInfo& object) {
  std::vector<Field> fields;
  for (const Key& key : object.keys)
    if (const FieldKind kind = kind_of(key.field);
        key.form.empty() && !key.is_list && kind != FieldKind::text && kind != FieldKind::truth)
      fields.push_back(key.field);
  return fields;
}

void ModelReader::read_materials(const Json& root) {
  const Json& materials = list(root, "materials");
  for (std::size_t i = 0; i < materials.size(); ++i) {
    const std::string at = below("/materials", i);
    if (!is_object(at, materials[i], "a material {\"name\": ..., \"young\": ..., \"density\": ...}")) continue;
    check_keys(at, materials[i], names_of(material_object().keys));
    std::string name;
    multibody::Numbers n;
    const bool has_name = new_name(
        at, materials[i], "material",
        [](const ModelReader& r, const std::string& x) { return r.materials_.contains(x); }, name);
    if (!read_numbers(at, materials[i], fields_of(material_object()), n) || !has_name) continue;
    materials_[name] = {multibody::Material{n.number("young"), n.number("poisson"), n.number("density")},
                        n.number("damping_time")};
  }
}

void ModelReader::read_sections(const Json& root) {
  const Json& sections = list(root, "sections");
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::string at = below("/sections", i);
    if (!is_object(at, sections[i], "a section {\"name\": ..., \"material\": ..., \"circle\": {...}}")) continue;
    check_keys(at, sections[i], names_of(section_object().keys));
    std::string name;
    NamedSection section;
    const bool has_name = new_name(
        at, sections[i], "section", [](const ModelReader& r, const std::string& x) { return r.sections_.contains(x); },
        name);
    if (read_section(at, sections[i], section) && has_name) sections_[name] = section;
  }
}

bool ModelReader::read_section(const std::string& at, const Json& value, NamedSection& out) {
  const Json *circle = find(value, "circle"), *rectangle = find(value, "rectangle"),
             *stiffness = find(value, "stiffness");
  if ((circle != nullptr) + (rectangle != nullptr) + (stiffness != nullptr) != 1) {
    complain(at, "expected one of \"circle\", \"rectangle\" (with a \"material\") and \"stiffness\"");
    return false;
  }
  multibody::Numbers n;
  if (!read_numbers(at, value, fields_of(section_object()), n)) return false;
  double damping_time = 0.0;
  const bool has_shape = stiffness == nullptr;
  for (const char* key : {"mass_per_length", "inertia_per_length"})
    if ((find(value, key) != nullptr) == has_shape) {
      complain(at, has_shape ? fmt::format("\"{}\" follows from the shape; leave it out", key)
                             : fmt::format("the key \"{}\" is missing; expected with \"stiffness\"", key));
      return false;
    }
  if (has_shape) {
    const Json* given = require(at, value, "material", "the name of a material");
    std::string name;
    if (given == nullptr || !text(below(at, "material"), *given, name)) return false;
    const auto material = materials_.find(name);
    if (material == materials_.end()) {
      std::vector<std::string> known;
      for (const auto& item : materials_) known.push_back(item.first);
      if (problem_count_ == 0 ||
          !is_listed(composed_.root.is_null() ? source_.root() : composed_.root, {"materials"}, name))
        complain(below(at, "material"), unknown_name("material", name, known));
      return false;
    }
    damping_time = material->second.second;
    out.shape.kind = circle != nullptr ? multibody::Shape::Kind::cylinder : multibody::Shape::Kind::box;
    if (circle != nullptr) {
      const std::string here = below(at, "circle");
      if (!is_object(here, *circle, "a circle {\"radius\": ...}")) return false;
      check_keys(here, *circle, names_of(circle_object().keys));
      multibody::Numbers radii;
      if (!read_numbers(here, *circle, fields_of(circle_object()), radii)) return false;
      const double outside = radii.number("radius"), inside = radii.number("inner_radius");
      if (!(inside < outside)) {
        complain(below(here, "inner_radius"),
                 fmt::format("is {}, must be smaller than the radius {}", inside, outside));
        return false;
      }
      out.section = multibody::circular_section(material->second.first, outside, inside);
      out.shape.radius = outside;
    } else {
      double edges[2];
      if (!numbers(below(at, "rectangle"), *rectangle, 2, edges, "two edges [y, z]")) return false;
      if (!(edges[0] > 0.0 && edges[1] > 0.0)) {
        complain(below(at, "rectangle"), "has an edge that is not positive");
        return false;
      }
      out.section = multibody::rectangular_section(material->second.first, edges[0], edges[1]);
      out.shape.size = {0.0, edges[0], edges[1]};
    }
  } else {
    Matrix3 inertia = Matrix3::Zero();
    Vector3 moments;
    if (find(value, "material") != nullptr) {
      complain(below(at, "material"),
               "cannot be combined with \"stiffness\", which describes the elasticity; leave it out");
      return false;
    }
    multibody::Matrix6 K;
    if (!section_stiffness(below(at, "stiffness"), *stiffness, K) ||
        !vector(below(at, "inertia_per_length"), *find(value, "inertia_per_length"), moments))
      return false;
    inertia.diagonal() = moments;
    if (const std::string problem = multibody::problem_with_inertia(inertia); !problem.empty()) {
      complain(below(at, "inertia_per_length"), problem);
      return false;
    }
    out.section.beam.compliance = K.inverse();
    out.section.mass_per_length = n.number("mass_per_length");
    out.section.inertia_per_length = inertia;
    out.shape.kind = multibody::Shape::Kind::cylinder;
  }
  out.section.beam.damping_time = n.has_number("damping_time") ? n.number("damping_time") : damping_time;
  return true;
}

bool ModelReader::section_stiffness(const std::string& at, const Json& value, multibody::Matrix6& K) {
  constexpr std::string_view expected = "six numbers [EA, GA_y, GA_z, GJ, EI_y, EI_z] or a 6x6 matrix";
  if (!value.is_array() || value.size() != 6) {
    complain(at, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  if (value[0].is_array()) {
    for (std::size_t i = 0; i < 6; ++i) {
      double row[6];
      if (!numbers(below(at, i), value[i], 6, row, "a row of six numbers")) return false;
      for (int j = 0; j < 6; ++j) K(static_cast<int>(i), j) = row[j];
    }
  } else {
    double diagonal[6];
    if (!numbers(at, value, 6, diagonal, expected)) return false;
    K = Eigen::Map<multibody::Vector6>(diagonal).asDiagonal();
  }
  if (!((K - K.transpose()).norm() <= typing_tolerance * K.norm())) {
    complain(at, "is not symmetric");
    return false;
  }
  K = (0.5 * (K + K.transpose())).eval();
  const double smallest = Eigen::SelfAdjointEigenSolver<multibody::Matrix6>(K, Eigen::EigenvaluesOnly).eigenvalues()[0];
  if (!(smallest > 0.0))
    complain(at, fmt::format("is not positive definite: its smallest eigenvalue is {:.6g}", smallest));
  return smallest > 0.0;
}

void ModelReader::read_rods(const Json& root) {
  const Json& rods = list(root, "rods");
  if (rods.empty() && mechanism_.bodies.empty() && problem_count_ == 0)
    complain("/rods", "is empty, and there are no bodies");
  for (std::size_t i = 0; i < rods.size(); ++i) read_rod(below("/rods", i), rods[i]);
}

void ModelReader::read_rod(const std::string& at, const Json& value) {
  if (!is_object(at, value, "a rod {\"name\": ..., \"section\": ..., \"path\": {...}}")) return;
  check_keys(at, value, names_of(rod_object().keys));
  multibody::Rod rod;
  multibody::Numbers n;
  bool ok = new_name(
      at, value, "rod", [](const ModelReader& r, const std::string& x) { return r.rods_.contains(x); }, rod.name);
  ok = read_numbers(at, value, fields_of(rod_object()), n) && ok;
  if (ok && rod.name.find('@') != std::string::npos) {
    complain(below(at, "name"), "contains \"@\", which separates a rod from a place on it");
    ok = false;
  }
  std::string section_name;
  const Json* given = require(at, value, "section", "the name of a section");
  ok = given != nullptr && text(below(at, "section"), *given, section_name) && ok;
  const auto section = sections_.find(section_name);
  if (ok && section == sections_.end()) {
    std::vector<std::string> known;
    for (const auto& item : sections_) known.push_back(item.first);
    if (problem_count_ == 0 ||
        !is_listed(composed_.root.is_null() ? source_.root() : composed_.root, {"sections"}, section_name))
      complain(below(at, "section"), unknown_name("section", section_name, known));
    ok = false;
  }
  for (const auto& [key, out] :
       {std::pair{"velocity", &rod.velocity}, std::pair{"angular_velocity", &rod.angular_velocity}})
    if (const Json* v = find(value, key)) ok = vector(below(at, key), *v, *out) && ok;
  const Json* path = require(at, value, "path", "{\"line\": [from, to]} or {\"arc\": [from, on the way, to]}");
  if (!ok || path == nullptr || !read_path(at, value, *path, static_cast<int>(n.number("elements")), rod)) return;
  rod.section = section->second.section;
  rod.section.beam.law = n.word("law") == "magnus" ? multibody::SectionLaw::magnus : multibody::SectionLaw::constant;
  rod.is_straight_unloaded = n.word("reference") == "straight";
  rod.prestress[0] = n.number("tension");
  if (n.word("shear") == "rigid") {
    if (rod.section.beam.law == multibody::SectionLaw::constant)
      return complain(below(at, "shear"), "is rigid, which the law \"constant\" cannot represent; take \"magnus\"");
    rod.section.beam.compliance.middleRows<2>(1).setZero();
    rod.section.beam.compliance.middleCols<2>(1).setZero();
  }
  const int elements = static_cast<int>(rod.nodes.size()) - 1, first = static_cast<int>(mechanism_.bodies.size());
  if (!guarded(at, [&] { multibody::add_rod(mechanism_, rod); })) return;
  multibody::Shape shape = section->second.shape;
  if (shape.kind == multibody::Shape::Kind::cylinder && !(shape.radius > 0.0)) shape.radius = rod.length / 200.0;
  shape.axis = Vector3::UnitX();
  shape.length = shape.size[0] = rod.length / elements;
  for (int i = first; i <= first + elements; ++i) {
    Body& body = mechanism_.bodies[i];
    body.shapes.push_back(shape);
    if (!body_numbers_.insert({body.name, i}).second)
      return complain(
          below(at, "name"),
          fmt::format("a node of the rod would have the name \"{}\" of a body; give another name", body.name));
  }
  rods_[rod.name] = {first, elements, rod.length};
}

bool ModelReader::read_path(const std::string& at, const Json& value, const Json& path, int elements,
                            multibody::Rod& rod) {
  const std::string here = below(at, "path");
  constexpr std::string_view expected = "{\"line\": [from, to]} or {\"arc\": [from, on the way, to]}";
  if (!is_object(here, path, expected)) return false;
  check_keys(here, path, names_of(path_object().keys));
  const bool is_arc = find(path, "arc") != nullptr;
  if (path.size() != 1 || (!is_arc && find(path, "line") == nullptr)) {
    complain(here, fmt::format("is {}, expected {}", shown(path), expected));
    return false;
  }
  const std::string key = is_arc ? "arc" : "line", place = below(here, key);
  const Json& given = *find(path, key);
  const std::size_t count = is_arc ? 3 : 2;
  Vector3 points[3];
  if (!given.is_array() || given.size() != count) {
    complain(place, fmt::format("is {}, expected {} points [x, y, z]", shown(given), is_arc ? "three" : "two"));
    return false;
  }
  for (std::size_t i = 0; i < count; ++i)
    if (!vector(below(place, i), given[i], points[i])) return false;
  const Vector3 chord = points[count - 1] - points[0];
  if (!(chord.norm() > 0.0)) {
    complain(place, "begins and ends at the same point");
    return false;
  }
  Vector3 up = Vector3::UnitZ();
  const Json* given_up = find(value, "up");
  if (given_up != nullptr && !direction(below(at, "up"), *given_up, up)) return false;
  if (!is_arc) {
    if (given_up == nullptr && chord.cross(up).norm() < 1e-6 * chord.norm()) up = Vector3::UnitY();
    rod.length = chord.norm();
    return guarded(given_up != nullptr ? below(at, "up") : here,
                   [&] { rod.nodes = multibody::line(points[0], points[1], elements, up); });
  }
  return guarded(given_up != nullptr ? below(at, "up") : place, [&] {
    rod.length = multibody::arc(points, elements, given_up != nullptr ? &up : nullptr, rod.nodes);
  });
}

bool ModelReader::node_number(const std::string& at, const std::string& name, int& out) {
  const std::size_t split = name.find('@');
  const std::string rod_name = name.substr(0, split);
  std::string place = name.substr(split + 1);
  const auto rod = rods_.find(rod_name);
  if (rod == rods_.end()) {
    std::vector<std::string> known;
    for (const auto& item : rods_) known.push_back(item.first);
    if (problem_count_ == 0 ||
        !is_listed(composed_.root.is_null() ? source_.root() : composed_.root, {"rods"}, rod_name))
      complain(at, unknown_name("rod", rod_name, known));
    return false;
  }
  const auto& [first, elements, length] = rod->second;
  double part = 0.0;
  if (place == "end") {
    part = 1.0;
  } else if (place != "start") {
    const bool is_length = place.ends_with('m');
    if (is_length) place.pop_back();
    const std::optional<double> number = number_in(place);
    if (!number) {
      complain(
          at, fmt::format("is \"{}\", expected {}@start, {}@end, a part of the length as {}@0.5 or a length as {}@1.2m",
                          name, rod_name, rod_name, rod_name, rod_name));
      return false;
    }
    part = is_length ? *number / length : *number;
  }
  if (!(part >= 0.0 && part <= 1.0 + 1e-12)) {
    complain(at, fmt::format("is \"{}\", which lies outside the rod of length {:.6g} m", name, length));
    return false;
  }
  const double node = part * elements;
  if (!(std::abs(node - std::round(node)) < 1e-6)) {
    complain(at, fmt::format("is \"{}\", which lies between two nodes of {} equal elements; choose \"elements\" so "
                             "that a node is there, "
                             "such as {}",
                             name, elements, elements_with_node_at(part, elements)));
    return false;
  }
  out = first + static_cast<int>(std::lround(node));
  return true;
}

int ModelReader::elements_with_node_at(double part, int elements) {
  int n = elements;
  while (n < 100 * elements && !(std::abs(part * n - std::round(part * n)) < 1e-6)) ++n;
  return n;
}

int ModelReader::node_of_rod(const std::vector<int>& bodies) const {
  for (const int body : bodies)
    for (const auto& [name, rod] : rods_)
      if (body >= rod.first && body <= rod.first + rod.elements) return body;
  return multibody::ground;
}

}  // namespace kreisel::io
