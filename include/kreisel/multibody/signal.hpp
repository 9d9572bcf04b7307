// Prescribed functions of time: a formula, or a table joined by a cubic spline.
#pragma once

#include <utility>
#include <vector>

#include "kreisel/multibody/expression.hpp"

namespace kreisel::multibody {

class Signal {
 public:
  Signal() = default;  ///< zero
  explicit Signal(Expression expression) : expression_(std::move(expression)) {}
  /// Natural cubic spline through (t, value); twice continuously differentiable inside, straight lines outside. Throws
  /// InvalidInput unless there are at least two points with increasing t.
  explicit Signal(std::vector<std::pair<double, double>> table);

  Jet at(double t) const;
  bool is_constant() const { return table_.empty() && expression_.is_constant(); }

 private:
  struct Knot {
    double t, value, curve;
  };
  Expression expression_;
  std::vector<Knot> table_;
};

}  // namespace kreisel::multibody
