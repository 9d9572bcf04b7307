// A pendulum driven by a first-order actuator, with a nonlinear bushing as an index-1 unknown.
#include <fmt/format.h>

#include <cmath>

#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::CoordinateKind;
using system::KktBlocks;
using system::Motion;
using system::Pattern;
using system::Residual;

/// Bob (x, y) on a rod, Φ = (x² + y² - l²)/2.
/// Actuator force z along x: ż = (k (x_d(t) - x) - z)/τ, x_d = a sin(ωt).
/// Contact coordinate w: w + ε w³ = x, the compression of a bushing of stiffness c that pulls the bob back with c w.
class ActuatedPendulum final : public system::System {
 public:
  struct Data {
    double mass, length, gravity, gain, lag, stiffness, hardening, amplitude, frequency;
  };
  explicit ActuatedPendulum(const Data& data) : System(make_space(), make_pattern()), data_(data) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const double x = m.q[0], y = m.q[1], z = m.q[2], w = m.q[3];
    out.force[0] = data_.mass * m.a[0] - z + data_.stiffness * w + x * lambda[0];
    out.force[1] = data_.mass * (m.a[1] + data_.gravity) + y * lambda[0];
    out.force[2] = m.v[2] - (data_.gain * (target(m.t) - x) - z) / data_.lag;
    out.force[3] = w + data_.hardening * w * w * w - x;
    out.gap[0] = 0.5 * (x * x + y * y - data_.length * data_.length);
    out.rate[0] = x * m.v[0] + y * m.v[1];
  }
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override {
    out.set_zero();
    const auto set = [&](Vector& values, int row, int column, int i, int j, double value) {
      const Pattern::Coupling& c = pattern().couplings()[pattern().coupling(row, column)];
      values[c.at + j * space().blocks()[row].nv + i] = value;
    };
    set(out.M, 0, 0, 0, 0, data_.mass);
    set(out.M, 0, 0, 1, 1, data_.mass);
    set(out.D, 1, 1, 0, 0, 1.0);
    set(out.K, 0, 0, 0, 0, lambda[0]);
    set(out.K, 0, 0, 1, 1, lambda[0]);
    set(out.K, 0, 1, 0, 0, -1.0);
    set(out.K, 0, 2, 0, 0, data_.stiffness);
    set(out.K, 1, 0, 0, 0, data_.gain / data_.lag);
    set(out.K, 1, 1, 0, 0, 1.0 / data_.lag);
    set(out.K, 2, 0, 0, 0, -1.0);
    set(out.K, 2, 2, 0, 0, 1.0 + 3.0 * data_.hardening * m.q[3] * m.q[3]);
    out.B = m.q.head<2>();
    out.F = out.B;
    out.H = m.v.head<2>();
  }
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override {
    out.setZero();
    out.head<2>() = mu[0] * m.q.head<2>();
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override {
    out[0] = m.q.head<2>().dot(m.a.head<2>()) + m.v.head<2>().squaredNorm();
  }

 private:
  static lie::Space make_space() {
    return lie::Space({Factor{GroupId::rn, 2}, Factor{GroupId::rn, 1}, Factor{GroupId::rn, 1}});
  }
  static Pattern make_pattern() {
    return Pattern(make_space(), {{"rod", 1, system::RowLevel::position, {0}}}, {{0, 1}, {0, 2}, {1, 0}, {2, 0}},
                   {CoordinateKind::dynamic, CoordinateKind::state, CoordinateKind::algebraic},
                   {"bob", "actuator", "bushing"});
  }
  double target(double t) const { return data_.amplitude * std::sin(data_.frequency * t); }

  Data data_;
};

Model make_actuated_pendulum(std::string_view group, const ParameterValues& p) {
  const ActuatedPendulum::Data data{
      1.0, 1.0, 9.81, p.number("gain"), p.number("lag"), p.number("stiffness"), p.number("hardening"), 0.5, 3.0};
  Model model;
  model.name = "actuated-pendulum";
  model.group = group;
  model.system = std::make_shared<ActuatedPendulum>(data);
  model.start.t_end = 5.0;
  const double x = std::sin(p.number("angle"));
  double w = x;  // w + ε w³ = x by Newton's method, which converges from above for a convex right-hand side
  for (int i = 0; i < 60; ++i) w -= (w + data.hardening * w * w * w - x) / (1.0 + 3.0 * data.hardening * w * w);
  model.start.q0.resize(4);
  model.start.q0 << x, -std::sqrt(1.0 - x * x), 0.0, w;
  model.start.v0.setZero(4);
  model.start.v0[2] = -data.gain * x / data.lag;
  model.scene = fmt::format(
      R"({{"bodies": [{{"name": "the bob", "position": ["bob.q1", 0, "bob.q2"], "points_to": [0, 0, 0],
                        "shape": {{"sphere": {{"radius": {0}, "rod": [0, 0, {1}]}}}}}}],
           "joints": [{{"name": "rod", "body": "the bob", "first_row": 1, "rows": 1, "sign": -1, "direction": ["bob.q1", 0, "bob.q2"]}}]}})",
      0.09 * data.length, data.length);
  return model;
}

}  // namespace

ModelInfo actuated_pendulum() {
  return {
      "actuated-pendulum",
      "pendulum with a first-order actuator (a state) and a hardening bushing (an index-1 unknown)",
      {"rn"},
      {{.name = "gain", .meaning = "of the actuator [N/m]", .default_number = 4.0},
       {.name = "lag",
        .meaning = "of the actuator [s]",
        .default_number = 0.2,
        .minimum = 0.0,
        .minimum_is_excluded = true},
       {.name = "stiffness", .meaning = "of the bushing [N/m]", .default_number = 2.0, .minimum = 0.0},
       {.name = "hardening", .meaning = "of the bushing [1/m^2]", .default_number = 1.5, .minimum = 0.0},
       {.name = "angle", .meaning = "initial deviation [rad]", .default_number = 0.5, .minimum = -1.5, .maximum = 1.5}},
      make_actuated_pendulum};
}

}  // namespace kreisel::models
