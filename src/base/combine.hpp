// Linear combinations of many short vectors, the inner loop of every multistep method.
#pragma once

#include <array>

#include "kreisel/types.hpp"

namespace kreisel {

/// Calls f<W>(i) for groups of W = 8, 4, 2 and 1 components from i on. A few components at a time fit into registers over all terms;
/// for the six numbers of a body the loop set-up of one vector operation per term would cost more than the arithmetic.
template <class F>
void in_groups(Eigen::Index n, F f) {
  Eigen::Index i = 0;
  for (; i + 8 <= n; i += 8) f.template operator()<8>(i);
  if (i + 4 <= n) {
    f.template operator()<4>(i);
    i += 4;
  }
  if (i + 2 <= n) {
    f.template operator()<2>(i);
    i += 2;
  }
  if (i < n) f.template operator()<1>(i);
}

template <int W>
using Group = Eigen::Array<double, W, 1>;
template <int W>
Eigen::Map<const Group<W>> group(const double* x) {
  return Eigen::Map<const Group<W>>(x);
}

/// A few vectors of equal length and their weights: Σ weight_j x_j.
class Combination {
 public:
  static constexpr int max_terms = 16;

  void add(double weight, const Vector& x) {
    weight_[count_] = weight;
    term_[count_++] = x.data();
  }
  /// out = Σ weight_j x_j
  void assign_to(Vector& out) const { assign_to(out.data(), out.size()); }
  void assign_to(VectorRef& out) const { assign_to(out.data(), out.size()); }

 private:
  void assign_to(double* to, Eigen::Index size) const {
    in_groups(size, [&]<int W>(Eigen::Index i) {
      Group<W> sum = Group<W>::Zero();
      for (int j = 0; j < count_; ++j) sum += weight_[j] * group<W>(term_[j] + i);
      Eigen::Map<Group<W>>(to + i) = sum;
    });
  }

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
    double* to = out.data();
    in_groups(out.size(), [&]<int W>(Eigen::Index i) {
      Group<W> sum = Group<W>::Zero();
      for (int j = 0; j < count_; ++j) sum += weight_[j] * (group<W>(plus_[j] + i) - group<W>(minus_[j] + i));
      Eigen::Map<Group<W>>(to + i) = sum;
    });
  }

 private:
  int count_ = 0;
  std::array<double, max_terms> weight_;
  std::array<const double*, max_terms> plus_, minus_;
};

}  // namespace kreisel
