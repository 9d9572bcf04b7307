// A wheelset on a track: contact of cones with round rails, creep forces that depend on the normal forces (IVP Test Set, `wheel`).
#include "models/wheelset.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "kreisel/own_system.hpp"

namespace kreisel::models {
namespace {

constexpr double mass = 16.08, gravity = 9.81, speed = 30.0, radius = 0.1;
constexpr double spin_inertia = 0.0605, inertia = 0.366;
constexpr double friction = 0.12, spring = 6400.0, spring_arm = 0.19;
constexpr double cone = 0.0262, half_track = 0.1506, rail_radius = 0.06;
// Kalker's coefficients and the numbers of Hertz' contact, for steel.
constexpr double hertz_e = 1.3537956, hertz_g = 0.7115218, poisson = 0.28, shear = 7.92e10;
constexpr double kalker_11 = 4.72772197, kalker_22 = 4.27526987, kalker_23 = 1.97203505;

/// r(ξ) of the wheel, a cone on both sides.
struct WheelProfile {
  double r, slope;
  explicit WheelProfile(double xi)
      : r(radius + std::tan(cone) * (half_track - std::abs(xi))), slope(xi > 0.0 ? -std::tan(cone) : std::tan(cone)) {}
};

/// s(x) of the rail, a circle; NaN beyond it: derailed.
struct RailProfile {
  double height, slope, curve;
  explicit RailProfile(double x) {
    const double centre = half_track + std::sin(cone) * rail_radius, d = std::abs(x) - centre,
                 t = std::sqrt(rail_radius * rail_radius - d * d);
    height = t - radius - std::cos(cone) * rail_radius;
    slope = (x > 0.0 ? -d : d) / t;
    curve = -rail_radius * rail_radius / (t * t * t);
  }
};

/// p = (x, y, z, θ, φ): lateral, vertical, along the track beside V t, yaw, roll.
struct Place {
  double x, y, z, theta, phi, st, ct, sp, cp;
  explicit Place(const Vector& q)
      : x(q[0]),
        y(q[1]),
        z(q[2]),
        theta(q[3]),
        phi(q[4]),
        st(std::sin(theta)),
        ct(std::cos(theta)),
        sp(std::sin(phi)),
        cp(std::cos(phi)) {}
};

/// One wheel on its rail: the point of contact at (ψ, ξ) on the wheel.
struct Contact {
  double xi, s, c;
  WheelProfile wheel;
  RailProfile rail;

  Contact(const Place& p, double psi, double at)
      : xi(at),
        s(std::sin(psi)),
        c(std::cos(psi)),
        wheel(at),
        rail(p.x + at * p.ct * p.cp + wheel.r * (p.ct * p.sp * c - p.st * s)) {}

  /// The points are the same: height of the rail minus height of the wheel.
  double gap(const Place& p) const { return rail.height - p.y - xi * p.sp + wheel.r * p.cp * c; }
  /// By x, y, z, θ, φ.
  std::array<double, 5> gap_slope(const Place& p) const {
    return {rail.slope, -1.0, 0.0, rail.slope * (wheel.r * (-p.ct * s - c * p.sp * p.st) - p.cp * p.st * xi),
            -c * wheel.r * p.sp - p.cp * xi + rail.slope * (p.cp * c * p.ct * wheel.r - p.ct * p.sp * xi)};
  }
  /// By ψ and ξ; both vanish where the tangents agree.
  std::array<double, 2> gap_slope_of_contact(const Place& p) const {
    return {rail.slope * wheel.r * (-p.ct * p.sp * s - p.st * c) - wheel.r * p.cp * s,
            rail.slope * (p.ct * p.cp + wheel.slope * (p.ct * p.sp * c - p.st * s)) - p.sp + wheel.slope * p.cp * c};
  }
  /// The tangent planes are the same.
  std::array<double, 2> tangents(const Place& p) const {
    return {rail.slope * (wheel.slope * p.sp + p.cp * c) + wheel.slope * p.ct * p.cp - p.ct * p.sp * c + p.st * s,
            wheel.slope * p.st * p.cp - p.st * p.sp * c - p.ct * s};
  }
  /// Angle of the contact plane; side is 1 for the left wheel, -1 for the right one.
  double angle(const Place& p, double side) const {
    const double w = (wheel.slope * p.cp - p.sp * c) * p.ct + s * p.st;
    return std::atan(w / (-side * (wheel.slope * p.sp + c * p.cp)));
  }
};

struct Wheelset {
  double curvature = 0.0;  ///< of the track [1/m]

  /// Creep force on a wheel, in the axes of the track (Kalker's linear theory, saturated by tanh).
  Vector3 creep(const Place& p, const Vector& v, const Contact& at, double delta, double side, double normal) const {
    const double st = std::sin(p.theta / std::cos(delta)), ct = std::cos(p.theta / std::cos(delta)),
                 sd = std::sin(delta), cd = std::cos(delta), r = at.wheel.r, spin = speed / radius + v[5],
                 turn = speed * curvature;
    // Velocity of the point of contact.
    const double arm = r * (st * p.sp * at.c + ct * at.s) + at.xi * st * p.cp;
    const double across = r * (ct * p.sp * at.c - st * at.s) + at.xi * ct * p.cp;
    const double lift = at.xi * p.sp - r * p.cp * at.c;
    const Vector3 slip(
        -spin * r * (st * at.c + ct * p.sp * at.s) + turn * (arm - p.z) + v[0] - v[3] * arm - v[4] * ct * lift,
        spin * r * p.cp * at.s + v[1] + v[4] * (at.xi * p.cp + r * p.sp * at.c),
        -spin * r * (ct * at.c - st * p.sp * at.s) + speed + v[2] + turn * (p.x + across) - v[3] * across +
            v[4] * st * lift);
    const Vector3 centre(v[0] - turn * p.z, v[1], v[2] + turn * p.x + speed);
    const double rolling = 0.5 * (slip - 2.0 * centre).norm();
    const double along = (st * slip[0] + ct * slip[2]) / rolling,
                 lateral = (ct * cd * slip[0] + side * sd * slip[1] - st * cd * slip[2]) / rolling,
                 drill = (-side * sd * spin + cd * (v[3] - turn)) / rolling;
    // Size of the contact ellipse.
    const double rail_curve = -at.rail.curve / std::pow(1.0 + at.rail.slope * at.rail.slope, 1.5),
                 wheel_curve = 1.0 / (r * std::sqrt(1.0 + at.wheel.slope * at.wheel.slope)),
                 size = std::cbrt(3.0 * std::abs(normal) * (1.0 - poisson) * hertz_e /
                                  (M_PI * (wheel_curve + rail_curve) * shear * std::sqrt(hertz_g)));
    if (normal == 0.0) return Vector3::Zero();
    const double most = friction * normal, stiffness = shear * size * size / most;
    double tx = -most * std::tanh(stiffness * kalker_11 * along),
           ty = -most * std::tanh(stiffness * (kalker_22 * lateral + size * kalker_23 * drill));
    if (const double t = std::hypot(tx, ty); t > std::abs(most)) {
      tx *= std::abs(most) / t;
      ty *= std::abs(most) / t;
    }
    return {st * tx + ct * cd * ty, side * sd * ty, ct * tx - st * cd * ty};
  }

  /// Moments of a force at the contact about the axes of φ̇-free yaw, roll and spin, as in Euler's equations of the wheelset.
  static Vector3 moment(const Place& p, const Contact& at, const Vector3& t) {
    const double r = at.wheel.r, xi = at.xi, s = at.s, c = at.c;
    return {-(xi * p.st + r * s * p.ct * p.cp) * t[0] - r * s * p.sp * t[1] + (-xi * p.ct + r * s * p.st * p.cp) * t[2],
            -(xi * p.ct * p.sp - r * c * p.ct * p.cp) * t[0] + (xi * p.cp + r * c * p.sp) * t[1] +
                (xi * p.st * p.sp - r * c * p.st * p.cp) * t[2],
            -r * (c * p.st + s * p.ct * p.sp) * t[0] + r * s * p.cp * t[1] - r * (c * p.ct - s * p.st * p.sp) * t[2]};
  }

  /// g + r of M v̇ + g + r + Bᵀλ = 0. Multipliers of the test set are -1e-4 times ours.
  Vector force(const Vector& q, const Vector& v, const Vector& lambda) const {
    const Place p(q);
    const Contact left(p, q[6], q[7]), right(p, q[8], q[9]);
    const std::array<double, 5> bl = left.gap_slope(p), br = right.gap_slope(p);
    const double el = -lambda[0], er = -lambda[1];
    const double dl = left.angle(p, 1.0), dr = right.angle(p, -1.0);
    const double over = -std::sin(dl) * std::cos(dr) - std::sin(dr) * std::cos(dl);
    const double across = bl[0] * el + br[0] * er, up = bl[1] * el + br[1] * er;
    const double normal_left = (std::cos(dr) * across - std::sin(dr) * up) / over,
                 normal_right = (-std::cos(dl) * across - std::sin(dl) * up) / over;
    const Vector3 tl = creep(p, v, left, dl, 1.0, normal_left), tr = creep(p, v, right, dr, -1.0, normal_right);
    const Vector3 moments = moment(p, left, tl) + moment(p, right, tr), t = tl + tr;

    const double turn = speed * curvature, spin = speed / radius + v[5], yaw = v[3] - turn;
    const double couple = -2.0 * spring_arm * spring_arm * spring * p.theta;
    // Euler's equations about the axes that roll with the wheelset but do not spin.
    const double about_yaw = inertia * p.sp * v[4] * yaw - spin_inertia * spin * v[4] -
                             (spin_inertia - inertia) * yaw * p.sp * v[4] + moments[0] + p.cp * couple + bl[3] * el +
                             br[3] * er;
    const double about_spin = -spin_inertia * yaw * v[4] * p.cp + moments[2] + p.sp * couple;
    Vector f = Vector::Zero(10);
    f[0] = mass * (speed * turn * (1.0 + p.x * curvature) + 2.0 * turn * v[2]) + t[0] - 2.0 * spring * p.x;
    f[1] = t[1] - mass * gravity;
    f[2] = mass * (-2.0 * turn * v[0] + turn * turn * p.z) + t[2] - 2.0 * spring * p.z;
    // Symmetric: the first times cos φ plus the last times sin φ. Its part of the multipliers is not quite that of Bᵀ.
    f[3] = p.cp * about_yaw + p.sp * about_spin - (bl[3] * el + br[3] * er);
    f[4] = spin_inertia * spin * yaw * p.cp + (spin_inertia - inertia) * yaw * p.sp * yaw * p.cp + moments[1];
    f[5] = about_spin;
    f = -f;
    const std::array<double, 2> ul = left.tangents(p), ur = right.tangents(p);
    f.tail<4>() << ul[0], ul[1], ur[0], ur[1];
    return f;
  }

  static Matrix mass_matrix(const Vector& q) {
    const double s = std::sin(q[4]), c = std::cos(q[4]);
    Matrix M = Matrix::Zero(10, 10);
    M.diagonal().head<3>().setConstant(mass);
    M(3, 3) = inertia * c * c + spin_inertia * s * s;
    M(3, 5) = M(5, 3) = spin_inertia * s;
    M(4, 4) = inertia;
    M(5, 5) = spin_inertia;
    return M;
  }

  static Vector gap(const Vector& q) {
    const Place p(q);
    return Eigen::Vector2d(Contact(p, q[6], q[7]).gap(p), Contact(p, q[8], q[9]).gap(p));
  }
  static Matrix gap_slope(const Vector& q) {
    const Place p(q);
    Matrix B = Matrix::Zero(2, 10);
    for (const int side : {0, 1}) {
      const Contact at(p, q[6 + 2 * side], q[7 + 2 * side]);
      const std::array<double, 5> slope = at.gap_slope(p);
      for (int i = 0; i < 5; ++i) B(side, i) = slope[i];
      const std::array<double, 2> contact = at.gap_slope_of_contact(p);
      B(side, 6 + 2 * side) = contact[0];
      B(side, 7 + 2 * side) = contact[1];
    }
    return B;
  }

  /// Moves the contact coordinates to where the tangents agree, by Newton's method with differences.
  static void find_contact(Vector& q) {
    for (const int side : {0, 1}) {
      auto at = q.segment<2>(6 + 2 * side);
      for (int iteration = 0; iteration < 20; ++iteration) {
        const Place p(q);
        const auto defect = [&](double psi, double xi) {
          const std::array<double, 2> u = Contact(p, psi, xi).tangents(p);
          return Eigen::Vector2d(u[0], u[1]);
        };
        constexpr double step = 1e-7;
        const Eigen::Vector2d value = defect(at[0], at[1]);
        Eigen::Matrix2d J;
        J.col(0) = (defect(at[0] + step, at[1]) - value) / step;
        J.col(1) = (defect(at[0], at[1] + step) - value) / step;
        at -= J.partialPivLu().solve(value);
      }
    }
  }
};

system::SystemFunctions functions_of(const Wheelset& set, bool is_holonomic) {
  system::SystemFunctions f;
  f.name = "wheelset";
  f.space = {{lie::GroupId::rn, 6}, {lie::GroupId::rn, 4}};
  f.kinds = {system::CoordinateKind::dynamic, system::CoordinateKind::algebraic};
  f.block_names = {"wheelset", "contact"};
  f.row_names = {"left contact", "right contact"};
  f.mass = [](const Vector& q) -> Matrix { return Wheelset::mass_matrix(q); };
  f.force = [](double, const Vector&, const Vector&) -> Vector { return Vector::Zero(10); };
  f.multiplier_force = [set](double, const Vector& q, const Vector& v, const Vector& lambda) -> Vector {
    return set.force(q, v, lambda);
  };
  if (is_holonomic) {
    f.position_rows = 2;
    f.constraint = [](double, const Vector& q) -> Vector { return Wheelset::gap(q); };
    f.jacobian = [](double, const Vector& q) -> Matrix { return Wheelset::gap_slope(q); };
    f.constraint_rate = [](double, const Vector&) -> Vector { return Vector::Zero(2); };
  } else {
    f.velocity_rows = 2;
    f.velocity_constraint = [](double, const Vector& q, const Vector& v) -> Vector {
      Matrix B = Wheelset::gap_slope(q);
      return B.leftCols(6) * v.head(6);
    };
  }
  f.scale = Vector::Constant(10, 1e-2);
  return f;
}

Model make_wheelset(std::string_view group, const ParameterValues& p) {
  const bool is_holonomic = p.word("contact") == "position";
  Model model;
  model.name = "wheelset";
  model.group = group;
  model.start.t_end = 10.0;
  Vector q(10);
  q << 0.14941e-02, 0.40089e-06, 0.11241e-05, -0.28573e-03, 0.26459e-03, 0.0, 7.5634406395172940e-06,
      0.1490635714733819, -7.4122380357667139e-06, -0.1521364296121248;
  Wheelset::find_contact(q);
  // The published values have five digits: y and φ, where the wheels touch.
  for (int iteration = 0; is_holonomic && iteration < 20; ++iteration) {
    const Matrix B = Wheelset::gap_slope(q);
    Eigen::Matrix2d J;
    J << B(0, 1), B(0, 4), B(1, 1), B(1, 4);
    const Eigen::Vector2d way = J.partialPivLu().solve(Wheelset::gap(q).head<2>());
    q[1] -= way[0];
    q[4] -= way[1];
    Wheelset::find_contact(q);
  }
  model.start.q0 = q;
  model.start.v0 = Vector::Zero(10);
  model.system =
      std::make_shared<system::FunctionSystem>(functions_of({p.number("curvature")}, is_holonomic), model.start);
  model.scene = fmt::format(
      R"({{"up": [0, 1, 0], "bodies": [{{"name": "the wheelset", "position": ["wheelset.q1", "wheelset.q2", "wheelset.q3"],
           "turns": [{{"axis": [0, 1, 0], "by": "wheelset.q4"}}, {{"axis": [0, 0, 1], "by": "wheelset.q5"}}],
           "shape": [{{"cylinder": {{"radius": {0}, "length": {1}, "axis": [1, 0, 0]}}}},
                     {{"cylinder": {{"radius": {2}, "length": {0}, "axis": [1, 0, 0], "at": [{3}, 0, 0]}}}},
                     {{"cylinder": {{"radius": {2}, "length": {0}, "axis": [1, 0, 0], "at": [-{3}, 0, 0]}}}}]}}]}})",
      0.15 * radius, 2.2 * half_track, radius, half_track);
  return model;
}

}  // namespace

ModelInfo wheelset() {
  return {"wheelset",
          "wheelset on a track with creep forces, four contact coordinates as index-1 unknowns (IVP Test Set)",
          {"rn"},
          {{.name = "contact",
            .meaning = "level at which the wheels touch the rails; the test set has velocity",
            .words = {"position", "velocity"}},
           {.name = "curvature", .meaning = "of the track [1/m]", .default_number = 0.0}},
          make_wheelset};
}

}  // namespace kreisel::models
