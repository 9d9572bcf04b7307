// How far one step may turn a body.
#pragma once

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "error_control.hpp"

namespace kreisel::run {

/// Under error control [rad]. Where velocities are constant in the body frame nothing else bounds the step. Points less than half
/// a turn apart determine the direction and number of turns.
constexpr double longest_chosen_turn = 3.0;
/// Of given steps [rad]. At 2π the exponential map and its tangent T(ω) lose rank: no increment leads to the points around.
constexpr double longest_given_turn = 6.0;

/// Steps that turn a body further than this [rad] are tested for what lies between the points: in steady rotation
/// velocities are constant in the body frame, and only the multipliers, which turn against it, show how long the step is.
constexpr double telling_turn = 0.1;
/// Interpolated multipliers, and the work of drivers that is integrated from them, may be wrong by this many tolerances.
constexpr double interpolation_margin = 1000.0;
/// Where that is less than this part of the error of the step, it does not affect other orders: turns by φ magnify
/// the differences of one order by φ to those of the next, and 0.1 < φ < 3.
constexpr double negligible_share = 0.1;

/// Error, between the two newest of k + 1 equidistant points, of the polynomial through them, as a part of the
/// (k+1)-st difference: max of s(1 - s)(1 + s)…(k - 1 + s)/(k + 1)! over 0 < s < 1.
constexpr double interpolation_error(int k) {
  constexpr std::array<double, 9> part{1.0, 0.125, 0.0642, 0.0417, 0.0303, 0.0235, 0.0190, 0.0159, 0.0136};
  return part[k];
}

/// The rotation that is largest in an increment or a velocity.
struct Turn {
  const Part* part = nullptr;  ///< null: nothing turns
  double angle = 0.0;          ///< [rad], or [rad/s]
};

inline Turn widest_turn(const std::vector<Part>& parts, ConstVectorRef omega) {
  Turn widest;
  for (const Part& part : parts) {
    if (part.q_at >= 0) continue;
    const double angle = omega.segment<3>(part.v_at).norm();
    if (angle > widest.angle) widest = {&part, angle};
  }
  return widest;
}

/// A step after which no body has turned further than error control allows.
inline double longest_step(const std::vector<Part>& parts, const lie::Motion& m) {
  const double speed = widest_turn(parts, m.v).angle;
  return speed > 0.0 ? longest_chosen_turn / speed : std::numeric_limits<double>::infinity();
}

/// Names a body that turned further than a step can describe.
inline std::string turn_text(std::string_view body, double angle, double longest) {
  return fmt::format("rotation of '{}' ({:.3g} rad, at most {:.1f} in a step)", body, angle, longest);
}

}  // namespace kreisel::run
