#include "coeff/free_algebra.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <iterator>

#include "coeff/bdf.hpp"

namespace kreisel::coeff {
namespace {

using Series = FreeSeries;

Series nest(std::initializer_list<int> letters) {
  auto last = std::prev(letters.end());
  Series inner = Series::letter(*last);
  while (last != letters.begin()) inner = bracket(Series::letter(*--last), inner);
  return inner;
}

void expect_equal(const Series& x, const Series& y, double tolerance) {
  for (std::uint32_t word = 0; word < Series::word_count; ++word)
    EXPECT_NEAR(x.coefficient[word], y.coefficient[word], tolerance) << word_name(word);
}

TEST(FreeSeries, WordsAreNamedAndGraded) {
  const Series product = Series::letter(0) * Series::letter(2) * Series::letter(1);
  EXPECT_EQ(product.coefficient[0b110010], 1.0);
  EXPECT_EQ(word_name(0b110010), "v0 v2 v1");
  EXPECT_EQ(Series::degree(0b110010), 6);
}

TEST(FreeSeries, ProductsAreAssociativeAndCutOff) {
  const Series x = velocity(0.3), y = velocity(-1.1), z = velocity(2.0);
  expect_equal((x * y) * z, x * (y * z), 1e-12);
  expect_equal(Series::letter(6) * Series::letter(0), Series{}, 0.0);
}

TEST(FreeSeries, LogarithmInvertsTheExponential) {
  const Series x = velocity(0.7) + bracket(velocity(-0.2), velocity(0.4));
  expect_equal(logarithm(exponential(x)), x, 1e-13);
}

TEST(FreeSeries, BracketsSatisfyTheJacobiIdentity) {
  const Series x = velocity(0.3), y = velocity(-1.1), z = velocity(2.0);
  expect_equal(bracket(x, bracket(y, z)) + bracket(y, bracket(z, x)) + bracket(z, bracket(x, y)), Series{}, 1e-12);
}

TEST(FreeSeries, LyndonWordsAreAsManyAsTheFreeLieAlgebraHasDimensions) {
  // letters of degree 1, 2, 3, …: 1, 1, 2, 3, 6, 9, 18 (Witt's formula)
  std::array<int, 8> count{};
  for (std::uint32_t word = 1; word < Series::word_count; ++word)
    if (is_lyndon(word)) ++count[Series::degree(word)];
  EXPECT_EQ(count, (std::array<int, 8>{0, 1, 1, 2, 3, 6, 9, 18}));
}

TEST(Increment, ComposesToTheIncrementOfTheDoubleStep) {
  const Series both = exponential(increment(-1.0)) * exponential(increment(0.0));
  // The double step from t_n - h, in letters of the double step size: vⱼ scales with 2^{j+1}.
  Series scaled = increment(-0.5);
  for (std::uint32_t word = 0; word < Series::word_count; ++word)
    scaled.coefficient[word] *= static_cast<double>(1u << Series::degree(word));
  expect_equal(logarithm(both), scaled, 1e-12);
}

TEST(Increment, HasTheDerivedSeventhOrderTerm) {  // μ₇ / 7!
  const Series mu7 = Series::letter(6) + 2.5 * nest({0, 5}) + 4.5 * nest({1, 4}) + 2.5 * nest({2, 3}) +
                     nest({0, 0, 4}) + 5.0 * nest({0, 1, 3}) - 4.5 * nest({1, 0, 3}) - 0.5 * nest({1, 1, 2}) -
                     (25.0 / 6) * nest({2, 0, 2}) - nest({0, 0, 0, 3}) + (11.0 / 6) * nest({0, 0, 1, 2}) -
                     5.0 * nest({0, 1, 0, 2}) - (4.0 / 3) * nest({1, 0, 0, 2}) - nest({1, 1, 0, 1}) -
                     (1.0 / 6) * nest({0, 0, 0, 0, 2}) - (1.0 / 6) * nest({0, 0, 1, 0, 1}) +
                     (2.0 / 3) * nest({1, 0, 0, 0, 1}) + (1.0 / 6) * nest({0, 0, 0, 0, 0, 1});
  const Series nu = increment(0.0);
  for (std::uint32_t word = 64; word < 128; ++word)
    EXPECT_NEAR(5040.0 * nu.coefficient[word], mu7.coefficient[word], 1e-10) << word_name(word);
}

TEST(Increment, GivesEvenPowersOnlyAtTheNewTime) {
  // (1/h) Σ γᵢ νᵢ = v + h²/12 [v,v'] + h⁴E₄ at t_{n+1}; letters at t_{n+1} are those of the shifted increments.
  Series sum = -1.0 * Series::letter(0);
  for (int i = 1; i <= 6; ++i) sum += bdf_gamma(6, i) * increment(-static_cast<double>(i));
  sum -= (1.0 / 12) * nest({0, 1});
  sum -= (-1.0 / 720) * nest({0, 3}) + (-1.0 / 180) * nest({1, 2}) + (1.0 / 720) * nest({0, 0, 2}) -
         (1.0 / 240) * nest({1, 0, 1}) - (1.0 / 720) * nest({0, 0, 0, 1});
  for (std::uint32_t word = 0; word < 64; ++word) EXPECT_NEAR(sum.coefficient[word], 0.0, 1e-12) << word_name(word);
}

}  // namespace
}  // namespace kreisel::coeff
