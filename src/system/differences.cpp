#include "kreisel/system/differences.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace kreisel::system {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::array<double, 4> slope_weights{4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0};
constexpr double second_slope_centre = -205.0 / 72.0;
constexpr std::array<double, 4> second_slope_weights{8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0};

/// Changes below this part of the largest entry need no smaller step.
constexpr double fully_settled = 1e-12;

/// Once a change is below this part of the largest entry, growing changes are round-off and end the search: further on
/// two estimates may agree by chance.
constexpr double nearly_settled = 1e-6;

double largest(const Vector& x) { return x.size() == 0 ? 0.0 : x.lpNorm<Eigen::Infinity>(); }

}  // namespace

Vector slope(const Curve& f, double h) {
  Vector sum;
  for (int k = 1; k <= 4; ++k) {
    const Vector term = (slope_weights[k - 1] / h) * (f(k * h) - f(-k * h));
    if (k == 1)
      sum = term;
    else
      sum += term;
  }
  return sum;
}

Vector second_slope(const Curve& f, double h) {
  const Vector centre = f(0.0);
  Vector sum = second_slope_centre * centre;
  for (int k = 1; k <= 4; ++k) sum += second_slope_weights[k - 1] * (f(k * h) + f(-k * h));
  return sum / (h * h);
}

Settled settle(const std::function<Vector(double h)>& estimate, std::span<const double> steps) {
  Vector coarse = estimate(steps.front());
  Settled best{Vector::Constant(coarse.size(), std::numeric_limits<double>::quiet_NaN()),
               Vector::Constant(coarse.size(), infinity)};
  std::vector<bool> is_final(coarse.size(), false);
  for (const double h : steps.subspan(1)) {
    Vector fine = estimate(h);
    const double size = largest(fine);
    for (Eigen::Index i = 0; i < fine.size(); ++i) {
      if (is_final[i]) continue;
      const double change = std::abs(fine[i] - coarse[i]);
      const bool shrinks = change < best.change[i];
      if (shrinks) best.value[i] = fine[i], best.change[i] = change;
      is_final[i] = best.change[i] <= (shrinks ? fully_settled : nearly_settled) * size;
    }
    if (std::find(is_final.begin(), is_final.end(), false) == is_final.end()) break;
    coarse.swap(fine);
  }
  return best;
}

}  // namespace kreisel::system
