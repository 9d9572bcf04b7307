#include "coeff/generalized_alpha.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kreisel::coeff {

namespace {

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

SmallMatrix<3> product(const SmallMatrix<3>& A, const SmallMatrix<3>& B) {
  SmallMatrix<3> C{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int l = 0; l < 3; ++l) C[i][j] += A[i][l] * B[l][j];
  return C;
}

}  // namespace

std::vector<std::string> violated_conditions(const GeneralizedAlpha& parameters, AlphaStability stability,
                                             double tolerance) {
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters;
  const bool strict = stability == AlphaStability::contractive;
  const double slack = strict ? -tolerance : tolerance;
  const std::string less = strict ? " < " : " <= ", greater = strict ? " > " : " >= ";

  std::vector<std::string> violated;
  const double second_order_gamma = 0.5 + alpha_f - alpha_m;
  if (!(std::abs(gamma - second_order_gamma) <= tolerance))
    violated.push_back("order 2: gamma = 1/2 + alpha_f - alpha_m (gamma is " + digits(gamma) + ", expected " +
                       digits(second_order_gamma) + ")");
  if (!(alpha_m <= alpha_f + slack))
    violated.push_back("stability: alpha_m" + less + "alpha_f (alpha_m is " + digits(alpha_m) + ", alpha_f is " +
                       digits(alpha_f) + ")");
  if (!(alpha_f <= 0.5 + slack))
    violated.push_back("stability: alpha_f" + less + "1/2 (alpha_f is " + digits(alpha_f) + ")");
  const double least_beta = 0.25 + 0.5 * (alpha_f - alpha_m);
  if (!(beta >= least_beta - slack))
    violated.push_back("stability: beta" + greater + "1/4 + (alpha_f - alpha_m)/2 (beta is " + digits(beta) +
                       ", bound is " + digits(least_beta) + ")");
  return violated;
}

SmallMatrix<3> error_amplification(const GeneralizedAlpha& parameters) {
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters;
  SmallMatrix<3> T{};
  // Rows 1, 2, 3 of T₊E₊ = T₀E solved for the third, first and second component of E₊.
  const std::array<double, 3> acceleration{-1.0 / beta, 0.0, -(0.5 - beta) / beta};
  T[2] = acceleration;
  T[0] = {1.0 + gamma * acceleration[0], 0.0, 1.0 - gamma + gamma * acceleration[2]};
  for (int j = 0; j < 3; ++j) T[1][j] = -(1.0 - alpha_m) * acceleration[j] / (1.0 - alpha_f);
  T[1][1] -= alpha_f / (1.0 - alpha_f);
  T[1][2] -= alpha_m / (1.0 - alpha_f);
  return T;
}

SmallMatrix<2> stabilized_error_amplification(const GeneralizedAlpha& parameters) {
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters;
  const double acceleration = -(1.0 - gamma) / gamma;
  return {{{-alpha_f / (1.0 - alpha_f), (-alpha_m - (1.0 - alpha_m) * acceleration) / (1.0 - alpha_f)},
           {0.0, acceleration}}};
}

SmallMatrix<3> power(const SmallMatrix<3>& T, int n) {
  SmallMatrix<3> result{{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}};
  SmallMatrix<3> square = T;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result = product(result, square);
    square = product(square, square);
  }
  return result;
}

double norm2(const SmallMatrix<3>& T) {
  SmallMatrix<3> S{};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int l = 0; l < 3; ++l) S[i][j] += T[l][i] * T[l][j];

  // Cyclic Jacobi rotations; a symmetric 3×3 matrix is diagonal to round-off after six sweeps.
  for (int sweep = 0; sweep < 8; ++sweep) {
    for (const auto& [p, q] : {std::array{0, 1}, std::array{0, 2}, std::array{1, 2}}) {
      if (S[p][q] == 0.0) continue;
      const double theta = (S[q][q] - S[p][p]) / (2.0 * S[p][q]);
      const double t = std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1.0));
      const double c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
      for (int i = 0; i < 3; ++i) {
        const double x = S[i][p], y = S[i][q];
        S[i][p] = c * x - s * y;
        S[i][q] = s * x + c * y;
      }
      for (int i = 0; i < 3; ++i) {
        const double x = S[p][i], y = S[q][i];
        S[p][i] = c * x - s * y;
        S[q][i] = s * x + c * y;
      }
    }
  }
  return std::sqrt(std::max({S[0][0], S[1][1], S[2][2]}));
}

double transient_growth(double rho_inf) {
  // n(n-1) ρ^{n-2}/2 rises while (n+1)ρ > n-1 and falls afterwards.
  double n = 2.0;
  while ((n + 1.0) * rho_inf > n - 1.0) n += 1.0;
  return 0.5 * n * (n - 1.0) * std::pow(rho_inf, n - 2.0);
}

}  // namespace kreisel::coeff
