#include "multibody/law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "looks.hpp"
#include "multibody/inputs.hpp"

namespace kreisel::multibody {

using Kind = Quantity::Kind;

namespace {

/// Leaves that one law can read.
constexpr int max_leaves = 64;

/// A gauge sees its two bodies as the slots 0 and 1.
class Pair {
 public:
  Pair(const BodyState* s, const std::array<int, 2>& slots) : states_(s) {
    if (slots[0] == 0 && slots[1] == 1) return;
    copies_[0] = s[slots[0]];
    copies_[1] = s[slots[1]];
    states_ = copies_.data();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  const BodyState* states() const { return states_; }

 private:
  std::array<BodyState, 2> copies_;
  const BodyState* states_;
};

// Nodes and weights of Gauss and Kronrod with 15 points (Piessens, de Doncker-Kapenga, Überhuber, Kahaner 1983:
// QUADPACK).
constexpr std::array<double, 8> kronrod_nodes{0.991455371120812639206854697526329, 0.949107912342758524526189684047851,
                                              0.864864423359769072789712788640926, 0.741531185599394439863864773280788,
                                              0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
                                              0.207784955007898467600689403773245, 0.0};
constexpr std::array<double, 8> kronrod_weights{
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714};
constexpr std::array<double, 4> gauss_weights{0.129484966168869693270611432679082, 0.279705391489276667901467771423780,
                                              0.381830050505118944950369775488975, 0.417959183673469387755102040816327};

constexpr int kronrod_points = 15;
/// Of the polynomial through the nodes, in increasing order: its value at the right end.
constexpr std::array<double, kronrod_points> end_weights = [] {
  std::array<double, kronrod_points> node{}, weight{};
  for (int i = 0; i < kronrod_points; ++i) node[i] = i < 7 ? -kronrod_nodes[i] : kronrod_nodes[14 - i];
  for (int i = 0; i < kronrod_points; ++i) {
    weight[i] = 1.0;
    for (int j = 0; j < kronrod_points; ++j)
      if (j != i) weight[i] *= (1.0 - node[j]) / (node[i] - node[j]);
  }
  return weight;
}();

/// ∫ f over (a, b); halves are divided until the two rules agree to round-off, and the ends with the values extrapolated from the nodes:
/// a stop that is just touched lies between the last node and the end.
template <class F>
double integral(const F& f, double a, double b, double size, int depth) {
  const double middle = 0.5 * (a + b), half = 0.5 * (b - a), centre = f(middle);
  double kronrod = kronrod_weights[7] * centre, gauss = gauss_weights[3] * centre, scale = std::abs(kronrod);
  double at_a = end_weights[7] * centre, at_b = at_a;
  for (int i = 0; i < 7; ++i) {
    const double left = f(middle - half * kronrod_nodes[i]), right = f(middle + half * kronrod_nodes[i]);
    kronrod += kronrod_weights[i] * (left + right);
    scale += kronrod_weights[i] * (std::abs(left) + std::abs(right));
    if (i % 2 == 1) gauss += gauss_weights[i / 2] * (left + right);
    at_a += end_weights[i] * right + end_weights[14 - i] * left;
    at_b += end_weights[i] * left + end_weights[14 - i] * right;
  }
  const double beyond = (1.0 - kronrod_nodes[0]) * (std::abs(f(a) - at_a) + std::abs(f(b) - at_b));
  const double found = half * kronrod, largest = std::max(size, std::abs(half) * scale);
  // The difference is that of the rule of 7 points; what 15 points miss is far less.
  const double missed = std::abs(half) * std::max(std::abs(kronrod - gauss), beyond);
  if (depth == 0 || !(missed > 1e-11 * largest)) return found;
  return integral(f, a, middle, largest, depth - 1) + integral(f, middle, b, largest, depth - 1);
}

}  // namespace

// ---- formulas

int Formulas::add(Gauge gauge) {
  gauges_.push_back(std::move(gauge));
  return static_cast<int>(gauges_.size()) - 1;
}

const formula::Curve* Formulas::add(std::shared_ptr<const formula::Curve> curve) {
  curves_.push_back(curve);
  return curve.get();
}

const formula::Function* Formulas::add(std::shared_ptr<const formula::Function> function) {
  curves_.push_back(function);
  return function.get();
}

double TableCurve::at(double x, int derivative) const {
  const Jet jet = signal_.at(x);
  return derivative == 0 ? jet.value : derivative == 1 ? jet.rate : derivative == 2 ? jet.curve : 0.0;
}

Formulas::Node Formulas::leaf(const Quantity& quantity) {
  const auto [at, is_new] = numbers_.insert({quantity, static_cast<int>(quantities_.size())});
  if (is_new) quantities_.push_back(quantity);
  return graph_.leaf(at->second);
}

Formulas::Node Formulas::rate_of(Node node) {
  return graph_.rate(node, [&](int leaf) -> Node {
    const Quantity of = quantity(leaf);
    switch (of.kind) {
      case Kind::time:
        return graph_.number(1.0);
      case Kind::value:
        return this->leaf({Kind::rate, of.index});
      case Kind::rate:
        return this->leaf({Kind::acceleration, of.index});
      case Kind::state:
        return rate_of_state(of.index);
      case Kind::input:
        if (of.component < 2) return this->leaf({Kind::input, of.index, of.component + 1});
        throw InvalidInput("has no rate: an input has only two known derivatives");
      case Kind::acceleration:
        throw InvalidInput("has no rate: it depends on an acceleration");
      case Kind::effort:
      case Kind::power:
      case Kind::reaction:
      case Kind::limit:
        throw InvalidInput("has no rate: it depends on a force or a reaction");
      case Kind::energy:
        throw InvalidInput("has no rate: it depends on the energy");
      case Kind::rotation:
        throw InvalidInput("has no rate: it depends on a rotation");
      case Kind::gap:
        throw InvalidInput("has no rate: it depends on the gap of a contact");
      case Kind::section:
        throw InvalidInput("has no rate: it depends on the stress of a rod");
      case Kind::active:
        return this->graph().number(0.0);
    }
    throw InvalidInput("has no rate that follows from the motion");
  });
}

Formulas::Node Formulas::rate_of_state(int state) {
  const auto found = rates_.find(state);
  if (found == rates_.end() || !found->second.make) throw InvalidInput("has no rate that follows from the motion");
  Rate& rate = found->second;
  if (rate.node != formula::Graph::none) return rate.node;
  if (rate.is_in_work) throw InvalidInput("has a rate that depends on itself");
  rate.is_in_work = true;
  try {
    rate.node = rate.make();
  } catch (...) {
    rate.is_in_work = false;
    throw;
  }
  rate.is_in_work = false;
  return rate.node;
}

// ---- laws

namespace {

/// Parts of a node with corners or peaks that are functions of time alone; parts that cannot be written as a formula are skipped.
std::vector<Signal> timed_parts(Formulas& formulas, Formulas::Node node) {
  std::vector<Signal> parts;
  formula::Graph& graph = formulas.graph();
  const int time = graph.leaves_of(formulas.leaf({Kind::time}))[0];
  for (const Formulas::Node part : graph.parts_of(node, time)) {
    const std::string text = graph.text_of(part, "t");
    // Corners, or narrow peaks.
    constexpr std::array signs{"abs(", "sign(", "min(", "max(", "exp(", "tanh(", "cosh(", "sinh(", "atan(", "/", "^"};
    if (std::ranges::none_of(signs, [&](const char* sign) { return text.find(sign) != std::string::npos; })) continue;
    try {
      parts.emplace_back(Expression(text));
    } catch (const InvalidInput&) {  // nested deeper, or longer, than a formula in t may be
    }
  }
  // Tables of time have corners at their points; of a function of time, where it passes them.
  constexpr std::size_t most_points = 200;
  for (const auto& [argument, curve] : graph.curves_of(node)) {
    const auto* table = dynamic_cast<const TableCurve*>(curve);
    if (table == nullptr || graph.leaves_of(argument) != std::vector{time}) continue;
    const std::string text = graph.text_of(argument, "t");
    if (text == "t") {
      parts.push_back(table->signal());
      continue;
    }
    const std::vector<double> points = table->signal().points();
    for (std::size_t i = 0; i < std::min(points.size(), most_points) && !text.empty(); ++i) try {
        parts.emplace_back(Expression(fmt::format("abs({} - ({:.17g}))", text, points[i])));
      } catch (const InvalidInput&) {
      }
  }
  return parts;
}

}  // namespace

/// What a law is made of.
struct Law::Plan {
  std::vector<Formulas::Node> values{};
  std::vector<int> gauges{};  ///< by value
  int state = -1;             ///< whose rate is the only value; there is no gauge then
  bool drives = false;
  double factor = 1.0, x0 = 0.0, starts = 0.0;
  std::vector<int> nodes{};  ///< by slot
  int bodies = 0;
  std::map<int, int> slot_of, seen_of{};  ///< of nodes; of gauges
};

namespace {

/// The gauges and states that a node reads.
void needs_of(const Formulas& formulas, Formulas::Node node, std::vector<int>& gauges, std::vector<int>& states) {
  const auto add = [](std::vector<int>& list, int entry) {
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
  };
  for (const int leaf : formulas.graph().leaves_of(node)) {
    const Quantity& quantity = formulas.quantity(leaf);
    switch (quantity.kind) {
      case Kind::time:
      case Kind::input:
        break;
      case Kind::value:
        add(gauges, quantity.index);
        if (const int turns = formulas.gauges()[static_cast<std::size_t>(quantity.index)].turns; turns >= 0)
          add(states, turns);
        break;
      case Kind::rate:
        add(gauges, quantity.index);
        break;
      case Kind::state:
        add(states, quantity.index);
        break;
      default:
        throw InvalidInput(
            "depends on an acceleration, a force, a reaction, an energy, a rotation or a gap, which follow from what "
            "is "
            "defined here; expected a formula of t, positions, velocities and states");
    }
  }
}

}  // namespace

std::shared_ptr<const Law> Law::along(std::string type, std::string name, Formulas& formulas, Formulas::Node value,
                                      int gauge, Sense sense, double x0, double starts, bool drives) {
  Plan plan{.values = {value},
            .gauges = {gauge},
            .drives = drives,
            .factor = sense == Sense::pulls ? 1.0 : -1.0,
            .x0 = x0,
            .starts = starts,
            .slot_of = {}};
  return std::shared_ptr<const Law>(new Law(std::move(type), std::move(name), formulas, std::move(plan)));
}

std::shared_ptr<const Law> Law::driving(std::string type, std::string name, Formulas& formulas,
                                        const std::vector<Component>& components) {
  Plan plan{.drives = true, .factor = -1.0, .slot_of = {}};
  for (const Component& component : components) {
    plan.values.push_back(component.value);
    plan.gauges.push_back(component.gauge);
  }
  return std::shared_ptr<const Law>(new Law(std::move(type), std::move(name), formulas, std::move(plan)));
}

std::shared_ptr<const Law> Law::rate(std::string name, Formulas& formulas, Formulas::Node value, int state) {
  Plan plan{.values = {value}, .state = state, .slot_of = {}};
  return std::shared_ptr<const Law>(new Law("state", std::move(name), formulas, std::move(plan)));
}

namespace {

template <class Plan>
std::vector<int> completed(const Formulas& formulas, Plan& plan) {
  std::vector<int> gauges = plan.gauges, states;
  if (plan.state >= 0) states.push_back(plan.state);
  for (const Formulas::Node value : plan.values) needs_of(formulas, value, gauges, states);
  for (std::size_t i = 0; i < gauges.size(); ++i) {
    plan.seen_of[gauges[i]] = static_cast<int>(i);
    for (const int body : formulas.gauges()[static_cast<std::size_t>(gauges[i])].bodies)
      if (plan.slot_of.insert({body, static_cast<int>(plan.nodes.size())}).second) plan.nodes.push_back(body);
  }
  plan.bodies = static_cast<int>(plan.nodes.size());
  if (plan.bodies > max_frames)
    throw InvalidInput(
        fmt::format("reads the positions of {} bodies, at most {} are possible in one law", plan.bodies, max_frames));
  for (const int state : states) {
    plan.slot_of[state] = static_cast<int>(plan.nodes.size());
    plan.nodes.push_back(state);
  }
  return plan.nodes;
}

}  // namespace

Law::Law(std::string type, std::string name, Formulas& formulas, Plan plan)
    : Element(std::move(type), std::move(name), completed(formulas, plan)),
      bodies_(plan.bodies),
      components_(plan.values.size()),
      factor_(plan.factor),
      x0_(plan.x0),
      curves_(formulas.curves()) {
  seen_.resize(plan.seen_of.size());
  for (const auto& [gauge, at] : plan.seen_of) {
    const Gauge& of = formulas.gauges()[static_cast<std::size_t>(gauge)];
    Seen& seen = seen_[static_cast<std::size_t>(at)];
    seen.measure = of.measure;
    for (const std::size_t i : {0, 1}) seen.slots[i] = plan.slot_of.at(of.bodies[i]);
    if (const auto turns = plan.slot_of.find(of.turns); of.turns >= 0 && turns != plan.slot_of.end())
      seen.turns = turns->second;
  }
  if (plan.state >= 0) state_ = plan.slot_of.at(plan.state);

  formula::Graph& graph = formulas.graph();
  value_ = formula::Program(graph, plan.values);
  if (value_.leaves().size() > max_leaves)
    throw InvalidInput(
        fmt::format("reads {} quantities, at most {} are possible in one law", value_.leaves().size(), max_leaves));
  std::vector<Formulas::Node> all = plan.values;
  for (const Formulas::Node value : plan.values)
    for (const int leaf : value_.leaves()) all.push_back(graph.derivative(value, leaf));
  // The values are differentiated by their leaves, in their order; derivatives read no others.
  gradient_ = formula::Program(graph, all);
  value_reads_ = readings_of(value_, formulas, plan);
  gradient_reads_ = readings_of(gradient_, formulas, plan);
  for (const Formulas::Node value : plan.values)
    for (Signal& part : timed_parts(formulas, value)) timed_.push_back(std::move(part));
  set_kinks(formulas, plan);
  if (plan.gauges.empty()) return;
  if (components_ > 1) {
    spends_ = true;
    spent_ = value_;
    spent_reads_ = value_reads_;
    return;
  }
  const Formulas::Node value = plan.values[0];
  const Formulas::Node x = formulas.leaf({Kind::value, plan.gauges[0]}),
                       v = formulas.leaf({Kind::rate, plan.gauges[0]});
  const int own = graph.leaves_of(x)[0], own_rate = graph.leaves_of(v)[0];
  Formulas::Node rest = formula::Graph::none;
  Formulas::Node stored = graph.part_of_leaf(value, own, rest);
  // A constant does work: its potential would have to count the turns of an angle that nothing else needs.
  const LawInfo* info = find_law(this->type());
  const bool drives =
      plan.drives || (info != nullptr && info->drives) || (graph.is_number(stored) && graph.value_of(stored) != 0.0);
  if (drives) stored = graph.number(0.0), rest = value;
  stores_ = !graph.is_number(stored);
  spends_ = !graph.is_number(rest) || graph.value_of(rest) != 0.0;
  stored_ = formula::Program(graph, std::array{stored});
  if (stores_) {
    double at_x0 = 0.0;
    stored_.evaluate(&x0_, &at_x0);
    if (at_x0 != 0.0 && std::isfinite(plan.starts)) x0_ = plan.starts;
  }
  spent_ = formula::Program(graph, std::array{rest});
  spent_reads_ = readings_of(spent_, formulas, plan);
  const std::vector<int> leaves = graph.leaves_of(rest);
  dissipates_ = !drives && std::ranges::all_of(leaves, [&](int leaf) { return leaf == own || leaf == own_rate; });
}

void Law::set_kinks(Formulas& formulas, const Plan& plan) {
  formula::Graph& graph = formulas.graph();
  std::vector<Formulas::Node> coordinates;
  for (const Formulas::Node value : plan.values) {
    for (const formula::Graph::Kink& kink : graph.kinks_of(value)) {
      const bool moves = std::ranges::any_of(graph.leaves_of(kink.argument), [&](int leaf) {
        const Kind kind = formulas.quantity(leaf).kind;
        return kind != Kind::time && kind != Kind::input;
      });
      if (!moves) continue;
      coordinates.push_back(kink.argument);
      kinks_.push_back(kink.curve);
    }
    jumps_ = jumps_ || graph.jumps(value);
  }
  kink_program_ = formula::Program(graph, coordinates);
  kink_reads_ = readings_of(kink_program_, formulas, plan);
}

std::vector<Law::Reading> Law::readings_of(const formula::Program& program, const Formulas& formulas,
                                           const Plan& plan) const {
  std::vector<Reading> readings;
  for (const int leaf : program.leaves()) {
    const Quantity& quantity = formulas.quantity(leaf);
    Reading reading{.kind = quantity.kind};
    if (quantity.kind == Kind::value || quantity.kind == Kind::rate) reading.index = plan.seen_of.at(quantity.index);
    if (quantity.kind == Kind::state) reading.index = plan.slot_of.at(quantity.index);
    if (quantity.kind == Kind::input) {
      reading.index = quantity.index;
      reading.derivative = quantity.component;
    }
    readings.push_back(reading);
  }
  return readings;
}

Facets Law::facets() const { return {.has_force = true, .stores_energy = stores_, .does_work = spends_}; }

double Law::value_of(const Instant& at, const BodyState* s, const Seen& seen) const {
  const double value = seen.measure->value(Pair(s, seen.slots).states());
  return seen.turns >= 0 ? unwrapped(value, *at.q_of(seen.turns)) : value;
}

void Law::read(const std::vector<Reading>& readings, const Instant& at, const BodyState* s, double* values) const {
  for (const Reading& reading : readings) {
    switch (reading.kind) {
      case Kind::time:
        *values = at.t;
        break;
      case Kind::state:
        *values = *at.q_of(reading.index);
        break;
      case Kind::input:
        *values = at.inputs->at(reading.index, at.t, reading.derivative);
        break;
      case Kind::value:
        *values = value_of(at, s, seen_[static_cast<std::size_t>(reading.index)]);
        break;
      default: {
        const Seen& seen = seen_[static_cast<std::size_t>(reading.index)];
        *values = seen.measure->rate(Pair(s, seen.slots).states());
      }
    }
    ++values;
  }
}

Law::Values Law::evaluated(const formula::Program& program, const std::vector<Reading>& readings, const Instant& at,
                           const BodyState* s) const {
  std::array<double, max_leaves> leaves;
  Values values;
  read(readings, at, s, leaves.data());
  program.evaluate(leaves.data(), values.data());
  return values;
}

bool Law::has_gauges_of(const Law& other, const Instant& at) const {
  if (seen_.size() != other.seen_.size() || bodies_ != other.bodies_) return false;
  const Frames frames(at, bodies_);
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    const Seen &a = seen_[i], &b = other.seen_[i];
    if (a.slots != b.slots || a.turns != b.turns) return false;
    const Pair pair(frames.states(), a.slots);
    const BodyState* s = pair.states();
    if (a.measure->value(s) != b.measure->value(s) || a.measure->rate(s) != b.measure->rate(s)) return false;
    Slopes of_a, of_b;
    set_zero(of_a, 2);
    set_zero(of_b, 2);
    a.measure->add_slopes(s, 1.0, of_a);
    b.measure->add_slopes(s, 1.0, of_b);
    if (of_a[0] != of_b[0] || of_a[1] != of_b[1]) return false;
  }
  return true;
}

bool Law::reads_inputs() const {
  return std::ranges::any_of(value_reads_, [](const Reading& reading) { return reading.kind == Kind::input; });
}

double Law::effort(const Instant& at) const {
  return evaluated(value_, value_reads_, at, Frames(at, bodies_).states())[0];
}

void Law::add_force(const Instant& at, const Forces& out) const {
  const Frames frames(at, bodies_);
  const Values values = evaluated(value_, value_reads_, at, frames.states());
  if (state_ >= 0) {
    *out.of(state_) -= values[0];
    return;
  }
  Slopes wrench;
  set_zero(wrench, bodies_);
  for (std::size_t c = 0; c < components_; ++c)
    seen_[c].measure->add_slopes(frames.states(), factor_ * values[c], wrench);
  frames.add_wrench(wrench, out);
}

/// g = τ ∂ξ: K = ∂ξ (∂τ)ᵀ + τ ∂²ξ with ∂τ = Σ τ_ξ ∂ξ + τ_ξ̇ ∂ξ̇ over the gauges it reads, D = ∂ξ (∂_v τ)ᵀ.
void Law::linearize(const Instant& at, const Blocks& out) const {
  const Frames frames(at, bodies_);
  const BodyState* s = frames.states();
  const int n = bodies_, all = slots();
  std::array<double, max_leaves> leaves;
  std::array<double, max_components*(max_leaves + 1)> results;
  read(gradient_reads_, at, s, leaves.data());
  gradient_.evaluate(leaves.data(), results.data());
  Slopes wrench;
  Curvature K, D;
  if (state_ < 0) {
    set_zero(wrench, n);
    K.set_zero(n);
    D.set_zero(n);
  }
  for (std::size_t c = 0; c < components_; ++c) {
    const double value = results[c];
    const double* const derivatives = results.data() + components_ + c * value_reads_.size();

    Slopes by_q, by_v;
    set_zero(by_q, n);
    set_zero(by_v, n);
    std::array<double, max_leaves + max_frames> by_state;
    std::fill_n(by_state.begin(), all, 0.0);
    for (std::size_t k = 0; k < value_reads_.size(); ++k) {
      const Reading& reading = value_reads_[k];
      const double slope = derivatives[k];
      if (reading.kind == Kind::time || reading.kind == Kind::input || slope == 0.0) continue;
      if (reading.kind == Kind::state) {
        by_state[static_cast<std::size_t>(reading.index)] += slope;
        continue;
      }
      const Seen& seen = seen_[static_cast<std::size_t>(reading.index)];
      const Pair pair(s, seen.slots);
      Slopes slopes;
      set_zero(slopes, 2);
      seen.measure->add_slopes(pair.states(), slope, slopes);
      Slopes& direct = reading.kind == Kind::value ? by_q : by_v;
      for (const int i : {0, 1}) direct[seen.slots[i]] += slopes[i];
      if (reading.kind == Kind::value) continue;
      Curvature Q;
      Q.set_zero(2);
      seen.measure->add_curvature(pair.states(), slope, Q);
      for (const int j : {0, 1})
        for (const int i : {0, 1}) by_q[seen.slots[j]] += Q(i, j).transpose() * pair.states()[i].twist();
    }

    // A node on SE(3) has v = (U, Ω) with u = R U, see Frames.
    const auto to_body = [&](int slot, Vector6& q, Vector6& v) {
      if (at.slots[slot].group != lie::GroupId::se3) return;
      const Matrix3& R = s[slot].R;
      const Vector3 by_u = v.head<3>();
      q.tail<3>() -= (skew(s[slot].u) * R).transpose() * by_u;
      q.head<3>() = (R.transpose() * q.head<3>()).eval();
      v.head<3>() = R.transpose() * by_u;
    };
    if (state_ >= 0) {
      for (int j = 0; j < n; ++j) {
        if (at.slots[j].is_ground()) continue;
        Vector6 q = by_q[j], v = by_v[j];
        to_body(j, q, v);
        out.K(state_, j).row(0) -= q;
        out.D(state_, j).row(0) -= v;
      }
      for (int j = n; j < all; ++j)
        if (by_state[static_cast<std::size_t>(j)] != 0.0)
          out.K(state_, j)(0, 0) -= by_state[static_cast<std::size_t>(j)];
      return;
    }
    Slopes slope;
    set_zero(slope, n);
    seen_[c].measure->add_slopes(s, factor_, slope);
    seen_[c].measure->add_slopes(s, factor_ * value, wrench);
    seen_[c].measure->add_curvature(s, factor_ * value, K);
    for (const int i : {0, 1})
      for (int j = 0; j < n; ++j) {
        K(i, j) += slope[i] * by_q[j].transpose();
        D(i, j) += slope[i] * by_v[j].transpose();
      }
    for (const int i : {0, 1}) {
      if (at.slots[i].is_ground()) continue;
      Vector6 along = slope[i];
      if (at.slots[i].group == lie::GroupId::se3) along.head<3>() = (s[i].R.transpose() * along.head<3>()).eval();
      for (int j = n; j < all; ++j)
        if (by_state[static_cast<std::size_t>(j)] != 0.0)
          out.K(i, j).col(0) += by_state[static_cast<std::size_t>(j)] * along;
    }
  }
  frames.add_couplings(wrench, K, &D, out);
}

std::vector<NamedSignal> Law::signals() const {
  std::vector<NamedSignal> list;
  for (const Signal& signal : timed_) list.push_back({"value", &signal});
  return list;
}

system::Corner Law::next_corner(double t, double until, double resolution) const {
  system::Corner first;
  for (const Signal& signal : timed_) first = earlier(first, next_look(signal, t, until, resolution));
  return first;
}

void Law::kinks(const Instant& at, double* coordinates) const {
  std::array<double, max_leaves> leaves;
  read(kink_reads_, at, Frames(at, bodies_).states(), leaves.data());
  kink_program_.evaluate(leaves.data(), coordinates);
}

namespace {

/// The first of increasing numbers on the way between two others.
std::optional<double> first_between(std::span<const double> list, double from, double to) {
  if (from < to) {
    const auto found = std::upper_bound(list.begin(), list.end(), from);
    return found != list.end() && *found < to ? std::optional(*found) : std::nullopt;
  }
  const auto found = std::lower_bound(list.begin(), list.end(), from);
  return found != list.begin() && *(found - 1) > to ? std::optional(*(found - 1)) : std::nullopt;
}

}  // namespace

std::optional<double> Law::knot_between(int kink, double from, double to) const {
  constexpr std::array zero{0.0};
  const formula::Curve* curve = kinks_[static_cast<std::size_t>(kink)];
  return first_between(curve != nullptr ? curve->kinks() : std::span<const double>(zero), from, to);
}

double Law::potential(double x) const {
  const bool reads = !stored_.leaves().empty();
  const auto force = [&](double xi) {
    double value = 0.0;
    stored_.evaluate(reads ? &xi : nullptr, &value);
    return value;
  };
  return factor_ * integral(force, x0_, x, 0.0, 30);
}

void Law::add_energy(const Instant& at, system::EnergyParts& parts) const {
  if (stores_) parts.elastic += potential(value_of(at, Frames(at, bodies_).states(), seen_[0]));
}

void Law::add_power(const Instant& at, system::Power& power) const {
  const BodyState* s = Frames(at, bodies_).states();
  const Values values = evaluated(spent_, spent_reads_, at, s);
  double lost = factor_ * values[0] * seen_[0].measure->rate(s);
  for (std::size_t c = 1; c < components_; ++c) lost += factor_ * values[c] * seen_[c].measure->rate(s);
  if (dissipates_)
    power.dissipated += lost;
  else
    power.forces -= lost;
}

// ---- outputs

Outputs::Outputs(const Formulas& formulas, const std::vector<Entry>& entries)
    : gauges_(formulas.gauges()), curves_(formulas.curves()) {
  std::vector<Formulas::Node> all;
  for (const Entry& entry : entries) {
    infos_.push_back(entry.info);
    all.insert(all.end(), entry.nodes.begin(), entry.nodes.end());
  }
  program_ = formula::Program(formulas.graph(), all);
  for (const int leaf : program_.leaves()) quantities_.push_back(formulas.quantity(leaf));
}

}  // namespace kreisel::multibody
