#include "study/observed.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::study {
namespace {

/// Floors are models of round-off, measured on the heavy top. Up to this factor above them, an error that stops falling
/// with the step also counts as round-off; a method that does not converge has much larger errors.
constexpr double doubtful = 1e3;
/// An error falls at least like this power of the step.
constexpr double slowest = 0.5;
/// Points within this multiple of round-off, which grows at least like 1/h, are not used either.
constexpr double distance = 3.0;

/// Marks the points from where on errors are round-off although they lie above their floors.
void mark_noise(const std::vector<Row>& rows, ObservedCurve& curve) {
  const auto is_doubtful = [&](std::size_t k) {
    const auto& floors = rows[curve.cases[k]].floors;
    const auto floor = floors.find(curve.number);
    return floor != floors.end() && curve.y[k] <= doubtful * floor->second;
  };
  for (std::size_t k = 1; k < curve.x.size(); ++k) {
    if (curve.is_marked[k] || curve.is_marked[k - 1] || !is_doubtful(k) || !(curve.x[k] < curve.x[k - 1])) continue;
    if (curve.y[k] < curve.y[k - 1] * std::pow(curve.x[k] / curve.x[k - 1], slowest)) continue;
    for (std::size_t finer = k; finer < curve.x.size(); ++finer) curve.is_marked[finer] = true;
    for (std::size_t coarser = 0; coarser < k; ++coarser)
      if (curve.y[coarser] < distance * curve.y[k] * curve.x[k] / curve.x[coarser]) curve.is_marked[coarser] = true;
    return;
  }
}

}  // namespace

std::vector<ObservedCurve> observe(const Spec& spec, const std::vector<Row>& rows, const std::string& number,
                                   const Json& where) {
  std::vector<ObservedCurve> curves;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Case& c = spec.cases[i];
    if (!matches(where, c)) continue;
    auto at =
        std::find_if(curves.begin(), curves.end(), [&](const ObservedCurve& curve) { return curve.label == c.label; });
    if (at == curves.end()) {
      curves.push_back({});
      at = curves.end() - 1;
      at->label = c.label;
      at->number = number;
    }
    at->cases.push_back(i);
  }
  for (ObservedCurve& curve : curves) {
    const auto x_of = [&](std::size_t i) { return abscissa(spec.x, spec.cases[i], rows[i]); };
    std::stable_sort(curve.cases.begin(), curve.cases.end(),
                     [&](std::size_t a, std::size_t b) { return x_of(a) > x_of(b); });
    for (const std::size_t i : curve.cases) {
      const double y = rows[i].number(number);
      curve.x.push_back(x_of(i));
      curve.y.push_back(y);
      curve.is_marked.push_back(!rows[i].is_success() || rows[i].is_marked(number) || !std::isfinite(y) || !(y > 0.0));
    }
    if (spec.x == "step") mark_noise(rows, curve);
    for (std::size_t k = 0; k < curve.x.size(); ++k) {
      const bool has_slope = k > 0 && !curve.is_marked[k] && !curve.is_marked[k - 1] && curve.x[k] != curve.x[k - 1];
      curve.pairwise.push_back(has_slope ? std::log(curve.y[k - 1] / curve.y[k]) / std::log(curve.x[k - 1] / curve.x[k])
                                         : std::numeric_limits<double>::quiet_NaN());
    }
    curve.order = slope(curve, 0.0, HUGE_VAL);
  }
  return curves;
}

std::optional<double> slope(const ObservedCurve& curve, double from, double to) {
  // A bound that was written with fewer digits than the step has still includes it.
  constexpr double slack = 1e-6;
  double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (std::size_t k = 0; k < curve.x.size(); ++k) {
    if (curve.is_marked[k] || !(curve.x[k] > 0.0) || curve.x[k] < from * (1.0 - slack) ||
        curve.x[k] > to * (1.0 + slack))
      continue;
    const double x = std::log(curve.x[k]), y = std::log(curve.y[k]);
    n += 1.0, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const double spread = n * sxx - sx * sx;
  if (n < 2.0 || !(spread > 1e-12)) return {};
  return (n * sxy - sx * sy) / spread;
}

}  // namespace kreisel::study
