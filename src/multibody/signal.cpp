#include "kreisel/multibody/signal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/base/error.hpp"

namespace kreisel::multibody {

Signal::Signal(std::vector<std::pair<double, double>> table) {
  if (table.size() < 2) throw InvalidInput(fmt::format("the table has {} points, at least 2 are needed", table.size()));
  for (const auto& [t, value] : table) {
    if (!table_.empty() && t <= table_.back().t)
      throw InvalidInput(fmt::format("the times of a table must increase: {} comes after {}", t, table_.back().t));
    table_.push_back({t, value, 0.0});
  }
  // Second derivatives: tridiagonal system with zero ends, eliminated from the front.
  const std::size_t n = table_.size();
  std::vector<double> upper(n, 0.0);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    const double left = table_[i].t - table_[i - 1].t, right = table_[i + 1].t - table_[i].t;
    const double jump =
        (table_[i + 1].value - table_[i].value) / right - (table_[i].value - table_[i - 1].value) / left;
    const double pivot = 2.0 * (left + right) - left * upper[i - 1];
    upper[i] = right / pivot;
    table_[i].curve = (6.0 * jump - left * table_[i - 1].curve) / pivot;
  }
  for (std::size_t i = n - 1; i-- > 1;) table_[i].curve -= upper[i] * table_[i + 1].curve;
}

Jet Signal::at(double t) const {
  if (table_.empty()) return expression_.at(t);
  const auto after = std::upper_bound(table_.begin(), table_.end(), t, [](double x, const Knot& k) { return x < k.t; });
  const std::size_t i =
      std::clamp<std::ptrdiff_t>(after - table_.begin() - 1, 0, static_cast<std::ptrdiff_t>(table_.size()) - 2);
  const Knot &a = table_[i], &b = table_[i + 1];
  const double h = b.t - a.t, s = std::clamp(t, a.t, b.t) - a.t;
  const double third = (b.curve - a.curve) / h;
  const double slope = (b.value - a.value) / h - h * (2.0 * a.curve + b.curve) / 6.0;
  const Jet inside{a.value + s * (slope + s * (a.curve / 2.0 + s * third / 6.0)),
                   slope + s * (a.curve + s * third / 2.0), a.curve + s * third};
  if (t >= a.t && t <= b.t) return inside;
  return {inside.value + inside.rate * (t - a.t - s), inside.rate, 0.0};
}

}  // namespace kreisel::multibody
