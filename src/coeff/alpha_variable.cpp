#include "coeff/alpha_variable.hpp"

#include <algorithm>
#include <cmath>

namespace kreisel::coeff {
namespace {

template <int N>
SmallMatrix<N> product(const SmallMatrix<N>& A, const SmallMatrix<N>& B) {
  SmallMatrix<N> C{};
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      for (int l = 0; l < N; ++l) C[i][j] += A[i][l] * B[l][j];
  return C;
}

/// A⁻¹B by Gauss-Jordan with row exchanges.
template <int N>
SmallMatrix<N> solve(SmallMatrix<N> A, SmallMatrix<N> B) {
  for (int c = 0; c < N; ++c) {
    int pivot = c;
    for (int i = c + 1; i < N; ++i)
      if (std::abs(A[i][c]) > std::abs(A[pivot][c])) pivot = i;
    std::swap(A[c], A[pivot]);
    std::swap(B[c], B[pivot]);
    for (int i = 0; i < N; ++i) {
      if (i == c) continue;
      const double factor = A[i][c] / A[c][c];
      for (int j = 0; j < N; ++j) {
        A[i][j] -= factor * A[c][j];
        B[i][j] -= factor * B[c][j];
      }
    }
  }
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) B[i][j] /= A[i][i];
  return B;
}

/// Largest row sum of S⁻¹TS.
template <int N>
double norm_in_basis(const SmallMatrix<N>& T, const SmallMatrix<N>& S) {
  const SmallMatrix<N> D = solve<N>(S, product<N>(T, S));
  double largest = 0.0;
  for (const auto& row : D) {
    double sum = 0.0;
    for (const double entry : row) sum += std::abs(entry);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Jordan basis V of equal steps, its columns times 1, ε, ε² (Wieloch 2022, proof of theorem 3).
SmallMatrix<3> jordan_basis(double rho) {
  const double e = 0.5 * (1.0 - rho), plus = 1.0 + rho, both = 1.0 - rho * rho;
  return {{{0.0, e / (2.0 * plus * plus), e * e * rho / (2.0 * (rho - 1.0) * plus * plus * plus)},
           {1.0, 0.0, 0.0},
           {0.0, e / both, e * e * (2.0 - rho) / (both * both)}}};
}

}  // namespace

JerkWeights jerk_weights(double delta, double sigma, double a3, double a4) {
  return {-1.0 + (delta / sigma - 1.0) * a3 + delta * a4, 1.0 - delta / sigma * a3 - (1.0 + delta) * a4, a3, a4};
}

JerkWeights published_jerk_weights(int approximation, double delta, double sigma) {
  switch (approximation) {
    case 1:
      return {-sigma / delta, 0.0, sigma / delta, 0.0};
    case 2:
      return {0.0, -sigma / (delta - sigma), sigma / (delta - sigma), 0.0};
    case 3: {
      const double a4 = sigma / (sigma + (sigma - 1.0) * delta);
      return {0.0, 0.0, -a4, a4};
    }
    default:
      return {-1.0, 1.0, 0.0, 0.0};
  }
}

AlphaStep alpha_step(const GeneralizedAlpha& parameters, const JerkWeights& weights, double sigma,
                     bool modifies_velocity, bool modifies_acceleration) {
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters;
  const double delta = parameters.delta(), change = 1.0 - 1.0 / (sigma * sigma);
  AlphaStep out;
  out.A = weights;
  if (modifies_acceleration) out.c = delta * (1.0 - 1.0 / sigma);
  if (modifies_velocity) {
    out.kappa = (1.0 / 6.0 - 0.5 * delta - beta) * change;
    out.mu = change / 12.0;
  }
  out.e = 1.0 - alpha_m + alpha_m * out.c * weights[3];
  out.w = (1.0 - alpha_f - alpha_m * out.c * weights[1]) / out.e;
  out.j = weights[1] + weights[3] * out.w;
  out.p = out.kappa * out.j;
  out.r = (0.5 - beta) * out.c * out.j + beta * out.w;
  out.s = (1.0 - gamma) * out.c * out.j + gamma * out.w;
  return out;
}

double amplification_norm(AlphaForm form, double rho_inf, int approximation, double sigma, double sigma_next) {
  const GeneralizedAlpha parameters = GeneralizedAlpha::from_rho_inf(rho_inf);
  const auto& [alpha_m, alpha_f, beta, gamma] = parameters;
  const JerkWeights A = published_jerk_weights(approximation, parameters.delta(), sigma);
  const AlphaStep step = alpha_step(parameters, A, sigma, form == AlphaForm::index3, true);
  const double tangential = std::abs(alpha_m * (1.0 + step.c * A[2]) / step.e);
  std::array<double, 4> b, c, d;
  for (int i = 0; i < 4; ++i) {
    b[i] = step.kappa * A[i];
    c[i] = (0.5 - beta) * step.c * A[i];
    d[i] = (1.0 - gamma) * step.c * A[i];
  }
  // The last row is that of a_{n+1} in both forms.
  const double next_lambda = 1.0 - alpha_f - alpha_m * step.c * A[1], next_a = step.e;
  const double lambda = -alpha_f + alpha_m * step.c * A[0], a = -alpha_m * (1.0 + step.c * A[2]);
  if (form == AlphaForm::stabilized_index2) {
    const SmallMatrix<2> next{{{d[1], -(d[3] + gamma)}, {next_lambda, next_a}}};
    const SmallMatrix<2> now{{{-d[0], d[2] + 1.0 - gamma}, {lambda, a}}};
    // Triangular for equal steps; the second column is scaled so that the entry beside -ρ∞ becomes (1-ρ∞)/2.
    const double beside = stabilized_error_amplification(parameters)[0][1];
    const double scale = beside == 0.0 ? 1.0 : 0.5 * (1.0 - rho_inf) / std::abs(beside);
    return std::max(tangential, norm_in_basis<2>(solve<2>(next, now), {{{1.0, 0.0}, {0.0, scale}}}));
  }
  // (Wieloch 2022, eq. 4.44)
  const SmallMatrix<3> next{{{0.0, b[1] + c[1], -(b[3] + c[3] + beta)},
                             {sigma_next, b[1] + d[1], -(b[3] + d[3] + gamma)},
                             {0.0, next_lambda, next_a}}};
  const SmallMatrix<3> now{{{1.0, -(b[0] + c[0]), b[2] + c[2] + 0.5 - beta},
                            {1.0, -(b[0] + d[0]), b[2] + d[2] + 1.0 - gamma},
                            {0.0, lambda, a}}};
  return std::max(tangential, norm_in_basis<3>(solve<3>(next, now), jordan_basis(rho_inf)));
}

double ratio_bound(AlphaForm form, double rho_inf, int approximation) {
  // In 1/σ_{n+1} the norm is convex, so that the ends of the interval decide; in σ_n it is sampled.
  constexpr int samples = 200;
  const auto is_contractive = [&](double s) {
    for (int i = 0; i <= samples; ++i) {
      const double sigma = std::pow(s, 2.0 * i / samples - 1.0);
      for (const double next : {1.0 / s, s})
        if (!(amplification_norm(form, rho_inf, approximation, sigma, next) < 1.0)) return false;
    }
    return true;
  };
  double low = 1.0, high = 100.0;
  if (is_contractive(high)) return high;
  while (high - low > 1e-9 * low) {
    const double middle = std::sqrt(low * high);
    (is_contractive(middle) ? low : high) = middle;
  }
  return low;
}

GeneralizedAlpha with_ratio(const GeneralizedAlpha& alpha, double sigma) {
  const double delta = alpha.delta(), over = 1.0 + delta - delta / sigma;
  GeneralizedAlpha out = alpha;
  out.gamma = (0.5 - delta / sigma) / over;
  out.beta = (alpha.beta + 0.5 * delta * (1.0 - 1.0 / sigma)) / over;
  return out;
}

}  // namespace kreisel::coeff
