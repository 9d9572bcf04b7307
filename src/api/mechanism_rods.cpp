// Rods of mechanisms.
#include <fmt/format.h>

#include <Eigen/LU>
#include <cmath>

#include "base/decompositions.hpp"
#include "kreisel/error.hpp"
#include "kreisel/mechanism.hpp"
#include "multibody/rod.hpp"

namespace kreisel {
namespace {

CrossSection public_section(const multibody::RodSection& from, double damping_time, const multibody::Shape& shape) {
  CrossSection section;
  section.stiffness = from.beam.compliance.inverse();
  section.mass_per_length = from.mass_per_length;
  section.inertia_per_length = from.inertia_per_length;
  section.damping_time = damping_time;
  section.shape = shape;
  return section;
}

void require(bool is_so, const std::string& rod, const std::string& what) {
  if (!is_so) throw InvalidInput(fmt::format("rod '{}': {}", rod, what));
}

multibody::Material material_of(const RodMaterial& m) {
  if (!(m.young > 0.0) || !(m.density > 0.0) || !(m.poisson > -1.0 && m.poisson <= 0.5) || !(m.damping_time >= 0.0))
    throw InvalidInput(
        "a material of rods needs a positive modulus and density, Poisson's ratio in (-1, 0.5] and a damping time that "
        "is not negative");
  return {m.young, m.poisson, m.density};
}

}  // namespace

CrossSection circular_cross_section(const RodMaterial& material, double radius, double inner_radius) {
  if (!(radius > 0.0) || !(inner_radius >= 0.0 && inner_radius < radius))
    throw InvalidInput(
        fmt::format("a circle with the radii {} and {}: expected 0 <= inner < outer", inner_radius, radius));
  multibody::Shape shape{.kind = multibody::Shape::Kind::cylinder};
  shape.radius = radius;
  return public_section(multibody::circular_section(material_of(material), radius, inner_radius), material.damping_time,
                        shape);
}

CrossSection rectangular_cross_section(const RodMaterial& material, double y, double z) {
  if (!(y > 0.0 && z > 0.0))
    throw InvalidInput(fmt::format("a rectangle with the edges {} and {}: expected positive ones", y, z));
  multibody::Shape shape;
  shape.size = {0.0, y, z};
  return public_section(multibody::rectangular_section(material_of(material), y, z), material.damping_time, shape);
}

Body RodNodes::at(double part) const {
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (std::abs(parts[i] - part) < std::abs(parts[nearest] - part)) nearest = i;
  return {first + static_cast<int>(nearest)};
}

RodNodes Mechanism::add_rod(const RodDescription& given) {
  const CrossSection& section = given.section;
  require(nodes_.empty(), given.name, "bodies are numbered before nodes; add all rods before the first node");
  require(parts_.empty(), given.name,
          "bodies are numbered before those of model files; add all rods before the first file");
  require(!given.name.empty(), given.name, "has no name");
  require(given.elements >= 1 && given.elements <= 100000, given.name,
          fmt::format("{} elements, expected 1 to 100000", given.elements));
  require(section.mass_per_length > 0.0 && std::isfinite(section.mass_per_length), given.name,
          "has no mass per length");
  const Eigen::Matrix<double, 6, 6>& K = section.stiffness;
  require(K.allFinite() && (K - K.transpose()).norm() <= 1e-9 * K.norm(), given.name, "its stiffness is not symmetric");
  require(symmetric_eigenvalues<6>(K)[0] > 0.0, given.name,
          "its stiffness is not positive definite; is_axial_rigid and is_shear_rigid leave extension and shear out");
  require(section.damping_time >= 0.0, given.name, "its damping time is negative");
  for (const double part : given.places)
    require(part >= 0.0 && part <= 1.0, given.name,
            fmt::format("place {}, expected a part of the length, 0 to 1", part));

  const Vector3* up = given.up ? &*given.up : nullptr;
  require(given.points.size() >= 2, given.name, fmt::format("{} points, expected two or more", given.points.size()));
  require(given.path != RodDescription::Path::arc || given.points.size() == 3, given.name,
          fmt::format("an arc has three points, not {}", given.points.size()));
  multibody::Rod rod;
  rod.name = given.name;
  try {
    const multibody::RodPath path =
        given.path == RodDescription::Path::arc      ? multibody::arc_path(given.points.data(), up)
        : given.path == RodDescription::Path::spline ? multibody::spline_path(given.points, up)
        : given.points.size() == 2                   ? multibody::line_path(given.points[0], given.points[1], up)
                                                     : multibody::polyline_path(given.points, 0.0, up);
    std::vector<double> places;
    for (const double part : given.places) places.push_back(part * path.length());
    rod.set_mesh(multibody::mesh_of(path, given.elements, places));
  } catch (const InvalidInput& e) {
    throw InvalidInput(fmt::format("rod '{}': {}", given.name, e.what()));
  }
  multibody::BeamSection& beam = rod.section.beam;
  beam.compliance = K.inverse();
  beam.damping_time = section.damping_time;
  for (int i = 0; i < 3; ++i) {
    if (!(i == 0 ? given.is_axial_rigid : given.is_shear_rigid)) continue;
    beam.is_rigid[static_cast<std::size_t>(i)] = i == 0;  // in shear zero compliance is enough
    beam.compliance.row(i).setZero();
    beam.compliance.col(i).setZero();
  }
  rod.section.mass_per_length = section.mass_per_length;
  rod.section.inertia_per_length = section.inertia_per_length;
  rod.section.centre_of_mass = section.centre_of_mass;
  rod.velocity = given.velocity;
  rod.angular_velocity = given.angular_velocity;
  rod.is_straight_unloaded = given.is_straight_unloaded;

  multibody::Mechanism parts;
  parts.bodies = bodies_;
  RodNodes nodes;
  nodes.first = multibody::add_rod(parts, rod);
  for (std::size_t i = bodies_.size(); i < parts.bodies.size(); ++i)
    for (const multibody::Body& other : bodies_)
      require(other.name != parts.bodies[i].name, given.name,
              fmt::format("its node '{}' would have the name of a body; give another name", other.name));
  for (const double s : rod.at) nodes.parts.push_back(s / rod.length);
  for (std::size_t k = 0; k < nodes.parts.size(); ++k) {
    multibody::Shape piece = section.shape;
    if (piece.kind == multibody::Shape::Kind::cylinder && !(piece.radius > 0.0)) piece.radius = rod.length / 200.0;
    piece.axis = Vector3::UnitX();
    const double before = k > 0 ? 0.5 * (rod.at[k] - rod.at[k - 1]) : 0.0,
                 behind = k + 1 < rod.at.size() ? 0.5 * (rod.at[k + 1] - rod.at[k]) : 0.0;
    piece.length = piece.size[0] = before + behind;
    const multibody::Body& body = parts.bodies[static_cast<std::size_t>(nodes.first) + k];
    piece.at =
        body.rotation.transpose() * (rod.nodes[k].p - body.position) + 0.5 * (behind - before) * Vector3::UnitX();
    parts.bodies[static_cast<std::size_t>(nodes.first) + k].shapes.push_back(piece);
  }
  bodies_ = std::move(parts.bodies);
  elements_.insert(elements_.end(), parts.elements.begin(), parts.elements.end());
  return nodes;
}

}  // namespace kreisel
