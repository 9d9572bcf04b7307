// A disk that rolls on a plane without slipping: one holonomic and two nonholonomic constraints.
#include <fmt/format.h>

#include <cmath>

#include "kreisel/own_system.hpp"
#include "lie/so3.hpp"
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

struct Disk {
  double mass, radius, gravity;
  Vector3 inertia() const { return mass * radius * radius * Vector3(0.5, 0.25, 0.25); }  ///< axis: body x

  /// From the centre to the contact: down the steepest line of the disk. d is its axis.
  Vector3 contact(const Vector3& d) const {
    const Vector3 up = Vector3::UnitZ() - d[2] * d;
    return -radius / std::sqrt(1.0 - d[2] * d[2]) * up;
  }
};

/// ℝ³×SO(3): z = a√(1 - d_z²), horizontal part of u + RΩ x c = 0. The vertical part is the rate of the first.
system::SystemFunctions functions_of(const Disk& disk) {
  system::SystemFunctions f;
  f.name = "rolling-disk";
  f.space = {{lie::GroupId::r3xso3}};
  f.block_names = {"disk"};
  f.position_rows = 1;
  f.velocity_rows = 2;
  f.row_names = {"height", "rolling", "rolling"};
  const auto axis = [](const Vector& q) -> Vector3 { return lie::rotate(q.data() + 3, Vector3::UnitX()); };
  f.mass = [disk](const Vector&) -> Matrix {
    Vector diagonal(6);
    diagonal << Vector3::Constant(disk.mass), disk.inertia();
    return diagonal.asDiagonal();
  };
  f.force = [disk](double, const Vector&, const Vector& v) -> Vector {
    const Vector3 w = v.tail<3>();
    Vector g(6);
    g << 0.0, 0.0, disk.mass * disk.gravity, w.cross(disk.inertia().cwiseProduct(w));
    return g;
  };
  f.constraint = [disk, axis](double, const Vector& q) -> Vector {
    const double d = axis(q)[2];
    return Vector::Constant(1, q[2] - disk.radius * std::sqrt(1.0 - d * d));
  };
  f.velocity_constraint = [disk, axis](double, const Vector& q, const Vector& v) -> Vector {
    const Vector3 slip = v.head<3>() + lie::rotate(q.data() + 3, v.tail<3>()).cross(disk.contact(axis(q)));
    return slip.head<2>();
  };
  f.energy = [disk](double, const Vector& q, const Vector& v) {
    const Vector3 w = v.tail<3>();
    return 0.5 * disk.mass * v.head<3>().squaredNorm() + 0.5 * w.dot(disk.inertia().cwiseProduct(w)) +
           disk.mass * disk.gravity * q[2];
  };
  return f;
}

/// Steady rolling on a circle about the origin: inclination θ of the axis, turning rate φ̇ and spin ω₃ satisfy
/// (I₃ + m a²) ω₃ φ̇ sin θ = I₁ φ̇² sin θ cos θ - m g a cos θ.
Model make_rolling_disk(std::string_view group, const ParameterValues& p) {
  const Disk disk{p.number("mass"), p.number("radius"), p.number("gravity")};
  const double tilt = p.number("tilt"), turn = p.number("turn");
  const double c = std::cos(tilt), s = std::sin(tilt), a = disk.radius, ma2 = disk.mass * a * a;
  const Vector3 J = disk.inertia();
  const double spin = (J[1] * turn * turn * s * c - disk.mass * disk.gravity * a * c) / ((J[0] + ma2) * turn * s);
  Model model;
  model.name = "rolling-disk";
  model.group = group;
  Matrix3 R;  // columns: axis, along the path, up the disk
  R.col(0) = Vector3(s, 0.0, c);
  R.col(1) = Vector3::UnitY();
  R.col(2) = Vector3(-c, 0.0, s);
  const Eigen::Quaterniond r(R);
  const Vector3 u(0.0, -a * spin, 0.0);
  const Vector3 x = u.cross(Vector3::UnitZ()) / turn + Vector3(0.0, 0.0, a * s);
  model.start.t_end = 5.0;
  model.start.q0.resize(7);
  model.start.q0 << x, r.x(), r.y(), r.z(), r.w();
  model.start.v0.resize(6);
  model.start.v0 << u, spin, 0.0, turn * s;
  model.system = std::make_shared<system::FunctionSystem>(functions_of(disk), model.start);
  model.scene = fmt::format(
      R"({{"bodies": [{{"name": "disk", "shape": {{"cylinder": {{"radius": {}, "length": {}, "axis": [1, 0, 0]}}}}}}]}})",
      a, 0.06 * a);
  return model;
}

}  // namespace

ModelInfo rolling_disk() {
  return {
      "rolling-disk",
      "a disk that rolls on a plane without slipping, in steady motion on a circle (nonholonomic)",
      {"r3xso3"},
      {{.name = "tilt",
        .meaning = "of the axis against the vertical [rad]",
        .default_number = 1.2,
        .minimum = 0.2,
        .maximum = 1.5},
       {.name = "turn",
        .meaning = "turning rate [rad/s]",
        .default_number = 1.5,
        .minimum = 0.0,
        .minimum_is_excluded = true},
       {.name = "mass", .meaning = "mass [kg]", .default_number = 1.0, .minimum = 0.0, .minimum_is_excluded = true},
       {.name = "radius", .meaning = "radius [m]", .default_number = 0.5, .minimum = 0.0, .minimum_is_excluded = true},
       {.name = "gravity",
        .meaning = "gravity [m/s^2]",
        .default_number = 9.81,
        .minimum = 0.0,
        .minimum_is_excluded = true}},
      make_rolling_disk};
}

}  // namespace kreisel::models
