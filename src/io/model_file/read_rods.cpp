// Materials, sections and rods.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/decompositions.hpp"
#include "base/text.hpp"
#include "io/model_file/model_reader.hpp"
#include "io/model_file/named_entries.hpp"
#include "multibody/line_load.hpp"

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
    double damping = 0.0;
    if (!damping_time(at, materials[i], n, damping)) continue;
    materials_[name] = {multibody::Material{n.number("young"), n.number("poisson"), n.number("density")},
                        std::isnan(damping) ? 0.0 : damping};
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

/// ζ = βω/2 of a vibration with ω = 2πf.
bool ModelReader::damping_time(const std::string& at, const Json& value, const multibody::Numbers& n, double& out) {
  const bool has_ratio = n.has_number("damping_ratio"), has_frequency = n.has_number("at_frequency");
  out = n.has_number("damping_time") ? n.number("damping_time") : std::numeric_limits<double>::quiet_NaN();
  if (has_ratio && n.has_number("damping_time")) {
    complain(below(at, "damping_ratio"), "cannot be combined with \"damping_time\"; give one of them");
    return false;
  }
  if (has_ratio != has_frequency) {
    const char* missing = has_ratio ? "at_frequency" : "damping_ratio";
    complain(at, fmt::format("the key \"{}\" is missing; a damping ratio belongs to a frequency [Hz]", missing));
    return false;
  }
  if (has_ratio) out = n.number("damping_ratio") / (M_PI * n.number("at_frequency"));
  return value.is_object();
}

bool ModelReader::section_shape(const std::string& at, const Json& value, multibody::Shape& shape, double size[2]) {
  const Json *circle = find(value, "circle"), *rectangle = find(value, "rectangle");
  shape.kind = circle != nullptr ? multibody::Shape::Kind::cylinder : multibody::Shape::Kind::box;
  if (circle != nullptr) {
    const std::string here = below(at, "circle");
    if (!is_object(here, *circle, "a circle {\"radius\": ...}")) return false;
    check_keys(here, *circle, names_of(circle_object().keys));
    multibody::Numbers radii;
    if (!read_numbers(here, *circle, fields_of(circle_object()), radii)) return false;
    size[0] = radii.number("radius");
    size[1] = radii.number("inner_radius");
    if (!(size[1] < size[0])) {
      complain(below(here, "inner_radius"), fmt::format("is {}, must be smaller than the radius {}", size[1], size[0]));
      return false;
    }
    shape.radius = size[0];
    return true;
  }
  if (!numbers(below(at, "rectangle"), *rectangle, 2, size, "two edges [y, z]")) return false;
  if (!(size[0] > 0.0 && size[1] > 0.0)) {
    complain(below(at, "rectangle"), "has an edge that is not positive");
    return false;
  }
  shape.size = {0.0, size[0], size[1]};
  return true;
}

bool ModelReader::read_section(const std::string& at, const Json& value, NamedSection& out) {
  const Json *circle = find(value, "circle"), *rectangle = find(value, "rectangle"),
             *stiffness = find(value, "stiffness");
  out.at = at;
  if ((circle != nullptr) + (rectangle != nullptr) + (stiffness != nullptr) != 1) {
    complain(at, "expected one of \"circle\", \"rectangle\" (with a \"material\") and \"stiffness\"");
    return false;
  }
  multibody::Numbers n;
  if (!read_numbers(at, value, fields_of(section_object()), n)) return false;
  double damping = 0.0, of_material = 0.0;
  if (!damping_time(at, value, n, damping)) return false;
  const bool has_shape = stiffness == nullptr;
  for (const char* key : {"mass_per_length", "inertia_per_length"})
    if ((find(value, key) != nullptr) == has_shape) {
      complain(at, has_shape ? fmt::format("\"{}\" follows from the shape; leave it out", key)
                             : fmt::format("the key \"{}\" is missing; it is required with \"stiffness\"", key));
      return false;
    }
  if (has_shape) {
    for (const char* key : {"shape", "centre_of_mass"})
      if (find(value, key) != nullptr) {
        complain(below(at, key), "is only for a section with \"stiffness\"; leave it out");
        return false;
      }
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
    of_material = material->second.second;
    double size[2];
    if (!section_shape(at, value, out.shape, size)) return false;
    out.section = circle != nullptr ? multibody::circular_section(material->second.first, size[0], size[1])
                                    : multibody::rectangular_section(material->second.first, size[0], size[1]);
    out.height = circle != nullptr ? 2.0 * size[0] : std::max(size[0], size[1]);
    if (!(out.section.mass_per_length > 0.0)) {
      complain(below(at, "material"), fmt::format("'{}' has no density; rods need mass", name));
      return false;
    }
  } else {
    if (find(value, "material") != nullptr) {
      complain(below(at, "material"),
               "cannot be combined with \"stiffness\", which describes the elasticity; leave it out");
      return false;
    }
    multibody::Matrix6 K;
    Matrix3 inertia = Matrix3::Zero();
    const std::size_t before = problem_count_;
    if (!section_stiffness(below(at, "stiffness"), *stiffness, K)) return false;
    read_inertia(below(at, "inertia_per_length"), *find(value, "inertia_per_length"), inertia);
    if (problem_count_ > before) return false;
    if (const Json* centre = find(value, "centre_of_mass")) {
      double yz[2];
      if (!numbers(below(at, "centre_of_mass"), *centre, 2, yz, "two numbers [y, z] [m]")) return false;
      out.section.centre_of_mass = {0.0, yz[0], yz[1]};
    }
    // Rigid directions of a rod have no compliance; their numbers are ignored.
    multibody::Matrix6 invertible = K;
    for (int i = 0; i < 3; ++i)
      if (K.row(i).isZero(0.0)) out.has_none[static_cast<std::size_t>(i)] = true, invertible(i, i) = 1.0;
    out.is_limp = K.bottomRows<3>().isZero(0.0);
    if (out.is_limp) invertible.bottomRightCorner<3, 3>().setIdentity();
    out.section.beam.compliance = invertible.inverse();
    for (int i = 0; i < 3; ++i)
      if (out.has_none[static_cast<std::size_t>(i)]) out.section.beam.compliance(i, i) = 0.0;
    out.section.mass_per_length = n.number("mass_per_length");
    if (!(out.section.mass_per_length > 0.0)) {
      complain(below(at, "mass_per_length"), "is zero; rods need mass");
      return false;
    }
    out.section.inertia_per_length = inertia;
    out.shape.kind = multibody::Shape::Kind::cylinder;
    if (K(0, 0) > 0.0) out.height = std::sqrt(12.0 * std::max(K(4, 4), K(5, 5)) / K(0, 0));
    if (const Json* shape = find(value, "shape")) {
      const std::string here = below(at, "shape");
      constexpr std::string_view expected = "{\"circle\": {...}} or {\"rectangle\": [y, z]}";
      if (!is_object(here, *shape, expected)) return false;
      check_keys(here, *shape, names_of(section_shape_object().keys));
      if ((find(*shape, "circle") != nullptr) == (find(*shape, "rectangle") != nullptr)) {
        complain(here, fmt::format("is {}, expected {}", shown(*shape), expected));
        return false;
      }
      double size[2];
      if (!section_shape(here, *shape, out.shape, size)) return false;
    }
  }
  out.section.beam.damping_time = std::isnan(damping) ? of_material : damping;
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
  if (!K.allFinite()) {
    complain(at, "is not finite");
    return false;
  }
  // Extension and shear may have zero stiffness: rods must then declare them rigid.
  multibody::Matrix6 judged = K;
  for (int i = 0; i < 3; ++i)
    if (K.row(i).isZero(0.0)) judged(i, i) = 1.0;
  if (K.bottomRows<3>().isZero(0.0) && K(0, 0) > 0.0) judged.bottomRightCorner<3, 3>().setIdentity();
  // Scaled to ones on the diagonal, so that units do not decide which direction is the weakest.
  multibody::Vector6 unit = judged.diagonal().cwiseAbs().cwiseSqrt();
  constexpr std::array<const char*, 6> meaning{"extension", "shear along y",   "shear along z",
                                               "torsion",   "bending about y", "bending about z"};
  for (int i = 0; i < 6; ++i)
    if (!(judged(i, i) > 0.0)) {
      complain(at, fmt::format("is not positive definite: the stiffness of {} is {:.6g}; a rod may be \"rigid\" in "
                               "extension and shear only, and a cable (\"bending\": \"none\") has neither torsion nor "
                               "bending stiffness",
                               meaning[static_cast<std::size_t>(i)], judged(i, i)));
      return false;
    }
  const multibody::Vector6 over = unit.cwiseInverse();
  const auto eigen = symmetric_eigen(multibody::Matrix6(over.asDiagonal() * judged * over.asDiagonal()));
  const double smallest = eigen.values[0];
  if (smallest > 0.0) return true;
  const multibody::Vector6 direction = over.cwiseProduct(eigen.vectors.col(0)).normalized();
  complain(at,
           fmt::format("is not positive definite: its smallest eigenvalue, with ones on the diagonal, is {:.6g}, "
                       "for strains along [{:.3g}, {:.3g}, {:.3g}, {:.3g}, {:.3g}, {:.3g}]",
                       smallest, direction[0], direction[1], direction[2], direction[3], direction[4], direction[5]));
  return false;
}

void ModelReader::read_rods(const Json& root) {
  const Json& rods = list(root, "rods");
  if (rods.empty() && mechanism_.bodies.empty() && problem_count_ == 0)
    complain("/rods", "is empty, and there are no bodies");
  // One search for all rods: files have many places.
  const std::function<void(const Json&)> search = [&](const Json& value) {
    if (value.is_string()) {
      if (const std::string& text = value.get_ref<const std::string&>(); text.find('@') != std::string::npos)
        asked_places_.push_back(text);
    } else if (value.is_structured()) {
      for (const auto& item : value.items()) {
        if (value.is_object() && item.key().find('@') != std::string::npos)
          asked_places_.push_back(item.key().substr(0, item.key().rfind('.')));
        search(item.value());
      }
    }
  };
  if (!rods.empty())
    for (const char* key : {"joints", "drivers", "forces", "outputs", "events"})
      if (const Json* part = find(root, key)) search(*part);
  for (std::size_t i = 0; i < rods.size(); ++i) read_rod(below("/rods", i), rods[i]);
}

std::optional<double> ModelReader::place_in(std::string_view text, double length) {
  if (text == "start") return 0.0;
  if (text == "end") return length;
  const bool is_length = text.ends_with('m');
  if (is_length) text.remove_suffix(1);
  const std::optional<double> number = number_in(std::string(text));
  if (!number) return {};
  return is_length ? *number : *number * length;
}

void ModelReader::find_places(const Json& root, const std::string& rod, double length, std::vector<double>& out) const {
  for (const std::string& place : asked_places_)
    if (place.size() > rod.size() && place.starts_with(rod) && place[rod.size()] == '@')
      if (const std::optional<double> s = place_in(std::string_view(place).substr(rod.size() + 1), length))
        out.push_back(*s);
  // Loads along the rod.
  if (const Json* forces = find(root, "forces"); forces != nullptr && forces->is_array())
    for (const Json& force : *forces) {
      if (!force.is_object()) continue;
      const Json *type = find(force, "type"), *on = find(force, "on");
      if (type == nullptr || *type != "line-load" || on == nullptr || *on != rod) continue;
      for (const char* end : {"from", "to"})
        if (const Json* part = find(force, end); part != nullptr && part->is_number())
          out.push_back(part->get<double>() * length);
    }
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
  if (const Json* stress = find(value, "prestress")) {
    ok = numbers(below(at, "prestress"), *stress, 6, rod.prestress.data(), "six numbers [N, Q_y, Q_z, T, M_y, M_z]") &&
         ok;
    if (n.has_number("tension")) {
      complain(below(at, "tension"), "is the first number of \"prestress\" as well; give one of them");
      ok = false;
    }
  }
  if (n.has_number("tension")) rod.prestress[0] = n.number("tension");
  RodNodes nodes;
  bool static_start = false;
  for (const auto& [key, out] : {std::pair{"static_start", &static_start}, std::pair{"report_all", &nodes.reports_all},
                                 std::pair{"report_strains", &nodes.reports_strains}}) {
    const Json* truth = find(value, key);
    if (truth == nullptr) continue;
    if (truth->is_boolean()) {
      *out = truth->get<bool>();
    } else {
      complain(below(at, key), fmt::format("is {}, expected true or false", shown(*truth)));
      ok = false;
    }
  }
  nodes.at = at;
  nodes.report = {0.0, 1.0};
  if (const Json* report = find(value, "report")) {
    nodes.report.clear();
    if (!is_list(below(at, "report"), *report, "a list of parts of the length, 0 to 1")) return;
    for (std::size_t i = 0; i < report->size(); ++i) {
      double part = 0.0;
      if (!number(below(below(at, "report"), i), (*report)[i], part)) return;
      if (!(part >= 0.0 && part <= 1.0))
        return complain(below(below(at, "report"), i),
                        fmt::format("is {}, expected a part of the length, 0 to 1", part));
      nodes.report.push_back(part);
    }
  }
  const Json* path = require(at, value, "path", "{\"line\": [from, to]}, {\"arc\": [from, on the way, to]}, ...");
  multibody::RodPath curve;
  if (!ok || path == nullptr || !read_path(at, value, *path, curve)) return;
  const double length = curve.length();
  double elements = n.has_number("elements") ? n.number("elements") : 8.0;
  if (n.has_number("element_length")) {
    if (n.has_number("elements"))
      return complain(below(at, "element_length"), "cannot be combined with \"elements\"; give one of them");
    elements = std::ceil(length / n.number("element_length") * (1.0 - 1e-12));
    if (!(elements <= 1e5))
      return complain(below(at, "element_length"),
                      fmt::format("gives {:.6g} elements on {:.6g} m, at most 100000 are possible", elements, length));
  }
  std::vector<double> places;
  find_places(composed_.root.is_null() ? source_.root() : composed_.root, rod.name, length, places);
  for (const double part : nodes.report) places.push_back(part * length);
  if (!guarded(below(at, "path"),
               [&] { rod.set_mesh(multibody::mesh_of(curve, std::max(1, static_cast<int>(elements)), places)); }))
    return;

  rod.section = section->second.section;
  multibody::BeamSection& beam = rod.section.beam;
  beam.law = n.word("law") == "magnus" ? multibody::SectionLaw::magnus : multibody::SectionLaw::constant;
  rod.is_straight_unloaded = n.word("reference") == "straight";
  rod.group = {};
  const bool is_shear_rigid = n.word("shear") == "rigid", is_axial_rigid = n.word("axial") == "rigid";
  rod.is_cable = n.word("bending") == "none";
  if (rod.is_cable) {
    for (const char* key : {"shear", "axial", "law", "prestress"})
      if (find(value, key) != nullptr)
        return complain(below(at, key),
                        "is only for rods that bend; a cable (\"bending\": \"none\") has only a tension");
    if (section->second.has_none[0])
      return complain(at,
                      fmt::format("its section '{}' has no stiffness in extension; a cable needs one", section_name));
  } else if (section->second.is_limp) {
    return complain(
        at, fmt::format("its section '{}' has neither torsion nor bending stiffness; give them, or \"bending\": "
                        "\"none\" for a cable",
                        section_name));
  }
  for (int i = 0; i < 3; ++i)
    if (!rod.is_cable && section->second.has_none[static_cast<std::size_t>(i)] &&
        !(i == 0 ? is_axial_rigid : is_shear_rigid))
      return complain(at, fmt::format("its section '{}' has no stiffness in {}; give one, or \"{}\": \"rigid\"",
                                      section_name, i == 0 ? "extension" : "shear", i == 0 ? "axial" : "shear"));
  if (is_axial_rigid && rod.prestress[0] != 0.0)
    return complain(below(at, "axial"),
                    "is rigid: the tension of such a rod follows from its loads; leave \"tension\" "
                    "and the first number of \"prestress\" out");
  if (is_shear_rigid) {
    // The magnus law needs only zero compliance; the constant law needs rows.
    if (beam.law == multibody::SectionLaw::constant) beam.is_rigid[1] = beam.is_rigid[2] = true;
    beam.compliance.middleRows<2>(1).setZero();
    beam.compliance.middleCols<2>(1).setZero();
  }
  if (is_axial_rigid) {
    beam.is_rigid[0] = true;
    beam.compliance.row(0).setZero();
    beam.compliance.col(0).setZero();
  }
  nodes.s = rod.at;
  nodes.first = static_cast<int>(mechanism_.bodies.size());
  nodes.first_element = static_cast<int>(mechanism_.elements.size());
  if (!guarded(at, [&] { multibody::add_rod(mechanism_, rod); })) return;
  for (int i = nodes.first; i <= nodes.last(); ++i) {
    const Body& body = mechanism_.bodies[i];
    nodes.on_axis.push_back(body.rotation.transpose() * (rod.nodes[i - nodes.first].p - body.position));
  }
  double widest = 0.0;
  int bent = 0;
  for (std::size_t i = 1; i < rod.nodes.size(); ++i) {
    const Matrix3 turn = rod.leaving[i - 1].E.transpose() * rod.nodes[i].E;
    const double angle = std::acos(std::clamp(0.5 * (turn.trace() - 1.0), -1.0, 1.0));
    if (angle > widest) widest = angle, bent = static_cast<int>(i);
    // Two half masses on the stiffest direction of the element.
    const double h = rod.at[i] - rod.at[i - 1];
    multibody::Vector6 straight = multibody::Vector6::Unit(0), mass;
    mass << Vector3::Constant(rod.section.mass_per_length), rod.section.inertia_per_length.diagonal();
    const multibody::Vector6 compliance = multibody::element_compliance(beam, h, straight).diagonal();
    for (int k = 0; k < (rod.is_cable ? 1 : 6); ++k)
      if (compliance[k] > 0.0 && mass[k] > 0.0)
        nodes.highest_frequency = std::max(nodes.highest_frequency, 2.0 / (h * std::sqrt(compliance[k] * mass[k])));
  }
  if (widest > 0.5 * M_PI)
    warn(below(at, "path"), fmt::format("element {} turns by {:.4g} degrees between its nodes; more elements would be "
                                        "more accurate, and loads must not bend it beyond {:.4g} degrees",
                                        bent, widest * 180.0 / M_PI, multibody::Beam::widest_bend * 180.0 / M_PI));
  if (section->second.height > 0.0 && length < 5.0 * section->second.height)
    warn(at, fmt::format("is {:.4g} m long and {:.4g} m thick; the theory of beams holds for rods that are at least 5 "
                         "times as long as they are thick",
                         length, section->second.height));
  multibody::Shape shape = section->second.shape;
  if (shape.kind == multibody::Shape::Kind::cylinder && !(shape.radius > 0.0)) shape.radius = length / 200.0;
  shape.axis = Vector3::UnitX();
  for (int i = nodes.first; i <= nodes.last(); ++i) {
    Body& body = mechanism_.bodies[i];
    const std::size_t k = static_cast<std::size_t>(i - nodes.first);
    const double before = k > 0 ? 0.5 * (nodes.s[k] - nodes.s[k - 1]) : 0.0,
                 behind = i < nodes.last() ? 0.5 * (nodes.s[k + 1] - nodes.s[k]) : 0.0;
    shape.length = shape.size[0] = before + behind;
    shape.at = nodes.on_axis[k] + 0.5 * (behind - before) * Vector3::UnitX();
    body.shapes.push_back(shape);
    if (!body_numbers_.insert({body.name, i}).second)
      return complain(
          below(at, "name"),
          fmt::format("a node of the rod would have the name \"{}\" of a body; give another name", body.name));
  }
  rods_[rod.name] = std::move(nodes);
}

bool ModelReader::points(const std::string& at, const Json& value, std::vector<Vector3>& out) {
  if (!value.is_array() || value.size() < 2) {
    complain(at, fmt::format("is {}, expected two points [x, y, z] or more", shown(value)));
    return false;
  }
  out.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i)
    if (!vector(below(at, i), value[i], out[i])) return false;
  return true;
}

bool ModelReader::read_path(const std::string& at, const Json& value, const Json& path, multibody::RodPath& out) {
  const std::string here = below(at, "path");
  constexpr std::array<const char*, 6> kinds{"line", "polyline", "arc", "spline", "helix", "catenary"};
  const std::string expected = fmt::format("one of \"{}\"", fmt::join(kinds, "\", \""));
  if (!is_object(here, path, fmt::format("{{\"line\": [from, to]}} or {}", expected))) return false;
  check_keys(here, path, names_of(path_object().keys));
  std::string kind;
  for (const char* known : kinds) {
    if (find(path, known) == nullptr) continue;
    if (!kind.empty()) {
      complain(here, fmt::format("has both \"{}\" and \"{}\"; expected one of them", kind, known));
      return false;
    }
    kind = known;
  }
  if (kind.empty()) {
    complain(here, fmt::format("is {}, expected {}", shown(path), expected));
    return false;
  }
  multibody::Numbers n;
  if (!read_numbers(here, path, fields_of(path_object()), n)) return false;
  for (const char* of_corners : {"corners", "radius"})
    if (kind != "polyline" && find(path, of_corners) != nullptr) {
      complain(below(here, of_corners), fmt::format("is only for a polyline; this path is \"{}\"", kind));
      return false;
    }
  const bool is_round = n.word("corners") == "round";
  if (is_round != n.has_number("radius")) {
    complain(here,
             is_round ? "has round corners, but no \"radius\" [m]" : "has a \"radius\", but no \"corners\": \"round\"");
    return false;
  }
  Vector3 up;
  const Json* given_up = find(value, "up");
  if (given_up != nullptr && !direction(below(at, "up"), *given_up, up)) return false;
  const Vector3* const towards = given_up != nullptr ? &up : nullptr;
  const std::string place = below(here, kind);
  const Json& given = *find(path, kind);
  const auto made = [&](auto&& make) {
    // Errors of `up` are reported at its own place.
    try {
      out = make();
    } catch (const InvalidInput& e) {
      complain(given_up != nullptr && std::string_view(e.what()).starts_with("\"up\"") ? below(at, "up") : place,
               e.what());
      return false;
    }
    out.twist = n.number("twist_deg") * M_PI / 180.0;
    return true;
  };
  if (kind == "helix" || kind == "catenary" || (kind == "arc" && given.is_object())) {
    const ObjectInfo& object = kind == "helix" ? helix_object() : kind == "arc" ? arc_object() : catenary_object();
    if (!is_object(place, given, fmt::format("{{\"{}\": ...}}", fmt::join(names_of(object.keys), "\": ..., \""))))
      return false;
    check_keys(place, given, names_of(object.keys));
    multibody::Numbers own;
    bool ok = read_numbers(place, given, fields_of(object), own);
    std::map<std::string, Vector3> vectors;
    for (const Key& key : object.keys) {
      if (key.form != "vector" && key.form != "direction") continue;
      const Json* v = require(place, given, key.field.name, key.field.meaning);
      ok = v != nullptr &&
           (key.form == "vector" ? vector(below(place, key.field.name), *v, vectors[key.field.name])
                                 : direction(below(place, key.field.name), *v, vectors[key.field.name])) &&
           ok;
    }
    if (!ok) return false;
    if (kind == "catenary")
      return made([&] {
        return multibody::catenary_path(vectors["from"], vectors["to"], own.number("length"), mechanism_.gravity,
                                        towards);
      });
    const double angle = kind == "arc" ? own.number("angle_deg") * M_PI / 180.0 : 2.0 * M_PI * own.number("turns");
    const double height = kind == "arc" ? 0.0 : own.number("height");
    return made([&] {
      return multibody::screw_path(vectors["from"], vectors["centre"], vectors["axis"], angle, height, towards);
    });
  }
  std::vector<Vector3> through;
  const std::size_t count = kind == "line" ? 2 : kind == "arc" ? 3 : 0;
  if (count > 0 && (!given.is_array() || given.size() != count)) {
    complain(place, fmt::format("is {}, expected {} points [x, y, z]", shown(given), count == 3 ? "three" : "two"));
    return false;
  }
  if (!points(place, given, through)) return false;
  return made([&] {
    return kind == "line"     ? multibody::line_path(through[0], through[1], towards)
           : kind == "arc"    ? multibody::arc_path(through.data(), towards)
           : kind == "spline" ? multibody::spline_path(through, towards)
                              : multibody::polyline_path(through, is_round ? n.number("radius") : 0.0, towards);
  });
}

bool ModelReader::node_number(const std::string& at, const std::string& name, int& out) {
  const std::size_t split = name.find('@');
  const std::string rod_name = name.substr(0, split), place = name.substr(split + 1);
  const auto rod = rods_.find(rod_name);
  if (rod == rods_.end()) {
    std::vector<std::string> known;
    for (const auto& item : rods_) known.push_back(item.first);
    if (problem_count_ == 0 ||
        !is_listed(composed_.root.is_null() ? source_.root() : composed_.root, {"rods"}, rod_name))
      complain(at, unknown_name("rod", rod_name, known));
    return false;
  }
  const std::vector<double>& s = rod->second.s;
  const std::optional<double> found = place_in(place, s.back());
  if (!found) {
    complain(at,
             fmt::format("is \"{}\", expected {}@start, {}@end, a part of the length as {}@0.5 or a length as {}@1.2m",
                         name, rod_name, rod_name, rod_name, rod_name));
    return false;
  }
  if (!(*found >= 0.0 && *found <= s.back() * (1.0 + 1e-12))) {
    complain(at, fmt::format("is \"{}\", which lies outside the rod of length {:.6g} m", name, s.back()));
    return false;
  }
  const auto above = std::ranges::lower_bound(s, *found);
  const bool is_below = above == s.end() || (above != s.begin() && *found - *(above - 1) < *above - *found);
  out = rod->second.first + static_cast<int>((is_below ? above - 1 : above) - s.begin());
  return true;
}

int ModelReader::node_of_rod(const std::vector<int>& bodies) const {
  for (const int body : bodies)
    for (const auto& [name, rod] : rods_)
      if (body >= rod.first && body <= rod.last()) return body;
  return multibody::ground;
}

Vector3 ModelReader::own_point(int body) const {
  for (const auto& [name, rod] : rods_)
    if (body >= rod.first && body <= rod.last()) return rod.on_axis[static_cast<std::size_t>(body - rod.first)];
  return centre_of(body).p;
}

// ---- what is reported of rods

const ModelReader::RodNodes* ModelReader::rod_at(const std::string& at, const Json& value, int& node) {
  if (!body_number(at, value, node)) return nullptr;
  for (const auto& [name, rod] : rods_)
    if (node >= rod.first && node <= rod.last()) return &rod;
  complain(at, fmt::format("is {}, which is not a place on a rod such as NAME@0.5", shown(value)));
  return nullptr;
}

std::vector<multibody::Formulas::Node> ModelReader::section_nodes(const RodNodes& rod, int node, bool are_strains) {
  // The end of the element before the node; at the start the beginning of the first.
  const int k = node - rod.first, element = rod.first_element + std::max(k - 1, 0);
  std::vector<Node> out;
  for (int i = 0; i < 6; ++i)
    out.push_back(
        formulas().leaf({multibody::Quantity::Kind::section, element, (are_strains ? 12 : 0) + (k == 0 ? 0 : 6) + i}));
  return out;
}

void ModelReader::report_rods() {
  for (const auto& [name, rod] : rods_) {
    std::set<int> seen;
    const auto report = [&, &name = name, &rod = rod](int node, double part) {
      if (!seen.insert(node).second) return;
      const std::string place = fmt::format("{}@{}", name,
                                            part == 0.0   ? "start"
                                            : part == 1.0 ? "end"
                                                          : fmt::format("{:.6g}", part));
      rod_reports_.push_back(
          {{place, "N, N m", "section_force", section_force_components()}, section_nodes(rod, node, false)});
      if (rod.reports_strains)
        rod_reports_.push_back({{place + ".strain", "1, 1/m", "section_strain", section_strain_components()},
                                section_nodes(rod, node, true)});
    };
    for (const double part : rod.report) {
      const double s = part * rod.length();
      const auto nearest = std::ranges::min_element(rod.s, {}, [&](double x) { return std::abs(x - s); });
      report(rod.first + static_cast<int>(nearest - rod.s.begin()), part);
    }
    if (rod.reports_all)
      for (std::size_t k = 0; k < rod.s.size(); ++k)
        report(rod.first + static_cast<int>(k), k + 1 == rod.s.size() ? 1.0 : rod.s[k] / rod.length());
  }
}

// ---- loads along rods

void ModelReader::read_line_load(const std::string& at, const Json& value) {
  check_keys(at, value, names_of(line_load_object().keys));
  multibody::Numbers n;
  std::string on;
  const Json* given = require(at, value, "on", "the name of a rod");
  if (!read_numbers(at, value, fields_of(line_load_object()), n) || given == nullptr ||
      !text(below(at, "on"), *given, on))
    return;
  const auto found = rods_.find(on);
  if (found == rods_.end()) {
    std::vector<std::string> known;
    for (const auto& item : rods_) known.push_back(item.first);
    return complain(below(at, "on"), unknown_name("rod", on, known));
  }
  const RodNodes& rod = found->second;
  const double from = n.number("from") * rod.length(), to = n.number("to") * rod.length();
  if (!(from < to))
    return complain(below(at, "to"),
                    fmt::format("is {}, must be larger than \"from\", {}", n.number("to"), n.number("from")));
  multibody::LineLoad::Load load;
  load.in_section_axes = n.word("frame") == "body";
  bool ok = true, has_any = false;
  for (const auto& [key, target] : {std::pair{"force", &load.force}, std::pair{"torque", &load.torque}}) {
    const Json* entries = find(value, key);
    if (entries == nullptr) continue;
    has_any = true;
    const std::string here = below(at, key);
    if (!entries->is_array() || entries->size() != 3)
      return complain(here,
                      fmt::format("is {}, expected three entries, each a number or a formula in t", shown(*entries)));
    for (std::size_t i = 0; i < 3; ++i) ok = signal(below(here, i), (*entries)[i], 0, (*target)[i]) && ok;
  }
  if (!has_any) return complain(at, "has neither \"force\" nor \"torque\"");
  if (!ok) return;
  // The nodes of the loaded part, and the stretches of equal elements among them.
  const double near = 1e-6 * rod.length() / static_cast<double>(rod.s.size());
  std::vector<int> nodes;
  for (std::size_t i = 0; i < rod.s.size(); ++i)
    if (rod.s[i] >= from - near && rod.s[i] <= to + near) nodes.push_back(static_cast<int>(i));
  std::vector<double> s;
  std::vector<int> breaks{0};
  for (const int i : nodes) s.push_back(rod.s[static_cast<std::size_t>(i)]);
  for (std::size_t i = 1; i + 1 < s.size(); ++i)
    if (std::abs((s[i + 1] - s[i]) - (s[i] - s[i - 1])) > 1e-6 * (s[i] - s[i - 1]))
      breaks.push_back(static_cast<int>(i));
  breaks.push_back(static_cast<int>(s.size()) - 1);
  const std::vector<double> weights = multibody::node_weights(s, breaks),
                            before = multibody::weights_before(s, weights);
  const std::string name = element_name(at, value, fmt::format("line-load {}", on), force_names_);
  std::vector<multibody::LineLoad::Point> points;
  int part = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int node = nodes[i];
    points.push_back({.node = rod.first + node,
                      .weight = weights[i],
                      .before = before[i],
                      .at = rod.on_axis[static_cast<std::size_t>(node)]});
    if (points.size() < multibody::LineLoad::most_nodes && i + 1 < nodes.size()) continue;
    const std::string own = part == 0 ? name : fmt::format("{}.{}", name, part);
    if (part++ > 0) load_parts_[name].push_back(own);
    mechanism_.elements.push_back(std::make_shared<const multibody::LineLoad>(own, std::move(points), load));
    points.clear();
  }
  read_active(at, value, name);
}

// ---- warnings

void ModelReader::warn_about_rods(double t_end) {
  for (const auto& [name, rod] : rods_) {
    const auto touches = [&rod = rod](const multibody::Element& element) {
      return std::ranges::any_of(element.nodes(), [&](int node) { return node >= rod.first && node <= rod.last(); });
    };
    bool is_held = false, is_loaded = false;
    for (const multibody::JointPtr& joint : mechanism_.joints) is_held = is_held || touches(*joint);
    for (const multibody::ForcePtr& force : mechanism_.forces) is_loaded = is_loaded || touches(*force);
    for (const multibody::ElementPtr& element : mechanism_.elements)
      is_loaded =
          is_loaded || (dynamic_cast<const multibody::SectionElement*>(element.get()) == nullptr && touches(*element));
    const Body& first = mechanism_.bodies[rod.first];
    if (!is_held && !is_loaded && first.velocity.isZero(0.0) && first.angular_velocity.isZero(0.0))
      warn(rod.at, fmt::format("no joint holds rod '{}', no force acts on it and it has no velocity", name));
    if (rod.highest_frequency * t_end > 1e9)
      warn(rod.at, fmt::format("vibrations of an element reach {:.3g} rad/s, {:.3g} radians until t_end; \"shear\": "
                               "\"rigid\" and \"axial\": \"rigid\" remove the fastest",
                               rod.highest_frequency, rod.highest_frequency * t_end));
    for (int node = rod.first; node <= rod.last(); ++node) {
      const multibody::Joint* clamp = nullptr;
      for (const multibody::JointPtr& joint : mechanism_.joints) {
        const std::vector<int>& bodies = joint->bodies();
        if (bodies.size() != 2 || std::ranges::count(bodies, node) == 0 ||
            std::ranges::count(bodies, multibody::ground) == 0)
          continue;
        if (clamp != nullptr && (clamp->rows() == 6 || joint->rows() == 6))
          warn(rod.at, fmt::format("'{}' and '{}' both hold '{}' at the ground, and one of them alone fixes it",
                                   clamp->name(), joint->name(), mechanism_.bodies[node].name));
        clamp = joint.get();
      }
    }
  }
}

}  // namespace kreisel::io
