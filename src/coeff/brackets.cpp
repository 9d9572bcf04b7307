#include "coeff/brackets.hpp"

#include <cmath>
#include <cstdio>

#include "coeff/free_algebra.hpp"

namespace kreisel::coeff {

namespace {

constexpr CorrectionSet difference_quotients(int k, std::string_view name) {
  if (k == 3)  // (Wieloch 2022, eq. 3.40a)
    return {3, 2, {{{.a = {0, 1.0 / 12}}, {.a = {0, 3.0 / 2, -2.0, 1.0 / 2}}}}, name};
  // (Wieloch 2022, eq. 3.40b)
  return {4, 2, {{{.a = {0, 1.0 / 12}}, {.a = {0, 7.0 / 4, -7.0 / 4, -3.0 / 4, 3.0 / 4}}}}, name};
}

constexpr std::array sets{
    difference_quotients(3, "difference"),
    difference_quotients(4, "difference"),
    difference_quotients(3, "published"),
    difference_quotients(4, "published"),

    // (Wieloch 2022, eq. 3.42)
    CorrectionSet{5,
                  4,
                  {{{.a = {0, 4927.0 / 2943, -3109.0 / 2943, 16.0 / 327}, .b = {0, 0, 1}},
                    {.a = {0, 3161.0 / 675, -1417.0 / 1350}},
                    {.a = {0, -14.0 / 75, 53.0 / 300}},
                    {.b = {0, 0, 1}}}},
                  "published"},

    // (Wieloch 2022, eq. 3.43)
    CorrectionSet{
        6,
        6,
        {{{.a = {0, 902305.0 / 74412, -2080379.0 / 37206, 555107.0 / 6201, -43513.0 / 702, 1175851.0 / 74412},
           .b = {0, 0, -89.0 / 53, 1}},
          {.a = {0, -617837.0 / 391500, -745049.0 / 391500, 31637.0 / 195750}, .b = {0, 0, 432619.0 / 130500}},
          {.a = {0, 8473853415487.0 / 267658590240000, -7972785567043.0 / 267658590240000},
           .b = {0, 0, -236562797.0 / 210423420000}},
          {.a = {0, 17588486133607200.0 / 103646212371559},
           .b = {0, 0, -13202850459341111.0 / 103646212371559, -443096.0 / 14053, 1}},
          {.a = {0, 1039128.0 / 14053}},
          {.a = {0, 0, -706805.0 / 1039128}, .b = {0, 0, 1}}}},
        "published"},

    // The second ansatz of (Wieloch 2022, section 3.2), eight forms. With V, D1, D2, D3 of the explicit differences below and K, the
    // commutator h³[v, v'] that increments show: BDF of order 4 gives Σ γᵢ ω^{(n-i)} = h v_n + h³/12 [v, v'] + O(h⁵),
    //   hL = [V, D1/12 - D3/720 + [V, (D2 - K)/720]] + [D1, -D2/180 + [V, -D1/240]].
    CorrectionSet{
        5,
        8,
        {{{.a = {0, 3, -3, 1}},
          {.a = {0, 26.0 / 72 - 1.0 / 720, -57.0 / 72 + 3.0 / 720, 42.0 / 72 - 3.0 / 720, -11.0 / 72 + 1.0 / 720}},
          {.a = {0, 3, -3, 1}},
          {.a = {0, 13.0 / 720, -2.0 / 720, 1.0 / 720}, .b = {0, 0, -25.0 / 720, 23.0 / 720, -13.0 / 720, 3.0 / 720}},
          {.a = {0, 26.0 / 6, -57.0 / 6, 42.0 / 6, -11.0 / 6}},
          {.a = {0, -1.0 / 180, 2.0 / 180, -1.0 / 180}},
          {.a = {0, 3, -3, 1}},
          {.a = {0, -26.0 / 1440, 57.0 / 1440, -42.0 / 1440, 11.0 / 1440}}}},
        "two-chains"},

    // (Wieloch 2022, eq. 6.7)
    CorrectionSet{3,
                  2,
                  {{{.a = {0, -1.37872190956776, -2.95414965850481, -4.46630667652555},
                     .b = {0, 0, 4.86465799288703, 4.01785358504442}},
                    {.a = {0, 6.43118898334207, -0.251965339229852, 6.04133559544059},
                     .b = {0, 0, -5.50013300767788, -6.72042623187493}}}},
                  "tuned"},

    // (Wieloch 2022, eq. 6.9); the entries i = 4, missing in print, follow from eq. 3.41a, b, d, f
    CorrectionSet{4,
                  2,
                  {{{.a = {0, -1.67876614106032, 3.07122613520328, -2.50907130087646, 3.662992622425813},
                     .b = {0, 0, -3.36166983338703, 9.60778111160441, -8.70915926057636}},
                    {.a = {0, 6.9760443494959, -8.18750698866965, 2.21000229945281, -0.99853966027906},
                     .b = {0, 0, -6.35906537451745, 6.95500937843368, -0.59594400391623}}}},
                  "tuned"},

    // (Wieloch 2022, eq. 6.8)
    CorrectionSet{3,
                  2,
                  {{{.a = {5.24281797269331, 2.80233526987551, -3.85724425749725, 3.30539890486575},
                     .b = {0, -3.61957377496834, 0.108068150385785, -3.89846893202143}},
                    {.a = {0.501916816184551, -3.37875139908466, -1.13188143412463, 6.44554348846025},
                     .b = {0, 3.14090074432045, 2.32024603081716, -7.89797424657311}}}},
                  "tuned-implicit"},

    // (Wieloch 2022, eq. 6.10); the entries i = 4, missing in print, follow from eq. 3.41a, b, d, f
    CorrectionSet{4,
                  2,
                  {{{.a = {5.5259797909541, -5.74722666327503, 4.27407568275581, 2.67226789875473, -3.218075449881385},
                     .b = {0, -2.62867609640801, -3.31210875450453, 0.389431322962876, 2.127665601974772}},
                    {.a = {5.9482882956157, -8.19039669944764, 3.70086989589663, -2.16080421168301, 0.70204271961832},
                     .b = {0, -3.00106876837373, -0.584753934011666, 6.70981550891437, -3.123992806528974}}}},
                  "tuned-implicit"},
};

/// Differences as integers over a denominator: aᵢ multiplies h v_{n+1-first-i}.
constexpr std::array<double, bdf_max_order + 1> row(int first, int over, std::array<int, 5> numerator) {
  std::array<double, bdf_max_order + 1> weights{};
  for (int i = 0; i < 5; ++i) weights[first + i] = static_cast<double>(numerator[i]) / over;
  return weights;
}

/// Σ aᵢ(-i)ᵖ/p! = [p = derivative] for p < conditions: the row is h^{d+1} v⁽ᵈ⁾(t_{n+1}) + O(h^{conditions+1}).
constexpr bool approximates(const std::array<double, bdf_max_order + 1>& weights, int derivative, int conditions) {
  for (int p = 0; p < conditions; ++p) {
    double sum = 0.0;
    for (int i = 0; i <= bdf_max_order; ++i) {
      double term = weights[i];
      for (int j = 1; j <= p; ++j) term *= -static_cast<double>(i) / j;
      sum += term;
    }
    const double error = sum - (p == derivative ? 1.0 : 0.0);
    if (error > 1e-11 || error < -1e-11) return false;
  }
  return true;
}

constexpr std::array differences{
    DifferenceSet{3, row(0, 1, {1}), row(0, 1, {1, -1}), {}, {}, "implicit"},
    DifferenceSet{4, row(0, 1, {1}), row(0, 2, {3, -4, 1}), {}, {}, "implicit"},
    DifferenceSet{5, row(0, 1, {1}), row(0, 6, {11, -18, 9, -2}), row(0, 1, {1, -2, 1}), row(0, 1, {1, -3, 3, -1}),
                  "implicit"},
    DifferenceSet{6, row(0, 1, {1}), row(0, 12, {25, -48, 36, -16, 3}), row(0, 1, {2, -5, 4, -1}),
                  row(0, 2, {5, -18, 24, -14, 3}), "implicit"},
    DifferenceSet{3, row(1, 1, {1}), row(1, 1, {1, -1}), {}, {}, "explicit"},
    DifferenceSet{4, row(1, 1, {2, -1}), row(1, 2, {5, -8, 3}), {}, {}, "explicit"},
    DifferenceSet{5, row(1, 1, {3, -3, 1}), row(1, 6, {26, -57, 42, -11}), row(1, 1, {1, -2, 1}),
                  row(1, 1, {1, -3, 3, -1}), "explicit"},
    DifferenceSet{6, row(1, 1, {4, -6, 4, -1}), row(1, 12, {77, -214, 234, -122, 25}), row(1, 1, {3, -8, 7, -2}),
                  row(1, 2, {7, -26, 36, -22, 5}), "explicit"},
};

/// hL is needed up to h^k. [V, D1]/12 starts at h³, so V may be off by h^{k-1} and D1 by h^k; D2 and D3
/// enter at h⁵, so one and two powers above their leading term for k = 6.
constexpr bool every_difference_is_sharp_enough() {
  for (const DifferenceSet& set : differences) {
    if (!approximates(set.V, 0, set.k - 2) || !approximates(set.D1, 1, set.k - 1)) return false;
    if (set.k >= 5 && (!approximates(set.D2, 2, set.k - 2) || !approximates(set.D3, 3, set.k - 1))) return false;
  }
  return true;
}
static_assert(every_difference_is_sharp_enough());

template <class Sets>
auto find(const Sets& all, std::string_view name, int k) -> decltype(&all[0]) {
  for (const auto& set : all)
    if (set.k == k && set.name == name) return &set;
  return nullptr;
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// Sum over one linear form of aᵢ f(1 - i) + bᵢ g(i).
template <class AtVelocity, class AtIncrement>
double moment(const LinearForm& lin, int k, AtVelocity f, AtIncrement g) {
  double sum = 0.0;
  for (int i = 0; i <= k; ++i) sum += lin.a[i] * f(1.0 - i);
  for (int i = 1; i <= k; ++i) sum += lin.b[i] * g(static_cast<double>(i));
  return sum;
}

std::vector<std::string> violated_moments(const CorrectionSet& set, double tolerance) {
  const auto one = [](double) { return 1.0; };
  const auto zero = [](double) { return 0.0; };
  const auto offset = [](double s) { return s; };
  const auto mean_offset = [](double i) { return 1.5 - i; };
  const auto half_square = [](double s) { return 0.5 * s * s; };
  const auto mean_half_square = [](double i) { return 7.0 / 6 - 1.5 * i + 0.5 * i * i; };
  const LinearForm &lin1 = set.lin[0], &lin2 = set.lin[1];
  const int k = set.k;

  std::vector<std::string> violated;
  const auto require = [&](const char* condition, double expected, double value) {
    if (!(std::abs(value - expected) <= tolerance))
      violated.push_back(std::string(condition) + ": the sum is " + digits(value) + ", expected " + digits(expected) +
                         " (off by " + digits(value - expected) + ")");
  };
  require("(3.41a) sum a_i1 + sum b_i1 = 1/12", 1.0 / 12, moment(lin1, k, one, one));
  require("(3.41b) sum a_i2 + sum b_i2 = 0", 0.0, moment(lin2, k, one, one));
  require("(3.41c) sum a_i2 (1-i) + sum b_i2 (3/2-i) = 1", 1.0, moment(lin2, k, offset, mean_offset));
  if (k == 4) {
    require("(3.41d) sum a_i1 (1-i) + sum b_i1 (3/2-i) = 0", 0.0, moment(lin1, k, offset, mean_offset));
    require("(3.41e) sum a_i2 (i-1)^2/2 + sum b_i2 (7/6 - 3i/2 + i^2/2) = 1", 1.0,
            moment(lin2, k, half_square, mean_half_square));
    require("(3.41f) sum b_i2 = 0", 0.0, moment(lin2, k, zero, one));
  }
  return violated;
}

/// hL on exact data: the innermost bracket first.
FreeSeries correction(const CorrectionSet& set) {
  const auto expand = [&](const LinearForm& lin) {
    FreeSeries sum;
    for (int i = 0; i <= set.k; ++i)
      if (lin.a[i] != 0.0) sum += lin.a[i] * velocity(1.0 - i);
    for (int i = 1; i <= set.k; ++i)
      if (lin.b[i] != 0.0) sum += lin.b[i] * increment(1.0 - i);
    return sum;
  };
  const auto chain = [&](int first, int last) {
    FreeSeries inner = expand(set.lin[last - 1]);
    for (int j = last - 2; j >= first; j -= 2) {
      inner = bracket(expand(set.lin[j]), inner);
      if (j > first) inner += expand(set.lin[j - 1]);
    }
    return inner;
  };
  if (!set.has_two_chains()) return chain(0, set.count);
  FreeSeries sum = chain(0, set.count / 2);
  sum += chain(set.count / 2, set.count);
  return sum;
}

/// hL = Σ γᵢ νᵢ - h v(t_{n+1}) + O(h^{k+1}) on exact data (Wieloch 2022, eq. 3.32).
std::vector<std::string> violated_expansion(const CorrectionSet& set, double tolerance) {
  FreeSeries expected = -1.0 * velocity(1.0);
  for (int i = 1; i <= set.k; ++i) expected += bdf_gamma(set.k, i) * increment(1.0 - i);
  const FreeSeries value = correction(set);

  std::vector<std::string> violated;
  for (std::uint32_t word = 1; word < (1u << set.k); ++word) {
    const double error = value.coefficient[word] - expected.coefficient[word];
    if (!is_lyndon(word) || std::abs(error) <= tolerance) continue;
    violated.push_back("(3.32) coefficient of h^" + std::to_string(FreeSeries::degree(word) - 1) + " " +
                       word_name(word) + " in L: is " + digits(value.coefficient[word]) + ", expected " +
                       digits(expected.coefficient[word]) + " (off by " + digits(error) + ")");
  }
  return violated;
}

}  // namespace

std::span<const CorrectionSet> correction_sets() { return sets; }

const CorrectionSet* find_correction_set(std::string_view name, int k) { return find(sets, name, k); }

std::span<const DifferenceSet> difference_sets() { return differences; }

const DifferenceSet* find_difference_set(std::string_view name, int k) { return find(differences, name, k); }

std::vector<std::string> violated_conditions(const CorrectionSet& set, double tolerance) {
  if (set.k < 3 || set.k > bdf_max_order)
    return {"k is " + std::to_string(set.k) + ", corrections exist for k = 3, 4, 5, 6 only"};
  if (set.count != linear_form_count(set.k) && !set.has_two_chains())
    return {"the set has " + std::to_string(set.count) + " linear forms, eq. 3.34 needs " +
            std::to_string(linear_form_count(set.k)) + " for k = " + std::to_string(set.k)};
  return set.k <= 4 ? violated_moments(set, tolerance) : violated_expansion(set, tolerance);
}

}  // namespace kreisel::coeff
