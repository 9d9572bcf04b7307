// Events: scalar functions whose zeros along the motion are located, and the actions taken there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "kreisel/types.hpp"

namespace kreisel::system {

class System;

/// Which sign change of the function counts.
enum class Direction { either, rising, falling };

/// The motion continues unchanged.
struct Record {};

/// A velocity jump by an impulse s along a normal n, with the impulses p of the constraints (Newton's law of impact):
///
///     M (v⁺ - v⁻) + Bᵀp = nᵀ s,   B v⁺ + Φ_t = 0,   ġ⁺ = -restitution · ġ⁻,   ġ = n v + g_t.
///
/// g is the function of the event, a gap that depends on t and q; n is its derivative.
struct Impact {
  double restitution = 1.0;  ///< 0: the bodies stay together for an instant, 1: no energy is lost
  /// n in terms of v, nv numbers; empty: from differences of g.
  std::function<Vector(double t, const Vector& q)> normal{};
};

/// From here on another system applies, on the same space: with a changed parameter, or with a force or constraint switched on or
/// off. Velocities are projected onto new constraints in the mass metric (a plastic impact).
struct Switch {
  std::function<std::shared_ptr<const System>(double t, const Vector& q, const Vector& v)> next;
};

/// The function changes q and v, which are then projected onto the constraints.
struct Jump {
  std::function<void(double t, Vector& q, Vector& v)> apply;
  std::string_view called = "jump";  ///< in lists of events; refers to text that lasts
};

using Action = std::variant<Record, Impact, Switch, Jump>;
/// "record", "impact", "switch", "jump" or what a jump is called.
std::string_view name_of(const Action& action);

/// A zero of function(t, q, v, λ). The function should cross zero, not touch it; it is sampled within every step.
/// λ has the rows of the system that defines the event, or of the system a run was started with.
struct Event {
  std::string name;
  std::function<double(double t, const Vector& q, const Vector& v, const Vector& lambda)> function;
  Direction direction = Direction::either;
  Action action = Record{};
  int terminal_after = 0;  ///< the run ends after so many occurrences; 0: never
  int acts_from = 1;       ///< the first occurrence at which the action is taken; those before are only recorded
};

}  // namespace kreisel::system
