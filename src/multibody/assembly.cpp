#include "kreisel/multibody/assembly.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "kreisel/base/error.hpp"
#include "kreisel/base/workers.hpp"
#include "kreisel/lie/so3.hpp"
#include "kreisel/multibody/rigid_body.hpp"

namespace kreisel::multibody {

using lie::Motion;
using system::CoordinateKind;
using system::KktBlocks;
using system::Pattern;

struct Assembly::Parts {
  explicit Parts(Mechanism given);

  Mechanism mechanism;
  std::vector<Node> nodes;
  lie::Space space;
  std::vector<ElementPtr> elements;  ///< bodies, joints, forces, others
  std::vector<Facets> facets;        ///< by element
  std::vector<std::vector<int>> on;  ///< nodes by element, that of its states last
  std::vector<int> depends_on;       ///< by element: the one whose multipliers it needs, -1: none
};

namespace {

using Map3 = Eigen::Map<const Vector3>;

/// Elements that a thread takes at once.
constexpr int piece_size = 256;

lie::GroupId group_of(const Mechanism& mechanism, const Body& body) {
  const lie::GroupId group = body.group.value_or(mechanism.group);
  if (group != lie::GroupId::se3 && group != lie::GroupId::r3xso3)
    throw InvalidInput(
        fmt::format("mechanism '{}': bodies live on se3 or r3xso3, not on {}", mechanism.name, lie::name_of(group)));
  return group;
}

void check_nodes(const std::vector<Node>& nodes, int bodies, const Element& element, const Facets& facets) {
  std::set<int> seen;
  for (const int n : element.nodes()) {
    if (n < ground || n >= static_cast<int>(nodes.size()))
      throw InvalidInput(fmt::format("'{}' refers to body {}, but there are {}", element.name(), n, nodes.size()));
    if (n == ground) continue;
    if (!seen.insert(n).second)
      throw InvalidInput(fmt::format("'{}' refers to body '{}' twice", element.name(), nodes[n].name));
    if (facets.is_on_bodies && n >= bodies)
      throw InvalidInput(fmt::format("'{}' is written for bodies, and '{}' is none", element.name(), nodes[n].name));
  }
  if (seen.empty()) throw InvalidInput(fmt::format("'{}' touches no body, only the ground", element.name()));
  if (facets.is_on_bodies && element.slots() > max_frames)
    throw InvalidInput(fmt::format(
        "'{}' has {} bodies; elements that are written for bodies have at most {}, those on nodes any number",
        element.name(), element.slots(), max_frames));
}

}  // namespace

Assembly::Parts::Parts(Mechanism given) : mechanism(std::move(given)) {
  if (mechanism.bodies.empty() && mechanism.nodes.empty())
    throw InvalidInput(fmt::format("mechanism '{}' has no bodies", mechanism.name));
  const int bodies = static_cast<int>(mechanism.bodies.size());
  for (int b = 0; b < bodies; ++b) {
    const Body& body = mechanism.bodies[b];
    nodes.push_back({body.name, {group_of(mechanism, body), 0}, CoordinateKind::dynamic});
    elements.push_back(std::make_shared<const RigidBody>(body, b, mechanism.gravity));
  }
  nodes.insert(nodes.end(), mechanism.nodes.begin(), mechanism.nodes.end());
  elements.insert(elements.end(), mechanism.joints.begin(), mechanism.joints.end());
  elements.insert(elements.end(), mechanism.forces.begin(), mechanism.forces.end());
  elements.insert(elements.end(), mechanism.elements.begin(), mechanism.elements.end());

  const std::vector<Node> given_nodes = nodes;
  std::map<const Element*, int> number;
  for (int e = 0; e < static_cast<int>(elements.size()); ++e) number[elements[e].get()] = e;
  for (const ElementPtr& element : elements) {
    const Facets f = element->facets();
    check_nodes(given_nodes, bodies, *element, f);
    depends_on.push_back(-1);
    if (f.multipliers_of != nullptr) {
      if (f.has_mass)
        throw InvalidInput(fmt::format("'{}' has mass and depends on multipliers; expected two elements", element->name()));
      const auto found = number.find(f.multipliers_of);
      if (found == number.end())
        throw InvalidInput(
            fmt::format("'{}' depends on the multipliers of '{}', which does not belong to the mechanism",
                        element->name(), f.multipliers_of->name()));
      if (f.multipliers_of->nodes() != element->nodes())
        throw InvalidInput(fmt::format("'{}' depends on the multipliers of '{}' and must be on the same bodies",
                                       element->name(), f.multipliers_of->name()));
      depends_on.back() = found->second;
    }
    facets.push_back(f);
    on.push_back(element->nodes());
    if (f.states == 0) continue;
    on.back().push_back(static_cast<int>(nodes.size()));
    nodes.push_back({element->name(), {lie::GroupId::rn, f.states}, CoordinateKind::state});
  }
  std::vector<lie::Factor> factors;
  for (const Node& node : nodes) factors.push_back(node.factor);
  space = lie::Space(factors);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const lie::Block& block = space.blocks()[n];
    if ((nodes[n].q0.size() != 0 && nodes[n].q0.size() != block.nq) ||
        (nodes[n].v0.size() != 0 && nodes[n].v0.size() != block.nv))
      throw InvalidInput(fmt::format("node '{}' starts with {} and {} numbers, expected {} and {}", nodes[n].name,
                                     nodes[n].q0.size(), nodes[n].v0.size(), block.nq, block.nv));
  }
}

Assembly::~Assembly() = default;

const Mechanism& Assembly::mechanism() const { return parts_->mechanism; }
const std::vector<ElementPtr>& Assembly::elements() const { return parts_->elements; }

std::optional<lie::GroupId> Assembly::common_group() const {
  std::optional<lie::GroupId> common;
  for (int b = 0; b < body_count(); ++b) {
    const lie::GroupId group = space().blocks()[b].group;
    if (common.value_or(group) != group) return {};
    common = group;
  }
  return common;
}

// ---- which elements

namespace {

/// What depends on the multipliers of an element is off with it.
std::vector<bool> completed(std::vector<bool> active, const std::vector<int>& depends_on) {
  for (std::size_t e = 0; e < active.size(); ++e)
    if (depends_on[e] >= 0 && !active[depends_on[e]]) active[e] = false;
  return active;
}

}  // namespace

Assembly::Assembly(Mechanism mechanism) : Assembly(std::make_shared<const Parts>(std::move(mechanism)), {}) {}

std::shared_ptr<Assembly> Assembly::with(std::vector<bool> active) const {
  const std::vector<ElementPtr>& all = parts_->elements;
  if (active.size() != all.size())
    throw InvalidInput(
        fmt::format("a mask of {} elements for the {} of mechanism '{}'", active.size(), all.size(), mechanism().name));
  for (std::size_t e = 0; e < mechanism().bodies.size(); ++e)
    if (!active[e])
      throw InvalidInput(fmt::format("body '{}' cannot be switched off: it would have no inertia", all[e]->name()));
  return std::shared_ptr<Assembly>(new Assembly(parts_, completed(std::move(active), parts_->depends_on)));
}

std::shared_ptr<Assembly> Assembly::without(const std::vector<std::string>& names) const {
  std::vector<bool> active = active_;
  for (const std::string& name : names) active[element_named(name)] = false;
  return with(std::move(active));
}

int Assembly::element_named(std::string_view name) const {
  std::vector<std::string> known;
  for (std::size_t e = mechanism().bodies.size(); e < elements().size(); ++e) {
    if (elements()[e]->name() == name) return static_cast<int>(e);
    known.push_back(elements()[e]->name());
  }
  throw InvalidInput(unknown_name("joint or force", name, known));
}

// ---- where they stand

/// Rows in the order of the elements, those of position level first.
Pattern Assembly::make_pattern(const Parts& parts, const std::vector<bool>& active) {
  std::vector<system::RowGroup> groups;
  std::vector<std::pair<int, int>> couplings;
  const auto is_active = [&](std::size_t e) { return active.empty() || active[e]; };
  for (const system::RowLevel level : {system::RowLevel::position, system::RowLevel::velocity})
    for (std::size_t e = 0; e < parts.elements.size(); ++e) {
      const Facets& facets = parts.facets[e];
      if (!is_active(e) || facets.rows == 0 || facets.level != level) continue;
      system::RowGroup group{parts.elements[e]->name(), facets.rows, level, {}, 0, facets.is_driver};
      for (const int n : parts.elements[e]->nodes())
        if (n != ground) group.blocks.push_back(n);
      groups.push_back(std::move(group));
    }
  for (std::size_t e = 0; e < parts.elements.size(); ++e) {
    if (!is_active(e)) continue;
    const std::vector<int>& on = parts.on[e];
    const int own = parts.facets[e].states > 0 ? on.back() : ground;
    for (const int a : on)
      for (const int b : on)
        if (a != ground && b != ground && a != b && (parts.facets[e].couples_nodes || a == own || b == own))
          couplings.push_back({a, b});
  }
  std::vector<CoordinateKind> kinds;
  std::vector<std::string> names;
  for (const Node& node : parts.nodes) kinds.push_back(node.kind), names.push_back(node.name);
  return Pattern(parts.space, std::move(groups), couplings, std::move(kinds), std::move(names));
}

Assembly::Assembly(std::shared_ptr<const Parts> parts, std::vector<bool> active)
    : System(parts->space, make_pattern(*parts, active)), parts_(std::move(parts)), active_(std::move(active)) {
  const int count = static_cast<int>(parts_->elements.size());
  if (active_.empty()) active_.assign(count, true);
  std::vector<int> groups(count, -1);  // row group by element
  int group = 0;
  for (const system::RowLevel level : {system::RowLevel::position, system::RowLevel::velocity})
    for (int e = 0; e < count; ++e)
      if (active_[e] && parts_->facets[e].rows > 0 && parts_->facets[e].level == level) groups[e] = group++;
  for (std::size_t n = 0; n < parts_->nodes.size(); ++n)
    if (parts_->nodes[n].kind == CoordinateKind::state) {
      const lie::Block& block = space().blocks()[n];
      const int node = static_cast<int>(n);
      states_.push_back({node, block.group, block.nv, block.q_at, block.v_at, -1});
      state_diagonals_.push_back(pattern().couplings()[pattern().coupling(node, node)].at);
    }
  const std::size_t first_joint = mechanism().bodies.size(), last_joint = first_joint + mechanism().joints.size();
  for (int e = 0; e < count; ++e) {
    const Facets& facets = parts_->facets[e];
    if (!active_[e] && facets.states == 0) continue;
    const Place at = place(e, groups);
    if (facets.states > 0) starting_.push_back(at);
    if (!active_[e]) continue;
    if (facets.has_mass) inertia_.places.push_back(at);
    if (facets.rows > 0) rows_.places.push_back(at);
    if (facets.has_force && !facets.has_mass) loads_.places.push_back(at);
    if (facets.stores_energy) storing_.push_back(at);
    if (facets.does_work) working_.push_back(at);
    if (!at.element->signals().empty()) timed_.push_back(at);
    if (facets.multipliers_of != nullptr) is_affine_ = false;
    if (static_cast<std::size_t>(e) < first_joint || static_cast<std::size_t>(e) >= last_joint) continue;
    connecting_.push_back(at);
    joints_.push_back(mechanism().joints[e - first_joint]);
  }
  needs_newton_ = !is_affine_ || !pattern().is_all_dynamic();
  for (Course* course : {&inertia_, &rows_, &loads_}) course->waves = waves_of(course->places);
}

Assembly::Place Assembly::place(int element, const std::vector<int>& groups) {
  const std::vector<int>& on = parts_->on[element];
  Place out;
  out.element = parts_->elements[element].get();
  out.slot_at = static_cast<int>(slots_.size());
  out.slot_count = static_cast<int>(on.size());
  out.coupling_at = static_cast<int>(couplings_.size());
  const int source = parts_->depends_on[element] >= 0 ? parts_->depends_on[element] : element;
  const int group = groups[source];
  if (group >= 0) {
    out.row = pattern().groups()[group].at;
    out.rows = pattern().groups()[group].rows;
  }
  for (const int a : on) {
    Slot slot;
    slot.node = a;
    if (a != ground) {
      const lie::Block& block = space().blocks()[a];
      slot = {a, block.group, block.nv, block.q_at, block.v_at, -1};
      if (const int touch = group >= 0 ? pattern().touch(group, a) : -1; touch >= 0)
        slot.touch_at = pattern().touches()[touch].at;
    }
    slots_.push_back(slot);
    for (const int b : on) {
      const int coupling = a != ground && b != ground ? pattern().coupling(a, b) : -1;
      couplings_.push_back(coupling >= 0 ? pattern().couplings()[coupling].at : -1);
    }
  }
  return out;
}

/// Every piece joins the first wave that does not touch its nodes yet.
std::vector<std::vector<Assembly::Piece>> Assembly::waves_of(const std::vector<Place>& places) const {
  constexpr int most_waves = 64;
  std::vector<std::vector<Piece>> waves;
  std::vector<std::uint64_t> waves_at(space().blocks().size(), 0);  // one bit per wave
  const int count = static_cast<int>(places.size());
  for (int begin = 0; begin < count; begin += piece_size) {
    const Piece piece{begin, std::min(begin + piece_size, count)};
    const auto for_each_node = [&](const auto& visit) {
      for (int e = piece.begin; e < piece.end; ++e)
        for (int i = 0; i < places[e].slot_count; ++i)
          if (const Slot& slot = slots_[places[e].slot_at + i]; !slot.is_ground()) visit(slot.node);
    };
    std::uint64_t taken = 0;
    for_each_node([&](int node) { taken |= waves_at[node]; });
    const auto wave = static_cast<std::size_t>(std::countr_one(taken));
    if (wave >= most_waves) {  // of a node with very many elements: one after the other
      waves.resize(std::max<std::size_t>(waves.size(), most_waves));
      waves.push_back({piece});
      continue;
    }
    for_each_node([&](int node) { waves_at[node] |= std::uint64_t{1} << wave; });
    if (waves.size() <= wave) waves.resize(wave + 1);
    waves[wave].push_back(piece);
  }
  return waves;
}

// ---- the equations

template <class Each>
void Assembly::sweep(const Course& course, const Motion& m, const double* lambda, const Each& each) const {
  for (const auto& wave : course.waves)
    share(static_cast<int>(wave.size()), [&](int piece) {
      BodyStates bodies;
      Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), lambda, nullptr, &bodies};
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
  Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), lambda, nullptr, &bodies};
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
  sweep(inertia_, m, nullptr, [&](const Place& p, const Instant& at) { p.element->add_force(at, forces_of(p, out)); });
}

void Assembly::add_forces(const Motion& m, ConstVectorRef lambda, VectorRef out) const {
  sweep(loads_, m, lambda.data(),
        [&](const Place& p, const Instant& at) { p.element->add_force(at, forces_of(p, out)); });
}

void Assembly::residual(const Motion& m, ConstVectorRef lambda, system::Residual& out) const {
  store_inertia_forces(m, out.force);
  sweep(rows_, m, lambda.data(), [&](const Place& p, const Instant& at) {
    p.element->constraint_with_force(at, gap_of(p, out), out.rate.data() + p.row, forces_of(p, out.force));
  });
  add_forces(m, lambda, out.force);
}

void Assembly::constraints(const Motion& m, ConstVectorRef, system::Residual& out) const {
  sweep(rows_, m, nullptr, [&](const Place& p, const Instant& at) {
    p.element->constraint(at, gap_of(p, out), out.rate.data() + p.row);
  });
}

void Assembly::constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const {
  out.setZero();
  sweep(rows_, m, mu.data(),
        [&](const Place& p, const Instant& at) { p.element->add_constraint_force(at, at.lambda, forces_of(p, out)); });
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
  out.M.setZero();
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
  out.D.setZero();
  out.K.setZero();
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

// ---- energy and time

double Assembly::energy(const Motion& m) const {
  const system::EnergyParts parts = energy_parts(m);
  return parts.kinetic + parts.potential + parts.elastic;
}

system::EnergyParts Assembly::energy_parts(const Motion& m) const {
  system::EnergyParts parts;
  visit(storing_, m, nullptr, [&](const Place& p, const Instant& at) { p.element->add_energy(at, parts); });
  return parts;
}

system::Power Assembly::power(const Motion& m, ConstVectorRef lambda) const {
  system::Power power;
  visit(working_, m, lambda.data(), [&](const Place& p, const Instant& at) { p.element->add_power(at, power); });
  return power;
}

system::Corner Assembly::next_corner(double t, double until, double resolution) const {
  system::Corner first;
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
      const std::string owner = fmt::format("{} '{}'", p.rows > 0 ? "driver" : "force", p.element->name());
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

/// The rates are what balances the rows v - f of a state.
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
  for (const Slot& state : states_) {
    q.segment(state.q_at, state.nv) = m.q.segment(state.q_at, state.nv);
    v.segment(state.v_at, state.nv) = -force.segment(state.v_at, state.nv);
  }
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
  visit({&connecting_.at(joint), 1}, m, lambda.data(),
        [&](const Place&, const Instant& at) { reaction = joints_[joint]->reaction(at); });
  return reaction;
}

}  // namespace kreisel::multibody
