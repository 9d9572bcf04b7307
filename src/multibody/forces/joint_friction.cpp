#include <cmath>

#include "kreisel/base/error.hpp"
#include "kreisel/multibody/force.hpp"

namespace kreisel::multibody {
namespace {

/// τ = μ r N(λ) tanh(ξ̇/v₀) + c ξ̇ with N = √(|λ|² + N₀²) - N₀ over the pressing rows: smooth at rest and without load.
class JointFriction final : public Force {
 public:
  struct Term {
    const Joint::Sliding* sliding;  ///< stays where it is when its joint moves into the assembly
    double coefficient;             ///< μ, times the radius for a rotation
    double viscous, speed;
  };

  JointFriction(const ForceSpec& spec)
      : Force("joint-friction", spec.name, spec.joint->bodies()),
        joint_(spec.joint_number),
        load_(spec.number("smoothing_load")) {
    for (const Joint::Sliding& sliding : spec.joint->slidings()) {
      const double lever = sliding.is_rotation ? spec.number("radius") : 1.0;
      terms_.push_back({&sliding, spec.number("coefficient") * lever, spec.number("viscous"),
                        spec.number("smoothing_speed") / lever});
    }
  }
  int joint() const override { return joint_; }

  void add_wrench(const ForceState& at, Slopes& wrench) const override {
    for (const Term& term : terms_) term.sliding->measure->add_slopes(at.s, effort(term, at.s, at.lambda), wrench);
  }
  void add_blocks(const ForceState& at, ElementBlocks& out) const override {
    const BodyState* s = at.s;
    const double* lambda = at.lambda;
    const int n = slots();
    for (const Term& term : terms_) {
      Slopes slope;
      Curvature Q;
      for (int i = 0; i < n; ++i) slope[i].setZero();
      Q.set_zero(n);
      term.sliding->measure->add_slopes(s, 1.0, slope);
      term.sliding->measure->add_curvature(s, 1.0, Q);
      const double saturation = std::tanh(term.sliding->measure->rate(s) / term.speed);
      const double by_rate =
          term.coefficient * press(term, lambda) * (1.0 - saturation * saturation) / term.speed + term.viscous;
      const double total = effort(term, s, lambda);
      for (int j = 0; j < n; ++j) {
        Vector6 change = Vector6::Zero();
        for (int i = 0; i < n; ++i) change += by_rate * (Q(i, j).transpose() * s[i].twist());
        for (int i = 0; i < n; ++i) {
          out.K(i, j) += slope[i] * change.transpose() + total * Q(i, j);
          out.D(i, j) += by_rate * slope[i] * slope[j].transpose();
        }
      }
      const double norm = press(term, lambda) + load_;
      for (const int row : term.sliding->pressing)
        for (int i = 0; i < n; ++i)
          out.F[i].col(row) += (term.coefficient * saturation * lambda[row] / norm) * slope[i];
    }
  }
  void add_power(const ForceState& at, system::Power& power) const override {
    for (const Term& term : terms_)
      power.dissipated += effort(term, at.s, at.lambda) * term.sliding->measure->rate(at.s);
  }

 private:
  double press(const Term& term, const double* lambda) const {
    double sum = load_ * load_;
    for (const int row : term.sliding->pressing) sum += lambda[row] * lambda[row];
    return std::sqrt(sum) - load_;
  }
  double effort(const Term& term, const BodyState* s, const double* lambda) const {
    const double rate = term.sliding->measure->rate(s);
    return term.coefficient * press(term, lambda) * std::tanh(rate / term.speed) + term.viscous * rate;
  }

  int joint_;
  double load_;
  std::vector<Term> terms_;
};

}  // namespace

ForceInfo joint_friction() {
  const auto build = [](const ForceSpec& spec) -> ForcePtr {
    if (spec.joint->slidings().empty())
      throw InvalidInput("friction needs a joint that slides: revolute, prismatic, cylindrical or point-on-line, not " +
                         spec.joint->type());
    return std::make_unique<JointFriction>(spec);
  };
  return {.name = "joint-friction",
          .summary = "Coulomb friction from the reaction of a joint, smoothed at rest",
          .bodies = 0,
          .place = JointInfo::Place::none,
          .numbers = {{.name = "coefficient", .meaning = "of friction", .default_number = NAN, .minimum = 0.0},
                      {.name = "radius",
                       .meaning = "of a rotating joint [m]",
                       .default_number = 1.0,
                       .minimum = 0.0,
                       .minimum_is_excluded = true},
                      {.name = "viscous", .meaning = "viscous friction [N s/m or N m s/rad]", .minimum = 0.0},
                      {.name = "smoothing_speed",
                       .meaning = "sliding speed at which 76 % of the friction is reached [m/s]",
                       .default_number = 0.01,
                       .minimum = 0.0,
                       .minimum_is_excluded = true},
                      {.name = "smoothing_load",
                       .meaning = "reaction below which friction fades [N]",
                       .default_number = 1e-3,
                       .minimum = 0.0,
                       .minimum_is_excluded = true}},
          .build = build};
}

}  // namespace kreisel::multibody
