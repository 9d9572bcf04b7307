// The polynomials through recent vectors, evaluated at one new time: predictor and error estimates.
#pragma once

#include <algorithm>
#include <array>

#include "coeff/bdf_variable.hpp"
#include "kreisel/types.hpp"
#include "method/history.hpp"

namespace kreisel::method {

/// Extrapolates from t_n, t_{n-1}, … to t_n + h. Weights are computed on demand and kept while the grid repeats.
class Differences {
 public:
  static constexpr int max_points = 9;

  /// `pick` returns the vector of an Entry. Uses at most `points` points of the history, which must not change.
  template <class Pick>
  void build(const History& history, int points, double h, Pick pick) {
    points_ = std::min({points, history.size(), max_points});
    std::array<double, max_points + 1> nodes;
    history.offsets(points_, nodes.data());
    nodes[points_] = h;
    for (int i = 0; i < points_; ++i) value_[i] = pick(history[i]).data();
    if (grid_.replace({nodes.data(), static_cast<std::size_t>(points_) + 1})) {
      is_known_.fill(false);
      multiplied_ = 0;
    }
  }

  int points() const { return points_; }
  /// t of a point, the newest being 0, minus t_n.
  double offset(int point) const { return grid_.nodes()[static_cast<std::size_t>(point)]; }
  /// Value at t_n + h of the polynomial through the newest `points` points.
  void extrapolate(int points, VectorRef out);
  /// y minus that value, times scale.
  void deviation(int points, ConstVectorRef y, double scale, VectorRef out);

 private:
  const double* weights(int points);
  /// Makes `above_` and `below_` up to this number of points.
  void multiply_to(int points);

  coeff::KeptNodes grid_;                                              ///< offsets from t_n, then h
  std::array<std::array<double, max_points>, max_points + 1> weight_;  ///< by number of points
  std::array<bool, max_points + 1> is_known_{};
  /// Numerators and denominators of the weights: those of one more point have one more factor each.
  std::array<std::array<double, max_points + 1>, max_points + 1> above_{}, below_{};
  int multiplied_ = 0;
  std::array<const double*, max_points> value_{};
  int points_ = 0;
};

}  // namespace kreisel::method
