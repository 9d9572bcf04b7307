// Where prescribed functions of time have corners, and which points of a table a step may pass.
#include <algorithm>
#include <array>
#include <cmath>

#include "multibody/signal.hpp"

namespace kreisel::multibody {

using system::Corner;

namespace {

/// Where within a step the integral is interpolated; not evenly, as the points of a table often are.
constexpr std::array<double, 5> samples{0.0, 0.1910, 0.5393, 0.8124, 1.0};
/// Thirds, nearly: smooth functions miss by the fifth power of the step, corners by its square at most.
constexpr std::array<double, 3> parts{0.2913, 0.6347, 1.0};
constexpr double smooth_decay = 0.03;
/// A miss above this part of what the function has done so far is never left to the error test, however smooth it is.
constexpr double largest_part = 0.01;
/// Of integrals, in units of the largest one.
constexpr double round_off = 1e-14;
/// The scale is what a function has done so far, but at least this part of what it does in total.
constexpr double smallest_part = 1e-6;
/// Two sides of a corner that differ by less than this part of the function nearby are equal.
constexpr double equal_sides = 1e-9;
/// How far, in parts of the time looked at, the neighbourhood of a corner goes.
constexpr double nearby = 1e-3;
/// Continuous derivatives at a peak, a value far larger than where the step begins: steps end there, and every method continues.
constexpr int smooth_peak = 8;
constexpr double far_larger = 9.0;

double derivative_of(const Jet& jet, int i) { return i == 0 ? jet.value : i == 1 ? jet.rate : jet.curve; }

}  // namespace

void Signal::prepare_integrals() {
  for (const Piece& p : pieces_) nodes_.push_back(p.t);
  nodes_.push_back(end_);
  integral_.assign(1, 0.0);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const auto& [t, value, slope, square, cube] = pieces_[i];
    const double h = nodes_[i + 1] - t;
    integral_.push_back(integral_.back() + h * (value + h * (slope / 2.0 + h * (square / 3.0 + h * cube / 4.0))));
  }
  for (int d = 0; d < 3; ++d) {
    double reach = 0.0;
    const double first = integral_at(nodes_.front(), d, Side::right);
    for (const double t : nodes_) {
      for (const Side side : {Side::left, Side::right}) {
        const double reached = std::abs(integral_at(t, d, side) - first);
        if (reached > reach) reach = reached;
      }
      reach_[d].push_back(reach);
    }
  }
}

/// 0 is what comes before the first node, i the piece that begins at node i - 1, pieces_.size() + 1 what comes after the last.
std::size_t Signal::piece_at(double t, Side side) const {
  const auto at = side == Side::right ? std::upper_bound(nodes_.begin(), nodes_.end(), t)
                                      : std::lower_bound(nodes_.begin(), nodes_.end(), t);
  return static_cast<std::size_t>(at - nodes_.begin());
}

Signal::Ends Signal::ends_at(double t, int derivative, Side side) const {
  const std::size_t piece = piece_at(t, side);
  const bool is_before = piece == 0, is_after = piece > pieces_.size();
  const Piece& p = pieces_[std::clamp<std::size_t>(piece, 1, pieces_.size()) - 1];
  const double s = (is_before ? nodes_.front() : is_after ? end_ : t) - p.t;
  double d[] = {p.value + s * (p.slope + s * (p.square + s * p.cube)),
                p.slope + s * (2.0 * p.square + 3.0 * s * p.cube), 2.0 * p.square + 6.0 * s * p.cube, 6.0 * p.cube};
  if (is_before || is_after) {
    if (outside_ == Outside::hold) d[1] = 0.0;
    d[0] += d[1] * (t - (is_before ? nodes_.front() : end_));
    d[2] = d[3] = 0.0;
  }
  return {d[derivative], d[derivative + 1]};
}

std::vector<double> Signal::kinks() const {
  std::vector<double> list;
  if (pieces_.empty()) return list;
  std::array<double, 2> largest{};
  for (const double t : nodes_)
    for (const int d : {0, 1})
      for (const Side side : {Side::left, Side::right})
        largest[d] = std::max(largest[d], std::abs(ends_at(t, d, side).value));
  for (const double t : nodes_) {
    const auto jumps = [&](int d) {
      return std::abs(ends_at(t, d, Side::left).value - ends_at(t, d, Side::right).value) > equal_sides * largest[d];
    };
    if (jumps(0) || jumps(1)) list.push_back(t);
  }
  return list;
}

/// Of the derivative: the derivative below, for a force the impulse.
double Signal::integral_at(double t, int derivative, Side side) const {
  if (derivative > 0) return ends_at(t, derivative - 1, side).value;
  const std::size_t piece = piece_at(t, side);
  if (piece == 0) {
    const auto [value, slope] = ends_at(t, 0, side);
    const double s = t - nodes_.front();
    return s * (value - 0.5 * slope * s);
  }
  const double s = t - nodes_[piece - 1];
  if (piece > pieces_.size()) {
    const auto [value, slope] = ends_at(t, 0, side);
    return integral_.back() + s * (value - 0.5 * slope * s);
  }
  const Piece& p = pieces_[piece - 1];
  return integral_[piece - 1] + s * (p.value + s * (p.slope / 2.0 + s * (p.square / 3.0 + s * p.cube / 4.0)));
}

/// How far the integral of the function is, at the points within a step, from the polynomial of degree 4 through five of its values.
double Signal::miss(double from, double to, int derivative) const {
  const double h = to - from;
  // Newton's divided differences.
  std::array<double, samples.size()> c{};
  for (std::size_t i = 0; i < c.size(); ++i)
    c[i] = integral_at(from + h * samples[i], derivative, i + 1 < c.size() ? Side::right : Side::left);
  for (std::size_t order = 1; order < c.size(); ++order)
    for (std::size_t i = c.size() - 1; i >= order; --i) c[i] = (c[i] - c[i - 1]) / (samples[i] - samples[i - order]);
  double largest = 0.0;
  for (auto node = std::upper_bound(nodes_.begin(), nodes_.end(), from); node != nodes_.end() && *node < to; ++node) {
    const double x = (*node - from) / h;
    double polynomial = c.back();
    for (std::size_t i = c.size() - 1; i-- > 0;) polynomial = c[i] + (x - samples[i]) * polynomial;
    const double integral = derivative == 0 ? integral_[static_cast<std::size_t>(node - nodes_.begin())]
                                            : integral_at(*node, derivative, Side::right);
    largest = std::max(largest, std::abs(integral - polynomial));
  }
  return largest;
}

/// Whether a step would miss what the function does within it.
bool Signal::hides(double from, double to, int derivative, double resolution) const {
  const double missed = miss(from, to, derivative);
  const std::size_t last =
      static_cast<std::size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), to) - nodes_.begin());
  const std::vector<double>& reach = reach_[derivative];
  const double size = std::max(reach[std::min(last, nodes_.size() - 1)], smallest_part * reach.back());
  if (!(missed > (resolution + round_off) * size)) return false;
  if (missed > largest_part * size || bulges(from, to, derivative)) return true;
  double begin = from, missed_by_parts = 0.0;
  for (const double part : parts) {
    const double end = from + part * (to - from);
    missed_by_parts = std::max(missed_by_parts, miss(begin, end, derivative));
    begin = end;
  }
  return !(missed_by_parts <= smooth_decay * missed);
}

/// Whether the function is farther from the straight line between two times than its values there: a step sees no more of it.
bool Signal::bulges(double from, double to, int derivative) const {
  const double a = ends_at(from, derivative, Side::right).value, b = ends_at(to, derivative, Side::left).value;
  for (auto node = std::upper_bound(nodes_.begin(), nodes_.end(), from); node != nodes_.end() && *node < to; ++node) {
    const double line = a + (b - a) * (*node - from) / (to - from);
    if (std::abs(ends_at(*node, derivative, Side::right).value - line) > std::max(std::abs(a), std::abs(b)))
      return true;
  }
  return false;
}

/// The last node to which a step may go, `node` at least; as far as `until`: the number of nodes.
std::size_t Signal::farthest(double from, std::size_t node, double until, int derivative, double resolution) const {
  const auto end = static_cast<std::size_t>(std::lower_bound(nodes_.begin(), nodes_.end(), until) - nodes_.begin());
  std::size_t reached = node, stride = 1;
  while (true) {
    const std::size_t next = std::min(reached + stride, end);
    if (!hides(from, next == end ? until : nodes_[next], derivative, resolution)) {
      if (next == end) return nodes_.size();
      reached = next;
      stride *= 2;
    } else if (stride == 1) {
      return reached;
    } else {
      stride = 1;
    }
  }
}

Corner Signal::corner_of_table(double t, double until, int derivative, double resolution) const {
  const auto first = static_cast<std::size_t>(std::upper_bound(nodes_.begin(), nodes_.end(), t) - nodes_.begin());
  if (first == nodes_.size() || nodes_[first] >= until) return {};
  const std::size_t node = farthest(t, first, until, derivative, resolution);
  if (node == nodes_.size()) return {};

  // The derivative that jumps here, and whether it stands out from its neighbourhood: closely spaced points of a smooth function
  // have no corner.
  const double here = nodes_[node];
  const Ends left = ends_at(here, 0, Side::left), right = ends_at(here, 0, Side::right);
  const double near = std::max(std::abs(left.value), node > 0 ? std::abs(pieces_[node - 1].value) : 0.0);
  const auto jumps = [](double x, double y, double size) {
    return std::abs(x - y) > equal_sides * std::max(size, std::abs(y));
  };
  int smooth = interpolation_ == Interpolation::spline ? 2 : interpolation_ == Interpolation::monotone ? 1 : 0;
  if (interpolation_ == Interpolation::linear && jumps(left.value, right.value, near))
    smooth = -1;
  else if ((node == 0 || node + 1 == nodes_.size()) && jumps(left.slope, right.slope, std::abs(left.slope)))
    smooth = 0;
  smooth -= derivative;
  if (smooth > 0) return {here, smooth};
  const double before = node > 0 ? std::max(here - t, here - nodes_[node - 1]) : here - t;
  double after = before;
  if (node + 1 < nodes_.size()) {
    const std::size_t next =
        farthest(here, node + 1, std::max(here + before, nodes_[node + 1]), derivative, resolution);
    if (next < nodes_.size()) after = std::min(before, nodes_[next] - here);
  }
  const double window = 0.5 * std::min(before, after);
  return {here, hides(here - window, here + window, derivative, resolution) ? smooth : 1};
}

Corner Signal::corner_of_formula(double t, double until, int derivative) const {
  const std::optional<Expression::Corner> corner = expression_.next_corner(t, until);
  if (!corner) return {};
  const auto is_same = [](const Jet& a, const Jet& b) {
    return a.value == b.value && a.rate == b.rate && a.curve == b.curve;
  };
  if (derivative == 0 && is_same(corner->before, corner->after) &&
      std::abs(corner->after.value) > far_larger * std::abs(expression_.at(t).value))
    return {corner->t, smooth_peak};
  const double distance = nearby * (until - t);
  const Jet before = expression_.at(corner->t - distance), after = expression_.at(corner->t + distance);
  int continuous = 0;
  while (continuous < 3) {
    const auto size = [&](const Jet& jet) { return std::abs(derivative_of(jet, continuous)); };
    const double jump = std::abs(derivative_of(corner->after, continuous) - derivative_of(corner->before, continuous));
    if (!(jump <= equal_sides * std::max({size(corner->before), size(corner->after), size(before), size(after)})))
      break;
    ++continuous;
  }
  return {corner->t, continuous - 1 - derivative};
}

Corner Signal::next_corner(double t, double until, int derivative, double resolution) const {
  if (!(until > t)) return {};
  return pieces_.empty() ? corner_of_formula(t, until, derivative) : corner_of_table(t, until, derivative, resolution);
}

}  // namespace kreisel::multibody
