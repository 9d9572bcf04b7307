#include "support/mechanisms.hpp"

#include <fmt/format.h>

#include "support/problem.hpp"

namespace bench {

using kreisel::Vector;
using kreisel::multibody::Body;
using kreisel::multibody::JointInfo;
using kreisel::multibody::JointSpec;
using kreisel::multibody::Mechanism;

Vector numbers_of_top() {
  const Top top;
  Vector numbers(10);
  numbers << top.mass, top.gravity.z(), top.J, top.X, top.gravity.x(), top.gravity.y();
  return numbers;
}

Mechanism top_with(const Vector& p) {
  const Top top;
  Mechanism mechanism;
  mechanism.name = "top";
  mechanism.gravity = {p[8], p[9], p[1]};
  Body body;
  body.name = "top";
  body.mass = p[0];
  body.inertia = p.segment<3>(2).asDiagonal();
  body.position = p.segment<3>(5);
  body.angular_velocity = top.spin;
  body.velocity = top.spin.cross(body.position);
  mechanism.bodies.push_back(body);
  JointSpec spec;
  spec.name = "tip";
  spec.bodies = {kreisel::multibody::ground, 0};
  spec.frames.resize(2);
  spec.frames[1].p = -p.segment<3>(5);
  mechanism.joints.push_back(make_joint(kreisel::multibody::find_joint("spherical", false), spec));
  return mechanism;
}

Mechanism chain_with(const Vector& masses) {
  const Chain chain;
  Mechanism mechanism;
  mechanism.name = "chain";
  mechanism.gravity = {0.0, 0.0, -chain.gravity};
  const JointInfo spherical = kreisel::multibody::find_joint("spherical", false);
  for (int i = 0; i < static_cast<int>(masses.size()); ++i) {
    Body rod;
    rod.name = fmt::format("rod{}", i + 1);
    rod.mass = masses[i];
    rod.inertia = (masses[i] / chain.mass * chain.J).asDiagonal();
    rod.position = Vector3((i + 0.5) * chain.length, 0.0, 0.0);
    mechanism.bodies.push_back(rod);
    JointSpec spec;
    spec.name = fmt::format("joint{}", i + 1);
    spec.bodies = {i == 0 ? kreisel::multibody::ground : i - 1, i};
    spec.frames.resize(2);
    if (i > 0) spec.frames[0].p = Vector3(0.5 * chain.length, 0.0, 0.0);
    spec.frames[1].p = Vector3(-0.5 * chain.length, 0.0, 0.0);
    mechanism.joints.push_back(make_joint(spherical, spec));
  }
  return mechanism;
}

}  // namespace bench
