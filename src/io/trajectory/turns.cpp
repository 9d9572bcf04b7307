#include "io/trajectory/turns.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::io {

Eigen::Index speed_beside(const std::vector<TrajectoryColumn>& columns, Eigen::Index column) {
  const TrajectoryColumn& angle = columns[static_cast<std::size_t>(column)];
  const std::string_view end = ".angle";
  if (angle.quantity != "output" || angle.unit != "rad" || !angle.name.ends_with(end)) return -1;
  const std::string speed = angle.name.substr(0, angle.name.size() - end.size()) + ".speed";
  const auto beside = std::ranges::find(columns, speed, &TrajectoryColumn::name);
  return beside == columns.end() ? -1 : beside - columns.begin();
}

std::vector<double> with_turns(std::span<const double> time, std::span<const double> angle,
                               std::span<const double> speed) {
  constexpr double turn = 2.0 * M_PI;
  if (std::ranges::any_of(angle, [](double a) { return std::abs(a) > M_PI + 1e-9; })) return {};
  std::vector<double> out(angle.begin(), angle.end());
  double turns = 0.0;
  bool is_changed = false;
  for (std::size_t i = 1; i < angle.size(); ++i) {
    const double h = time[i] - time[i - 1], expected = angle[i - 1] + h * (speed[i - 1] + speed[i]) / 2.0;
    const double missing = std::round((expected - angle[i]) / turn);
    if (std::isfinite(missing) && h * std::abs(speed[i] - speed[i - 1]) < M_PI) turns += missing;
    out[i] += turn * turns;
    is_changed = is_changed || turns != 0.0;
  }
  return is_changed ? out : std::vector<double>{};
}

}  // namespace kreisel::io
