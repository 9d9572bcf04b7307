// q = t³ enforced by a constraint that depends on time (Arnold, Brüls, Cardona 2015, Example 2).
#include "models/catalogue.hpp"

namespace kreisel::models {
namespace {

using lie::Factor;
using lie::GroupId;
using system::KktBlocks;
using system::Motion;
using system::Residual;

/// v̇ + λ = 0, Φ = q - t³.
class Cubic final : public system::System {
 public:
  Cubic()
      : System(lie::Space({Factor{GroupId::rn, 1}}),
               system::Pattern(lie::Space({Factor{GroupId::rn, 1}}), {{"driver", 1, system::RowLevel::position, {0}}},
                               {}, {}, {"point"})) {}

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override {
    out.force[0] = m.a[0] + lambda[0];
    out.gap[0] = m.q[0] - m.t * m.t * m.t;
    out.rate[0] = m.v[0] - 3.0 * m.t * m.t;
  }
  void linearize(const Motion&, ConstVectorRef, KktBlocks& out) const override {
    out.set_zero();
    out.M[0] = out.B[0] = out.F[0] = 1.0;
  }
  void acceleration_gap(const Motion& m, VectorRef out) const override { out[0] = m.a[0] - 6.0 * m.t; }
  void constraint_force(const Motion&, ConstVectorRef mu, VectorRef out) const override { out = mu; }
};

Model make_cubic(std::string_view group, const ParameterValues& p) {
  Model model;
  model.name = "cubic";
  model.group = group;
  model.system = std::make_shared<Cubic>();
  const double t0 = p.number("t0");
  model.start.t0 = t0;
  model.start.t_end = t0 + 1.0;
  model.start.q0 = Vector::Constant(1, t0 * t0 * t0);
  model.start.v0 = Vector::Constant(1, 3.0 * t0 * t0);
  model.scene =
      R"({"bodies": [{"name": "mass", "position": ["q1", 0, 0], "shape": {"box": {"size": [0.2, 0.2, 0.2]}}}]})";
  return model;
}

}  // namespace

ModelInfo cubic() {
  return {"cubic",
          "q = t^3 by a time-dependent constraint (Arnold, Bruels, Cardona 2015, Example 2)",
          {"rn"},
          {{.name = "t0", .meaning = "initial time [s]", .default_number = 0.0}},
          make_cubic};
}

}  // namespace kreisel::models
