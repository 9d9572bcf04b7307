// No mass at all: M = 0, Φ = B q with B square and nonsingular (Arnold, Cardona, Brüls 2015, eq. 11).
#include <cmath>

#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::KktBlocks;
using system::Motion;
using system::Residual;

/// Bᵀλ = 0, B (q - p(t)) = 0 with B = [2 1; 1 3] and p = amplitude·(sin t, 1 - cos t): q = p, λ = 0. M > 0 on ker B = {0} holds
/// trivially, although the equations have index 2 only. The published example is amplitude = 0.
class Massless final : public system::System {
 public:
  explicit Massless(double amplitude)
      : System(lie::Space({Factor{GroupId::rn, 2}}),
               system::Pattern(lie::Space({Factor{GroupId::rn, 2}}), {{"guide", 2, system::RowLevel::position, {0}}},
                               {}, {}, {"point"})),
        amplitude_(amplitude) {
    B_ << 2.0, 1.0, 1.0, 3.0;
  }

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    const double c = std::cos(m.t), s = std::sin(m.t);
    out.force.head<2>().noalias() = B_.transpose() * lambda.head<2>();
    out.gap.head<2>().noalias() = B_ * (m.q.head<2>() - amplitude_ * Eigen::Vector2d(s, 1.0 - c));
    out.rate.head<2>().noalias() = B_ * (m.v.head<2>() - amplitude_ * Eigen::Vector2d(c, s));
  }
  void linearize(const Motion& m, ConstVectorRef, KktBlocks& out) const override {
    mass_and_jacobian(m, out);
    out.D.setZero();
    out.K.setZero();
    out.H.setZero();
    Eigen::Map<Eigen::Matrix2d>(out.F.data()) = B_.transpose();
  }
  void mass_and_jacobian(const Motion&, KktBlocks& out) const override {
    out.M.setZero();
    Eigen::Map<Eigen::Matrix2d>(out.B.data()) = B_;
  }
  void constraint_force(const Motion&, ConstVectorRef mu, VectorRef out) const override {
    out.head<2>().noalias() = B_.transpose() * mu.head<2>();
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override {
    out.head<2>().noalias() = B_ * (m.a.head<2>() - amplitude_ * Eigen::Vector2d(-std::sin(m.t), std::cos(m.t)));
  }
  double energy(const Motion&) const override { return 0.0; }

 private:
  double amplitude_;
  Eigen::Matrix2d B_;
};

Model make_massless(std::string_view group, const ParameterValues& p) {
  Model model;
  model.name = "massless";
  model.group = group;
  const double amplitude = p.number("amplitude");
  model.system = std::make_shared<Massless>(amplitude);
  model.start.t_end = 2.0;
  model.start.q0 = Eigen::Vector2d::Zero();
  model.start.v0 = Eigen::Vector2d(amplitude, 0.0);
  model.scene =
      R"({"bodies": [{"name": "point", "position": ["q1", 0, "q2"], "shape": {"sphere": {"radius": 0.08}}}]})";
  return model;
}

}  // namespace

ModelInfo massless() {
  return {
      "massless",
      "a point without mass, guided in both directions (Arnold, Cardona, Bruels 2015, eq. 11)",
      {"rn"},
      {{.name = "amplitude", .meaning = "of the guided motion [m]; 0 is the published example", .default_number = 1.0}},
      make_massless};
}

}  // namespace kreisel::models
