// Closed curves in a plane through given points, and the distance from them.
#pragma once

#include <vector>

#include "multibody/measure.hpp"

namespace kreisel::multibody {

/// A periodic spline of degree 5 through points, four times continuously differentiable in the length of the chords: a follower
/// on it has accelerations with two continuous derivatives.
class ClosedCurve {
 public:
  using Point = Eigen::Vector2d;
  static constexpr std::size_t fewest_points = 6, most_points = 2000;

  /// Throws InvalidInput for fewer points, points that repeat, and a curve that intersects itself.
  explicit ClosedCurve(const std::vector<Point>& points);

  /// The distance from the nearest point of the curve, negative inside, with derivatives by y. With the curvature κ there,
  /// positive where the curve bends away from the outside: ∂φ = n, ∂²φ = κ/(1 + κφ) t tᵀ.
  PlaneJet distance(const Point& y) const;
  /// The smallest radius at which it bends inwards (towards the outside), infinite for an oval: a roller must be smaller.
  double smallest_hollow() const { return smallest_hollow_; }

 private:
  /// Position and three derivatives by the parameter.
  struct Jet {
    Point at, first, second;
  };
  struct Piece {
    double length = 0.0;                ///< of the chord, the range of the parameter
    Eigen::Matrix<double, 2, 6> power;  ///< coefficients of the parameter from 0 on
    Point middle;                       ///< of a circle around the piece
    double reach = 0.0;
  };
  static Jet at(const Piece& piece, double u);
  /// The parameter of the nearest point of a piece, and its distance squared.
  static double nearest(const Piece& piece, const Point& y, double& squared);
  void check_itself() const;

  std::vector<Piece> pieces_;
  double side_ = 1.0;  ///< 1: counterclockwise
  double smallest_hollow_ = 0.0;
};

}  // namespace kreisel::multibody
