#include "coeff/bliedf_defect.hpp"

#include <array>
#include <cmath>

#include "coeff/bdf_variable.hpp"

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

std::span<const NestedBracket> magnus_defect(int k) {
  static constexpr std::array<NestedBracket, 1> degree_3{{{2, {0, 1}, 1.0 / 12.0}}};
  static constexpr std::array<NestedBracket, 5> degree_5{{
      {2, {0, 3}, 1.0 / 480.0},
      {2, {1, 2}, -1.0 / 480.0},
      {3, {0, 0, 2}, 1.0 / 720.0},
      {3, {1, 0, 1}, -1.0 / 240.0},
      {4, {0, 0, 0, 1}, -1.0 / 720.0},
  }};
  static constexpr std::array<NestedBracket, 17> degree_7{{
      {2, {0, 5}, 1.0 / 53760.0},
      {2, {1, 4}, -1.0 / 53760.0},
      {2, {2, 3}, 1.0 / 100800.0},
      {3, {0, 0, 4}, 1.0 / 40320.0},
      {3, {0, 1, 3}, 1.0 / 50400.0},
      {3, {1, 0, 3}, 1.0 / 100800.0},
      {3, {1, 1, 2}, 1.0 / 13440.0},
      {3, {2, 0, 2}, 1.0 / 151200.0},
      {4, {0, 0, 0, 3}, 1.0 / 100800.0},
      {4, {0, 0, 1, 2}, 47.0 / 302400.0},
      {4, {0, 1, 0, 2}, -1.0 / 8064.0},
      {4, {1, 0, 0, 2}, -17.0 / 302400.0},
      {4, {1, 1, 0, 1}, 1.0 / 6720.0},
      {5, {0, 0, 0, 0, 2}, -1.0 / 30240.0},
      {5, {0, 0, 1, 0, 1}, 11.0 / 302400.0},
      {5, {1, 0, 0, 0, 1}, 19.0 / 302400.0},
      {6, {0, 0, 0, 0, 0, 1}, 1.0 / 30240.0},
  }};
  switch (k) {
    case 2:
      return degree_3;
    case 4:
      return degree_5;
    case 6:
      return degree_7;
    default:
      return {};
  }
}

double difference_defect(std::span<const double> steps) {
  const double s = steps[0] / steps[1], t = steps[1] / steps[2];
  const double above = -1.0 + s * (-1.0 + t * (1.0 + t + s * (2.0 + (4.0 + 3.0 * s) * t)));
  return steps[0] * steps[0] * steps[0] * above / (24.0 * s * s * t * (1.0 + t + s * t));
}

PrintedDefect printed_defect_difference(int k, std::span<const double> steps) {
  const double h = steps[0], r = steps[0] / steps[1], s = steps[1] / steps[2], t = steps[2] / steps[3];
  if (k < 2) return {bdf_defect(k, steps) - bdf_defect(k, steps.subspan(1)), 0.0};
  if (k == 2)
    return {h * h / 6.0 * ((1.0 + s) / (r * r) - (1.0 + r) / r),
            h * h / 12.0 * ((2.0 * r - 1.0) / r - (2.0 * s - 1.0) / (s * r))};
  const double h3 = h * h * h;
  const auto shape = [&](std::span<const double> list) {
    return difference_defect(list) / (list[0] * list[0] * list[0]);
  };
  return {h3 / 24.0 * ((1.0 + s) / (r * r * r * t * t) - (1.0 + r) / (r * r * t)),
          h3 * (shape(steps) - shape(steps.subspan(1)) / (r * r))};
}

double difference_weight(std::span<const double> steps) {
  const double s = steps[0] / steps[1], t = steps[1] / steps[2];
  return -0.25 * steps[0] * (s - 1.0 + 1.0 / (1.0 + t + s * t));
}

}  // namespace kreisel::coeff
