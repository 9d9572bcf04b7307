// Radau IIA with three stages, order 5, and the transformation that splits its linear systems.
#pragma once

#include <array>

namespace kreisel::coeff {

/// Y_i = y_n + h Σ a_ij Y'_j at t_n + c_i h, y_{n+1} = Y_3 (Hairer, Wanner 1996, table IV.5.6).
struct Radau {
  static constexpr int stages = 3;
  using Row = std::array<double, stages>;
  using Square = std::array<Row, stages>;

  static constexpr double root6 = 2.449489742783178098197284074705891;

  static constexpr Row c{(4.0 - root6) / 10.0, (4.0 + root6) / 10.0, 1.0};
  static constexpr Square a{
      {{(88.0 - 7.0 * root6) / 360.0, (296.0 - 169.0 * root6) / 1800.0, (-2.0 + 3.0 * root6) / 225.0},
       {(296.0 + 169.0 * root6) / 1800.0, (88.0 + 7.0 * root6) / 360.0, (-2.0 - 3.0 * root6) / 225.0},
       {(16.0 - root6) / 36.0, (16.0 + root6) / 36.0, 1.0 / 9.0}}};

  /// W = A⁻¹: h Y'_i = Σ w_ij (Y_j - y_n).
  static constexpr Square w{{{2.0 + root6 / 2.0, (-36.0 + 29.0 * root6) / 30.0, (6.0 - 4.0 * root6) / 15.0},
                             {(-36.0 - 29.0 * root6) / 30.0, 2.0 - root6 / 2.0, (6.0 + 4.0 * root6) / 15.0},
                             {(-3.0 + 8.0 * root6) / 3.0, (-3.0 - 8.0 * root6) / 3.0, 5.0}}};

  /// W = T Λ T⁻¹ with Λ = [γ 0 0; 0 α -β; 0 β α] (Hairer, Wanner 1996, section IV.8): of three coupled linear systems one
  /// real and one complex remain.
  static constexpr double gamma = 3.6378342527444957322, alpha = 2.6810828736277521339, beta = 3.0504301992474105694;
  static constexpr Square t{{{9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02},
                             {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
                             {0.96604818261509293619, 1.0, 0.0}}};
  static constexpr Square t_inverse{{{4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
                                     {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
                                     {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497}}};

  /// y'_n + Σ e_i (Y_i - y_n)/h = O(h³): the difference between the derivative at t_n and that of the polynomial through y_n and
  /// the stages. (γ/h - J)⁻¹ of it is the local error of an embedded formula of order 3 (Hairer, Wanner 1996, eq. IV.8.18, 8.19).
  static constexpr Row e{-(13.0 + 7.0 * root6) / 3.0, (-13.0 + 7.0 * root6) / 3.0, -1.0 / 3.0};

  /// The polynomials l_i(s) that are 1 at c_i and 0 at the other stages.
  static constexpr Row stage_weights(double s) {
    Row weights{};
    for (int i = 0; i < stages; ++i) {
      weights[i] = 1.0;
      for (int j = 0; j < stages; ++j)
        if (j != i) weights[i] *= (s - c[j]) / (c[i] - c[j]);
    }
    return weights;
  }
  /// ∫₀ˢ l_i, by Simpson's rule, which is exact here.
  static constexpr Row integral_weights(double s) {
    const Row begin = stage_weights(0.0), middle = stage_weights(0.5 * s), end = stage_weights(s);
    Row weights{};
    for (int i = 0; i < stages; ++i) weights[i] = s / 6.0 * (begin[i] + 4.0 * middle[i] + end[i]);
    return weights;
  }
  /// The integral over a step of what is cubic in the polynomial through 0, c_1, c_2, 1: ∫x(x - c_1)(x - c_2) = 1/30 times the
  /// third divided difference, of value number 0 and of the stages.
  static constexpr std::array<double, stages + 1> cubic_weights = [] {
    const std::array<double, stages + 1> nodes{0.0, c[0], c[1], c[2]};
    std::array<double, stages + 1> weights{};
    for (int i = 0; i <= stages; ++i) {
      double product = 30.0;
      for (int j = 0; j <= stages; ++j)
        if (j != i) product *= nodes[i] - nodes[j];
      weights[i] = 1.0 / product;
    }
    return weights;
  }();
  /// The polynomials that are 1 at one of 0, c_1, c_2, 1 and 0 at the other three: of value number 0 and of the stages.
  static constexpr std::array<double, stages + 1> weights(double s) {
    const Row at_stages = stage_weights(s);
    std::array<double, stages + 1> all{(s - c[0]) * (s - c[1]) * (s - c[2]) / (-c[0] * c[1] * c[2])};
    for (int i = 0; i < stages; ++i) all[i + 1] = at_stages[i] * s / c[i];
    return all;
  }
  /// Their derivatives. Those of the stages, Σ_j weights times w, since a cubic is determined by its slopes there and its value at 0.
  static constexpr std::array<double, stages + 1> slope_weights(double s) {
    const Row at_stages = stage_weights(s);
    std::array<double, stages + 1> all{};
    for (int j = 0; j < stages; ++j) {
      for (int i = 0; i < stages; ++i) all[j + 1] += at_stages[i] * w[i][j];
      all[0] -= all[j + 1];
    }
    return all;
  }
};

namespace radau_proofs {

using Row = Radau::Row;
using Square = Radau::Square;

constexpr double tolerance = 4e-14;
constexpr bool is_small(double x) { return x < tolerance && x > -tolerance; }
constexpr double power(double x, int n) {
  double product = 1.0;
  for (int i = 0; i < n; ++i) product *= x;
  return product;
}
constexpr Square product(const Square& x, const Square& y) {
  Square z{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) z[i][j] += x[i][k] * y[k][j];
  return z;
}
constexpr bool agree(const Square& x, const Square& y) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      if (!is_small(x[i][j] - y[i][j])) return false;
  return true;
}
/// B(5): Σ b_i c_i^{p-1} = 1/p for p ≤ 5; C(3): Σ a_ij c_j^{p-1} = c_i^p/p for p ≤ 3; D(2): Σ b_i c_i^{p-1} a_ij = b_j (1 - c_j^p)/p
/// for p ≤ 2. Together they give order 5 (Butcher 1964; Hairer, Wanner 1996, theorem IV.5.1).
constexpr bool has_order_5() {
  const Row b = Radau::a[2];
  for (int p = 1; p <= 5; ++p) {
    double sum = -1.0 / p;
    for (int i = 0; i < 3; ++i) sum += b[i] * power(Radau::c[i], p - 1);
    if (!is_small(sum)) return false;
  }
  for (int p = 1; p <= 3; ++p)
    for (int i = 0; i < 3; ++i) {
      double sum = -power(Radau::c[i], p) / p;
      for (int j = 0; j < 3; ++j) sum += Radau::a[i][j] * power(Radau::c[j], p - 1);
      if (!is_small(sum)) return false;
    }
  for (int p = 1; p <= 2; ++p)
    for (int j = 0; j < 3; ++j) {
      double sum = -b[j] * (1.0 - power(Radau::c[j], p)) / p;
      for (int i = 0; i < 3; ++i) sum += b[i] * power(Radau::c[i], p - 1) * Radau::a[i][j];
      if (!is_small(sum)) return false;
    }
  return true;
}
/// Σ e_i c_i^p = -1 for p = 1, 0 for p = 2, 3.
constexpr bool estimate_has_order_3() {
  for (int p = 1; p <= 3; ++p) {
    double sum = p == 1 ? 1.0 : 0.0;
    for (int i = 0; i < 3; ++i) sum += Radau::e[i] * power(Radau::c[i], p);
    if (!is_small(sum)) return false;
  }
  return true;
}
constexpr Square identity{{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}};
constexpr Square split{{{Radau::gamma, 0.0, 0.0}, {0.0, Radau::alpha, -Radau::beta}, {0.0, Radau::beta, Radau::alpha}}};

static_assert(has_order_5());
static_assert(estimate_has_order_3());
static_assert(agree(product(Radau::a, Radau::w), identity));
static_assert(agree(product(Radau::t_inverse, Radau::t), identity));
static_assert(agree(product(product(Radau::t_inverse, Radau::w), Radau::t), split));

}  // namespace radau_proofs

}  // namespace kreisel::coeff
