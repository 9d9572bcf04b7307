#include "kreisel/coeff/bliedf_defect.hpp"

#include <array>
#include <cmath>

#include "kreisel/coeff/bdf_variable.hpp"

namespace kreisel::coeff {

double bdf_defect(int k, std::span<const double> steps) {
  double product = 1.0, distance = 0.0;
  for (int j = 1; j <= k; ++j) {
    distance += steps[j - 1];
    product *= distance / (j + 1);
  }
  return -product;
}

double increment_defect(int k, int p, std::span<const double> steps) {
  std::array<double, bdf_max_order + 1> times{};
  for (int i = 1; i <= k; ++i) times[i] = times[i - 1] - steps[i - 1];
  const BdfCoefficients bdf = variable_bdf(k, std::span<const double>(times.data(), k + 1));
  double sum = 0.0;
  for (int i = 1; i <= k; ++i) sum += bdf.gamma[i] * std::pow(steps[i - 1], p);
  return sum / steps[0];
}

double difference_defect(std::span<const double> steps) {
  const double s = steps[0] / steps[1], t = steps[1] / steps[2];
  const double above = -1.0 + s * (-1.0 + t * (1.0 + t + s * (2.0 + (4.0 + 3.0 * s) * t)));
  return steps[0] * steps[0] * steps[0] * above / (24.0 * s * s * t * (1.0 + t + s * t));
}

double difference_weight(std::span<const double> steps) {
  const double s = steps[0] / steps[1], t = steps[1] / steps[2];
  return -0.25 * steps[0] * (s - 1.0 + 1.0 / (1.0 + t + s * t));
}

}  // namespace kreisel::coeff
