#include "coeff/bdf_variable.hpp"

#include <algorithm>

namespace kreisel::coeff {

namespace {

/// weight[m][i]: m-th derivative at 0 of the i-th Lagrange polynomial of x[0 … count-1].
using WeightTable = std::array<std::array<double, max_nodes>, max_derivative_order + 1>;

/// Fornberg's recursion over growing node sets; the caller has moved the evaluation point to 0.
void fornberg(const double* x, int count, int highest, WeightTable& weight) {
  for (int m = 0; m <= highest; ++m) weight[m].fill(0.0);
  weight[0][0] = 1.0;
  double old_product = 1.0;  // Π_{l<j-1} (x_{j-1} - x_l)
  for (int j = 1; j < count; ++j) {
    double product = 1.0;
    for (int i = 0; i < j; ++i) product *= x[j] - x[i];

    // The new column needs column j-1 of the smaller node set, so it comes before the update.
    const double ratio = old_product / product;
    for (int m = highest; m >= 1; --m) weight[m][j] = ratio * (m * weight[m - 1][j - 1] - x[j - 1] * weight[m][j - 1]);
    weight[0][j] = -ratio * x[j - 1] * weight[0][j - 1];

    for (int i = 0; i < j; ++i) {
      const double inverse = 1.0 / (x[j] - x[i]);
      for (int m = highest; m >= 1; --m) weight[m][i] = (x[j] * weight[m][i] - m * weight[m - 1][i]) * inverse;
      weight[0][i] = x[j] * weight[0][i] * inverse;
    }
    old_product = product;
  }
}

/// c₀ + c₁s + c₂s² + c₃s³, a product of linear factors modulo s⁴.
struct Cubic {
  double c0, c1, c2, c3;
  Cubic times_root(double root) const { return {-root * c0, c0 - root * c1, c1 - root * c2, c2 - root * c3}; }
};

}  // namespace

void derivative_weights(std::span<const double> nodes, double at, int max_derivative, std::span<double> out) {
  const int count = static_cast<int>(nodes.size());
  std::array<double, max_nodes> x;
  for (int i = 0; i < count; ++i) x[i] = nodes[i] - at;
  WeightTable weight;
  fornberg(x.data(), count, max_derivative, weight);
  for (int m = 0; m <= max_derivative; ++m) std::copy_n(weight[m].begin(), count, out.begin() + m * count);
}

void extrapolation_weights(std::span<const double> nodes, double at, std::span<double> out) {
  const int count = static_cast<int>(nodes.size());
  for (int i = 0; i < count; ++i) {
    double above = 1.0, below = 1.0;
    for (int j = 0; j < count; ++j) {
      if (j == i) continue;
      above *= at - nodes[j];
      below *= nodes[i] - nodes[j];
    }
    out[i] = above / below;
  }
}

BdfCoefficients variable_bdf(int k, std::span<const double> times_newest_first) {
  const double newest = times_newest_first[0];
  const double h = newest - times_newest_first[1];
  std::array<double, bdf_max_order + 1> s;  // distances back from t_{n+1} in units of h_n; s₁ = 1
  s[0] = 0.0;
  s[1] = 1.0;
  for (int i = 2; i <= k; ++i) s[i] = (newest - times_newest_first[i]) / h;

  // At its own node 0 the derivative of ℓᵢ is a product: αᵢ = -(1/sᵢ) Π_{j≠0,i} s_j/(s_j - sᵢ), α₀ = Σ 1/s_j.
  BdfCoefficients out;
  for (int i = 1; i <= k; ++i) {
    double above = 1.0, below = s[i];
    for (int j = 1; j <= k; ++j) {
      if (j == i) continue;
      above *= s[j];
      below *= s[j] - s[i];
    }
    out.alpha[i] = -above / below;
    out.alpha[0] += 1.0 / s[i];
  }
  double sum = 0.0;
  for (int i = 1; i <= k; ++i) {
    sum += out.alpha[i - 1];
    out.gamma[i] = sum;
  }
  return out;
}

MagnusWeights magnus_weights(int k, std::span<const double> nodes, double mid, double h) {
  // ℓᵢ(s) = Π_{j≠i} (s - x_j)/(xᵢ - x_j) in s = (t - mid)/h; its Taylor coefficients at s = 0 are wanted.
  // Products of the factors left and right of i, kept modulo s⁴, give all k numerators in O(k).
  std::array<double, bdf_max_order> x;
  for (int i = 0; i < k; ++i) x[i] = (nodes[i] - mid) / h;

  std::array<Cubic, bdf_max_order + 1> right;  // right[i] = Π_{j≥i} (s - x_j)
  right[k] = {1.0, 0.0, 0.0, 0.0};
  for (int i = k - 1; i > 0; --i) right[i] = right[i + 1].times_root(x[i]);

  MagnusWeights out;
  Cubic left{1.0, 0.0, 0.0, 0.0};  // Π_{j<i} (s - x_j)
  for (int i = 0; i < k; ++i) {
    double below = 1.0;
    for (int j = 0; j < i; ++j) below *= x[i] - x[j];
    for (int j = i + 1; j < k; ++j) below *= x[i] - x[j];
    const double scale = 1.0 / below;
    const Cubic& r = right[i + 1];
    out.a1[i] = scale * left.c0 * r.c0;
    out.a2[i] = scale * (left.c0 * r.c1 + left.c1 * r.c0);
    out.a3[i] = scale * (left.c0 * r.c2 + left.c1 * r.c1 + left.c2 * r.c0);
    const double a4 = scale * (left.c0 * r.c3 + left.c1 * r.c2 + left.c2 * r.c1 + left.c3 * r.c0);
    out.a2_gauss[i] = out.a2[i] + 0.15 * a4;
    left = left.times_root(x[i]);
  }
  return out;
}

}  // namespace kreisel::coeff
