// Prescribed functions of time: a formula, or a table whose points are joined by cubics.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kreisel/system.hpp"
#include "multibody/expression.hpp"

namespace kreisel::multibody {

/// How the points of a table are joined. `linear`: continuous. `monotone`: continuous with its rate, and between two points
/// nowhere beyond their values. `spline`: natural cubic spline, continuous with rate and curve; may overshoot.
enum class Interpolation { linear, monotone, spline };
/// The value of a table before its first and after its last point: the value there, or the straight line with the slope there.
enum class Outside { hold, straight };

std::vector<std::string> interpolation_names();
/// Throws InvalidInput with the nearest match.
Interpolation interpolation_named(std::string_view name);

class Signal {
 public:
  Signal() = default;  ///< zero
  explicit Signal(Expression expression) : expression_(std::move(expression)) {}
  /// Through the points (t, value). Throws InvalidInput unless there are at least two with increasing t; where the points are
  /// joined by straight lines, two of the same t are a jump.
  explicit Signal(const std::vector<std::pair<double, double>>& table,
                  Interpolation interpolation = Interpolation::monotone, Outside outside = Outside::hold);

  Jet at(double t) const;
  bool is_constant() const { return pieces_.empty() && expression_.is_constant(); }
  /// The formula, or "a table".
  std::string text() const { return pieces_.empty() ? "\"" + expression_.text() + "\"" : "a table"; }
  /// Where it is known: a table from its first to its last point, a formula everywhere.
  std::pair<double, double> span() const;

  /// Where the points of a table are.
  const std::vector<double>& points() const { return nodes_; }
  /// Points of a table at which it or its slope jumps.
  std::vector<double> kinks() const;

  /// The first corner in (t, until) that a step from t to `until` must not pass, when the equations of motion contain the
  /// derivative of that order as a force or an acceleration. Such a step may pass points of a table as long as a polynomial
  /// follows the integral, up to `resolution` of its largest value so far or as well as it follows smooth functions.
  system::Corner next_corner(double t, double until, int derivative, double resolution) const;

 private:
  struct Piece {  ///< value + s (slope + s (square + s cube)), s = t - t of its first point
    double t, value, slope, square, cube;
  };
  enum class Side { left, right };
  /// A derivative and its slope.
  struct Ends {
    double value, slope;
  };

  void prepare_integrals();
  /// The piece of t; of a point between two, the one on that side.
  std::size_t piece_at(double t, Side side) const;
  Ends ends_at(double t, int derivative, Side side) const;
  double integral_at(double t, int derivative, Side side) const;
  double miss(double from, double to, int derivative) const;
  bool bulges(double from, double to, int derivative) const;
  bool hides(double from, double to, int derivative, double resolution) const;
  std::size_t farthest(double from, std::size_t node, double until, int derivative, double resolution) const;
  system::Corner corner_of_table(double t, double until, int derivative, double resolution) const;
  system::Corner corner_of_formula(double t, double until, int derivative) const;

  Expression expression_;
  std::vector<Piece> pieces_;
  std::vector<double> nodes_;     ///< where pieces meet, the ends of the table among them
  std::vector<double> integral_;  ///< from the first node to each
  /// By derivative: how far its integral has been from zero, at every node.
  std::array<std::vector<double>, 3> reach_;
  double end_ = 0.0;
  Outside outside_ = Outside::hold;
  Interpolation interpolation_ = Interpolation::linear;
};

/// A function of time and what it gives: "value", "torque z".
struct NamedSignal {
  std::string name;
  const Signal* signal = nullptr;
};

}  // namespace kreisel::multibody
