#include "multibody/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/workers.hpp"
#include "lie/so3.hpp"
#include "looks.hpp"
#include "multibody/element_pair.hpp"
#include "multibody/rolling.hpp"
#include "parts.hpp"

namespace kreisel::multibody {

using lie::Motion;
using system::KktBlocks;

using Map3 = Eigen::Map<const Vector3>;

// ---- the equations

template <class Each>
void Assembly::sweep(const Course& course, const Motion& m, const double* lambda, const Each& each) const {
  for (const auto& wave : course.waves)
    share(static_cast<int>(wave.size()), [&](int piece) {
      BodyStates bodies;
      Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), lambda, nullptr, &bodies, &inputs_};
      for (int e = wave[piece].begin; e < wave[piece].end; ++e) {
        const Place& place = course.places[e];
        at.slots = slots_.data() + place.slot_at;
        at.lambda = lambda == nullptr ? nullptr : lambda + place.row;
        each(place, at);
      }
    });
}

template <class Each>
void Assembly::visit(std::span<const Place> places, const Motion& m, const double* lambda, const Each& each) const {
  BodyStates bodies;
  Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), lambda, nullptr, &bodies, &inputs_};
  for (const Place& place : places) {
    at.slots = slots_.data() + place.slot_at;
    at.lambda = lambda == nullptr ? nullptr : lambda + place.row;
    each(place, at);
  }
}

Forces Assembly::forces_of(const Place& place, VectorRef force) const {
  return {force.data(), slots_.data() + place.slot_at};
}

/// Rows of velocity level have none.
double* Assembly::gap_of(const Place& place, system::Residual& out) const {
  return place.row < pattern().position_rows() ? out.gap.data() + place.row : nullptr;
}

Blocks Assembly::blocks_of(const Place& place, KktBlocks& out) const {
  return {out, slots_.data() + place.slot_at, couplings_.data() + place.coupling_at, place.slot_count, place.rows};
}

void Assembly::store_inertia_forces(const Motion& m, VectorRef out) const {
  out.setZero();
  for (const Slot& state : states_) out.segment(state.v_at, state.nv) = m.v.segment(state.v_at, state.nv);
  add_forces_of(inertia_, m, nullptr, out);
}

void Assembly::add_forces(const Motion& m, ConstVectorRef lambda, VectorRef out) const {
  add_forces_of(loads_, m, lambda.data(), out);
}

void Assembly::add_forces_of(const Course& course, const Motion& m, const double* lambda, VectorRef out) const {
  for (const auto& wave : course.waves)
    share(static_cast<int>(wave.size()), [&](int piece) {
      BodyStates bodies;
      Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), lambda, nullptr, &bodies, &inputs_};
      for (int e = wave[piece].begin; e < wave[piece].end; ++e) {
        if (const ElementPair* pair = course.pairs[e].get(); pair != nullptr) {
          pair->add_force(m, out.data());
          ++e;
          continue;
        }
        const Place& place = course.places[e];
        at.slots = slots_.data() + place.slot_at;
        at.lambda = lambda == nullptr ? nullptr : lambda + place.row;
        place.element->add_force(at, forces_of(place, out));
      }
    });
}

void Assembly::residual(const Motion& m, ConstVectorRef lambda, system::Residual& out) const {
  store_inertia_forces(m, out.force);
  sweep(rows_, m, lambda.data(), [&](const Place& p, const Instant& at) {
    p.element->constraint_with_force(at, gap_of(p, out), out.rate.data() + p.row, forces_of(p, out.force));
  });
  add_forces(m, lambda, out.force);
}

void Assembly::constraints(const Motion& m, ConstVectorRef, system::Residual& out) const {
  sweep(rows_, m, nullptr,
        [&](const Place& p, const Instant& at) { p.element->constraint(at, gap_of(p, out), out.rate.data() + p.row); });
}

void Assembly::constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const {
  out.setZero();
  sweep(rows_, m, mu.data(), [&](const Place& p, const Instant& at) {
    if (p.row < pattern().position_rows()) p.element->add_constraint_force(at, at.lambda, forces_of(p, out));
  });
}

void Assembly::acceleration_gap(const Motion& m, VectorRef out) const {
  sweep(rows_, m, nullptr,
        [&](const Place& p, const Instant& at) { p.element->acceleration_gap(at, out.data() + p.row); });
}

void Assembly::saddle_point(const Motion& m, ConstVectorRef lambda, KktBlocks& blocks, system::Residual& out,
                            VectorRef z) const {
  store_inertia_forces(m, out.force);
  store_mass(m, blocks);
  sweep(rows_, m, lambda.data(), [&](const Place& p, const Instant& at) {
    p.element->acceleration_gap(at, z.data() + p.row);
    p.element->jacobian(at, blocks_of(p, blocks));
    if (needs_newton_) store_F(p, blocks);
  });
  add_forces(m, lambda, out.force);
}

void Assembly::mass_and_jacobian(const Motion& m, KktBlocks& out) const {
  store_mass(m, out);
  sweep(rows_, m, nullptr, [&](const Place& p, const Instant& at) {
    p.element->jacobian(at, blocks_of(p, out));
    if (needs_newton_) store_F(p, out);
  });
}

void Assembly::store_mass(const Motion& m, KktBlocks& out) const {
  // Blocks between bodies that no element with mass joins are zero from the start: nothing else writes M.
  for (const Place& place : inertia_.places) {
    const Slot* const slots = slots_.data() + place.slot_at;
    const int* at = couplings_.data() + place.coupling_at;
    for (int i = 0; i < place.slot_count; ++i)
      for (int j = 0; j < place.slot_count; ++j, ++at)
        if (*at >= 0 && slots[i].nv == 6 && slots[j].nv == 6)
          Eigen::Map<Eigen::Matrix<double, 6, 6>>(out.M.data() + *at).setConstant(0.0);  // stores, without a call
        else if (*at >= 0)
          std::fill_n(out.M.data() + *at, slots[i].nv * slots[j].nv, 0.0);
  }
  sweep(inertia_, m, nullptr, [&](const Place& p, const Instant& at) { p.element->add_mass(at, blocks_of(p, out)); });
  for (std::size_t n = 0; n < states_.size(); ++n)
    for (int i = 0; i < states_[n].nv; ++i) out.D[state_diagonals_[n] + i * (states_[n].nv + 1)] = 1.0;
}

void Assembly::store_F(const Place& place, KktBlocks& out) const {
  const Blocks blocks = blocks_of(place, out);
  for (int i = 0; i < place.slot_count; ++i)
    if (blocks.slots[i].touch_at >= 0) blocks.F(i) = blocks.B(i).transpose();
}

void Assembly::linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const {
  out.D.setConstant(0.0);  // stores, without a call
  out.K.setConstant(0.0);
  store_mass(m, out);
  sweep(inertia_, m, lambda.data(),
        [&](const Place& p, const Instant& at) { p.element->linearize(at, blocks_of(p, out)); });
  sweep(rows_, m, lambda.data(), [&](const Place& p, const Instant& at) {
    p.element->linearize_constraint(at, blocks_of(p, out));
    store_F(p, out);
  });
  sweep(loads_, m, lambda.data(),
        [&](const Place& p, const Instant& at) { p.element->linearize(at, blocks_of(p, out)); });
}

void Assembly::jump_of_force(const Motion& m, double t, ConstVectorRef lambda, VectorRef out) const {
  out.setZero();
  BodyStates bodies;
  Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), nullptr, nullptr, &bodies, &inputs_};
  for (const double time : {m.t, t}) {
    out = -out;
    at.t = time;
    for (const Place& place : reading_inputs_) {
      at.slots = slots_.data() + place.slot_at;
      at.lambda = lambda.data() + place.row;
      place.element->add_force(at, forces_of(place, out));
    }
  }
}

// ---- energy and time

double Assembly::energy(const Motion& m) const {
  const system::EnergyParts parts = energy_parts(m);
  return parts.kinetic + parts.potential + parts.elastic;
}

system::EnergyParts Assembly::energy_parts(const Motion& m) const {
  system::EnergyParts parts;
  BodyStates bodies;
  Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), nullptr, nullptr, &bodies, &inputs_};
  for (std::size_t e = 0; e < storing_.size(); ++e) {
    if (const ElementPair* pair = storing_pairs_[e].get(); pair != nullptr) {
      pair->add_energy(m, parts);
      ++e;
      continue;
    }
    at.slots = slots_.data() + storing_[e].slot_at;
    storing_[e].element->add_energy(at, parts);
  }
  return parts;
}

system::Power Assembly::power(const Motion& m, ConstVectorRef lambda) const {
  system::Power power;
  visit(working_, m, lambda.data(), [&](const Place& p, const Instant& at) { p.element->add_power(at, power); });
  return power;
}

system::Corner Assembly::next_corner(double t, double until, double resolution) const {
  system::Corner first = inputs_.next_corner(t, until, resolution);
  const std::vector<Input>& inputs = mechanism().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Signal& value = inputs[i].value;
    const bool is_table = std::isfinite(value.span().first);
    if (is_table || value.is_constant() || (inputs_.set() != nullptr && inputs_.set()->is_set(static_cast<int>(i))))
      continue;
    first = earlier(first, next_look(value, t, until, resolution));
  }
  for (const Place& p : timed_) first = earlier(first, p.element->next_corner(t, until, resolution));
  return first;
}

std::string Assembly::undefined_between(double t, double t_next) const {
  const auto is_finite = [](const Jet& jet) { return std::isfinite(jet.value) && std::isfinite(jet.rate); };
  // The first time at which it is not finite, to round-off, or nothing.
  const auto complaint_about = [&](const std::string& owner, const NamedSignal& named) -> std::string {
    double good = t, bad = t_next;
    const Jet at_t = named.signal->at(t), ahead = named.signal->at(t_next);
    const std::string what = fmt::format("{}: {} = {}", owner, named.name, named.signal->text());
    if (!is_finite(at_t)) return fmt::format("{} is not finite at t = {:.10g}", what, t);
    if (!is_finite(ahead)) {
      for (int i = 0; i < 60; ++i) {
        const double middle = 0.5 * (good + bad);
        (is_finite(named.signal->at(middle)) ? good : bad) = middle;
      }
      return fmt::format("{} is not finite at t = {:.10g}", what, bad);
    }
    // Close to a pole or a jump the slope says nothing about the value a little later.
    const double change = std::abs(ahead.value - at_t.value),
                 size = std::max(std::abs(at_t.value), std::abs(ahead.value));
    if (change > 0.5 * size && size > 0.0)
      return fmt::format("{} goes from {:.4g} to {:.4g} between t = {:.10g} and {:.10g}", what, at_t.value, ahead.value,
                         t, t_next);
    return {};
  };
  for (const Place& p : timed_)
    for (const NamedSignal& named : p.element->signals()) {
      const std::string owner =
          fmt::format("{} '{}'", p.element->facets().rows > 0 ? "driver" : "force", p.element->name());
      if (const std::string found = complaint_about(owner, named); !found.empty()) return found;
    }
  return {};
}

std::string Assembly::force_that_changes(const Motion& before, const Motion& after, ConstVectorRef lambda) const {
  std::string name;
  double largest = 0.0;
  Vector force[2];
  for (const Place& p : loads_.places) {
    const Motion* motions[2] = {&before, &after};
    for (int i = 0; i < 2; ++i) {
      force[i].setZero(space().nv());
      visit({&p, 1}, *motions[i], lambda.data(),
            [&](const Place&, const Instant& at) { p.element->add_force(at, forces_of(p, force[i])); });
    }
    if (!force[1].allFinite()) return p.element->name();
    const double change = (force[1] - force[0]).lpNorm<Eigen::Infinity>();
    if (change > largest) largest = change, name = p.element->name();
  }
  return name;
}

// ---- what a mechanism starts from, and what is reported of it

system::Pose Assembly::body_pose(int body, ConstVectorRef q) const {
  const double* at = q.data() + space().blocks()[body].q_at;
  return {Map3(at), lie::rotation_matrix(at + 3)};
}

system::Start Assembly::start(double t_end) const {
  system::Start start;
  start.t_end = t_end;
  start.q0.resize(space().nq());
  start.v0.setZero(space().nv());
  space().set_identity(start.q0);
  for (std::size_t n = 0; n < parts_->nodes.size(); ++n) {
    const lie::Block& block = space().blocks()[n];
    if (static_cast<int>(n) < body_count()) {
      const Body& body = mechanism().bodies[n];
      start.q0.segment<3>(block.q_at) = body.position;
      start.q0.segment<4>(block.q_at + 3) = lie::quaternion_from(body.rotation);
      const bool is_in_body_axes = block.group == lie::GroupId::se3;
      start.v0.segment<3>(block.v_at) =
          is_in_body_axes ? Vector3(body.rotation.transpose() * body.velocity) : body.velocity;
      start.v0.segment<3>(block.v_at + 3) = body.angular_velocity;
      continue;
    }
    const Node& node = parts_->nodes[n];
    if (node.q0.size() > 0) start.q0.segment(block.q_at, block.nq) = node.q0;
    if (node.v0.size() > 0) start.v0.segment(block.v_at, block.nv) = node.v0;
  }
  set_states(start.t0, start.q0, start.v0);
  return start;
}

/// The rates of states follow from their rows v - f = 0.
void Assembly::set_states(double t, Vector& q, Vector& v) const {
  Motion m(space());
  m.t = t;
  m.q = q;
  m.v = v;
  const Vector no_lambda = Vector::Zero(pattern().rows());
  Vector force = Vector::Zero(space().nv());
  visit(starting_, m, no_lambda.data(),
        [&](const Place& p, const Instant& at) { p.element->start(at, m.q.data() + at.slots[p.slot_count - 1].q_at); });
  visit(loads_.places, m, no_lambda.data(),
        [&](const Place& p, const Instant& at) { p.element->add_force(at, forces_of(p, force)); });
  q = m.q;
  for (const Slot& state : states_) v.segment(state.v_at, state.nv) = -force.segment(state.v_at, state.nv);
}

std::vector<double> Assembly::joint_gaps(const Motion& m) const {
  std::vector<double> gaps;
  visit(connecting_, m, nullptr, [&](const Place& p, const Instant& at) {
    Vector6 gap = Vector6::Zero(), rate;
    p.element->constraint(at, gap.data(), rate.data());
    gaps.push_back(gap.lpNorm<Eigen::Infinity>());
  });
  return gaps;
}

system::Reaction Assembly::reaction(int joint, const Motion& m, ConstVectorRef lambda) const {
  system::Reaction reaction;
  Slopes more;
  set_zero(more, 2);
  if (const int rolling = rolling_.at(joint); rolling >= 0)
    visit({&rows_.places[static_cast<std::size_t>(rolling)], 1}, m, lambda.data(),
          [&](const Place&, const Instant& at) { joints_[joint]->rolling()->add_wrench(at, at.lambda, more); });
  visit({&connecting_.at(joint), 1}, m, lambda.data(),
        [&](const Place&, const Instant& at) { reaction = joints_[joint]->reaction(at, more[1]); });
  return reaction;
}

}  // namespace kreisel::multibody
