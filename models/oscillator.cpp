// q̈ + ω² q = 0, the linear test equation of structural dynamics.
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::KktBlocks;
using system::Motion;
using system::Residual;

class Oscillator final : public system::System {
 public:
  explicit Oscillator(double omega)
      : System(lie::Space({Factor{GroupId::rn, 1}}),
               system::Pattern(lie::Space({Factor{GroupId::rn, 1}}), {}, {}, {}, {"mass"})),
        stiffness_(omega * omega) {}

  void residual(const Motion& m, ConstVectorRef, Residual& out) const override {
    out.force[0] = m.a[0] + stiffness_ * m.q[0];
  }
  void linearize(const Motion&, ConstVectorRef, KktBlocks& out) const override {
    out.M[0] = 1.0;
    out.D[0] = 0.0;
    out.K[0] = stiffness_;
  }
  void acceleration_gap(const Motion&, VectorRef) const override {}
  double energy(const Motion& m) const override { return 0.5 * (m.v[0] * m.v[0] + stiffness_ * m.q[0] * m.q[0]); }

 private:
  double stiffness_;
};

Model make_oscillator(std::string_view group, const ParameterValues& p) {
  Model model;
  model.name = "oscillator";
  model.group = group;
  model.system = std::make_shared<Oscillator>(p.number("omega"));
  model.start.t_end = 10.0;
  model.start.q0 = Vector::Constant(1, p.number("q0"));
  model.start.v0 = Vector::Constant(1, p.number("v0"));
  model.scene = R"({"bodies": [{"name": "mass", "position": ["q1", 0, 0], "shape": {"box": {"size": [0.4, 0.4, 0.4]}}}],
                   "marks": [{"kind": "force", "name": "spring", "type": "spring-damper", "places": [{"body": null, "at": [-2.5, 0, 0]}, {"body": "mass", "at": [-0.2, 0, 0]}]}]})";
  return model;
}

}  // namespace

ModelInfo oscillator() {
  return {"oscillator",
          "q'' + omega^2 q = 0",
          {"rn"},
          {{.name = "omega", .meaning = "frequency [rad/s]", .default_number = 1.0, .minimum = 0.0},
           {.name = "q0", .meaning = "initial deviation", .default_number = 1.0},
           {.name = "v0", .meaning = "initial velocity", .default_number = 0.0}},
          make_oscillator};
}

}  // namespace kreisel::models
