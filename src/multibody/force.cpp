#include "kreisel/multibody/force.hpp"

namespace kreisel::multibody {
namespace {

double stretch_of(const MeasuredForce::Term& term, const ForceState& at, double target) {
  const double value = term.measure->value(at.s);
  return (term.counts_turns && at.z != nullptr ? unwrapped(value, *at.z) : value) - target;
}

double effort_of(const MeasuredForce::Term& term, const ForceState& at) {
  const Jet target = term.target.at(at.t);
  return term.stiffness * stretch_of(term, at, target.value) + term.damping * (term.measure->rate(at.s) - target.rate) -
         term.effort.at(at.t).value;
}

}  // namespace

MeasuredForce& MeasuredForce::act(Term term) {
  terms_.push_back(std::move(term));
  return *this;
}

std::vector<NamedSignal> MeasuredForce::signals() const {
  std::vector<NamedSignal> list;
  for (const Term& term : terms_) {
    if (!term.target.is_constant()) list.push_back({"target", &term.target});
    if (!term.effort.is_constant()) list.push_back({"value", &term.effort});
  }
  return list;
}

/// A damper or a given torque acts alike on every turn.
const Measure* MeasuredForce::winding() const {
  for (const Term& term : terms_)
    if (term.counts_turns && term.stiffness != 0.0) return term.measure.get();
  return nullptr;
}

void MeasuredForce::start_states(const BodyState* s, double* z) const { *z = winding()->value(s); }

void MeasuredForce::state_rates(const ForceState& at, double* f) const { *f = winding()->rate(at.s); }

void MeasuredForce::add_wrench(const ForceState& at, Slopes& wrench) const {
  for (const Term& term : terms_) term.measure->add_slopes(at.s, effort_of(term, at), wrench);
}

/// g = τ ∂ξ: K = ∂ξ (k ∂ξ + c ∂ξ̇)ᵀ + τ ∂²ξ, D = c ∂ξ ∂ξᵀ.
void MeasuredForce::add_blocks(const ForceState& at, ElementBlocks& out) const {
  const BodyState* s = at.s;
  const int n = slots();
  for (const Term& term : terms_) {
    Slopes slope;
    Curvature Q;
    for (int i = 0; i < n; ++i) slope[i].setZero();
    Q.set_zero(n);
    term.measure->add_slopes(s, 1.0, slope);
    term.measure->add_curvature(s, 1.0, Q);
    const double effort = effort_of(term, at);
    for (int j = 0; j < n; ++j) {
      Vector6 change = term.stiffness * slope[j];
      for (int i = 0; i < n; ++i) change += term.damping * (Q(i, j).transpose() * s[i].twist());
      for (int i = 0; i < n; ++i) {
        out.K(i, j) += slope[i] * change.transpose() + effort * Q(i, j);
        out.D(i, j) += term.damping * slope[i] * slope[j].transpose();
      }
    }
    if (term.measure.get() == winding())
      for (int j = 0; j < n; ++j) {
        out.f_v[0][j] += slope[j];
        for (int i = 0; i < n; ++i) out.f_q[0][j] += Q(i, j).transpose() * s[i].twist();
      }
  }
}

double MeasuredForce::potential(const ForceState& at) const {
  double energy = 0.0;
  for (const Term& term : terms_)
    if (!term.is_actuator) {
      const double stretch = stretch_of(term, at, term.target.at(0.0).value);
      energy += 0.5 * term.stiffness * stretch * stretch;
    }
  return energy;
}

void MeasuredForce::add_power(const ForceState& at, system::Power& power) const {
  for (const Term& term : terms_) {
    const double rate = term.measure->rate(at.s);
    if (term.is_actuator)
      power.forces -= effort_of(term, at) * rate;
    else
      power.dissipated += term.damping * rate * rate;
  }
}

/// With damping the rate of a target is part of the force.
system::Corner MeasuredForce::next_corner(double t, double until, double resolution) const {
  system::Corner first;
  for (const Term& term : terms_) {
    first = earlier(first, term.effort.next_corner(t, until, 0, resolution));
    if (term.stiffness != 0.0 || term.damping != 0.0)
      first = earlier(first, term.target.next_corner(t, until, term.damping != 0.0 ? 1 : 0, resolution));
  }
  return first;
}

}  // namespace kreisel::multibody
