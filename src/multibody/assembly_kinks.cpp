// Kinks of an assembly: those of its laws, one after the other.
#include "multibody/law.hpp"
#include "parts.hpp"

namespace kreisel::multibody {

void Assembly::kinks(const lie::Motion& m, VectorRef coordinates) const {
  double* out = coordinates.data();
  BodyStates bodies;
  Instant at{m.t, m.q.data(), m.v.data(), m.a.data(), nullptr, nullptr, &bodies, &inputs_};
  for (const Place& place : kinked_) {
    const auto& kinked = dynamic_cast<const Kinked&>(*place.element);
    at.slots = slots_.data() + place.slot_at;
    kinked.kinks(at, out);
    out += kinked.kink_count();
  }
}

std::optional<double> Assembly::knot_between(int kink, double from, double to) const {
  for (const Place& place : kinked_) {
    const auto& kinked = dynamic_cast<const Kinked&>(*place.element);
    if (kink < kinked.kink_count()) return kinked.knot_between(kink, from, to);
    kink -= kinked.kink_count();
  }
  return {};
}

bool Assembly::jumps(int kink) const {
  for (const Place& place : kinked_) {
    const auto& kinked = dynamic_cast<const Kinked&>(*place.element);
    if (kink < kinked.kink_count()) return kinked.jumps();
    kink -= kinked.kink_count();
  }
  return false;
}

}  // namespace kreisel::multibody
