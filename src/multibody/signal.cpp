#include "multibody/signal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kreisel/error.hpp"

namespace kreisel::multibody {
namespace {

struct Intervals {
  std::vector<double> width, chord;  ///< chord: slope of the straight line
};

/// Slopes at the points of the natural spline: the tridiagonal system of the second derivatives, zero at the ends,
/// eliminated from the front.
std::vector<double> spline_slopes(const Intervals& over) {
  const auto& [h, d] = over;
  const std::size_t n = h.size() + 1;
  std::vector<double> upper(n, 0.0), curve(n, 0.0), slope(n);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    const double pivot = 2.0 * (h[i - 1] + h[i]) - h[i - 1] * upper[i - 1];
    upper[i] = h[i] / pivot;
    curve[i] = (6.0 * (d[i] - d[i - 1]) - h[i - 1] * curve[i - 1]) / pivot;
  }
  for (std::size_t i = n - 1; i-- > 1;) curve[i] -= upper[i] * curve[i + 1];
  for (std::size_t i = 0; i + 1 < n; ++i) slope[i] = d[i] - h[i] * (2.0 * curve[i] + curve[i + 1]) / 6.0;
  slope[n - 1] = d[n - 2] + h[n - 2] * (2.0 * curve[n - 1] + curve[n - 2]) / 6.0;
  return slope;
}

/// Three-point formula at an end, kept where the cubic is monotone: between 0 and three times the chord (Fritsch and
/// Carlson 1980, section 4).
double monotone_end(double h0, double h1, double d0, double d1) {
  const double slope = ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);
  if (slope * d0 <= 0.0) return 0.0;
  return d0 * d1 <= 0.0 && std::abs(slope) > 3.0 * std::abs(d0) ? 3.0 * d0 : slope;
}

/// Weighted harmonic mean of the neighbouring chords, zero at a turning point (Fritsch and Butland 1984): at most three
/// times either chord, which is enough for monotone cubics (Fritsch and Carlson 1980, theorem 1).
std::vector<double> monotone_slopes(const Intervals& over) {
  const auto& [h, d] = over;
  const std::size_t n = h.size() + 1;
  if (n == 2) return {d[0], d[0]};
  std::vector<double> slope(n, 0.0);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    if (d[i - 1] * d[i] <= 0.0) continue;
    const double before = 2.0 * h[i] + h[i - 1], after = h[i] + 2.0 * h[i - 1];
    slope[i] = (before + after) / (before / d[i - 1] + after / d[i]);
  }
  slope[0] = monotone_end(h[0], h[1], d[0], d[1]);
  slope[n - 1] = monotone_end(h[n - 2], h[n - 3], d[n - 2], d[n - 3]);
  return slope;
}

constexpr std::pair<Interpolation, std::string_view> interpolations[] = {
    {Interpolation::linear, "linear"}, {Interpolation::monotone, "monotone"}, {Interpolation::spline, "spline"}};

}  // namespace

std::vector<std::string> interpolation_names() {
  std::vector<std::string> names;
  for (const auto& [id, name] : interpolations) names.emplace_back(name);
  return names;
}

Interpolation interpolation_named(std::string_view name) {
  for (const auto& [id, known] : interpolations)
    if (known == name) return id;
  throw InvalidInput(unknown_name("interpolation", name, interpolation_names()));
}

Signal::Signal(const std::vector<std::pair<double, double>>& table, Interpolation interpolation, Outside outside)
    : outside_(outside), interpolation_(interpolation) {
  if (table.size() < 2) throw InvalidInput(fmt::format("the table has {} points, at least 2 are needed", table.size()));
  const bool may_jump = interpolation == Interpolation::linear;
  Intervals over;
  for (std::size_t i = 0; i + 1 < table.size(); ++i) {
    const auto& [t, value] = table[i];
    const auto& [next_t, next_value] = table[i + 1];
    const bool is_jump =
        may_jump && next_t == t && i > 0 && i + 2 < table.size() && table[i - 1].first < t && table[i + 2].first > t;
    if (!(next_t > t) && !is_jump)
      throw InvalidInput(fmt::format(
          "the first numbers of the points of a table must increase: {} comes after {}{}", next_t, t,
          next_t == t
              ? "; a jump is two points with the same first number between two others, with interpolation \"linear\""
              : ""));
    over.width.push_back(next_t - t);
    over.chord.push_back(is_jump ? 0.0 : (next_value - value) / (next_t - t));
  }
  std::vector<double> slope;
  if (interpolation == Interpolation::spline) slope = spline_slopes(over);
  if (interpolation == Interpolation::monotone) slope = monotone_slopes(over);
  for (std::size_t i = 0; i < over.width.size(); ++i) {
    const double h = over.width[i], d = over.chord[i];
    if (h == 0.0) continue;
    const double left = slope.empty() ? d : slope[i], right = slope.empty() ? d : slope[i + 1];
    pieces_.push_back({table[i].first, table[i].second, left, (3.0 * d - 2.0 * left - right) / h,
                       (left + right - 2.0 * d) / (h * h)});
    if (!std::isfinite(pieces_.back().square) || !std::isfinite(pieces_.back().cube))
      throw InvalidInput(fmt::format("the points at t = {} and {} are too close or too far apart to compute with",
                                     table[i].first, table[i + 1].first));
  }
  end_ = table.back().first;
  prepare_integrals();
}

Jet Signal::at(double t) const {
  if (pieces_.empty()) return expression_.at(t);
  const double inside = std::clamp(t, pieces_.front().t, end_);
  const auto after =
      std::upper_bound(pieces_.begin() + 1, pieces_.end(), inside, [](double x, const Piece& p) { return x < p.t; });
  const Piece& p = *(after - 1);
  const double s = inside - p.t;
  const Jet jet{p.value + s * (p.slope + s * (p.square + s * p.cube)),
                p.slope + s * (2.0 * p.square + 3.0 * s * p.cube), 2.0 * p.square + 6.0 * s * p.cube};
  if (inside == t) return jet;
  if (outside_ == Outside::hold) return {jet.value, 0.0, 0.0};
  return {jet.value + jet.rate * (t - inside), jet.rate, 0.0};
}

std::pair<double, double> Signal::span() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return pieces_.empty() ? std::pair{-infinity, infinity} : std::pair{pieces_.front().t, end_};
}

}  // namespace kreisel::multibody
