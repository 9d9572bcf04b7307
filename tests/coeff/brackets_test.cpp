#include "coeff/brackets.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "coeff/bch.hpp"
#include "coeff/free_algebra.hpp"
#include "coeff/starting_defect.hpp"

namespace kreisel::coeff {
namespace {

using Series = FreeSeries;

Series v(int j) { return Series::letter(j); }

/// [x₁, [x₂, … [x_{m-1}, x_m]]] of the letters vⱼ.
Series nest(std::initializer_list<int> letters) {
  auto last = std::prev(letters.end());
  Series inner = v(*last);
  while (last != letters.begin()) inner = bracket(v(*--last), inner);
  return inner;
}

Series expand(const LinearForm& lin, int k) {
  Series sum;
  for (int i = 0; i <= k; ++i) sum += lin.a[i] * velocity(1.0 - i);
  for (int i = 1; i <= k; ++i) sum += lin.b[i] * increment(1.0 - i);
  return sum;
}

/// hL as written in the header.
Series correction(const CorrectionSet& set) {
  std::array<Series, 8> lin;
  for (int j = 0; j < set.count; ++j) lin[j] = expand(set.lin[j], set.k);
  if (set.k <= 4) return bracket(lin[0], lin[1]);
  const auto two_levels = [&](int j) { return bracket(lin[j], lin[j + 1] + bracket(lin[j + 2], lin[j + 3])); };
  if (set.k == 5) return set.count == 8 ? two_levels(0) + two_levels(4) : two_levels(0);
  return bracket(lin[0], lin[1] + bracket(lin[2], lin[3] + bracket(lin[4], lin[5])));
}

Series correction(const DifferenceSet& set) {
  const auto expand_row = [](const std::array<double, 7>& row) { return expand({.a = row, .b = {}}, bdf_max_order); };
  const Series V = expand_row(set.V), D1 = expand_row(set.D1), D2 = expand_row(set.D2), D3 = expand_row(set.D3);
  const Series C = bracket(V, D1);
  if (set.k <= 4) return (1.0 / 12) * C;
  return (1.0 / 12) * C + (1.0 / 720) * bracket(V, bracket(V, D2 - C) - D3) +
         bracket(D1, (-1.0 / 180) * D2 - (1.0 / 240) * C);
}

/// h l = Σ γᵢ νᵢ - h v(t_{n+1}) - hL.
Series local_error(int k, const Series& correction) {
  Series sum = -1.0 * velocity(1.0) - correction;
  for (int i = 1; i <= k; ++i) sum += bdf_gamma(k, i) * increment(1.0 - i);
  return sum;
}

void expect_order(const Series& error, int k, double tolerance) {
  for (std::uint32_t word = 0; word < (1u << k); ++word)
    EXPECT_NEAR(error.coefficient[word], 0.0, tolerance) << word_name(word) << ", k = " << k;
}

void expect_leading_term(const Series& error, int k, const Series& expected, double tolerance) {
  for (std::uint32_t word = 1u << k; word < (2u << k); ++word)
    EXPECT_NEAR(error.coefficient[word], expected.coefficient[word], tolerance) << word_name(word) << ", k = " << k;
}

const CorrectionSet& published(int k) { return *find_correction_set("published", k); }

TEST(CorrectionSets, AllMeetTheirConditions) {
  for (const CorrectionSet& set : correction_sets()) {
    const auto violated = violated_conditions(set, 1e-11);
    EXPECT_TRUE(violated.empty()) << set.name << ", k = " << set.k << ": " << violated.front();
    expect_order(local_error(set.k, correction(set)), set.k, 1e-11);
  }
}

TEST(CorrectionSets, CoverTheNamesOfTheManual) {
  for (const int k : {3, 4})
    for (const char* name : {"difference", "published", "tuned", "tuned-implicit"})
      EXPECT_NE(find_correction_set(name, k), nullptr) << name;
  for (const int k : {5, 6}) {
    EXPECT_NE(find_correction_set("published", k), nullptr);
    EXPECT_EQ(find_correction_set("difference", k), nullptr);
    EXPECT_EQ(find_correction_set("tuned", k), nullptr);
  }
  EXPECT_EQ(find_correction_set("magnus", 4), nullptr);
  EXPECT_EQ(find_correction_set("published", 2), nullptr);
}

TEST(CorrectionSets, OnlyTheImplicitOnesAreImplicit) {
  for (const CorrectionSet& set : correction_sets()) EXPECT_EQ(set.is_explicit(), set.name != "tuned-implicit");
  for (const DifferenceSet& set : difference_sets()) EXPECT_EQ(set.is_explicit(), set.name == "explicit");
}

TEST(CorrectionSets, WithoutCorrectionTheOrderIsTwo) {
  for (int k = 3; k <= 6; ++k) {
    const Series error = local_error(k, Series{});
    expect_order(error, 2, 1e-13);
    expect_leading_term(error, 2, (1.0 / 12) * nest({0, 1}), 1e-13);
  }
}

TEST(CorrectionSets, LeadingErrorsAreTheDerivedOnes) {
  expect_leading_term(local_error(1, {}), 1, -0.5 * v(1), 1e-13);
  expect_leading_term(local_error(2, {}), 2, (-1.0 / 3) * v(2) + (1.0 / 12) * nest({0, 1}), 1e-13);
  expect_leading_term(local_error(3, correction(published(3))), 3, -0.25 * v(3) + (1.0 / 12) * nest({0, 2}), 1e-12);
  expect_leading_term(local_error(4, correction(published(4))), 4,
                      -0.2 * v(4) + (77.0 / 360) * nest({0, 3}) + (13.0 / 360) * nest({1, 2}) +
                          (1.0 / 720) * nest({0, 0, 2}) - (1.0 / 240) * nest({1, 0, 1}) -
                          (1.0 / 720) * nest({0, 0, 0, 1}),
                      1e-12);
  expect_leading_term(local_error(5, correction(published(5))), 5,
                      (-1.0 / 6) * v(5) + (401.0 / 5400) * nest({0, 4}) + (107.0 / 8100) * nest({1, 3}) -
                          (2.0 / 675) * nest({0, 0, 3}) + (77.0 / 10800) * nest({0, 1, 2}) -
                          (18517.0 / 3531600) * nest({1, 0, 2}) + (2.0 / 675) * nest({0, 0, 0, 2}) +
                          (2473.0 / 353160) * nest({0, 1, 0, 1}) - (109.0 / 21600) * nest({0, 0, 0, 0, 1}),
                      1e-12);
  expect_leading_term(
      local_error(6, correction(published(6))), 6,
      (-1.0 / 7) * v(6) + (132308227.0 / 1161972000) * nest({0, 5}) - (11080757.0 / 8845200) * nest({1, 4}) +
          (1.0 / 2800) * nest({2, 3}) + (236729.0 / 290493000) * nest({0, 0, 4}) +
          (12569341891.0 / 90067354650) * nest({0, 1, 3}) - (71.0 / 9450) * nest({1, 0, 3}) -
          (571.0 / 75600) * nest({1, 1, 2}) + (1.0 / 4200) * nest({2, 0, 2}) -
          (3959309.0 / 1742958000) * nest({0, 0, 0, 3}) - (3856101859.0 / 832715614080) * nest({0, 0, 1, 2}) -
          (5739657990564193.0 / 43030579357584000) * nest({0, 1, 0, 2}) + (1.0 / 75600) * nest({1, 0, 0, 2}) +
          (169.0 / 3628800) * nest({1, 1, 0, 1}) - (1423259.0 / 6971832000) * nest({0, 0, 0, 0, 2}) +
          (3133558708669.0 / 14410776744000) * nest({0, 0, 1, 0, 1}) - (1.0 / 151200) * nest({1, 0, 0, 0, 1}) +
          (344963.0 / 1742958000) * nest({0, 0, 0, 0, 0, 1}),
      1e-10);
}

/// -v⁽ᵏ⁾/(k+1) and the brackets of a table.
Series tabulated(int k, std::span<const NestedBracket> terms) {
  Series sum = (-1.0 / (k + 1)) * v(k);
  for (const NestedBracket& term : terms) {
    Series inner = v(term.order[term.count - 1]);
    for (int i = term.count - 2; i >= 0; --i) inner = bracket(v(term.order[i]), inner);
    sum += term.weight * inner;
  }
  return sum;
}

// The tables that `--starting formula` uses, against the schemes themselves.
TEST(StartingDefect, IsTheLeadingTermOfBliedf) {
  for (int k = 1; k <= 6; ++k)
    expect_leading_term(local_error(k, k < 3 ? Series{} : correction(published(k))), k,
                        tabulated(k, bliedf_starting_defect(k)), 1e-10);
}

TEST(StartingDefect, IsTheLeadingTermOfMkbdf) {
  const auto commutator = [](const Series& a, const Series& b) { return bracket(a, b); };
  for (int k = 1; k <= 6; ++k) {
    // h l = Σ αᵢ ωᵢ - dexp_k⁻¹(-ω₀, h v(t_{n+1})), ωᵢ = BCH_k(-ν_{n-1}, BCH_k(-ν_{n-2}, …))
    Series error = bdf_alpha(k, 0) * increment(0.0) - dexp_inverse(k, -1.0 * increment(0.0), velocity(1.0), commutator);
    for (int i = 2; i <= k; ++i) {
      Series omega = -1.0 * increment(1.0 - i);
      for (int j = i - 1; j >= 2; --j) omega = bch(k, -1.0 * increment(1.0 - j), omega, commutator);
      error += bdf_alpha(k, i) * omega;
    }
    expect_order(error, k, 1e-12);
    expect_leading_term(error, k, tabulated(k, mkbdf_starting_defect(k, false)), 1e-12);
  }
}

TEST(DifferenceSets, KeepOrderK) {
  EXPECT_EQ(difference_sets().size(), 8u);
  for (const DifferenceSet& set : difference_sets()) {
    expect_order(local_error(set.k, correction(set)), set.k, 1e-12);
    EXPECT_EQ(find_difference_set(set.name, set.k), &set);
  }
  EXPECT_EQ(find_difference_set("implicit", 2), nullptr);
}

TEST(DifferenceSets, LeadingErrorsAreTheDerivedOnes) {
  expect_leading_term(local_error(3, correction(*find_difference_set("implicit", 3))), 3,
                      -0.25 * v(3) + (1.0 / 24) * nest({0, 2}), 1e-12);
  expect_leading_term(
      local_error(5, correction(*find_difference_set("implicit", 5))), 5,
      (-1.0 / 6) * v(5) + (3.0 / 160) * nest({0, 4}) - (1.0 / 180) * nest({1, 3}) + (1.0 / 720) * nest({0, 0, 3}),
      1e-12);
}

TEST(ViolatedConditions, NameTheMomentThatIsOff) {
  CorrectionSet set = published(4);
  set.lin[1].b[2] = 0.25;
  set.lin[1].b[3] = -0.125;
  const auto violated = violated_conditions(set, 1e-9);
  ASSERT_EQ(violated.size(), 4u);
  EXPECT_EQ(violated[0], "(3.41b) sum a_i2 + sum b_i2 = 0: the sum is 0.125, expected 0 (off by 0.125)");
  EXPECT_EQ(violated[1].substr(0, 7), "(3.41c)");
  EXPECT_EQ(violated[2].substr(0, 7), "(3.41e)");
  EXPECT_EQ(violated[3].substr(0, 7), "(3.41f)");
}

TEST(ViolatedConditions, NameTheWordThatIsOff) {
  CorrectionSet set = published(5);
  set.lin[2].a[1] += 1e-3;
  const auto violated = violated_conditions(set, 1e-9);
  ASSERT_FALSE(violated.empty());
  EXPECT_EQ(violated.front().substr(0, 33), "(3.32) coefficient of h^3 v0 v0 v");
  set = published(6);
  set.lin[5].b[2] = 0.999;
  EXPECT_FALSE(violated_conditions(set, 1e-9).empty());
}

TEST(ViolatedConditions, RefuseWrongShapesAndNotANumber) {
  CorrectionSet set = published(5);
  set.count = 2;
  EXPECT_EQ(violated_conditions(set, 1e-9).front(), "the set has 2 linear forms, eq. 3.34 needs 4 for k = 5");
  set = published(3);
  set.k = 2;
  EXPECT_EQ(violated_conditions(set, 1e-9).front(), "k is 2, corrections exist for k = 3, 4, 5, 6 only");
  for (const int k : {3, 6}) {
    set = published(k);
    set.lin[0].a[1] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(violated_conditions(set, 1e-9).empty());
  }
}

}  // namespace
}  // namespace kreisel::coeff
