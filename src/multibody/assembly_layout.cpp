// Which elements an assembly has, and their places in the equations.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "kreisel/error.hpp"
#include "multibody/element_pair.hpp"
#include "multibody/law.hpp"
#include "multibody/line_load.hpp"
#include "multibody/rigid_body.hpp"
#include "multibody/rolling.hpp"
#include "parts.hpp"

namespace kreisel::multibody {

using system::CoordinateKind;
using system::Pattern;

namespace {

/// Elements that a thread takes at once.
constexpr int piece_size = 256;

lie::GroupId group_of(const Mechanism& mechanism, const Body& body) {
  const lie::GroupId group = body.group.value_or(mechanism.group);
  if (group != lie::GroupId::se3 && group != lie::GroupId::r3xso3)
    throw InvalidInput(fmt::format("mechanism '{}', body '{}': the group of a body is se3 or r3xso3, not {}",
                                   mechanism.name, body.name, lie::name_of(group)));
  return group;
}

/// A pair that another list owns.
class BorrowedPair final : public ElementPair {
 public:
  explicit BorrowedPair(const ElementPair& pair) : pair_(pair) {}
  void add_force(const lie::Motion& m, double* force) const override { pair_.add_force(m, force); }
  void add_energy(const lie::Motion& m, system::EnergyParts& parts) const override { pair_.add_energy(m, parts); }

 private:
  const ElementPair& pair_;
};

void check_nodes(const std::vector<Node>& nodes, int bodies, const Element& element, const Facets& facets) {
  std::set<int> seen;
  for (const int n : element.nodes()) {
    if (n < ground || n >= static_cast<int>(nodes.size()))
      throw InvalidInput(fmt::format("'{}' refers to {} {}, but there are {}", element.name(),
                                     static_cast<int>(nodes.size()) == bodies ? "body" : "node", n, nodes.size()));
    if (n == ground) continue;
    if (!seen.insert(n).second)
      throw InvalidInput(fmt::format("'{}' refers to '{}' twice", element.name(), nodes[n].name));
    const lie::GroupId group = nodes[n].factor.group;
    if (facets.is_on_frames && group != lie::GroupId::se3 && group != lie::GroupId::r3xso3)
      throw InvalidInput(fmt::format("'{}' connects bodies on se3 or r3xso3, but '{}' is on {}", element.name(),
                                     nodes[n].name, lie::name_of(group)));
  }
  if (seen.empty()) throw InvalidInput(fmt::format("'{}' touches no body, only the ground", element.name()));
  if (facets.is_on_frames && element.slots() > max_frames)
    throw InvalidInput(fmt::format(
        "'{}' has {} bodies, at most {} are possible; an element that is written on nodes may have any number",
        element.name(), element.slots(), max_frames));
}

}  // namespace

Assembly::Parts::Parts(Mechanism given) : mechanism(std::move(given)) {
  for (const Input& input : mechanism.inputs) inputs.push_back(input.info);
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
  first_rolling = elements.size();
  for (std::size_t j = 0; j < mechanism.joints.size(); ++j)
    if (mechanism.joints[j] != nullptr && mechanism.joints[j]->rolling() != nullptr) {
      rolling.push_back(static_cast<int>(j));
      elements.push_back(mechanism.joints[j]->rolling());
    }
  elements.insert(elements.end(), mechanism.elements.begin(), mechanism.elements.end());
  for (const Limit& limit : mechanism.limits) elements.push_back(row_of(limit));

  if (std::find(elements.begin(), elements.end(), nullptr) != elements.end())
    throw InvalidInput(
        fmt::format("mechanism '{}' has an empty pointer among its joints, forces or elements", mechanism.name));
  const std::vector<Node> given_nodes = nodes;
  std::map<const Element*, int> number;
  for (int e = 0; e < static_cast<int>(elements.size()); ++e) number[elements[e].get()] = e;
  for (const ElementPtr& element : elements) {
    const Facets f = element->facets();
    check_nodes(given_nodes, bodies, *element, f);
    depends_on.push_back(-1);
    if (f.multipliers_of != nullptr) {
      if (f.has_mass)
        throw InvalidInput(
            fmt::format("'{}' has mass and depends on multipliers; expected two elements", element->name()));
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
const std::vector<system::InputInfo>& Assembly::inputs() const { return parts_->inputs; }

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

/// Elements that depend on the multipliers of another one are off with it.
std::vector<bool> completed(std::vector<bool> active, const std::vector<int>& depends_on) {
  for (std::size_t e = 0; e < active.size(); ++e)
    if (depends_on[e] >= 0 && !active[depends_on[e]]) active[e] = false;
  return active;
}

}  // namespace

Assembly::Assembly(Mechanism mechanism) : Assembly(std::make_shared<const Parts>(std::move(mechanism)), {}) {
  if (limit_count() == 0) return;
  set_result_layout(std::shared_ptr<Assembly>(new Assembly(parts_, std::vector<bool>(elements().size(), true))));
}

std::shared_ptr<Assembly> Assembly::with(std::vector<bool> active) const {
  const std::vector<ElementPtr>& all = parts_->elements;
  if (active.size() != all.size())
    throw InvalidInput(
        fmt::format("a mask of {} elements for the {} of mechanism '{}'", active.size(), all.size(), mechanism().name));
  for (std::size_t e = 0; e < mechanism().bodies.size(); ++e)
    if (!active[e])
      throw InvalidInput(fmt::format("body '{}' cannot be switched off: it would have no inertia", all[e]->name()));
  for (std::size_t i = 0; i < parts_->rolling.size(); ++i)
    active[parts_->first_rolling + i] =
        active[mechanism().bodies.size() + static_cast<std::size_t>(parts_->rolling[i])];
  for (int i = 0; i < limit_count(); ++i)
    if (!active[mechanism().bodies.size() + static_cast<std::size_t>(limit(i).joint)])
      active[static_cast<std::size_t>(row_element(i))] = false;
  std::shared_ptr<Assembly> next(new Assembly(parts_, completed(std::move(active), parts_->depends_on), inputs_.set()));
  return next;
}

std::shared_ptr<const system::System> Assembly::with_inputs(std::shared_ptr<const system::SetInputs> set) const {
  if (parts_->inputs.empty()) return nullptr;
  std::shared_ptr<Assembly> next(new Assembly(parts_, active_, std::move(set)));
  next->take_events_and_layout_of(*this);
  if (gives_events_) gives_events_(*next);
  return next;
}

std::shared_ptr<Assembly> Assembly::without(const std::vector<std::string>& names) const {
  std::vector<bool> active = active_;
  for (const std::string& name : names) active[element_named(name)] = false;
  return with(std::move(active));
}

int Assembly::element_named(std::string_view name) const {
  int found = -1;
  std::vector<std::string> known;
  for (std::size_t e = mechanism().bodies.size(); e < elements().size() - mechanism().limits.size(); ++e) {
    if (e >= parts_->first_rolling && e < parts_->first_rolling + parts_->rolling.size()) continue;
    known.push_back(elements()[e]->name());
    if (known.back() != name) continue;
    if (found >= 0)
      throw InvalidInput(fmt::format("both a {} and a {} have the name '{}'; expected one of that name",
                                     elements()[found]->type(), elements()[e]->type(), name));
    found = static_cast<int>(e);
  }
  if (found < 0) throw InvalidInput(unknown_name("joint or force", name, known));
  return found;
}

// ---- their places

/// Rows in the order of the elements, those of position level first.
Pattern Assembly::make_pattern(const Parts& parts, const std::vector<bool>& active) {
  std::vector<system::RowGroup> groups;
  std::vector<std::pair<int, int>> couplings;
  const std::size_t first_limit = parts.elements.size() - parts.mechanism.limits.size();
  const auto is_active = [&](std::size_t e) { return active.empty() ? e < first_limit : active[e]; };
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

Assembly::Assembly(std::shared_ptr<const Parts> parts, std::vector<bool> active,
                   std::shared_ptr<const system::SetInputs> set)
    : System(parts->space, make_pattern(*parts, active)),
      parts_(std::move(parts)),
      inputs_(parts_->mechanism.inputs, std::move(set)),
      active_(std::move(active)) {
  const int count = static_cast<int>(parts_->elements.size());
  if (active_.empty()) {
    active_.assign(count, true);
    for (int i = 0; i < limit_count(); ++i) active_[static_cast<std::size_t>(row_element(i))] = false;
  }
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
  const std::size_t first_other = last_joint + mechanism().forces.size();  // may have corners without signals
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
    if (!at.element->signals().empty() || static_cast<std::size_t>(e) >= first_other) timed_.push_back(at);
    if (facets.multipliers_of != nullptr) is_affine_ = false;
    if (const auto* law = dynamic_cast<const Law*>(at.element); law != nullptr && law->reads_inputs())
      reading_inputs_.push_back(at);
    if (dynamic_cast<const LineLoad*>(at.element) != nullptr) line_loads_.push_back(at);
    if (const auto* kinked = dynamic_cast<const Kinked*>(at.element); kinked != nullptr && kinked->kink_count() > 0) {
      kinked_.push_back(at);
      kink_count_ += kinked->kink_count();
    }
    if (static_cast<std::size_t>(e) < first_joint || static_cast<std::size_t>(e) >= last_joint) continue;
    connecting_.push_back(at);
    rolling_.push_back(-1);
    joints_.push_back(mechanism().joints[e - first_joint]);
  }
  for (std::size_t i = 0; i < parts_->rolling.size(); ++i) {
    const Element* element = parts_->elements[parts_->first_rolling + i].get();
    const auto at = std::ranges::find(rows_.places, element, &Place::element);
    const auto joint = std::ranges::find(joints_, mechanism().joints[static_cast<std::size_t>(parts_->rolling[i])]);
    if (at != rows_.places.end() && joint != joints_.end())
      rolling_[static_cast<std::size_t>(joint - joints_.begin())] = static_cast<int>(at - rows_.places.begin());
  }
  needs_newton_ = !is_affine_ || !pattern().is_all_dynamic();
  for (Course* course : {&inertia_, &rows_, &loads_}) course->waves = waves_of(course->places);
  for (Course* course : {&inertia_, &loads_}) course->pairs = pairs_of(course->places);
  // Most have their forces in pairs as well: of large mechanisms a second copy of their numbers would be felt.
  std::map<std::pair<const Element*, const Element*>, const ElementPair*> owned;
  for (const Course* course : {&inertia_, &loads_})
    for (std::size_t e = 0; e + 1 < course->places.size(); ++e)
      if (course->pairs[e] != nullptr)
        owned[{course->places[e].element, course->places[e + 1].element}] = course->pairs[e].get();
  storing_pairs_.resize(storing_.size());
  for (std::size_t e = 0; e + 1 < storing_.size(); ++e)
    if (const auto found = owned.find({storing_[e].element, storing_[e + 1].element}); found != owned.end())
      storing_pairs_[e++] = std::make_unique<BorrowedPair>(*found->second);
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

Assembly::Pairs Assembly::pairs_of(const std::vector<Place>& places) const {
  Pairs pairs(places.size());
  for (std::size_t e = 0; e + 1 < places.size(); ++e) {
    const bool is_split = (e + 1) % piece_size == 0;  // a thread takes each
    const auto* first = is_split ? nullptr : dynamic_cast<const Pairable*>(places[e].element);
    if (first == nullptr) continue;
    const Slot* slots = slots_.data();
    pairs[e] = first->pair_with(*places[e + 1].element, slots + places[e].slot_at, slots + places[e + 1].slot_at);
    if (pairs[e] != nullptr) ++e;
  }
  return pairs;
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

}  // namespace kreisel::multibody
