// Words in the letters h v, h² v', h³ v'', … : expansions of group methods to order h⁷, for any Lie group at once.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace kreisel::coeff {

/// A polynomial in the non-commuting letters vⱼ = h^{j+1} v⁽ʲ⁾(t_n), cut off above total degree 7.
///
/// A letter of degree d is written as the bits 1 0…0 (d-1 zeros), a word as its letters side by side. So every
/// integer below 2⁷ is one word, its bit width is the degree, 0 is the empty word, and
/// word·other = (word << degree(other)) | other.
class FreeSeries {
 public:
  static constexpr int max_degree = 7;
  static constexpr std::uint32_t word_count = 1u << max_degree;
  static constexpr int degree(std::uint32_t word) { return std::bit_width(word); }

  constexpr FreeSeries() = default;
  static constexpr FreeSeries constant(double value) {
    FreeSeries s;
    s.coefficient[0] = value;
    return s;
  }
  /// vⱼ = h^{j+1} v⁽ʲ⁾(t_n), j = 0…6.
  static constexpr FreeSeries letter(int j) {
    FreeSeries s;
    s.coefficient[1u << j] = 1.0;
    return s;
  }

  constexpr FreeSeries& operator+=(const FreeSeries& other) {
    for (std::uint32_t w = 0; w < word_count; ++w) coefficient[w] += other.coefficient[w];
    return *this;
  }
  constexpr FreeSeries& operator-=(const FreeSeries& other) {
    for (std::uint32_t w = 0; w < word_count; ++w) coefficient[w] -= other.coefficient[w];
    return *this;
  }
  constexpr FreeSeries& operator*=(double factor) {
    for (double& c : coefficient) c *= factor;
    return *this;
  }
  friend constexpr FreeSeries operator+(FreeSeries a, const FreeSeries& b) { return a += b; }
  friend constexpr FreeSeries operator-(FreeSeries a, const FreeSeries& b) { return a -= b; }
  friend constexpr FreeSeries operator*(double factor, FreeSeries a) { return a *= factor; }
  friend constexpr FreeSeries operator*(const FreeSeries& a, const FreeSeries& b) {
    FreeSeries product;
    for (std::uint32_t left = 0; left < word_count; ++left) {
      if (a.coefficient[left] == 0.0) continue;
      const std::uint32_t room = 1u << (max_degree - degree(left));
      for (std::uint32_t right = 0; right < room; ++right)
        product.coefficient[(left << degree(right)) | right] += a.coefficient[left] * b.coefficient[right];
    }
    return product;
  }

  std::array<double, word_count> coefficient{};
};

/// [a, b] = ab - ba.
constexpr FreeSeries bracket(const FreeSeries& a, const FreeSeries& b) { return a * b - b * a; }

/// exp of a series without constant term.
constexpr FreeSeries exponential(const FreeSeries& x) {
  FreeSeries sum = FreeSeries::constant(1.0), term = sum;
  for (int i = 1; i <= FreeSeries::max_degree; ++i) sum += term = (1.0 / i) * (term * x);
  return sum;
}

/// log of a series with constant term 1.
constexpr FreeSeries logarithm(const FreeSeries& y) {
  const FreeSeries x = y - FreeSeries::constant(1.0);
  FreeSeries sum, term = FreeSeries::constant(-1.0);
  for (int i = 1; i <= FreeSeries::max_degree; ++i) {
    term = -1.0 * (term * x);
    sum += (1.0 / i) * term;
  }
  return sum;
}

/// h v(t_n + s h).
constexpr FreeSeries velocity(double s) {
  FreeSeries sum;
  double factor = 1.0;
  for (int j = 0; j < FreeSeries::max_degree; ++j) {
    sum += factor * FreeSeries::letter(j);
    factor *= s / (j + 1);
  }
  return sum;
}

/// ν = log(q(t_n + s h)⁻¹ q(t_n + (s+1) h)), the exact increment of the step that starts at t_n + s h: the
/// power series of q̇ = q v in the step, then its logarithm (Wieloch 2022, eq. 2.33, 3.28).
constexpr FreeSeries increment(double s) {
  constexpr int last = FreeSeries::max_degree;
  std::array<FreeSeries, last> v;  // v[m] = h^{m+1} v⁽ᵐ⁾(t_n + s h) / m!
  double factorial = 1.0;
  for (int m = 0; m < last; ++m) {
    double factor = 1.0 / factorial;
    for (int j = m; j < last; ++j) {
      v[m] += factor * FreeSeries::letter(j);
      factor *= s / (j - m + 1);
    }
    factorial *= m + 1;
  }
  std::array<FreeSeries, last + 1> q;
  q[0] = FreeSeries::constant(1.0);
  FreeSeries sum = q[0];
  for (int p = 0; p < last; ++p) {
    for (int m = 0; m <= p; ++m) q[p + 1] += q[p - m] * v[m];
    sum += q[p + 1] *= 1.0 / (p + 1);
  }
  return logarithm(sum);
}

/// A Lie series is determined by its Lyndon words: those smaller than each of their proper right parts.
constexpr bool is_lyndon(std::uint32_t word) {
  constexpr auto letters = [](std::uint32_t w) {
    std::array<int, FreeSeries::max_degree + 1> d{};  // degrees of the letters, ended by a zero
    int count = 0;
    for (int bit = FreeSeries::degree(w) - 1; bit >= 0; --bit) {
      if ((w >> bit) & 1u) ++count;
      ++d[count - 1];
    }
    return d;
  };
  if (word == 0) return false;
  const auto whole = letters(word);
  for (int cut = 1; cut < FreeSeries::degree(word); ++cut) {
    if (!((word >> (cut - 1)) & 1u)) continue;  // inside a letter
    const auto right = letters(word & ((1u << cut) - 1));
    if (!(whole < right)) return false;
  }
  return true;
}

/// "v0 v0 v2" for a word; the sum of (index + 1) is its power of h.
inline std::string word_name(std::uint32_t word) {
  std::string name;
  int zeros = 0;
  for (int bit = 0; bit < FreeSeries::degree(word); ++bit) {
    if ((word >> bit) & 1u) {
      name = "v" + std::to_string(zeros) + (name.empty() ? "" : " ") + name;
      zeros = 0;
    } else {
      ++zeros;
    }
  }
  return name;
}

}  // namespace kreisel::coeff
