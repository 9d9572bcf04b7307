// Prescribed functions of time: a formula, or a table whose points are joined by cubics.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kreisel/multibody/expression.hpp"

namespace kreisel::multibody {

/// How the points of a table are joined. `linear`: continuous. `monotone`: continuous with its rate, and between two points
/// nowhere beyond their values. `spline`: natural cubic spline, continuous with rate and curve; may overshoot.
enum class Interpolation { linear, monotone, spline };
/// What a table says before its first and after its last point: the value there, or the straight line with the slope there.
enum class Outside { hold, straight };

std::vector<std::string> interpolation_names();
/// Throws InvalidInput with the nearest match.
Interpolation interpolation_named(std::string_view name);

class Signal {
 public:
  Signal() = default;  ///< zero
  explicit Signal(Expression expression) : expression_(std::move(expression)) {}
  /// Through the points (t, value). Throws InvalidInput unless there are at least two with increasing t.
  explicit Signal(const std::vector<std::pair<double, double>>& table, Interpolation interpolation = Interpolation::monotone,
                  Outside outside = Outside::hold);

  Jet at(double t) const;
  bool is_constant() const { return pieces_.empty() && expression_.is_constant(); }
  /// Where it is known: a table from its first to its last point, a formula everywhere.
  std::pair<double, double> span() const;

 private:
  struct Piece {  ///< value + s (slope + s (square + s cube)), s = t - t of its first point
    double t, value, slope, square, cube;
  };
  Expression expression_;
  std::vector<Piece> pieces_;
  double end_ = 0.0;
  Outside outside_ = Outside::hold;
};

}  // namespace kreisel::multibody
