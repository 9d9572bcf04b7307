#include "multibody/coupler.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::multibody {

/// The nodes of two gauges, each once.
struct Coupler::Layout {
  Layout(const Gauge& first, const Gauge& second) {
    for (const Gauge* gauge : {&first, &second})
      for (const int body : gauge->bodies)
        if (std::ranges::count(nodes, body) == 0) nodes.push_back(body);
    bodies = static_cast<int>(nodes.size());
    for (const Gauge* gauge : {&first, &second})
      if (gauge->turns >= 0 && std::ranges::count(nodes, gauge->turns) == 0) nodes.push_back(gauge->turns);
  }
  int slot_of(int node) const { return static_cast<int>(std::ranges::find(nodes, node) - nodes.begin()); }

  std::vector<int> nodes;
  int bodies = 0;
};

Coupler::Coupler(std::string name, const Gauge& first, const Gauge& second, double ratio, double offset)
    : Coupler(std::move(name), first, second, ratio, offset, Layout(first, second)) {}

Coupler::Coupler(std::string name, const Gauge& first, const Gauge& second, double ratio, double offset, Layout layout)
    : Element("coupler", std::move(name), layout.nodes), bodies_(layout.bodies), offset_(offset) {
  const std::array<const Gauge*, 2> gauges{&first, &second};
  for (const std::size_t i : {0, 1})
    parts_[i] = {gauges[i]->measure,
                 {layout.slot_of(gauges[i]->bodies[0]), layout.slot_of(gauges[i]->bodies[1])},
                 gauges[i]->turns >= 0 ? layout.slot_of(gauges[i]->turns) : -1,
                 i == 0 ? -ratio : 1.0};
}

namespace {

/// The two bodies of a gauge.
std::array<BodyState, 2> pair_of(const BodyState* s, const std::array<int, 2>& slots) {
  return {s[slots[0]], s[slots[1]]};
}

}  // namespace

void Coupler::constraint(const Instant& at, double* gap, double* rate) const {
  const BodyState* s = Frames(at, bodies_).states();
  std::array<double, 2> values;
  // Whole turns cancel among themselves: in angles of many turns their round-off would exceed what Newton's method may leave.
  double whole_turns = 0.0;
  *rate = 0.0;
  for (const std::size_t i : {0, 1}) {
    const Part& part = parts_[i];
    const std::array<BodyState, 2> pair = pair_of(s, part.slots);
    values[i] = part.measure->value(pair.data());
    if (part.turns >= 0) whole_turns += part.factor * turns_between(values[i], *at.q_of(part.turns));
    *rate += part.factor * part.measure->rate(pair.data());
  }
  *gap = 2.0 * M_PI * whole_turns - offset_;
  for (const std::size_t i : {0, 1}) *gap += parts_[i].factor * values[i];
}

void Coupler::add_slopes(const BodyState* s, double scale, Slopes& out) const {
  for (const Part& part : parts_) {
    const std::array<BodyState, 2> pair = pair_of(s, part.slots);
    Slopes slopes;
    set_zero(slopes, 2);
    part.measure->add_slopes(pair.data(), scale * part.factor, slopes);
    for (const std::size_t i : {0, 1}) out[static_cast<std::size_t>(part.slots[i])] += slopes[i];
  }
}

void Coupler::add_constraint_force(const Instant& at, const double* mu, const Forces& out) const {
  const Frames frames(at, bodies_);
  Slopes wrench;
  set_zero(wrench, bodies_);
  add_slopes(frames.states(), *mu, wrench);
  frames.add_wrench(wrench, out);
}

void Coupler::constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const {
  constraint(at, gap, rate);
  add_constraint_force(at, at.lambda, out);
}

/// Derivatives by states of turns are zero: only whole turns are read from them.
void Coupler::store_nothing_of_states(const Blocks& out, bool has_H) const {
  for (int i = bodies_; i < slots(); ++i) {
    out.B(i).setZero();
    if (has_H) out.H(i).setZero();
  }
}

void Coupler::jacobian(const Instant& at, const Blocks& out) const {
  const Frames frames(at, bodies_);
  Slopes slopes;
  set_zero(slopes, bodies_);
  add_slopes(frames.states(), 1.0, slopes);
  ElementBlocks blocks;
  for (int i = 0; i < bodies_; ++i) blocks.B[i].row(0) = slopes[i];
  frames.store_B(blocks, out);
  store_nothing_of_states(out, false);
}

void Coupler::linearize_constraint(const Instant& at, const Blocks& out) const {
  const Frames frames(at, bodies_);
  const BodyState* s = frames.states();
  Slopes slopes, wrench;
  set_zero(slopes, bodies_);
  set_zero(wrench, bodies_);
  add_slopes(s, 1.0, slopes);
  add_slopes(s, *at.lambda, wrench);
  ElementBlocks blocks;
  blocks.K.set_zero(bodies_);
  for (int i = 0; i < bodies_; ++i) {
    blocks.B[i].row(0) = slopes[i];
    blocks.H[i].row(0).setZero();
  }
  for (const Part& part : parts_) {
    const std::array<BodyState, 2> pair = pair_of(s, part.slots);
    Curvature Q;
    Q.set_zero(2);
    part.measure->add_curvature(pair.data(), part.factor, Q);
    for (const int j : {0, 1})
      for (const int i : {0, 1}) {
        const int a = part.slots[static_cast<std::size_t>(i)], b = part.slots[static_cast<std::size_t>(j)];
        blocks.H[b].row(0) += pair[static_cast<std::size_t>(i)].twist().transpose() * Q(i, j);
        blocks.K(a, b) += *at.lambda * Q(i, j);
      }
  }
  frames.store_B(blocks, out);
  frames.store_H(blocks, out);
  frames.add_couplings(wrench, blocks.K, nullptr, out);
  store_nothing_of_states(out, true);
}

void Coupler::acceleration_gap(const Instant& at, double* out) const {
  const Frames frames(at, bodies_);
  const BodyState* s = frames.states();
  Slopes slopes, accelerations;
  set_zero(slopes, bodies_);
  add_slopes(s, 1.0, slopes);
  frames.set_accelerations(accelerations);
  *out = 0.0;
  for (int i = 0; i < bodies_; ++i) *out += slopes[i].dot(accelerations[i]);
  for (const Part& part : parts_) *out += part.factor * part.measure->curve(pair_of(s, part.slots).data());
}

}  // namespace kreisel::multibody
