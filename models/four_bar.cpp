// n windows side by side: n + 1 uprights on the ground, joined at their tops by n bars.
#include <fmt/format.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "models/catalogue.hpp"
#include "multibody/assembly.hpp"

namespace kreisel::models {
namespace {

using multibody::Body;
using multibody::Shape;

/// A slender rod of mass 1 and length 1 through its centre `position`.
Body rod(std::string name, const Vector3& position, const Vector3& axis) {
  constexpr double axial = 0.001, transverse = 1.0 / 12.0;
  Body body;
  body.name = std::move(name);
  body.inertia = (Vector3::Constant(transverse) + (axial - transverse) * axis).asDiagonal();
  body.position = position;
  body.shapes.push_back({.kind = Shape::Kind::cylinder, .radius = 0.03, .length = 1.0, .axis = axis});
  return body;
}

/// At a point given in the frames of both bodies, which are all parallel at the start; the axis is z.
multibody::JointPtr joint(const char* type, std::string name, int first, const Vector3& p1, int second,
                          const Vector3& p2) {
  multibody::JointSpec spec;
  spec.name = std::move(name);
  spec.bodies = {first, second};
  spec.frames.resize(2);
  spec.frames[0].p = p1;
  spec.frames[1].p = p2;
  spec.frames[0].E = spec.frames[1].E = multibody::axes_along(Vector3::UnitZ());
  return make_joint(multibody::find_joint(type, false), spec);
}

Model make_four_bar(std::string_view group, const ParameterValues& p) {
  if (p.number("n") != std::floor(p.number("n")))
    throw InvalidInput(fmt::format("four-bar: n is {}, must be a whole number", p.number("n")));
  const int n = static_cast<int>(p.number("n"));
  const double speed = p.number("speed");
  const Vector3 half_x(0.5, 0.0, 0.0), half_y(0.0, 0.5, 0.0);
  multibody::Mechanism mechanism;
  mechanism.name = "four-bar";
  mechanism.group = lie::group_named(group);
  mechanism.gravity = {0.0, -p.number("gravity"), 0.0};
  // upright0, bar0, upright1, bar1, ...: neighbours in the mechanism are neighbours in the matrix.
  for (int i = 0; i <= n; ++i) {
    const Vector3 foot(i, 0.0, 0.0);
    Body upright = rod(fmt::format("upright{}", i), foot + half_y, Vector3::UnitY());
    upright.velocity = 0.5 * speed * Vector3::UnitX();
    upright.angular_velocity = -speed * Vector3::UnitZ();
    mechanism.bodies.push_back(std::move(upright));
    mechanism.joints.push_back(joint("revolute", fmt::format("base{}", i), multibody::ground, foot, 2 * i, -half_y));
    // A hinge would constrain the plane again: 3 redundant rows per window.
    if (i > 0)
      mechanism.joints.push_back(
          joint("point-on-line", fmt::format("right{}", i - 1), 2 * i, half_y, 2 * i - 1, half_x));
    if (i == n) break;
    Body bar = rod(fmt::format("bar{}", i), foot + 2.0 * half_y + half_x, Vector3::UnitX());
    bar.velocity = speed * Vector3::UnitX();
    mechanism.bodies.push_back(std::move(bar));
    mechanism.joints.push_back(joint("revolute", fmt::format("left{}", i), 2 * i, half_y, 2 * i + 1, -half_x));
  }
  auto assembly = std::make_shared<multibody::Assembly>(std::move(mechanism));
  Model model;
  model.name = "four-bar";
  model.group = group;
  model.start = assembly->start(10.0);
  model.system = std::move(assembly);
  return model;
}

}  // namespace

ModelInfo four_bar() {
  return {"four-bar",
          "IFToMM A02: n windows of unit rods turn over; B loses rank whenever the uprights are horizontal",
          {"se3", "r3xso3"},
          {{.name = "n", .meaning = "number of windows", .default_number = 2.0, .minimum = 1.0, .maximum = 1e5},
           {.name = "speed", .meaning = "initial speed of the bars [m/s]", .default_number = 1.0},
           {.name = "gravity", .meaning = "gravity [m/s^2], along -y", .default_number = 9.81}},
          make_four_bar,
          // Where B loses rank the rows B v of the stabilized form demand more than the positions do: with many windows
          // the error control fails there. Rows of positions alone have no such problem.
          [](const ParameterValues&) {
            return std::vector<Suggestion>{{.field = "formulation", .value = "index3", .where = "four-bar"}};
          }};
}

}  // namespace kreisel::models
