// What an assembly reports beside its motion.
#include <algorithm>
#include <array>

#include "lie/so3.hpp"
#include "multibody/assembly.hpp"
#include "multibody/beam.hpp"
#include "multibody/law.hpp"
#include "multibody/line_load.hpp"
#include "parts.hpp"

namespace kreisel::multibody {
const std::vector<system::OutputInfo>& Assembly::outputs() const {
  return mechanism().outputs == nullptr ? System::outputs() : mechanism().outputs->infos();
}

void Assembly::evaluate_outputs(const lie::Motion& m, ConstVectorRef lambda, VectorRef out) const {
  if (mechanism().outputs != nullptr) evaluate(*mechanism().outputs, m, lambda, out);
}

void Assembly::evaluate_output_rates(const lie::Motion& m, ConstVectorRef lambda, VectorRef out) const {
  System::evaluate_output_rates(m, lambda, out);
  if (mechanism().rates == nullptr) return;
  const Outputs& rates = *mechanism().rates;
  Vector found(rates.program().results());
  evaluate(rates, m, lambda, found);
  int from = 0, to = 0;
  std::size_t next = 0;
  for (const system::OutputInfo& info : outputs()) {
    if (next < rates.infos().size() && rates.infos()[next].name == info.name + "'") {
      out.segment(to, info.size()) = found.segment(from, info.size());
      from += info.size();
      ++next;
    }
    to += info.size();
  }
}

double Assembly::gap_of(int force, int component, const lie::Motion& m) const {
  const Force& of = *mechanism().forces[static_cast<std::size_t>(force)];
  const std::array<Slot, 2> slots = slots_of({of.bodies()[0], of.bodies()[1]});
  BodyStates bodies;
  const Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), nullptr, slots.data(), &bodies};
  return of.gap_at(Frames(at, 2).states(), component);
}

void Assembly::touch(int force, int component, const Vector& v, Vector& q) const {
  const Force& of = *mechanism().forces[static_cast<std::size_t>(force)];
  if (of.states() == 0) return;
  const auto place = std::ranges::find(starting_, static_cast<const Element*>(&of), &Place::element);
  BodyStates bodies;
  const Instant at{0.0, q.data(), v.data(), v.data(), nullptr, slots_.data() + place->slot_at, &bodies};
  of.touched(Frames(at, of.slots()).states(), component, q.data() + at.slots[of.slots()].q_at);
}

void Assembly::evaluate(const Outputs& outputs, const lie::Motion& m, ConstVectorRef lambda, VectorRef out) const {
  const std::vector<lie::Block>& blocks = space().blocks();

  const auto gauged = [&](const Gauge& gauge, Quantity::Kind what) {
    const std::array<Slot, 2> slots = slots_of(gauge.bodies);
    BodyStates bodies;
    const Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), nullptr, slots.data(), &bodies};
    const Frames frames(at, 2);
    const BodyState* s = frames.states();
    if (what == Quantity::Kind::rate) return gauge.measure->rate(s);
    if (what == Quantity::Kind::value) {
      const double value = gauge.measure->value(s);
      return gauge.turns < 0 ? value : unwrapped(value, m.q[blocks[static_cast<std::size_t>(gauge.turns)].q_at]);
    }
    Slopes slopes, accelerations;
    set_zero(slopes, 2);
    gauge.measure->add_slopes(s, 1.0, slopes);
    frames.set_accelerations(accelerations);
    double acceleration = gauge.measure->curve(s);
    for (const std::size_t i : {0, 1}) acceleration += slopes[i].dot(accelerations[i]);
    return acceleration;
  };
  const auto of_force = [&](int force, double (*number)(const Force&, const Instant&)) {
    const Force* element = mechanism().forces[static_cast<std::size_t>(force)].get();
    const auto place = std::ranges::find(loads_.places, static_cast<const Element*>(element), &Place::element);
    if (place == loads_.places.end()) return 0.0;  // it is switched off
    BodyStates bodies;
    const Instant at{
        m.t,     m.q.data(), m.v.data(), m.a.data(), lambda.data() + place->row, slots_.data() + place->slot_at,
        &bodies, &inputs_};
    return number(*element, at);
  };
  const auto reaction_of = [&](int joint, int component) {
    const auto found = std::ranges::find(joints_, mechanism().joints[static_cast<std::size_t>(joint)]);
    if (found == joints_.end()) return 0.0;
    const system::Reaction r = reaction(static_cast<int>(found - joints_.begin()), m, lambda);
    return component < 3 ? r.force[component] : r.torque[component - 3];
  };

  // Mass, weight and line loads of a node, as far as they belong to the element, in the axes of its section there.
  const auto distributed_at = [&](const SectionElement& element, int end) -> Vector6 {
    const int node = element.nodes()[static_cast<std::size_t>(end)];
    const Place& body = inertia_.places[static_cast<std::size_t>(node)];
    const Slot& slot = slots_[static_cast<std::size_t>(body.slot_at)];
    const auto instant = [&](const Place& place) {
      return Instant{m.t,     m.q.data(), m.v.data(), m.a.data(), nullptr, slots_.data() + place.slot_at,
                     nullptr, &inputs_};
    };
    Vector6 wrench = Vector6::Zero();
    Slot own = slot;
    own.v_at = 0;
    body.element->add_force(instant(body), {wrench.data(), &own});
    if (slot.group != lie::GroupId::se3) {
      const Vector3 force = wrench.head<3>();
      wrench.head<3>() = lie::rotate_back(m.q.data() + slot.q_at + 3, force);
    }
    const Frame section = element.end(end);
    wrench.tail<3>() -= section.p.cross(wrench.head<3>());
    wrench *= element.part_of_node(end);
    for (const Place& load : line_loads_)
      wrench -= static_cast<const LineLoad&>(*load.element).load_at(instant(load), node, end == 1);
    Vector6 out;
    out << section.E.transpose() * wrench.head<3>(), section.E.transpose() * wrench.tail<3>();
    return out;
  };
  // Six numbers in a row belong to one end of one beam.
  struct {
    int element = -1, part = -1;
    Vector6 values = Vector6::Zero();
  } section;
  const auto section_of = [&](int element, int component) {
    const int part = component / 6;
    if (section.element != element || section.part != part) {
      section = {element, part, Vector6::Zero()};
      const auto* beam =
          dynamic_cast<const SectionElement*>(mechanism().elements[static_cast<std::size_t>(element)].get());
      const auto place = std::ranges::find(loads_.places, beam, &Place::element);
      if (beam != nullptr && place != loads_.places.end()) {
        const Instant at{
            m.t, m.q.data(), m.v.data(), m.a.data(), lambda.data() + place->row, slots_.data() + place->slot_at};
        section.values = beam->stress(at, part % 2) + (part % 2 == 1 ? 1.0 : -1.0) * distributed_at(*beam, part % 2);
        if (part >= 2) section.values = beam->strain_of(section.values);
      }
    }
    return section.values[component % 6];
  };

  // Events read few quantities and must not allocate; larger sets are written to files.
  constexpr std::size_t few = 32;
  std::array<double, few> some;
  std::vector<double> many(outputs.quantities().size() > few ? outputs.quantities().size() : 0);
  double* const leaves = many.empty() ? some.data() : many.data();
  double* next = leaves;
  for (const Quantity& quantity : outputs.quantities()) {
    const auto put = [&](double value) { *next++ = value; };
    switch (quantity.kind) {
      case Quantity::Kind::time:
        put(m.t);
        break;
      case Quantity::Kind::value:
      case Quantity::Kind::rate:
      case Quantity::Kind::acceleration:
        put(gauged(outputs.gauges()[static_cast<std::size_t>(quantity.index)], quantity.kind));
        break;
      case Quantity::Kind::state:
        put(m.q[blocks[static_cast<std::size_t>(quantity.index)].q_at]);
        break;
      case Quantity::Kind::input:
        put(inputs_.at(quantity.index, m.t, quantity.component));
        break;
      case Quantity::Kind::effort:
        put(of_force(quantity.index, [](const Force& force, const Instant& at) { return force.effort(at); }));
        break;
      case Quantity::Kind::power:
        put(of_force(quantity.index, [](const Force& force, const Instant& at) { return force.power(at); }));
        break;
      case Quantity::Kind::reaction:
        put(reaction_of(quantity.index, quantity.component));
        break;
      case Quantity::Kind::energy: {
        const system::EnergyParts parts = energy_parts(m);
        const double all[] = {parts.kinetic, parts.potential, parts.elastic};
        put(all[quantity.component]);
        break;
      }
      case Quantity::Kind::gap:
        put(gap_of(quantity.index, quantity.component, m));
        break;
      case Quantity::Kind::limit:
        put(push(quantity.index, lambda));
        break;
      case Quantity::Kind::section:
        put(section_of(quantity.index, quantity.component));
        break;
      case Quantity::Kind::active: {
        const std::size_t first = elements().size() - mechanism().limits.size() - mechanism().elements.size();
        put(active_[first + static_cast<std::size_t>(quantity.index)] ? 1.0 : 0.0);
        break;
      }
      case Quantity::Kind::rotation: {
        const auto turn = [&](int body) -> lie::SO3::Point {
          return m.q.segment<4>(blocks[static_cast<std::size_t>(body)].q_at + 3);
        };
        lie::SO3::Point q = turn(quantity.index);
        if (quantity.relative_to != ground) q = lie::SO3::compose(lie::SO3::inverse(turn(quantity.relative_to)), q);
        put(lie::SO3::log(q)[quantity.component]);
        break;
      }
    }
  }
  outputs.program().evaluate(leaves, out.data());
}

}  // namespace kreisel::multibody
