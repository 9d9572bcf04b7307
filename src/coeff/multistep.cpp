#include "coeff/multistep.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>

namespace kreisel::coeff {
namespace {

/// Roots of Σ cᵢ z^{k-i} by simultaneous iteration (Durand, Kerner); c₀ ≠ 0.
std::vector<std::complex<double>> roots_of(const std::array<double, 7>& c, int k) {
  std::vector<std::complex<double>> z(k);
  for (int i = 0; i < k; ++i) z[i] = std::pow(std::complex<double>(0.4, 0.9), i);
  for (int sweep = 0; sweep < 2000; ++sweep) {
    double change = 0.0;
    for (int i = 0; i < k; ++i) {
      std::complex<double> value = 1.0, others = 1.0;
      for (int j = 1; j <= k; ++j) value = value * z[i] + c[j] / c[0];
      for (int j = 0; j < k; ++j)
        if (j != i) others *= z[i] - z[j];
      const std::complex<double> step = value / others;
      z[i] -= step;
      change = std::max(change, std::abs(step));
    }
    if (change < 1e-15) break;
  }
  return z;
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

int order_of(const Multistep& method) {
  double size = 0.0;
  for (int i = 0; i <= method.k; ++i) size = std::max({size, std::abs(method.alpha[i]), std::abs(method.beta[i])});
  for (int p = 0; p <= 2 * method.k; ++p) {
    double sum = 0.0, terms = 0.0;
    for (int i = 0; i <= method.k; ++i) {
      const double left = method.alpha[i] * std::pow(-i, p),
                   right = p == 0 ? 0.0 : p * method.beta[i] * std::pow(-i, p - 1);
      sum += left - right;
      terms += std::abs(left) + std::abs(right);
    }
    if (std::abs(sum) > 1e-10 * std::max(size, terms)) return p - 1;
  }
  return 2 * method.k;
}

std::vector<std::string> problems_in(const Multistep& method) {
  std::vector<std::string> problems;
  if (method.alpha[0] == 0.0) problems.push_back("alpha0 is 0, expected the weight of the new point");
  if (method.beta[0] == 0.0)
    problems.push_back("beta0 is 0: the method is explicit, but only implicit ones are supported");
  const int order = order_of(method);
  if (order < 1)
    problems.push_back(order < 0 ? "the alphas do not add up to 0: constant solutions are not preserved"
                                 : "sum of -i alpha_i is not the sum of the betas: the method is not consistent");
  if (!problems.empty()) return problems;
  const std::vector<std::complex<double>> roots = roots_of(method.alpha, method.k);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const double size = std::abs(roots[i]);
    bool is_multiple = false;
    for (std::size_t j = 0; j < roots.size(); ++j)
      is_multiple = is_multiple || (j != i && std::abs(roots[i] - roots[j]) < 1e-5);
    if (size > 1.0 + 1e-6 || (size > 1.0 - 1e-6 && is_multiple)) {
      problems.push_back("the polynomial of the alphas has a root of size " + digits(size) +
                         (is_multiple ? ", more than once" : "") + ": the method is not zero-stable");
      break;
    }
  }
  return problems;
}

}  // namespace kreisel::coeff
