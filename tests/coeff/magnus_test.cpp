// The velocity relation Σ γᵢ (ω^{(n+1-i)} - c^{(n+1-i)}) = h v_{n+1} on exact data, any group, any grid.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <span>

#include "coeff/bdf_variable.hpp"
#include "coeff/bliedf_defect.hpp"
#include "coeff/free_algebra.hpp"

namespace kreisel::coeff {
namespace {

using Series = FreeSeries;

enum class Slope { plain, gauss };
enum class Nodes { with_new_velocity, old_only };

/// Increment of the step from `from` to `to`; times in units of h, t_n = 0.
Series increment_between(double from, double to) {
  const double length = to - from;
  Series result = increment(from / length);  // letters of the step size length·h
  for (std::uint32_t word = 0; word < Series::word_count; ++word)
    result.coefficient[word] *= std::pow(length, Series::degree(word));
  return result;
}

Series combination(std::span<const double> weights, std::span<const double> nodes, double h) {
  Series sum;
  for (std::size_t i = 0; i < nodes.size(); ++i) sum += weights[i] * h * velocity(nodes[i]);
  return sum;
}

Series commutator_part(int k, std::span<const double> times, Nodes used, Slope slope) {
  if (k <= 2) return {};
  const double h = times[0] - times[1], mid = 0.5 * (times[0] + times[1]);
  const auto nodes = times.subspan(used == Nodes::with_new_velocity ? 0 : 1, k);
  const MagnusWeights w = magnus_weights(k, nodes, mid, h);
  const Series A1 = combination(w.a1, nodes, h), A3 = combination(w.a3, nodes, h);
  const Series A2 = combination(slope == Slope::gauss ? w.a2_gauss : w.a2, nodes, h);
  const Series C1 = -1.0 * bracket(A1, A2);
  if (k <= 4) return (-1.0 / 12) * C1;
  const Series C2 = (1.0 / 60) * bracket(A1, 2.0 * A3 + C1);
  return (1.0 / 240) * bracket(20.0 * A1 + A3 - C1, A2 + C2);
}

/// h_n l_n of the relation; `newest_step` says which velocities enter c of the newest step.
Series defect(int k, std::span<const double> times, Nodes newest_step, Slope slope) {
  const BdfCoefficients bdf = variable_bdf(k, times.first(k + 1));
  Series sum = (times[1] - times[0]) * velocity(times[0]);
  for (int i = 1; i <= k; ++i) {
    const auto since = times.subspan(i - 1);
    const Nodes used = i == 1 ? newest_step : Nodes::with_new_velocity;
    sum += bdf.gamma[i] * (increment_between(since[1], since[0]) - commutator_part(k, since, used, slope));
  }
  return sum;
}

double largest_of_degree(const Series& x, int degree) {
  double largest = 0.0;
  for (std::uint32_t word = (1u << degree) / 2; word < (1u << degree); ++word)
    largest = std::max(largest, std::abs(x.coefficient[word]));
  return largest;
}

using Times = std::array<double, 13>;  // newest first: k steps with k nodes behind each

Times uniform_times() {
  Times times;
  for (int i = 0; i < 13; ++i) times[i] = 1.0 - i;
  return times;
}

Times random_times(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> ratio(0.7, 1.4);
  Times times{1.0, 0.0};
  double h = 1.0;
  for (int i = 2; i < 13; ++i) times[i] = times[i - 1] - (h = std::min(2.0, std::max(0.5, h * ratio(random))));
  return times;
}

class MagnusIncrements : public testing::TestWithParam<int> {};

TEST_P(MagnusIncrements, KeepOrderKOnEveryGrid) {
  const int k = GetParam();
  for (const Times& times : {uniform_times(), random_times(1), random_times(2), random_times(3)})
    for (const Nodes newest_step : {Nodes::with_new_velocity, Nodes::old_only}) {
      const Series error = defect(k, times, newest_step, Slope::gauss);
      for (int degree = 0; degree <= k; ++degree) EXPECT_NEAR(largest_of_degree(error, degree), 0.0, 1e-9);
      EXPECT_GT(largest_of_degree(error, k + 1), 1e-2);
    }
}

TEST_P(MagnusIncrements, NeedTheGaussSlopeAboveOrderFour) {
  const int k = GetParam();
  const Series error = defect(k, uniform_times(), Nodes::with_new_velocity, Slope::plain);
  for (int degree = 0; degree <= std::min(k, 4); ++degree) EXPECT_NEAR(largest_of_degree(error, degree), 0.0, 1e-10);
  if (k < 5) return;
  EXPECT_NEAR(error.coefficient[0b11000], 1.0 / 480, 1e-10);  // h⁵ [v, v'''] of hl, so l = O(h⁴)
  EXPECT_NEAR(largest_of_degree(error, 5), 1.0 / 480, 1e-10);
}

Series nested(const NestedBracket& term) {
  Series result = Series::letter(term.order[term.count - 1]);
  for (int i = term.count - 2; i >= 0; --i) result = bracket(Series::letter(term.order[i]), result);
  return term.weight * result;
}

// What the velocity modification of index-3 forms is made of: l = bdf_defect v⁽ᵏ⁾ + increment_defect W on any grid.
TEST_P(MagnusIncrements, LeadTheirDefectWithKnownTerms) {
  const int k = GetParam();
  for (const Times& times : {uniform_times(), random_times(1), random_times(2), random_times(3)}) {
    std::array<double, 12> steps;
    for (int i = 0; i < 12; ++i) steps[i] = times[i] - times[i + 1];
    Series expected = bdf_defect(k, steps) * Series::letter(k);
    for (const NestedBracket& term : magnus_defect(k)) expected += increment_defect(k, k + 1, steps) * nested(term);
    expected *= steps[0];  // the relation below is multiplied by h_n
    for (const Nodes newest_step : {Nodes::with_new_velocity, Nodes::old_only}) {
      const Series difference = defect(k, times, newest_step, k > 4 ? Slope::gauss : Slope::plain) - expected;
      EXPECT_NEAR(largest_of_degree(difference, k + 1), 0.0, 1e-8 * largest_of_degree(expected, k + 1));
    }
    if (k % 2 == 0) {
      EXPECT_FALSE(magnus_defect(k).empty());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, MagnusIncrements, testing::Range(1, 7));

}  // namespace
}  // namespace kreisel::coeff
