// Arguments for the tests: awkward angles, random directions, fixed seed.
#pragma once

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "kreisel/types.hpp"

namespace kreisel::samples {

/// From 1e-12 to π - 1e-8, dense around the places where the formulas change: θ² = 1/4, 4, 10.
inline std::vector<double> angles() {
  constexpr double pi = std::numbers::pi;
  std::vector<double> list;
  for (double exponent = -12.0; exponent < 0.4; exponent += 0.1) list.push_back(std::pow(10.0, exponent));
  for (const double border : {0.5, 2.0})
    for (const double offset : {-1e-2, -1e-9, -1e-15, 0.0, 1e-15, 1e-9, 1e-2}) list.push_back(border + offset);
  for (double angle = 0.05; angle < pi; angle += 0.05) list.push_back(angle);
  for (const double gap : {1e-1, 1e-2, 1e-4, 1e-6, 1e-8}) list.push_back(pi - gap);
  return list;
}

/// Beyond half a turn, where only exp and T make sense.
inline std::vector<double> large_angles() {
  std::vector<double> list;
  for (double angle = 3.15; angle < 20.0; angle += 0.05) list.push_back(angle);
  list.push_back(std::sqrt(10.0));
  return list;
}

class Source {
 public:
  double number() { return normal_(engine_); }
  template <class V>
  V vector() {
    V a;
    for (Eigen::Index i = 0; i < a.size(); ++i) a[i] = number();
    return a;
  }
  Vector3 direction() { return vector<Vector3>().normalized(); }
  /// A tangent vector whose last three entries, the rotation where there is one, have the given norm.
  template <class G>
  typename G::Tangent tangent(double angle) {
    auto x = vector<typename G::Tangent>();
    x.template tail<3>() = angle * direction();
    return x;
  }

 private:
  std::mt19937 engine_{20220613};
  std::normal_distribution<double> normal_;
};

}  // namespace kreisel::samples
