// Truncations of log(exp(a) exp(b)) and of the inverse tangent operator, as used by Munthe-Kaas BDF of order k.
#pragma once

#include <array>

namespace kreisel::coeff {

/// One bracket of a BCH evaluation: node = [node[left], node[right]], weighted by numerator / over.
/// Nodes 0 and 1 are the arguments a and b; entry i of the table defines node i + 2. A weight 0 marks a
/// bracket that only serves a later one.
struct BchBracket {
  int left, right;
  int numerator, over;
  constexpr double weight() const { return static_cast<double>(numerator) / over; }
};

/// log(exp(a)exp(b)) = a + b + Σ weight·node up to degree 5 (Wieloch 2022, eq. 3.13, with the complete
/// degree-5 part: the printed 3.13e lacks -1/360 [[a,b],[b,[a,b]]]).
inline constexpr std::array<BchBracket, 12> bch_brackets{{{0, 1, 1, 2},       //  2 = [a,b]
                                                          {0, 2, 1, 12},      //  3 = [a,[a,b]]
                                                          {1, 2, -1, 12},     //  4 = [b,[a,b]]
                                                          {1, 3, -1, 24},     //  5 = [b,[a,[a,b]]]
                                                          {0, 3, 0, 1},       //  6 = [a,[a,[a,b]]]
                                                          {1, 4, 0, 1},       //  7 = [b,[b,[a,b]]]
                                                          {0, 6, -1, 720},    //  8 = [a,[a,[a,[a,b]]]]
                                                          {1, 7, 1, 720},     //  9 = [b,[b,[b,[a,b]]]]
                                                          {1, 6, -1, 180},    // 10 = [b,[a,[a,[a,b]]]]
                                                          {1, 5, 1, 180},     // 11 = [b,[b,[a,[a,b]]]]
                                                          {2, 3, -1, 120},    // 12 = [[a,b],[a,[a,b]]]
                                                          {2, 4, -1, 360}}};  // 13 = [[a,b],[b,[a,b]]]

/// The bracket missing in print, the last one.
inline constexpr int bch_unprinted = 11;

/// How many of `bch_brackets` the approximation BCH_k uses, k = 1…6: degree ≤ k - 1.
constexpr int bch_bracket_count(int k) {
  constexpr std::array<int, 6> count{0, 0, 1, 3, 4, 12};
  return count[k - 1];
}

/// BCH_k(a, b) for any vector type with +=, * and `bracket(x, y)` returning one.
template <class Vector, class Bracket>
constexpr Vector bch(int k, const Vector& a, const Vector& b, Bracket bracket) {
  std::array<Vector, 2 + bch_brackets.size()> node;
  node[0] = a;
  node[1] = b;
  Vector sum = a;
  sum += b;
  for (int i = 0; i < bch_bracket_count(k); ++i) {
    node[i + 2] = bracket(node[bch_brackets[i].left], node[bch_brackets[i].right]);
    if (bch_brackets[i].numerator != 0) sum += bch_brackets[i].weight() * node[i + 2];
  }
  return sum;
}

/// dexp⁻¹(w, v) = Σ_j coefficient[j] ad_w^j v, coefficient[j] = B_j/j! (Wieloch 2022, eq. 3.11, four hats in
/// the last term). In our left trivialisation ω̇ = T(ω)⁻¹v = dexp⁻¹(-ω, v).
inline constexpr std::array<double, 5> dexp_inverse_coefficients{1.0, -1.0 / 2, 1.0 / 12, 0.0, -1.0 / 720};

/// Highest power of ad_w in dexp_k⁻¹, k = 1…6.
constexpr int dexp_inverse_degree(int k) {
  constexpr std::array<int, 6> degree{0, 0, 1, 2, 2, 4};
  return degree[k - 1];
}

/// dexp_k⁻¹(w, v) for any vector type with +=, * and `bracket(x, y)` returning one.
template <class Vector, class Bracket>
constexpr Vector dexp_inverse(int k, const Vector& w, const Vector& v, Bracket bracket) {
  Vector sum = v, power = v;
  for (int j = 1; j <= dexp_inverse_degree(k); ++j) {
    power = bracket(w, power);
    if (dexp_inverse_coefficients[j] != 0.0) sum += dexp_inverse_coefficients[j] * power;
  }
  return sum;
}

}  // namespace kreisel::coeff
