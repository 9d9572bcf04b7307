// Corners: times, known in advance, at which the equations of motion are not smooth.
#pragma once

#include <limits>

namespace kreisel::system {

/// Where forces, or accelerations that drivers prescribe, lose derivatives with respect to time.
struct Corner {
  /// The first time at which what comes after the corner is in force; infinite: none.
  double t = std::numeric_limits<double>::infinity();
  /// How many derivatives are continuous: 0 where only the slope jumps, -1 where the value jumps, less where even a prescribed
  /// velocity or position does.
  int smooth = -1;

  bool exists() const { return t < std::numeric_limits<double>::infinity(); }
};

/// The earlier one; of two at the same time the one with the larger jump.
inline const Corner& earlier(const Corner& a, const Corner& b) {
  return b.t < a.t || (b.t == a.t && b.smooth < a.smooth) ? b : a;
}

}  // namespace kreisel::system
