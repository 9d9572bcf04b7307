#include "looks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace kreisel::multibody {

system::Corner next_look(const Signal& formula, double t, double until, double resolution) {
  constexpr std::array<double, 3> looks{0.125, 0.25, 0.5};  // in parts of the piece
  constexpr int probes = 8;
  constexpr double straight = 1e-9;
  constexpr int smooth_enough = 8;  // for every method
  const system::Corner end = formula.next_corner(t, until, 0, resolution);
  if (!end.exists()) return {};
  // The piece begins at the last corner until t, or so long ago that half of it is behind.
  double begin = 2.0 * t - end.t;
  bool is_known = false;
  for (system::Corner corner;
       (corner = formula.next_corner(begin, std::nextafter(t, end.t), 0, resolution)).exists();) {
    begin = corner.t;
    is_known = true;
  }
  if (!is_known) return end;
  const double length = end.t - begin, first = formula.at(begin).value,
               last = formula.at(std::nextafter(end.t, begin)).value;
  double size = std::max(std::abs(first), std::abs(last)), bend = 0.0;
  for (int i = 1; i < probes; ++i) {
    const double part = static_cast<double>(i) / probes, value = formula.at(begin + part * length).value;
    size = std::max(size, std::abs(value));
    bend = std::max(bend, std::abs(value - (1.0 - part) * first - part * last));
  }
  if (bend <= straight * size) return end;
  for (const double look : looks)
    if (const double at = begin + look * length; at > t && at < end.t) return {at, smooth_enough};
  return end;
}

}  // namespace kreisel::multibody
