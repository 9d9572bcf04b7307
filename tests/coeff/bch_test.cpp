#include "coeff/bch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace kreisel::coeff {
namespace {

/// Polynomials in two non-commuting letters a, b, cut off above degree 6.
struct Polynomial {
  std::map<std::string, double> of;

  Polynomial& operator+=(const Polynomial& other) {
    for (const auto& [word, value] : other.of) of[word] += value;
    return *this;
  }
  friend Polynomial operator*(double factor, Polynomial x) {
    for (auto& [word, value] : x.of) value *= factor;
    return x;
  }
  friend Polynomial operator*(const Polynomial& x, const Polynomial& y) {
    Polynomial product;
    for (const auto& [left, p] : x.of)
      for (const auto& [right, q] : y.of)
        if (left.size() + right.size() <= 6) product.of[left + right] += p * q;
    return product;
  }
};

const Polynomial a{{{"a", 1.0}}}, b{{{"b", 1.0}}}, one{{{"", 1.0}}};

Polynomial commutator(const Polynomial& x, const Polynomial& y) {
  Polynomial result = x * y;
  result += -1.0 * (y * x);
  return result;
}

Polynomial exponential(const Polynomial& x) {
  Polynomial sum = one, term = one;
  for (int i = 1; i <= 6; ++i) sum += term = (1.0 / i) * (term * x);
  return sum;
}

Polynomial logarithm(const Polynomial& y) {
  Polynomial x = y, sum, term = one;
  x += -1.0 * one;
  for (int i = 1; i <= 6; ++i) {
    term = term * x;
    sum += (i % 2 == 1 ? 1.0 / i : -1.0 / i) * term;
  }
  return sum;
}

TEST(Bch, AgreesWithTheLogarithmBelowDegreeK) {
  const Polynomial exact = logarithm(exponential(a) * exponential(b));
  for (int k = 2; k <= 6; ++k) {
    Polynomial error = bch(k, a, b, commutator);
    error += -1.0 * exact;
    double next = 0.0;
    for (const auto& [word, value] : error.of) {
      if (static_cast<int>(word.size()) < k)
        EXPECT_NEAR(value, 0.0, 1e-14) << word << ", k = " << k;
      else if (static_cast<int>(word.size()) == k)
        next = std::max(next, std::abs(value));
    }
    EXPECT_GT(next, 1e-4) << "k = " << k;
  }
}

TEST(Bch, OfOrderOneAndTwoIsTheSum) {
  for (const int k : {1, 2}) EXPECT_EQ(bch_bracket_count(k), 0);
}

TEST(DexpInverse, InvertsTheSeriesOfDexpUpToTheDegreeOfTheScheme) {
  // dexp(w, v) = Σ ad_w^j v/(j+1)!, on w = a, v = b: linear in b
  for (int k = 1; k <= 6; ++k) {
    const Polynomial x = dexp_inverse(k, a, b, commutator);
    Polynomial sum = x, power = x;
    double factor = 1.0;
    for (int j = 1; j <= 5; ++j) {
      power = commutator(a, power);
      factor /= j + 1;
      sum += factor * power;
    }
    sum += -1.0 * b;
    for (const auto& [word, value] : sum.of) {
      if (static_cast<int>(word.size()) >= k) continue;
      EXPECT_NEAR(value, 0.0, 1e-15) << word << ", k = " << k;
    }
  }
}

TEST(DexpInverse, OfMinusOmegaIsTheInverseOfOurTangentOperator) {
  // T(a) b = Σ (-1)^j ad_a^j b/(j+1)!
  const Polynomial x = dexp_inverse(6, -1.0 * a, b, commutator);
  Polynomial sum = x, power = x;
  double factor = 1.0;
  for (int j = 1; j <= 5; ++j) {
    power = commutator(a, power);
    factor /= -(j + 1);
    sum += factor * power;
  }
  sum += -1.0 * b;
  for (const auto& [word, value] : sum.of) {
    if (word.size() >= 6) continue;
    EXPECT_NEAR(value, 0.0, 1e-15) << word;
  }
}

}  // namespace
}  // namespace kreisel::coeff
