// Linear combinations of many short vectors, the inner loop of every multistep method.
#pragma once

#include <array>

#include "kreisel/base/types.hpp"

namespace kreisel {

/// A few vectors of equal length and their weights: Σ weight_j x_j. Component by component, because for the six numbers
/// of a body the loop set-up of one vector operation per term costs more than the arithmetic.
class Combination {
 public:
  static constexpr int max_terms = 16;

  void add(double weight, const Vector& x) {
    weight_[count_] = weight;
    term_[count_++] = x.data();
  }
  /// out = Σ weight_j x_j
  void assign_to(Vector& out) const {
    const Eigen::Index n = out.size();
    double* to = out.data();
    for (Eigen::Index i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int j = 0; j < count_; ++j) sum += weight_[j] * term_[j][i];
      to[i] = sum;
    }
  }

 private:
  int count_ = 0;
  std::array<double, max_terms> weight_;
  std::array<const double*, max_terms> term_;
};

/// Σ weight_j (x_j - y_j), the differences taken first: equal vectors give exactly zero.
class DifferenceCombination {
 public:
  static constexpr int max_terms = 8;

  void add(double weight, const Vector& x, const Vector& y) {
    weight_[count_] = weight;
    plus_[count_] = x.data();
    minus_[count_++] = y.data();
  }
  void assign_to(Vector& out) const {
    const Eigen::Index n = out.size();
    double* to = out.data();
    for (Eigen::Index i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int j = 0; j < count_; ++j) sum += weight_[j] * (plus_[j][i] - minus_[j][i]);
      to[i] = sum;
    }
  }

 private:
  int count_ = 0;
  std::array<double, max_terms> weight_;
  std::array<const double*, max_terms> plus_, minus_;
};

}  // namespace kreisel
