// A rod on a hinge that swings against a wall.
#include <fmt/format.h>

#include <cmath>

#include "hinged_rod.hpp"
#include "kreisel/error.hpp"

namespace kreisel::models {
namespace {

using multibody::Assembly;

Model make_wall_pendulum(std::string_view group, const ParameterValues& p) {
  const double wall = p.number("wall"), length = p.number("length");
  const double start = length * std::sin(p.number("angle"));
  if (!(start > wall))
    throw InvalidInput(fmt::format(
        "model 'wall-pendulum': the free end starts at x = {:.6g}, must be right of the wall at {:.6g}", start, wall));
  // At angle 0 the rod hangs down. The wall is the plane x = wall, and the free end must stay on its right.
  const Matrix3 rotation = Eigen::AngleAxisd(0.5 * M_PI - p.number("angle"), Vector3::UnitY()).toRotationMatrix();
  auto assembly = std::make_shared<Assembly>(hinged_rod("wall-pendulum", group, p, rotation));
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
          with_rod({{.name = "restitution",
                     .meaning = "coefficient of the impact: 1 loses no energy",
                     .default_number = 0.8,
                     .minimum = 0.0,
                     .maximum = 1.0},
                    {.name = "wall", .meaning = "horizontal position of the wall [m]", .default_number = -0.2},
                    {.name = "angle",
                     .meaning = "initial deviation from the vertical [rad]",
                     .default_number = 1.0,
                     .minimum = -M_PI,
                     .maximum = M_PI}}),
          make_wall_pendulum};
}

}  // namespace kreisel::models
