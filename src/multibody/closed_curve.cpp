#include "multibody/closed_curve.hpp"

#include <fmt/format.h>

#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "kreisel/error.hpp"

namespace kreisel::multibody {
namespace {

/// Samples of a piece, for its size and for intersections with others.
constexpr int looks = 16;

}  // namespace

/// On a piece of length h the spline is the quintic with given value, slope and curvature at both ends. Slopes m and curvatures k of the points
/// are such that the third and the fourth derivative are continuous: two equations per point, cyclic.
ClosedCurve::ClosedCurve(const std::vector<Point>& points) {
  const std::size_t n = points.size();
  if (n < fewest_points || n > most_points)
    throw InvalidInput(fmt::format("has {} points, expected {} to {}", n, fewest_points, most_points));
  std::vector<double> h(n);
  double longest = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!points[i].allFinite()) throw InvalidInput(fmt::format("point {} is not finite", i + 1));
    h[i] = (points[(i + 1) % n] - points[i]).norm();
    longest = std::max(longest, h[i]);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (!(h[i] > 1e-9 * longest))
      throw InvalidInput(fmt::format("points {} and {} are the same{}", i + 1, (i + 1) % n + 1,
                                     i + 1 == n ? "; the curve closes by itself, leave the last one out" : ""));
  // With d = (y₁ - y₀)/h: y'''(0) = (60 d - 36 m₀ - 24 m₁)/h² + (3 k₁ - 9 k₀)/h and
  // y''''(0) = (-360 d + 192 m₀ + 168 m₁)/h³ + (36 k₀ - 24 k₁)/h², and mirrored at the end.
  using Entry = Eigen::Triplet<double>;
  std::vector<Entry> entries;
  Matrix right = Matrix::Zero(2 * static_cast<Eigen::Index>(n), 2);
  const auto slope = [&](std::size_t i) { return static_cast<int>(2 * (i % n)); };
  const auto bend = [&](std::size_t i) { return static_cast<int>(2 * (i % n) + 1); };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t before = (i + n - 1) % n, after = (i + 1) % n;
    const double a = h[before], b = h[i], unit = 0.5 * (a + b);
    const Point left = (points[i] - points[before]) / a, ahead = (points[after] - points[i]) / b;
    const int third = slope(i), fourth = bend(i);
    const double s3 = unit * unit, s4 = unit * unit * unit;
    const auto put = [&](int row, int column, double value) { entries.emplace_back(row, column, value); };
    // third derivative: at the end of the piece before minus at the start of the piece after
    put(third, slope(before), s3 * -24.0 / (a * a));
    put(third, slope(i), s3 * (-36.0 / (a * a) + 36.0 / (b * b)));
    put(third, slope(after), s3 * 24.0 / (b * b));
    put(third, bend(before), s3 * -3.0 / a);
    put(third, bend(i), s3 * (9.0 / a + 9.0 / b));
    put(third, bend(after), s3 * -3.0 / b);
    right.row(third) = s3 * (60.0 / (b * b) * ahead - 60.0 / (a * a) * left).transpose();
    // fourth derivative
    put(fourth, slope(before), s4 * -168.0 / (a * a * a));
    put(fourth, slope(i), s4 * (-192.0 / (a * a * a) - 192.0 / (b * b * b)));
    put(fourth, slope(after), s4 * -168.0 / (b * b * b));
    put(fourth, bend(before), s4 * -24.0 / (a * a));
    put(fourth, bend(i), s4 * (36.0 / (a * a) - 36.0 / (b * b)));
    put(fourth, bend(after), s4 * 24.0 / (b * b));
    right.row(fourth) = s4 * (-360.0 / (b * b * b) * ahead - 360.0 / (a * a * a) * left).transpose();
  }
  Eigen::SparseMatrix<double> system(right.rows(), right.rows());
  system.setFromTriplets(entries.begin(), entries.end());
  Eigen::SparseLU<Eigen::SparseMatrix<double>> solver(system);
  Matrix found;
  if (solver.info() == Eigen::Success) found = solver.solve(right);
  if (solver.info() != Eigen::Success || !found.allFinite())
    throw InvalidInput("has points that no smooth curve passes through");

  double area = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t after = (i + 1) % n;
    const Point &y0 = points[i], &y1 = points[after];
    const Point m0 = found.row(slope(i)), m1 = found.row(slope(after)), k0 = found.row(bend(i)),
                k1 = found.row(bend(after));
    const double l = h[i];
    const Point d = y1 - y0 - l * m0 - 0.5 * l * l * k0, e = l * (m1 - m0 - l * k0), f = l * l * (k1 - k0);
    Piece& piece = pieces_.emplace_back();
    piece.length = l;
    piece.power.col(0) = y0;
    piece.power.col(1) = m0;
    piece.power.col(2) = 0.5 * k0;
    piece.power.col(3) = (10.0 * d - 4.0 * e + 0.5 * f) / (l * l * l);
    piece.power.col(4) = (-15.0 * d + 7.0 * e - f) / (l * l * l * l);
    piece.power.col(5) = (6.0 * d - 3.0 * e + 0.5 * f) / (l * l * l * l * l);
    piece.middle = 0.5 * (y0 + y1);
    double widest_step = 0.0;
    Point last = y0;
    for (int k = 0; k <= looks; ++k) {
      const Point at = ClosedCurve::at(piece, l * k / looks).at;
      piece.reach = std::max(piece.reach, (at - piece.middle).norm());
      widest_step = std::max(widest_step, (at - last).norm());
      area += 0.5 * (last.x() * at.y() - last.y() * at.x());
      last = at;
    }
    piece.reach += widest_step;  // between two samples the curve stays within the circle
  }
  side_ = area >= 0.0 ? 1.0 : -1.0;

  double most_hollow = 0.0;
  for (const Piece& piece : pieces_)
    for (int k = 0; k < looks; ++k) {
      const Jet jet = at(piece, piece.length * k / looks);
      const double speed = jet.first.norm();
      if (!(speed > 1e-3)) throw InvalidInput("has a cusp: its points turn back; move them");
      const double turning = side_ * (jet.first.x() * jet.second.y() - jet.first.y() * jet.second.x());
      most_hollow = std::max(most_hollow, -turning / (speed * speed * speed));
    }
  smallest_hollow_ = most_hollow > 0.0 ? 1.0 / most_hollow : std::numeric_limits<double>::infinity();
  check_itself();
}

ClosedCurve::Jet ClosedCurve::at(const Piece& piece, double u) {
  const auto& c = piece.power;
  Jet out;
  out.at = c.col(0) + u * (c.col(1) + u * (c.col(2) + u * (c.col(3) + u * (c.col(4) + u * c.col(5)))));
  out.first = c.col(1) + u * (2.0 * c.col(2) + u * (3.0 * c.col(3) + u * (4.0 * c.col(4) + u * 5.0 * c.col(5))));
  out.second = 2.0 * c.col(2) + u * (6.0 * c.col(3) + u * (12.0 * c.col(4) + u * 20.0 * c.col(5)));
  return out;
}

/// Chords between neighbouring samples must not cross, for pieces that come close.
void ClosedCurve::check_itself() const {
  const auto cross = [](const Point& a, const Point& b) { return a.x() * b.y() - a.y() * b.x(); };
  constexpr int parts = 8;
  const std::size_t n = pieces_.size();
  std::vector<Point> corner;
  for (const Piece& piece : pieces_)
    for (int k = 0; k < parts; ++k) corner.push_back(at(piece, piece.length * k / parts).at);
  const std::size_t count = corner.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) {
      if ((pieces_[i].middle - pieces_[j].middle).norm() > pieces_[i].reach + pieces_[j].reach) continue;
      for (std::size_t k = i * parts; k < (i + 1) * parts; ++k)
        for (std::size_t l = std::max(j * parts, k + 2); l < (j + 1) * parts; ++l) {
          if (k == 0 && l == count - 1) continue;  // neighbours
          const Point &a = corner[k], &b = corner[(k + 1) % count], &c = corner[l], &d = corner[(l + 1) % count];
          const double c_side = cross(b - a, c - a), d_side = cross(b - a, d - a), a_side = cross(d - c, a - c),
                       b_side = cross(d - c, b - c);
          if (c_side * d_side < 0.0 && a_side * b_side < 0.0)
            throw InvalidInput(fmt::format("intersects itself, between points {} and {} and between points {} and {}",
                                           i + 1, (i + 1) % n + 1, j + 1, (j + 1) % n + 1));
        }
    }
}

/// Newton's method for (c(u) - y)·c'(u) = 0 from the nearest of some points, kept within the piece.
double ClosedCurve::nearest(const Piece& piece, const Point& y, double& squared) {
  constexpr int starts = 4;
  double best = 0.0;
  squared = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= starts; ++k) {
    const double u = piece.length * k / starts, here = (at(piece, u).at - y).squaredNorm();
    if (here < squared) squared = here, best = u;
  }
  double low = std::max(0.0, best - piece.length / starts), high = std::min(piece.length, best + piece.length / starts);
  double u = best;
  for (int i = 0; i < 60; ++i) {
    const Jet jet = at(piece, u);
    const Point r = jet.at - y;
    const double slope = r.dot(jet.first), bend = jet.first.squaredNorm() + r.dot(jet.second);
    (slope > 0.0 ? high : low) = u;
    double next = u - slope / bend;
    if (!(bend > 0.0) || next < low || next > high) next = slope > 0.0 ? 0.5 * (low + u) : 0.5 * (u + high);
    if (bend > 0.0 && ((u <= 0.0 && slope >= 0.0) || (u >= piece.length && slope <= 0.0))) break;
    const bool is_found = std::abs(next - u) <= 1e-9 * piece.length /* then twice as many digits */;
    u = next;
    if (is_found) break;
  }
  squared = (at(piece, u).at - y).squaredNorm();
  return u;
}

PlaneJet ClosedCurve::distance(const Point& y) const {
  // A piece lies within a circle: only those that can have the nearest point are looked at closely.
  double bound = std::numeric_limits<double>::infinity();
  for (const Piece& piece : pieces_) bound = std::min(bound, (piece.middle - y).norm() + piece.reach);
  double nearest_squared = std::numeric_limits<double>::infinity(), parameter = 0.0;
  const Piece* found = &pieces_.front();
  for (const Piece& piece : pieces_) {
    if ((piece.middle - y).norm() - piece.reach > std::min(bound, std::sqrt(nearest_squared))) continue;
    double squared = 0.0;
    const double u = nearest(piece, y, squared);
    if (squared < nearest_squared) nearest_squared = squared, parameter = u, found = &piece;
  }
  const Jet jet = at(*found, parameter);
  const double speed = jet.first.norm();
  const Point t = jet.first / speed, n = side_ * Point(t.y(), -t.x());
  const double value = n.dot(y - jet.at);
  const double bend =
      side_ * (jet.first.x() * jet.second.y() - jet.first.y() * jet.second.x()) / (speed * speed * speed);
  const double across = bend / (1.0 + bend * value);
  return {value, n.x(), n.y(), across * t.x() * t.x(), across * t.x() * t.y(), across * t.y() * t.y()};
}

}  // namespace kreisel::multibody
