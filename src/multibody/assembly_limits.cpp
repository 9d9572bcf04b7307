// Limits of an assembly: their gaps, and the assembly in which some are closed.
#include <cmath>

#include "multibody/frames.hpp"
#include "parts.hpp"

namespace kreisel::multibody {
namespace {

/// A measure owned elsewhere.
class Shared final : public Measure {
 public:
  explicit Shared(std::shared_ptr<const Measure> of) : of_(std::move(of)) {}
  double value(const BodyState* s) const override { return of_->value(s); }
  void add_slopes(const BodyState* s, double scale, Slopes& out) const override { of_->add_slopes(s, scale, out); }
  void add_curvature(const BodyState* s, double scale, Curvature& out) const override {
    of_->add_curvature(s, scale, out);
  }
  double rate(const BodyState* s) const override { return of_->rate(s); }
  double curve(const BodyState* s) const override { return of_->curve(s); }

 private:
  std::shared_ptr<const Measure> of_;
};

/// Rounding error of a coordinate of a joint, relative.
constexpr double roundings = 64.0 * 2.2e-16;

}  // namespace

ElementPtr row_of(const Limit& limit) {
  auto row = std::make_shared<Joint>("limit", limit.name, std::vector<int>{limit.bodies[0], limit.bodies[1]});
  row->demand(std::make_unique<const Shared>(limit.measure), Signal(Expression(limit.bound)),
              limit.is_angle ? 2.0 * M_PI : 0.0);
  return row;
}

/// The two bodies of a limit, as its measure sees them.
struct Assembly::Seen {
  Seen(const Assembly& assembly, const Limit& limit, const lie::Motion& m)
      : slots(assembly.slots_of(limit.bodies)),
        at{m.t, m.q.data(), m.v.data(), m.a.data(), nullptr, slots.data(), &bodies},
        frames(at, 2) {}

  std::array<Slot, 2> slots;
  BodyStates bodies;
  Instant at;
  Frames frames;
};

std::array<Slot, 2> Assembly::slots_of(const std::array<int, 2>& bodies) const {
  std::array<Slot, 2> slots;
  for (const std::size_t i : {0, 1}) {
    slots[i].node = bodies[i];
    if (bodies[i] == ground) continue;
    const lie::Block& block = space().blocks()[static_cast<std::size_t>(bodies[i])];
    slots[i] = {bodies[i], block.group, block.nv, block.q_at, block.v_at, -1};
  }
  return slots;
}

int Assembly::row_element(int limit) const {
  return static_cast<int>(elements().size() - mechanism().limits.size()) + limit;
}

const Limit& Assembly::limit(int number) const { return mechanism().limits[static_cast<std::size_t>(number)]; }

bool Assembly::is_in_force(int number) const {
  return active_[mechanism().bodies.size() + static_cast<std::size_t>(limit(number).joint)];
}

bool Assembly::is_closed(int number) const { return active_[static_cast<std::size_t>(row_element(number))]; }

system::GapState Assembly::gap(int number, const lie::Motion& m) const {
  const Limit& of = limit(number);
  const Seen seen(*this, of, m);
  const BodyState* s = seen.frames.states();
  double value = of.measure->value(s);
  if (of.turns >= 0) value = unwrapped(value, m.q[space().blocks()[static_cast<std::size_t>(of.turns)].q_at]);
  Slopes slopes, accelerations;
  set_zero(slopes, 2);
  of.measure->add_slopes(s, 1.0, slopes);
  seen.frames.set_accelerations(accelerations);
  double acceleration = of.measure->curve(s);
  for (const std::size_t i : {0, 1}) acceleration += slopes[i].dot(accelerations[i]);
  const double sign = of.is_upper ? -1.0 : 1.0;
  return {sign * (value - of.bound), sign * of.measure->rate(s), sign * acceleration};
}

double Assembly::round_off_of_gap(int number, const lie::Motion& m) const {
  const Limit& of = limit(number);
  if (of.is_angle) return roundings * (2.0 * M_PI + std::abs(of.bound));
  const Seen seen(*this, of, m);
  const BodyState* s = seen.frames.states();
  return roundings * (std::abs(of.bound) + s[0].x.norm() + s[1].x.norm());
}

void Assembly::normal(int number, const lie::Motion& m, VectorRef n) const {
  const Limit& of = limit(number);
  const Seen seen(*this, of, m);
  Slopes slopes;
  set_zero(slopes, 2);
  of.measure->add_slopes(seen.frames.states(), of.is_upper ? -1.0 : 1.0, slopes);
  n.setZero();
  seen.frames.add_wrench(slopes, {n.data(), seen.slots.data()});
}

/// M v̇ = -Bᵀλ with B = ∂ξ.
double Assembly::push(int number, ConstVectorRef lambda) const {
  const Element* row = elements()[static_cast<std::size_t>(row_element(number))].get();
  for (const Place& place : rows_.places)
    if (place.element == row) return limit(number).is_upper ? lambda[place.row] : -lambda[place.row];
  return 0.0;
}

std::shared_ptr<const system::System> Assembly::with_closed(const std::vector<bool>& closed) const {
  std::vector<bool> active = active_;
  for (int i = 0; i < limit_count(); ++i)
    active[static_cast<std::size_t>(row_element(i))] = closed[static_cast<std::size_t>(i)];
  std::shared_ptr<Assembly> next = with(std::move(active));
  next->take_events_and_layout_of(*this);
  if (gives_events_) gives_events_(*next);
  return next;
}

}  // namespace kreisel::multibody
