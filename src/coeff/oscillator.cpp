#include "coeff/oscillator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <span>

#include "coeff/adams_moulton.hpp"
#include "coeff/bdf.hpp"

namespace kreisel::coeff {
namespace {

using Complex = std::complex<double>;
constexpr int max_degree = 7;
using Polynomial = std::array<Complex, max_degree + 1>;  ///< highest power first

/// Largest modulus of the roots of p[0] x^degree + …, by the iteration of Durand and Kerner. Leading zeros are not expected (no
/// method has them, not even for hω = 0); a multiple root is found to about the root of round-off.
double largest_root(Polynomial p, int degree) {
  for (int i = degree; i >= 0; --i) p[i] /= p[0];
  std::array<Complex, max_degree> root;
  double bound = 0.0;  // Cauchy's
  for (int i = 1; i <= degree; ++i) bound = std::max(bound, std::abs(p[i]));
  for (int i = 0; i < degree; ++i) root[i] = std::polar(std::min(1.0 + bound, 2.0), 0.4 + 2.0 * M_PI * i / degree);
  for (int sweep = 0; sweep < 500; ++sweep) {
    double change = 0.0;
    for (int i = 0; i < degree; ++i) {
      Complex value = 1.0, below = 1.0;
      for (int j = 1; j <= degree; ++j) value = value * root[i] + p[j];
      for (int j = 0; j < degree; ++j)
        if (j != i) below *= root[i] - root[j];
      if (below == 0.0) below = 1e-300;
      const Complex step = value / below;
      root[i] -= step;
      change = std::max(change, std::abs(step));
    }
    if (change < 1e-15) break;
  }
  double largest = 0.0;
  for (int i = 0; i < degree; ++i) largest = std::max(largest, std::abs(root[i]));
  return largest;
}

}  // namespace

double bdf_spectral_radius(int k, double h_omega) {
  // The roots of the other sign are the conjugates.
  Polynomial p{};
  for (int i = 0; i <= k; ++i) p[i] = bdf_alpha(k, i);
  p[0] -= Complex(0.0, h_omega);
  return largest_root(p, k);
}

double adams_moulton_spectral_radius(int k, double h_omega) {
  const int degree = std::max(k, 1);
  Polynomial p{};
  p[0] = 1.0;
  p[1] = -1.0;
  for (int i = 0; i <= k; ++i) p[i] -= Complex(0.0, h_omega) * adams_moulton_beta(k, i);
  return largest_root(p, degree);
}

double alpha_spectral_radius(const GeneralizedAlpha& parameters, double h_omega) {
  const double alpha_m = parameters.alpha_m, alpha_f = parameters.alpha_f, beta = parameters.beta,
               gamma = parameters.gamma;
  const double H = h_omega * h_omega;
  // A₁ y₁ = A₀ y; det(ζA₁ - A₀) is the cubic through four of its values.
  const auto characteristic = [&](double z) {
    const double a = z - 1.0, b = -1.0, c = -(0.5 - beta) - z * beta;
    const double e = z - 1.0, f = -(1.0 - gamma) - z * gamma;
    const double g = H * ((1.0 - alpha_f) * z + alpha_f), i = (1.0 - alpha_m) * z + alpha_m;
    return a * e * i + g * (b * f - c * e);
  };
  const double y0 = characteristic(0.0), y1 = characteristic(1.0), y2 = characteristic(-1.0), y3 = characteristic(2.0);
  const double even = 0.5 * (y1 + y2) - y0, odd = 0.5 * (y1 - y2);  // c₂, c₁ + c₃
  const double cubic = (y3 - y0 - 4.0 * even - 2.0 * odd) / 6.0;
  return largest_root({cubic, even, odd - cubic, y0}, 3);
}

double runge_kutta_spectral_radius(const Tableau& tableau, double h_omega) {
  std::array<Complex, runge_kutta_max_stages> slope;
  Complex next = 1.0;
  for (int i = 0; i < tableau.stages; ++i) {
    Complex y = 1.0;
    for (int j = 0; j < i; ++j) y += tableau.a[i][j] * slope[j];
    slope[i] = Complex(0.0, h_omega) * y;
    next += tableau.b[i] * slope[i];
  }
  return std::abs(next);
}

}  // namespace kreisel::coeff
