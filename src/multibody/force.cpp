#include "kreisel/multibody/force.hpp"

#include <cmath>

namespace kreisel::multibody {
namespace {

double stretch_of(const MeasuredForce::Term& term, const BodyState* s, double target) {
  const double stretch = term.measure->value(s) - target;
  return term.period > 0.0 ? std::remainder(stretch, term.period) : stretch;
}

double effort_of(const MeasuredForce::Term& term, const BodyState* s, double t) {
  const Jet target = term.target.at(t);
  return term.stiffness * stretch_of(term, s, target.value) + term.damping * (term.measure->rate(s) - target.rate) -
         term.effort.at(t).value;
}

}  // namespace

MeasuredForce& MeasuredForce::act(Term term) {
  terms_.push_back(std::move(term));
  return *this;
}

void MeasuredForce::add_wrench(const BodyState* s, double t, const double*, Slopes& wrench) const {
  for (const Term& term : terms_) term.measure->add_slopes(s, effort_of(term, s, t), wrench);
}

/// g = τ ∂ξ: K = ∂ξ (k ∂ξ + c ∂ξ̇)ᵀ + τ ∂²ξ, D = c ∂ξ ∂ξᵀ.
void MeasuredForce::add_blocks(const BodyState* s, double t, const double*, ElementBlocks& out) const {
  const int n = slots();
  for (const Term& term : terms_) {
    Slopes slope;
    Curvature Q;
    for (int i = 0; i < n; ++i) slope[i].setZero();
    Q.set_zero(n);
    term.measure->add_slopes(s, 1.0, slope);
    term.measure->add_curvature(s, 1.0, Q);
    const double effort = effort_of(term, s, t);
    for (int j = 0; j < n; ++j) {
      Vector6 change = term.stiffness * slope[j];
      for (int i = 0; i < n; ++i) change += term.damping * (Q(i, j).transpose() * s[i].twist());
      for (int i = 0; i < n; ++i) {
        out.K(i, j) += slope[i] * change.transpose() + effort * Q(i, j);
        out.D(i, j) += term.damping * slope[i] * slope[j].transpose();
      }
    }
  }
}

double MeasuredForce::potential(const BodyState* s) const {
  double energy = 0.0;
  for (const Term& term : terms_)
    if (term.target.is_constant()) {
      const double stretch = stretch_of(term, s, term.target.at(0.0).value);
      energy += 0.5 * term.stiffness * stretch * stretch;
    }
  return energy;
}

/// The spring of a moving target is part of the actuator: all it does is work.
void MeasuredForce::add_power(const BodyState* s, double t, const double*, system::Power& power) const {
  for (const Term& term : terms_) {
    const double rate = term.measure->rate(s);
    if (term.target.is_constant()) {
      power.dissipated += term.damping * rate * rate;
      power.forces += term.effort.at(t).value * rate;
    } else {
      power.forces -= effort_of(term, s, t) * rate;
    }
  }
}

}  // namespace kreisel::multibody
