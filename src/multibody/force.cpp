#include "multibody/force.hpp"

#include <algorithm>

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

Facets Force::facets() const {
  return {.states = states(),
          .has_force = true,
          .stores_energy = true,
          .does_work = true,
          .is_on_frames = true,
          .multipliers_of = joint()};
}

ForceState Force::state_at(const Instant& at, const Frames& frames) const {
  return {frames.states(), at.t, at.lambda, states() == 0 ? nullptr : at.q_of(slots())};
}

void Force::add_force(const Instant& at, const Forces& out) const {
  const Frames frames(at, slots());
  const ForceState state = state_at(at, frames);
  Slopes wrench;
  set_zero(wrench, slots());
  add_wrench(state, wrench);
  frames.add_wrench(wrench, out);
  if (state.z == nullptr) return;
  std::array<double, max_states> rates;
  state_rates(state, rates.data());
  for (int i = 0; i < at.slots[slots()].nv; ++i) out.of(slots())[i] -= rates[i];
}

void Force::linearize(const Instant& at, const Blocks& out) const {
  const Frames frames(at, slots());
  const ForceState state = state_at(at, frames);
  const int n = slots(), states = state.z == nullptr ? 0 : at.slots[n].nv;
  Slopes wrench;
  set_zero(wrench, n);
  add_wrench(state, wrench);
  ElementBlocks blocks;
  blocks.K.set_zero(n);
  blocks.D.set_zero(n);
  for (int i = 0; i < n; ++i) blocks.F[i].setZero();
  for (int i = 0; i < states; ++i)
    for (Slopes* slopes : {&blocks.G[i], &blocks.f_q[i], &blocks.f_v[i]}) set_zero(*slopes, n);
  if (states > 0) blocks.f_z.setZero();
  add_blocks(state, blocks);
  frames.add_couplings(wrench, blocks.K, &blocks.D, out);
  if (states > 0) frames.store_states(states, blocks, out);
  if (out.rows > 0) frames.add_F(blocks, out);
}

void Force::start(const Instant& at, double* z) const { start_states(Frames(at, slots()).states(), z); }

void Force::add_energy(const Instant& at, system::EnergyParts& parts) const {
  (is_gravity() ? parts.potential : parts.elastic) += potential(state_at(at, Frames(at, slots())));
}

void Force::add_power(const Instant& at, system::Power& power) const {
  add_flow(state_at(at, Frames(at, slots())), power);
}

double Force::effort(const Instant& at) const { return effort_at(state_at(at, Frames(at, slots()))); }

/// -g·v, from the same wrench that moves the bodies.
double Force::power(const Instant& at) const {
  const Frames frames(at, slots());
  const ForceState state = state_at(at, frames);
  Slopes wrench;
  set_zero(wrench, slots());
  add_wrench(state, wrench);
  double sum = 0.0;
  for (int i = 0; i < slots(); ++i) sum -= wrench[i].dot(state.s[i].twist());
  return sum;
}

Force::Along MeasuredForce::along() const {
  if (terms_.size() != 1) return {};
  return {terms_[0].measure.get(), terms_[0].counts_turns};
}

double MeasuredForce::effort_at(const ForceState& at) const {
  if (terms_.size() != 1) return std::numeric_limits<double>::quiet_NaN();
  return (terms_[0].is_actuator ? -1.0 : 1.0) * effort_of(terms_[0], at);
}

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

/// A damper or a given torque acts in the same way on every turn.
const MeasuredForce::Term* MeasuredForce::winding() const {
  for (const Term& term : terms_)
    if (term.counts_turns && term.stiffness != 0.0) return &term;
  return nullptr;
}

void MeasuredForce::start_states(const BodyState* s, double* z) const {
  *z = unwrapped(winding()->measure->value(s), winding()->turned);
}

void MeasuredForce::state_rates(const ForceState& at, double* f) const { *f = winding()->measure->rate(at.s); }

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
    if (&term == winding())
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

void MeasuredForce::add_flow(const ForceState& at, system::Power& power) const {
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

Mark mark_of(const ForceInfo& info, const ForceSpec& spec) {
  Mark mark{.kind = "force", .name = spec.name, .type = std::string(info.name), .bodies = spec.bodies};
  for (const Frame& frame : spec.frames) mark.points.push_back(frame.p);
  if (info.axes > 0 && !spec.frames.empty()) mark.axis = spec.frames.back().E.col(2);
  const auto number = [&](std::string_view key) { return spec.has_number(key) ? spec.number(key) : 0.0; };
  if (info.name == "spring-damper") {
    mark.stiffness = number("stiffness");
    mark.damping = number("damping");
    mark.length = number("length");
  }
  if (const auto given = spec.vector_signals.find("force"); info.bodies == 1 && given != spec.vector_signals.end())
    if (std::ranges::all_of(given->second, [](const Signal& s) { return s.is_constant(); }))
      for (std::size_t i = 0; i < 3; ++i) mark.force[static_cast<Eigen::Index>(i)] = given->second[i].at(0.0).value;
  mark.in_body_frame = spec.in_body_frame;
  return mark;
}

}  // namespace kreisel::multibody
