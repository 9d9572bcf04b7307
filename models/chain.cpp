// N unit rods in a row, spherical joints, the first to the ground, released along +x.
#include <fmt/format.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "models/catalogue.hpp"
#include "multibody/assembly.hpp"

namespace kreisel::models {
namespace {

using multibody::Body;
using multibody::Shape;

/// A solid cylinder of mass 1, length 1 and radius 0.05 along body x.
Body rod(int number) {
  constexpr double radius = 0.05, axial = 0.5 * radius * radius, transverse = 1.0 / 12.0 + 0.25 * radius * radius;
  Body body;
  body.name = fmt::format("rod{}", number);
  body.inertia = Vector3(axial, transverse, transverse).asDiagonal();
  body.position = Vector3(number - 0.5, 0.0, 0.0);
  body.shapes.push_back({.kind = Shape::Kind::cylinder, .radius = radius, .length = 1.0, .axis = Vector3::UnitX()});
  return body;
}

Model make_chain(std::string_view group, const ParameterValues& p) {
  const double n = p.number("n");
  if (n != std::floor(n)) throw InvalidInput(fmt::format("chain: n is {}, must be a whole number", n));
  multibody::Mechanism mechanism;
  mechanism.name = "chain";
  mechanism.group = lie::group_named(group);
  mechanism.gravity = {0.0, 0.0, -p.number("gravity")};
  const multibody::JointInfo spherical = multibody::find_joint("spherical", false);
  for (int i = 1; i <= static_cast<int>(n); ++i) {
    mechanism.bodies.push_back(rod(i));
    multibody::JointSpec spec;
    spec.name = fmt::format("joint{}", i);
    spec.bodies = {i == 1 ? multibody::ground : i - 2, i - 1};
    spec.frames.resize(2);
    if (i > 1) spec.frames[0].p = Vector3(0.5, 0.0, 0.0);
    spec.frames[1].p = Vector3(-0.5, 0.0, 0.0);
    mechanism.joints.push_back(make_joint(spherical, spec));
  }
  auto assembly = std::make_shared<multibody::Assembly>(std::move(mechanism));
  Model model;
  model.name = "chain";
  model.group = group;
  model.start = assembly->start(2.0);
  model.system = std::move(assembly);
  return model;
}

}  // namespace

ModelInfo chain() {
  return {"chain",
          "n unit rods with spherical joints, released horizontally",
          {"r3xso3", "se3"},
          {{.name = "n", .meaning = "number of rods", .default_number = 10.0, .minimum = 1.0, .maximum = 1e6},
           {.name = "gravity", .meaning = "gravity [m/s^2], along -z", .default_number = 9.81}},
          make_chain};
}

}  // namespace kreisel::models
