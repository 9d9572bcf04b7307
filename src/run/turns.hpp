// How far one step may turn a body.
#pragma once

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "error_control.hpp"

namespace kreisel::run {

/// Under error control [rad]. Where velocities are constant in the body frame nothing else bounds the step. Points less
/// than half a turn apart tell everybody who reads them which way and how often the body went round.
constexpr double longest_chosen_turn = 3.0;
/// Of given steps [rad]. At 2π the exponential map and its tangent T(ω) lose rank: no increment leads to the points around.
constexpr double longest_given_turn = 6.0;

/// Steps that turn a body further than this [rad] are tested for what lies between the points: in steady rotation
/// velocities are constant in the body frame, and only the multipliers, which turn against it, show how long the step is.
constexpr double telling_turn = 0.1;
/// Interpolated multipliers, and the work of drivers that is integrated from them, may err by so many tolerances.
constexpr double interpolation_margin = 1000.0;

/// Error, between the two newest of k + 1 equidistant points, of the polynomial through them, as a part of the
/// (k+1)-st difference: max of s(1 - s)(1 + s)…(k - 1 + s)/(k + 1)! over 0 < s < 1.
constexpr double interpolation_error(int k) {
  constexpr std::array<double, 9> part{1.0, 0.125, 0.0642, 0.0417, 0.0303, 0.0235, 0.0190, 0.0159, 0.0136};
  return part[k];
}

/// The rotation whose increment is largest; null: none.
inline const Part* widest_turn(const std::vector<Part>& parts, ConstVectorRef omega, double& angle) {
  const Part* widest = nullptr;
  angle = 0.0;
  for (const Part& part : parts) {
    if (part.q_at >= 0) continue;
    const double turn = omega.segment<3>(part.v_at).norm();
    if (turn > angle) {
      angle = turn;
      widest = &part;
    }
  }
  return widest;
}

/// A step after which no body has turned further than error control allows.
inline double longest_step(const std::vector<Part>& parts, const lie::Motion& m) {
  double speed = 0.0;
  return widest_turn(parts, m.v, speed) != nullptr ? longest_chosen_turn / speed : std::numeric_limits<double>::infinity();
}

/// What is wrong with a given step that turns a body too far; empty: nothing.
inline std::string turn_problem(const system::System& system, const std::vector<Part>& parts, const method::Entry& entry) {
  double angle = 0.0;
  const Part* part = widest_turn(parts, entry.omega, angle);
  if (!(angle > longest_given_turn)) return {};
  return fmt::format("at t = {:.10g} the step of size {:.6g} is a {} by {:.3g} rad; the increment of one step describes at most {:g} rad.\n"
                     "  try: --step {:.2g} or less, or drop --step and let the error control choose",
                     entry.motion.t - entry.h, entry.h, name_of(system, *part), angle, longest_given_turn,
                     0.5 * entry.h * longest_given_turn / angle);
}

}  // namespace kreisel::run
