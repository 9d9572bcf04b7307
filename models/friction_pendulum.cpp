// A pendulum with friction in its joint: a force that depends on λ.
#include <fmt/format.h>

#include <cmath>

#include "kreisel/error.hpp"
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::KktBlocks;
using system::Motion;
using system::Residual;

/// Φ = (x² + y² - l²)/2, joint force N = λ l. The journal of radius r brakes with the torque μ r |N| sgn(φ̇), as a force on
/// the bob μ (r/l)·l√(λ² + λ₀²)·tanh(s/s₀) t with t = (-y, x)/l, s = t·v: regularised Coulomb friction.
class FrictionPendulum final : public system::System {
 public:
  struct Data {
    double mass, length, gravity, friction, speed, softness;
  };
  explicit FrictionPendulum(const Data& data)
      : System(lie::Space({Factor{GroupId::rn, 2}}),
               system::Pattern(lie::Space({Factor{GroupId::rn, 2}}), {{"rod", 1, system::RowLevel::position, {0}}}, {},
                               {}, {"bob"})),
        data_(data) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const Rub rub = rub_at(m, lambda[0]);
    out.force = data_.mass * m.a + lambda[0] * m.q + rub.grip * rub.sign * rub.t;
    out.force[1] += data_.mass * data_.gravity;
    out.gap[0] = 0.5 * (m.q.squaredNorm() - data_.length * data_.length);
    out.rate[0] = m.q.dot(m.v);
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    const double l = data_.length;
    const Rub rub = rub_at(m, lambda[0]);
    out.M << data_.mass, 0.0, 0.0, data_.mass;
    out.B = m.q;
    out.H = m.v;
    out.F = m.q + (rub.grip_slope * rub.sign) * rub.t;
    Eigen::Map<Eigen::Matrix2d>(out.D.data()) = (rub.grip * rub.steepness) * rub.t * rub.t.transpose();
    const Eigen::Vector2d s_q(m.v[1] / l, -m.v[0] / l);
    Eigen::Matrix2d turn;
    turn << 0.0, -1.0 / l, 1.0 / l, 0.0;
    Eigen::Map<Eigen::Matrix2d>(out.K.data()) = lambda[0] * Eigen::Matrix2d::Identity() +
                                                rub.grip * (rub.steepness * rub.t * s_q.transpose() + rub.sign * turn);
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override { out = mu[0] * m.q; }
  void acceleration_gap(const Motion& m, VectorRef out) const override { out[0] = m.q.dot(m.a) + m.v.squaredNorm(); }
  bool is_affine_in_multipliers() const override { return false; }
  double energy(const Motion& m) const override {
    return 0.5 * data_.mass * m.v.squaredNorm() + data_.mass * data_.gravity * m.q[1];
  }

 private:
  struct Rub {
    Eigen::Vector2d t;
    double sign, steepness;   ///< tanh(s/s₀) and its slope
    double grip, grip_slope;  ///< μ l √(λ² + λ₀²), ∂/∂λ
  };
  Rub rub_at(const Motion& m, double lambda) const {
    Rub out;
    out.t = Eigen::Vector2d(-m.q[1], m.q[0]) / data_.length;
    out.sign = std::tanh(out.t.dot(m.v) / data_.speed);
    out.steepness = (1.0 - out.sign * out.sign) / data_.speed;
    const double size = std::hypot(lambda, data_.softness);
    out.grip = data_.friction * data_.length * size;
    out.grip_slope = data_.friction * data_.length * lambda / size;
    return out;
  }

  Data data_;
};

Model make_friction_pendulum(std::string_view group, const ParameterValues& p) {
  Model model;
  model.name = "friction-pendulum";
  model.group = group;
  FrictionPendulum::Data data{};
  data.mass = p.number("mass");
  data.length = p.number("length");
  data.gravity = p.number("gravity");
  data.friction = p.number("friction") * p.number("journal") / data.length;
  data.speed = p.number("speed");
  data.softness = 1e-3 * data.mass * data.gravity / data.length;
  model.system = std::make_shared<FrictionPendulum>(data);
  const double angle = p.number("angle");
  model.start.t_end = 4.0;
  model.start.q0 = data.length * Eigen::Vector2d(std::sin(angle), -std::cos(angle));
  model.start.v0 = Eigen::Vector2d::Zero();
  model.scene = fmt::format(
      R"({{"bodies": [{{"name": "bob", "position": ["q1", 0, "q2"], "points_to": [0, 0, 0],
                        "shape": {{"sphere": {{"radius": {0}, "rod": [0, 0, {1}]}}}}}}],
           "joints": [{{"name": "rod", "body": "bob", "first_row": 1, "rows": 1, "sign": -1, "direction": ["q1", 0, "q2"]}}]}})",
      0.09 * data.length, data.length);
  return model;
}

}  // namespace

ModelInfo friction_pendulum() {
  return {"friction-pendulum",
          "mass point on a rod with joint friction: regularised Coulomb friction, a force that depends on lambda",
          {"rn"},
          {{.name = "friction", .meaning = "coefficient of friction", .default_number = 0.3, .minimum = 0.0},
           {.name = "journal", .meaning = "radius of the journal [m]", .default_number = 0.1, .minimum = 0.0},
           {.name = "speed",
            .meaning = "of the bob, over which friction changes its sign [m/s]",
            .default_number = 0.05,
            .minimum = 0.0,
            .minimum_is_excluded = true},
           {.name = "angle", .meaning = "initial deviation [rad]", .default_number = 1.0},
           {.name = "mass", .meaning = "mass [kg]", .default_number = 1.0, .minimum = 0.0, .minimum_is_excluded = true},
           {.name = "length",
            .meaning = "length of the rod [m]",
            .default_number = 1.0,
            .minimum = 0.0,
            .minimum_is_excluded = true},
           {.name = "gravity",
            .meaning = "gravity [m/s^2]",
            .default_number = 9.81,
            .minimum = 0.0,
            .minimum_is_excluded = true}},
          make_friction_pendulum};
}

}  // namespace kreisel::models
