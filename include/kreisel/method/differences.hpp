// Newton's form of the polynomial through recent vectors, evaluated at one new time: predictor and error estimates.
#pragma once

#include <algorithm>
#include <array>

#include "kreisel/base/types.hpp"
#include "kreisel/method/history.hpp"

namespace kreisel::method {

/// term j = Π_{i<j}(t - t_{n-i}) · y[t_n, …, t_{n-j}], so that the sum of the first m terms is the value at t of the
/// polynomial through the m newest points.
class Differences {
 public:
  static constexpr int max_points = 9;

  explicit Differences(int dimension) : n_(dimension), terms_(Vector::Zero(max_points * dimension)) {}

  /// `pick` returns the vector of an Entry; t = t_n + h. Uses at most `points` points of the history.
  template <class Pick>
  void build(const History& history, int points, double h, Pick pick) {
    points_ = std::min({points, history.size(), max_points});
    double offset = 0.0;
    for (int i = 0; i < points_; ++i) {
      time_[i] = offset;
      value_[i] = pick(history[i]).data();
      offset -= history[i].h;
    }
    divide(h);
  }

  int points() const { return points_; }
  /// Value at t of the polynomial through the newest `points` points.
  void extrapolate(int points, VectorRef out) const;
  /// y minus that value, times scale.
  void deviation(int points, ConstVectorRef y, double scale, VectorRef out) const;

 private:
  void divide(double h);

  int n_;
  Vector terms_;  ///< term j at j·n
  std::array<double, max_points> time_{};  ///< relative to t_n
  std::array<const double*, max_points> value_{};
  int points_ = 0;
};

}  // namespace kreisel::method
