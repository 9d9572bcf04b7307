// Derivatives by differences.
#pragma once

#include <functional>
#include <span>

#include "kreisel/base/types.hpp"

namespace kreisel::system {

/// A curve ℝ → ℝⁿ.
using Curve = std::function<Vector(double s)>;

/// f'(0) from f(±h), …, f(±4h): truncation h⁸f⁽⁹⁾/630, round-off 2.1 u|f|/h.
Vector slope(const Curve& f, double h);
/// f''(0) from f(0), f(±h), …, f(±4h): truncation h⁸f⁽¹⁰⁾/3150, round-off 6.5 u|f|/h².
Vector second_slope(const Curve& f, double h);

/// A value and by how much it changed with the last step.
struct Settled {
  Vector value, change;
};
/// estimate(h), entry by entry at the h at which it changed least; `steps` fall. Stops where all changes are round-off.
Settled settle(const std::function<Vector(double h)>& estimate, std::span<const double> steps);

}  // namespace kreisel::system
