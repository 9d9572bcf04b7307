#include "multibody/rod_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kreisel/error.hpp"
#include "lie/se3.hpp"

namespace kreisel::multibody {
namespace {

/// Angles below this are round-off of what was typed.
constexpr double parallel_below = 1e-6;
/// Nodes this close, in parts of an element, are one.
constexpr double same_node = 1e-6;

Frame frame_of(const lie::FlatPose& pose) { return {pose.head<3>(), lie::rotation_matrix(pose.data() + 3)}; }

/// `up`, or z, or y beside a vertical x.
Matrix3 axes_with_default(const Vector3& x, const Vector3* up) {
  if (up != nullptr) return section_axes(x, *up);
  const bool is_vertical = x.cross(Vector3::UnitZ()).norm() < parallel_below * x.norm();
  return section_axes(x, is_vertical ? Vector3::UnitY() : Vector3::UnitZ());
}

/// E turned on the shortest way until its first axis is x.
Matrix3 swung_to(const Matrix3& E, const Vector3& x) {
  const Vector3 from = E.col(0), axis = from.cross(x);
  const double sine = axis.norm(), cosine = from.dot(x);
  if (sine == 0.0) return E;
  const Vector3 turn = axis * (std::atan2(sine, cosine) / sine);
  Matrix3 out = lie::rotation_matrix(lie::SO3::exp(turn).data()) * E;
  out.col(0) = x;
  out.col(2) = (out.col(2) - out.col(2).dot(x) * x).normalized();
  out.col(1) = out.col(2).cross(x);
  return out;
}

PathPiece straight(const Vector3& from, const Matrix3& E, double length) {
  return {length, [from, E](double s) { return Frame{from + s * E.col(0), E}; }};
}

/// With constant strain, in the axes of the first section.
PathPiece strained(const Frame& start, const Vector6& strain, double length) {
  return {length, [start = pose_of(start), strain](double s) {
            return frame_of(lie::SE3::compose(start, lie::SE3::exp(strain * s)));
          }};
}

/// A smooth curve r(p) for p from 0 to the number of intervals: arc lengths and sections carried along, on a fine table.
class Curve {
 public:
  using Place = std::function<Vector3(double)>;
  Curve(Place r, Place slope, int intervals, const Vector3* up) : r_(std::move(r)), slope_(std::move(slope)) {
    constexpr int per_interval = 64;
    const int n = per_interval * intervals;
    step_ = static_cast<double>(intervals) / n;
    s_.assign(1, 0.0);
    for (int i = 0; i < n; ++i) s_.push_back(s_.back() + length_between(i * step_, (i + 1) * step_));
    axes_.push_back(axes_with_default(tangent(0.0), up));
    for (int i = 1; i <= n; ++i) axes_.push_back(carried(axes_.back(), (i - 1) * step_, i * step_));
  }
  double length() const { return s_.back(); }
  Frame at(double s) const {
    const auto above = std::upper_bound(s_.begin() + 1, s_.end() - 1, s);
    const auto i = static_cast<std::size_t>(above - s_.begin()) - 1;
    // Newton's method on the arc length from the point before; the table is fine enough for a close start.
    const double p0 = static_cast<double>(i) * step_;
    double p = p0 + step_ * (s - s_[i]) / (s_[i + 1] - s_[i]);
    for (int k = 0; k < 4; ++k) p -= (s_[i] + length_between(p0, p) - s) / slope_(p).norm();
    return {r_(p), carried(axes_[i], p0, p)};
  }

 private:
  Vector3 tangent(double p) const { return slope_(p).normalized(); }
  /// Gauss' rule with five points.
  double length_between(double a, double b) const {
    constexpr double x1 = 0.5384693101056831, x2 = 0.9061798459386640, w0 = 0.5688888888888889, w1 = 0.4786286704993665,
                     w2 = 0.2369268850561891;
    const double m = 0.5 * (a + b), h = 0.5 * (b - a);
    const auto speed = [&](double x) { return slope_(m + h * x).norm(); };
    return h * (w0 * speed(0.0) + w1 * (speed(x1) + speed(-x1)) + w2 * (speed(x2) + speed(-x2)));
  }
  /// Double reflection (Wang, Jüttler, Zheng and Liu 2008): sections that do not turn about the curve, with order 4.
  Matrix3 carried(const Matrix3& E, double from, double to) const {
    const Vector3 chord = r_(to) - r_(from), t1 = tangent(to);
    const double c1 = chord.squaredNorm();
    if (c1 == 0.0) return E;
    const auto reflected = [](const Vector3& x, const Vector3& n, double n2) -> Vector3 {
      return x - (2.0 / n2) * n.dot(x) * n;
    };
    const Vector3 z = reflected(E.col(2), chord, c1), t = reflected(E.col(0), chord, c1), n = t1 - t;
    const double n2 = n.squaredNorm();
    const Vector3 up = n2 == 0.0 ? z : reflected(z, n, n2);
    Matrix3 out;
    out.col(0) = t1;
    out.col(2) = (up - up.dot(t1) * t1).normalized();
    out.col(1) = out.col(2).cross(t1);
    return out;
  }

  Place r_, slope_;
  double step_ = 1.0;
  std::vector<double> s_;
  std::vector<Matrix3> axes_;
};

RodPath along(std::shared_ptr<const Curve> curve) {
  return {{{curve->length(), [curve](double s) { return curve->at(s); }}}};
}

void refuse_repeated(const std::vector<Vector3>& points) {
  if (points.size() < 2) throw InvalidInput(fmt::format("has {} points, needs at least two", points.size()));
  double size = 0.0;
  for (const Vector3& p : points) size = std::max(size, (p - points[0]).norm());
  for (std::size_t i = 1; i < points.size(); ++i)
    if (!((points[i] - points[i - 1]).norm() > 1e-12 * size))
      throw InvalidInput(fmt::format("has the point {} twice in a row (numbers {} and {})",
                                     fmt::format("[{}, {}, {}]", points[i][0], points[i][1], points[i][2]), i - 1, i));
}

}  // namespace

lie::FlatPose pose_of(const Frame& section) { return lie::flat_pose(section.p, lie::quaternion_from(section.E)); }

double RodPath::length() const {
  double sum = 0.0;
  for (const PathPiece& piece : pieces) sum += piece.length;
  return sum;
}

Matrix3 section_axes(const Vector3& x, const Vector3& up) {
  const Vector3 along = x.normalized(), across = up - up.dot(along) * along;
  if (!(across.norm() > parallel_below * up.norm()))
    throw InvalidInput("\"up\" is parallel to the axis of the rod; give another direction");
  Matrix3 E;
  E.col(0) = along;
  E.col(2) = across.normalized();
  E.col(1) = E.col(2).cross(along);
  return E;
}

RodPath line_path(const Vector3& from, const Vector3& to, const Vector3* up) {
  if (!((to - from).norm() > 0.0)) throw InvalidInput("begins and ends at the same point");
  return {{straight(from, axes_with_default(to - from, up), (to - from).norm())}};
}

RodPath polyline_path(const std::vector<Vector3>& points, double radius, const Vector3* up) {
  refuse_repeated(points);
  RodPath path;
  const std::size_t last = points.size() - 1;
  Matrix3 E = axes_with_default(points[1] - points[0], up);
  double used = 0.0;  // of the leg, by the corner before it
  for (std::size_t i = 0; i < last; ++i) {
    const Vector3 leg = points[i + 1] - points[i];
    const double length = leg.norm();
    if (i > 0) E = swung_to(E, leg / length);
    const Vector3 next = i + 1 < last ? Vector3((points[i + 2] - points[i + 1]).normalized()) : Vector3(E.col(0));
    const Vector3 normal = E.col(0).cross(next);
    const double angle = std::atan2(normal.norm(), E.col(0).dot(next));
    if (angle > M_PI - 1e-3) throw InvalidInput(fmt::format("turns back at point {}", i + 1));
    const double cut = radius * std::tan(0.5 * angle), rest = length - used - cut;
    if (!(rest >= -1e-12 * length))
      throw InvalidInput(
          fmt::format("has no room for corners of radius {:.6g} m at both ends of the leg from point {} "
                      "to {}, which is {:.6g} m long; take a smaller radius",
                      radius, i, i + 1, length));
    if (rest > 1e-9 * length) path.pieces.push_back(straight(points[i] + used * E.col(0), E, rest));
    if (cut > 0.0 && angle > parallel_below) {
      Vector6 strain = Vector6::Zero();
      strain[0] = 1.0;
      strain.tail<3>() = E.transpose() * normal.normalized() / radius;
      path.pieces.push_back(strained({points[i + 1] - cut * E.col(0), E}, strain, radius * angle));
    }
    used = cut;
  }
  return path;
}

RodPath arc_path(const Vector3* p, const Vector3* up) {
  const Vector3 a = p[1] - p[0], b = p[2] - p[0], normal = a.cross(b);
  if (!(normal.norm() > 1e-9 * a.norm() * b.norm()))
    throw InvalidInput("the three points lie on a line; an arc needs a circle");
  const Vector3 axis = normal.normalized();
  const Vector3 centre =
      p[0] + (b.squaredNorm() * normal.cross(a) + a.squaredNorm() * b.cross(normal)) / (2.0 * normal.squaredNorm());
  const Vector3 from = p[0] - centre, to = p[2] - centre;
  double angle = std::atan2(axis.dot(from.cross(to)), from.dot(to));
  if (angle <= 0.0) angle += 2.0 * M_PI;  // a -> b turns about the axis, the short way or the long one
  return screw_path(p[0], centre, axis, angle, 0.0, up);
}

RodPath screw_path(const Vector3& from, const Vector3& centre, const Vector3& axis, double angle, double height,
                   const Vector3* up) {
  const Vector3 z = axis.normalized(), arm = from - centre, across = arm - arm.dot(z) * z;
  const double radius = across.norm();
  if (!(radius > 1e-12 * arm.norm()) || !(radius > 0.0))
    throw InvalidInput("begins on its axis; the radius would be zero");
  if (angle == 0.0) throw InvalidInput("has a zero angle");
  // A screw motion about the axis: the body velocity of the section per angle, seen from its start.
  const double pitch = height / angle;  // per radian
  const Vector3 tangent = z.cross(across) + pitch * z, forward = angle > 0.0 ? tangent : Vector3(-tangent);
  Frame start{from, Matrix3::Identity()};
  start.E = up != nullptr  ? section_axes(forward, *up)
            : pitch == 0.0 ? section_axes(forward, z)
                           : axes_with_default(forward, nullptr);
  const double rate = std::sqrt(radius * radius + pitch * pitch);
  Vector6 strain = Vector6::Zero();
  strain[0] = 1.0;
  strain.tail<3>() = start.E.transpose() * z * ((angle > 0.0 ? 1.0 : -1.0) / rate);
  return {{strained(start, strain, std::abs(angle) * rate)}};
}

RodPath spline_path(const std::vector<Vector3>& points, const Vector3* up) {
  refuse_repeated(points);
  const std::size_t n = points.size() - 1;
  if (n == 1) return line_path(points[0], points[1], up);
  // Knots by the lengths of chords, so that the curve has no loops between close points. Second derivatives vanish at the ends.
  std::vector<double> h(n);
  for (std::size_t i = 0; i < n; ++i) h[i] = (points[i + 1] - points[i]).norm();
  std::vector<double> diagonal(n + 1, 1.0), upper(n + 1, 0.0);
  std::vector<Vector3> moment(n + 1, Vector3::Zero());
  for (std::size_t i = 1; i < n; ++i) {
    const double lower = h[i - 1];
    diagonal[i] = 2.0 * (h[i - 1] + h[i]) - (i > 1 ? lower * upper[i - 1] : 0.0);
    upper[i] = h[i] / diagonal[i];
    moment[i] =
        (6.0 * ((points[i + 1] - points[i]) / h[i] - (points[i] - points[i - 1]) / h[i - 1]) - lower * moment[i - 1]) /
        diagonal[i];
  }
  for (std::size_t i = n - 1; i >= 1; --i) moment[i] -= upper[i] * moment[i + 1];
  const auto piece = [n](double p) { return std::min(static_cast<std::size_t>(std::max(p, 0.0)), n - 1); };
  const auto r = [=](double p) -> Vector3 {
    const std::size_t i = piece(p);
    const double b = p - static_cast<double>(i), a = 1.0 - b, h2 = h[i] * h[i] / 6.0;
    return a * points[i] + b * points[i + 1] + h2 * ((a * a * a - a) * moment[i] + (b * b * b - b) * moment[i + 1]);
  };
  const auto slope = [=](double p) -> Vector3 {
    const std::size_t i = piece(p);
    const double b = p - static_cast<double>(i), a = 1.0 - b, h2 = h[i] * h[i] / 6.0;
    return points[i + 1] - points[i] + h2 * ((1.0 - 3.0 * a * a) * moment[i] + (3.0 * b * b - 1.0) * moment[i + 1]);
  };
  return along(std::make_shared<const Curve>(r, slope, static_cast<int>(n), up));
}

RodPath catenary_path(const Vector3& from, const Vector3& to, double length, const Vector3& gravity,
                      const Vector3* up) {
  const Vector3 z = gravity.norm() > 0.0 ? Vector3(-gravity.normalized()) : Vector3(Vector3::UnitZ());
  const Vector3 chord = to - from;
  const double rise = chord.dot(z);
  const Vector3 across = chord - rise * z;
  const double span = across.norm();
  if (!(length >= chord.norm()))
    throw InvalidInput(fmt::format("has the length {:.6g} m, shorter than the distance between its ends, {:.6g} m",
                                   length, chord.norm()));
  if (!(span > 1e-6 * length))
    throw InvalidInput("has its ends one above the other, where a chain would hang in a fold; move one of them aside");
  if (length < chord.norm() * (1.0 + 1e-9)) return line_path(from, to, up);
  // y = a cosh((x - m)/a): sinh(w)/w = √(L² - rise²)/span with w = span/2a, by Newton's method from above.
  const double ratio = std::sqrt(length * length - rise * rise) / span;
  double w = ratio < 3.0 ? std::sqrt(6.0 * (ratio - 1.0)) : std::log(2.0 * ratio) + std::log(std::log(2.0 * ratio));
  for (int i = 0; i < 100; ++i) {
    const double step = (std::sinh(w) - ratio * w) / (std::cosh(w) - ratio);
    w -= step;
    if (std::abs(step) <= 1e-15 * w) break;
  }
  const double a = span / (2.0 * w), middle = 0.5 * span - a * std::atanh(rise / length);
  const Vector3 x = across / span;
  const double s0 = a * std::sinh(-middle / a), y0 = a * std::cosh(-middle / a);
  // Over the arc length from the lowest point all is algebraic.
  const auto at = [=](double s) -> Vector3 {
    const double sigma = s0 + s;
    return from + (a * std::asinh(sigma / a) + middle) * x + (std::hypot(a, sigma) - y0) * z;
  };
  const auto tangent = [=](double s) -> Vector3 {
    const double sigma = s0 + s;
    return (a * x + sigma * z) / std::hypot(a, sigma);
  };
  // In a plane sections are carried by turning about its normal.
  const Matrix3 E0 = axes_with_default(tangent(0.0), up);
  return {{{length, [=](double s) { return Frame{at(s), swung_to(E0, tangent(s))}; }}}};
}

RodMesh mesh_of(const RodPath& path, int elements, const std::vector<double>& places) {
  const double length = path.length(), h = length / elements, near = same_node * h;
  if (!(length > 0.0) || !std::isfinite(length)) throw InvalidInput("has no length");
  // Where nodes must be, and where pieces begin.
  std::vector<double> starts{0.0}, stations{0.0, length};
  for (const PathPiece& piece : path.pieces) starts.push_back(starts.back() + piece.length);
  stations.insert(stations.end(), starts.begin() + 1, starts.end() - 1);
  for (const double s : places)
    if (s > near && s < length - near) stations.push_back(s);
  std::ranges::sort(stations);
  std::vector<double> kept;
  for (const double s : stations)
    if (kept.empty() || s - kept.back() > near) kept.push_back(s);
  kept.back() = length;
  const bool is_even =
      std::ranges::all_of(kept, [&](double s) { return std::abs(s / h - std::round(s / h)) <= same_node; });
  const auto is_corner = [&](double s) {
    return std::ranges::any_of(starts, [&](double start) { return std::abs(s - start) <= near; });
  };
  RodMesh mesh;
  mesh.at.push_back(0.0);
  mesh.breaks.push_back(0);
  for (std::size_t i = 1; i < kept.size(); ++i) {
    const double from = mesh.at.back(), stretch = kept[i] - kept[i - 1];
    const int count = std::max(
        1, is_even ? static_cast<int>(std::lround(stretch / h)) : static_cast<int>(std::ceil(stretch / h - same_node)));
    for (int k = 1; k < count; ++k) mesh.at.push_back(from + stretch * k / count);
    mesh.at.push_back(kept[i]);
    if (!is_even || is_corner(kept[i])) mesh.breaks.push_back(static_cast<int>(mesh.at.size()) - 1);
  }
  // Poses, from the piece before a node and from the one behind it.
  const auto pose = [&](double s, std::size_t piece) {
    Frame frame = path.pieces[piece].at(std::clamp(s - starts[piece], 0.0, path.pieces[piece].length));
    if (path.twist == 0.0) return frame;
    const Vector3 turn(path.twist * s / length, 0.0, 0.0);
    frame.E = frame.E * lie::rotation_matrix(lie::SO3::exp(turn).data());
    return frame;
  };
  std::size_t before = 0, behind = 0;
  for (const double s : mesh.at) {
    while (before + 1 < path.pieces.size() && s > starts[before + 1] + near) ++before;
    while (behind + 1 < path.pieces.size() && s > starts[behind + 1] - near) ++behind;
    mesh.nodes.push_back(pose(s, before));
    mesh.leaving.push_back(pose(s, behind));
  }
  // How far sections turn in an element cannot be seen from its ends: a whole turn looks like none.
  constexpr int samples = 8;
  std::size_t piece = 0;
  for (std::size_t i = 1; i < mesh.at.size(); ++i) {
    const double from = mesh.at[i - 1], to = mesh.at[i];
    while (piece + 1 < path.pieces.size() && 0.5 * (from + to) > starts[piece + 1]) ++piece;
    double turned = 0.0;
    Matrix3 last = pose(from, piece).E;
    for (int k = 1; k <= samples; ++k) {
      const Matrix3 next = pose(from + (to - from) * k / samples, piece).E;
      turned += lie::SO3::log(lie::quaternion_from(last.transpose() * next)).norm();
      last = next;
    }
    if (turned > 2.0 * M_PI / 3.0 + 1e-6)
      throw InvalidInput(fmt::format(
          "turns by {:.4g} degrees along element {}, more than 120; use more elements, at least three per turn",
          turned * 180.0 / M_PI, i));
  }
  return mesh;
}

}  // namespace kreisel::multibody
