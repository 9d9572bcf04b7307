// A mass point on a massless rod in Cartesian coordinates.
#include <fmt/format.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "models/catalogue.hpp"
#include "system/precise.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::KktBlocks;
using system::Motion;
using system::Residual;

/// Φ = (x² + y² - l²)/2, B = (x, y) (Arnold, Brüls, Cardona 2015, Example 1).
class Pendulum final : public system::System, public system::Precise {
 public:
  Pendulum(double mass, double length, double gravity)
      : System(lie::Space({Factor{GroupId::rn, 2}}),
               system::Pattern(lie::Space({Factor{GroupId::rn, 2}}), {{"rod", 1, system::RowLevel::position, {0}}}, {},
                               {}, {"bob"})),
        mass_(mass),
        length_(length),
        gravity_(gravity) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const double x = m.q[0], y = m.q[1];
    out.force[0] = mass_ * m.a[0] + x * lambda[0];
    out.force[1] = mass_ * (m.a[1] + gravity_) + y * lambda[0];
    out.gap[0] = 0.5 * (x * x + y * y - length_ * length_);
    out.rate[0] = x * m.v[0] + y * m.v[1];
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    mass_and_jacobian(m, out);
    out.D.setZero();
    out.K << lambda[0], 0.0, 0.0, lambda[0];
    out.F = out.B;
    out.H = m.v;
  }
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override {
    out.M << mass_, 0.0, 0.0, mass_;
    out.B = m.q;
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override { out = mu[0] * m.q; }
  void acceleration_gap(const Motion& m, VectorRef out) const override {
    out[0] = m.q[0] * m.a[0] + m.q[1] * m.a[1] + m.v.squaredNorm();
  }
  /// From B v̇ = -|v|².
  bool rates(const Quad&, const Quad* q, const Quad* v, Quad* q_rate, Quad* v_rate, Quad* lambda) const override {
    lambda[0] = Quad(mass_) * (v[0] * v[0] + v[1] * v[1] - Quad(gravity_) * q[1]) / (q[0] * q[0] + q[1] * q[1]);
    for (int i = 0; i < 2; ++i) {
      q_rate[i] = v[i];
      v_rate[i] = -(q[i] * lambda[0]) / Quad(mass_);
    }
    v_rate[1] -= gravity_;
    return true;
  }
  double energy(const Motion& m) const override { return 0.5 * mass_ * m.v.squaredNorm() + mass_ * gravity_ * m.q[1]; }

 private:
  double mass_, length_, gravity_;
};

/// Gravity for which a pendulum of length 1 released horizontally has period 2: 4 K(m = 1/2)².
/// Eich 1993 prints a value that is wrong from the 10th digit on.
constexpr double eich_gravity = 13.750371636040745655;

Model make_pendulum(std::string_view group, const ParameterValues& p) {
  const bool is_eich = p.word("variant") == "eich", is_unit = p.word("variant") == "unit";
  const double mass = p.number("mass"), length = p.number("length");
  const double gravity = p.is_set("gravity") ? p.number("gravity") : is_eich ? eich_gravity : is_unit ? 1.0 : 9.81;
  Model model;
  model.name = "pendulum";
  model.group = group;
  model.system = std::make_shared<Pendulum>(mass, length, gravity);
  model.start.q0.resize(2);
  model.start.v0.setZero(2);
  model.scene = fmt::format(
      R"({{"bodies": [{{"name": "bob", "position": ["q1", 0, "q2"], "points_to": [0, 0, 0],
                        "shape": {{"sphere": {{"radius": {}, "rod": [0, 0, {}]}}}}}}],
           "joints": [{{"name": "rod", "body": "bob", "first_row": 1, "rows": 1, "sign": -1, "direction": ["q1", 0, "q2"]}}]}})",
      0.09 * length, length);
  if (is_eich) {
    model.start.q0 << length, 0.0;
    model.start.t_end = 100.0;
    return model;
  }
  if (is_unit) {  // the driver of MEBDFDAE
    model.start.q0 << length, 0.0;
    model.start.v0 << 0.0, 1.0;
    model.start.t_end = 1.0;
    return model;
  }
  const double x0 = p.number("x0");
  if (std::abs(x0) >= length)
    throw InvalidInput(
        "model 'pendulum': x0 must be smaller than the length in absolute value; the bob hangs below the pivot");
  const double y0 = -std::sqrt(length * length - x0 * x0);
  // The energy is fixed to E = m/2 - m g l, so that every x0 lies on the same orbit (Example 1); xdot0 > 0.
  const double speed_squared = 1.0 - 2.0 * gravity * (length + y0);
  if (speed_squared < 0.0)
    throw InvalidInput(
        "model 'pendulum': with energy m/2 - m g l the bob does not reach this x0; choose a smaller |x0|");
  const double speed = std::sqrt(speed_squared);
  model.start.q0 << x0, y0;
  model.start.v0 << -y0 / length * speed, x0 / length * speed;
  model.start.t_end = 2.0;
  return model;
}

}  // namespace

ModelInfo pendulum() {
  return {"pendulum",
          "mass point on a rod in the plane (Arnold, Bruels, Cardona 2015, Example 1; variant=eich: Eich 1993; "
          "variant=unit: MEBDFDAE)",
          {"rn"},
          {{.name = "variant", .meaning = "which published start", .words = {"arnold", "eich", "unit"}},
           {.name = "x0", .meaning = "initial horizontal deviation [m]", .default_number = 0.0},
           {.name = "mass", .meaning = "mass [kg]", .default_number = 1.0, .minimum = 0.0, .minimum_is_excluded = true},
           {.name = "length",
            .meaning = "length of the rod [m]",
            .default_number = 1.0,
            .minimum = 0.0,
            .minimum_is_excluded = true},
           {.name = "gravity", .meaning = "gravity [m/s^2]", .is_optional = true}},
          make_pendulum};
}

}  // namespace kreisel::models
