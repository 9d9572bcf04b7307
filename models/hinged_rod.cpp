#include "hinged_rod.hpp"

namespace kreisel::models {

multibody::Mechanism hinged_rod(std::string name, std::string_view group, const ParameterValues& p,
                                const Matrix3& rotation) {
  const double mass = p.number("mass"), length = p.number("length");
  multibody::Mechanism mechanism;
  mechanism.name = std::move(name);
  mechanism.group = lie::group_named(group);
  mechanism.gravity = {0.0, 0.0, -p.number("gravity")};
  multibody::Body rod;
  rod.name = "rod";
  rod.mass = mass;
  const double radius = 0.02 * length, axial = 0.5 * mass * radius * radius;
  const double transverse = mass * (length * length / 12.0 + 0.25 * radius * radius);
  rod.inertia = Vector3(axial, transverse, transverse).asDiagonal();
  rod.rotation = rotation;
  rod.position = rotation * Vector3(0.5 * length, 0.0, 0.0);
  rod.shapes.push_back(
      {.kind = multibody::Shape::Kind::cylinder, .radius = radius, .length = length, .axis = Vector3::UnitX()});
  mechanism.bodies.push_back(rod);

  multibody::JointSpec hinge;
  hinge.name = "hinge";
  hinge.bodies = {multibody::ground, 0};
  hinge.frames.resize(2);
  hinge.frames[0].E = multibody::axes_along(Vector3::UnitY());
  hinge.frames[1].p = Vector3(-0.5 * length, 0.0, 0.0);
  hinge.frames[1].E = rotation.transpose() * hinge.frames[0].E;
  mechanism.joints.push_back(make_joint(multibody::find_joint("revolute", false), hinge));
  return mechanism;
}

std::vector<ParameterInfo> with_rod(std::vector<ParameterInfo> parameters) {
  parameters.push_back(
      {.name = "mass", .meaning = "mass [kg]", .default_number = 1.0, .minimum = 0.0, .minimum_is_excluded = true});
  parameters.push_back({.name = "length",
                        .meaning = "length of the rod [m]",
                        .default_number = 1.0,
                        .minimum = 0.0,
                        .minimum_is_excluded = true});
  parameters.push_back({.name = "gravity", .meaning = "gravity [m/s^2], along -z", .default_number = 9.81});
  return parameters;
}

}  // namespace kreisel::models
