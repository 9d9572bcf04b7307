// A rod on a hinge that swings against a wall.
#include <fmt/format.h>

#include <cmath>

#include "kreisel/base/error.hpp"
#include "kreisel/models/catalogue.hpp"
#include "kreisel/multibody/assembly.hpp"

namespace kreisel::models {
namespace {

using multibody::Assembly;

/// The hinge is the origin, its axis y; the rod lies along body x and hangs down at angle 0. The wall is the plane
/// x = wall, and the free end must stay on its right.
multibody::Mechanism mechanism_of(std::string_view group, const ParameterValues& p) {
  const double mass = p.number("mass"), length = p.number("length"), angle = p.number("angle");
  multibody::Mechanism mechanism;
  mechanism.name = "wall-pendulum";
  mechanism.group = lie::group_named(group);
  mechanism.gravity = {0.0, 0.0, -p.number("gravity")};
  multibody::Body rod;
  rod.name = "rod";
  rod.mass = mass;
  const double radius = 0.02 * length, axial = 0.5 * mass * radius * radius;
  const double transverse = mass * (length * length / 12.0 + 0.25 * radius * radius);
  rod.inertia = Vector3(axial, transverse, transverse).asDiagonal();
  rod.rotation = Eigen::AngleAxisd(0.5 * M_PI - angle, Vector3::UnitY()).toRotationMatrix();
  rod.position = rod.rotation * Vector3(0.5 * length, 0.0, 0.0);
  rod.shapes.push_back({.kind = multibody::Shape::Kind::cylinder, .radius = radius, .length = length, .axis = Vector3::UnitX()});
  mechanism.bodies.push_back(rod);
  multibody::JointSpec hinge;
  hinge.name = "hinge";
  hinge.bodies = {multibody::ground, 0};
  hinge.frames.resize(2);
  hinge.frames[0].E = multibody::axes_along(Vector3::UnitY());
  hinge.frames[1].p = Vector3(-0.5 * length, 0.0, 0.0);
  hinge.frames[1].E = rod.rotation.transpose() * hinge.frames[0].E;
  mechanism.joints.push_back(make_joint(multibody::find_joint("revolute", false), hinge));
  return mechanism;
}

Model make(std::string_view group, const ParameterValues& p) {
  const double wall = p.number("wall"), length = p.number("length");
  const double start = length * std::sin(p.number("angle"));
  if (!(start > wall))
    throw InvalidInput(fmt::format("model 'wall-pendulum': the free end starts at x = {:.6g}, must be right of the wall at {:.6g}", start, wall));
  auto assembly = std::make_shared<Assembly>(mechanism_of(group, p));
  const Assembly* rod = assembly.get();
  system::Event hit;
  hit.name = "wall";
  hit.function = [rod, wall, length](double, const Vector& q, const Vector&, const Vector&) {
    const system::Pose pose = rod->body_pose(0, q);
    return pose.x.x() + 0.5 * length * pose.R(0, 0) - wall;
  };
  hit.direction = system::Direction::falling;
  hit.action = system::Impact{p.number("restitution")};
  assembly->set_events({hit});
  Model model;
  model.name = "wall-pendulum";
  model.group = group;
  model.start = assembly->start(5.0);
  model.system = std::move(assembly);
  return model;
}

}  // namespace

ModelInfo wall_pendulum() {
  return {"wall-pendulum",
          "rod on a hinge that swings against a wall and loses energy there",
          {"r3xso3", "se3"},
          {{.name = "restitution", .meaning = "of the impact: 1 loses no energy", .default_number = 0.8, .minimum = 0.0, .maximum = 1.0},
           {.name = "wall", .meaning = "horizontal position of the wall [m]", .default_number = -0.2},
           {.name = "angle", .meaning = "initial deviation from the vertical [rad]", .default_number = 1.0, .minimum = -M_PI, .maximum = M_PI},
           {.name = "mass", .meaning = "mass [kg]", .default_number = 1.0, .minimum = 0.0, .minimum_is_excluded = true},
           {.name = "length", .meaning = "length of the rod [m]", .default_number = 1.0, .minimum = 0.0, .minimum_is_excluded = true},
           {.name = "gravity", .meaning = "gravity [m/s^2], along -z", .default_number = 9.81}},
          make};
}

}  // namespace kreisel::models
