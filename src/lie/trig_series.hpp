// Trigonometric quotients of the rotation angle θ as functions of s = θ², without cancellation at small angles.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace kreisel::lie {

/// The closed forms lose digits as θ → 0, the power series need more terms as θ grows. Short series serve below
/// `small_angle2`, long ones up to `moderate_angle2` > π², so that no rotation by less than half a turn calls libm.
inline constexpr double small_angle2 = 0.25;
inline constexpr double moderate_angle2 = 10.0;

namespace series {

/// Numbers of terms that leave a relative remainder below 2⁻⁵⁶ at the end of the interval.
inline constexpr std::size_t small_stumpff = 7, moderate_stumpff = 14;
inline constexpr std::size_t small_half_angle = 7, moderate_half_angle = 12;
inline constexpr std::size_t small_cotangent = 9, moderate_cotangent = 19;

/// From here on the closed form replaces the slowly converging series of the cotangent.
inline constexpr double moderate_cotangent_angle2 = 4.0;

/// Σ rⱼ sʲ by Horner's rule, unrolled whatever the optimiser's limits.
template <std::size_t terms, std::size_t... i>
constexpr double horner(const std::array<double, terms>& r, double s, std::index_sequence<i...>) {
  double sum = r[terms - 1];
  ((sum = sum * s + r[terms - 2 - i]), ...);
  return sum;
}
template <std::size_t terms>
constexpr double polynomial(const std::array<double, terms>& r, double s) {
  return horner(r, s, std::make_index_sequence<terms - 1>{});
}

constexpr double factorial(std::size_t n) { return n < 2 ? 1.0 : static_cast<double>(n) * factorial(n - 1); }

/// (-1)ʲ/(2j+n)!, exact to round-off because the factorials up to 22! are exact doubles and the rest negligible.
template <std::size_t n, std::size_t terms>
inline constexpr std::array<double, terms> stumpff_terms = [] {
  std::array<double, terms> r{};
  for (std::size_t j = 0; j < terms; ++j) r[j] = (j % 2 == 0 ? 1.0 : -1.0) / factorial(2 * j + n);
  return r;
}();

/// cₙ(s) = Σ (-s)ʲ/(2j+n)!.
template <std::size_t n, std::size_t terms>
constexpr double stumpff(double s) {
  return polynomial(stumpff_terms<n, terms>, s);
}

/// |B₂ⱼ₊₂|/(2j+2)!, the power series of (1 - (θ/2)cot(θ/2))/θ² in s; it converges for θ < 2π.
inline constexpr std::array<double, 20> bernoulli_terms{
    0.083333333333333333333,   0.0013888888888888888889,  3.3068783068783068783e-5,  8.2671957671957671958e-7,
    2.0876756987868098979e-8,  5.2841901386874931848e-10, 1.3382536530684678833e-11, 3.3896802963225828668e-13,
    8.5860620562778445641e-15, 2.174868698558061873e-16,  5.5090028283602295152e-18, 1.3954464685812523341e-19,
    3.5347070396294674717e-21, 8.9535174270375468504e-23, 2.2679524523376830603e-24, 5.7447906688722024453e-26,
    1.4551724756148649019e-27, 3.6859949406653101782e-29, 9.336734257095044672e-31,  2.3650224157006299346e-32};

template <std::size_t terms>
inline constexpr std::array<double, terms> cotangent_terms = [] {
  std::array<double, terms> r{};
  for (std::size_t j = 0; j < terms; ++j) r[j] = bernoulli_terms[j];
  return r;
}();

template <std::size_t terms>
inline constexpr std::array<double, terms> cotangent_slope_terms = [] {
  std::array<double, terms> r{};
  for (std::size_t j = 0; j < terms; ++j) r[j] = 2.0 * static_cast<double>(j + 1) * bernoulli_terms[j + 1];
  return r;
}();

template <std::size_t terms>
inline constexpr std::array<double, terms> cotangent_curvature_terms = [] {
  std::array<double, terms> r{};
  for (std::size_t j = 0; j < terms; ++j) r[j] = 4.0 * static_cast<double>((j + 2) * (j + 1)) * bernoulli_terms[j + 2];
  return r;
}();

}  // namespace series

/// Everything exp needs, from one evaluation at the half angle.
struct HalfAngle {
  double sin_over_angle;  ///< sin(θ/2)/θ, not /(θ/2)
  double cos;             ///< cos(θ/2)
};

inline HalfAngle half_angle(double s) {
  using namespace series;
  const double u = 0.25 * s;  // (θ/2)²
  if (s < small_angle2) return {0.5 * stumpff<1, small_half_angle - 1>(u), stumpff<0, small_half_angle>(u)};
  if (s < moderate_angle2) return {0.5 * stumpff<1, moderate_half_angle>(u), stumpff<0, moderate_half_angle>(u)};
  const double angle = std::sqrt(s);
  return {std::sin(0.5 * angle) / angle, std::cos(0.5 * angle)};
}

/// (1 - cosθ)/θ² = 2 (sin(θ/2)/θ)².
inline double one_minus_cos_over_angle2(const HalfAngle& half) {
  return 2.0 * half.sin_over_angle * half.sin_over_angle;
}

/// (θ - sinθ)/θ³, with sinθ/θ from the half angle unless θ is small.
inline double angle_minus_sin_over_angle3(double s, const HalfAngle& half) {
  if (s < small_angle2) return series::stumpff<3, series::small_stumpff>(s);
  return (1.0 - 2.0 * half.sin_over_angle * half.cos) / s;
}

/// The Stumpff functions cₙ(s) = Σ (-s)ʲ/(2j+n)!. They obey cₙ = 1/n! - s cₙ₊₂ and dcₙ/d(s/2) = n cₙ₊₂ - cₙ₊₁.
struct Stumpff123 {
  double c1;  ///< sinθ/θ
  double c2;  ///< (1 - cosθ)/θ²
  double c3;  ///< (θ - sinθ)/θ³
};

namespace series {

/// The closed forms, for s ≥ moderate_angle2: rare, kept out of line.
[[gnu::noinline]] inline Stumpff123 closed_stumpff123(double s) {
  const HalfAngle half = half_angle(s);
  const double c1 = 2.0 * half.sin_over_angle * half.cos;
  return {c1, one_minus_cos_over_angle2(half), (1.0 - c1) / s};
}

}  // namespace series

/// c₁ … c₃: what T needs on SO(3). Inlined by order: three results returned through memory cost as much as the series.
[[gnu::always_inline]] inline Stumpff123 stumpff123(double s) {
  using namespace series;
  if (s >= moderate_angle2) return closed_stumpff123(s);
  const bool is_small = s < small_angle2;
  const double c2 = is_small ? stumpff<2, small_stumpff>(s) : stumpff<2, moderate_stumpff>(s);
  const double c3 = is_small ? stumpff<3, small_stumpff>(s) : stumpff<3, moderate_stumpff>(s);
  return {1.0 - s * c3, c2, c3};
}

/// What T needs on SE(3): c₁ … c₃ and the derivatives of c₂ and c₃ by s/2.
struct TangentCoefficients : Stumpff123 {
  double slope2, slope3;
};

/// The recursion cₙ = 1/n! - s cₙ₊₂ is stable downwards. The slopes are 2c₄ - c₃ and 3c₅ - c₄, or, for large angles,
/// where these differences cancel, (c₁ - 2c₂)/s and (c₂ - 3c₃)/s.
inline TangentCoefficients tangent_coefficients(double s) {
  using namespace series;
  if (s >= moderate_angle2) {
    const Stumpff123 c = closed_stumpff123(s);
    const double over_s = 1.0 / s;
    return {c, (c.c1 - 2.0 * c.c2) * over_s, (c.c2 - 3.0 * c.c3) * over_s};
  }
  const bool is_small = s < small_angle2;
  const double c4 = is_small ? stumpff<4, small_stumpff>(s) : stumpff<4, moderate_stumpff>(s);
  const double c5 = is_small ? stumpff<5, small_stumpff>(s) : stumpff<5, moderate_stumpff>(s);
  const double c3 = 1.0 / 6.0 - s * c5;
  return {{1.0 - s * c3, 1.0 / 2.0 - s * c4, c3}, 2.0 * c4 - c3, 3.0 * c5 - c4};
}

/// sinθ/θ.
inline double sin_over_angle(double s) { return stumpff123(s).c1; }
/// (1 - cosθ)/θ².
inline double one_minus_cos_over_angle2(double s) { return stumpff123(s).c2; }
/// (θ - sinθ)/θ³.
inline double angle_minus_sin_over_angle3(double s) { return stumpff123(s).c3; }

/// d(s) = (1 - (θ/2)cot(θ/2))/θ², the coefficient of T⁻¹; (θ/2)cot(θ/2) = c₁/(2c₂). Has a pole at θ = 2π.
inline double one_minus_half_angle_cot_over_angle2(double s) {
  using namespace series;
  if (s < small_angle2) return polynomial(cotangent_terms<small_cotangent>, s);
  if (s < moderate_cotangent_angle2) return polynomial(cotangent_terms<moderate_cotangent>, s);
  const Stumpff123 c = stumpff123(s);
  return (1.0 - 0.5 * c.c1 / c.c2) / s;
}

/// d(s) and its derivative by s/2, (1/(2c₂) + c₁/(2c₂) - 2)/θ⁴: what T⁻¹ needs on SE(3).
struct InverseTangentCoefficients {
  double d, slope;
};

inline InverseTangentCoefficients inverse_tangent_coefficients(double s) {
  using namespace series;
  if (s < small_angle2)
    return {polynomial(cotangent_terms<small_cotangent>, s), polynomial(cotangent_slope_terms<small_cotangent>, s)};
  if (s < moderate_cotangent_angle2)
    return {polynomial(cotangent_terms<moderate_cotangent>, s),
            polynomial(cotangent_slope_terms<moderate_cotangent>, s)};
  const Stumpff123 c = stumpff123(s);
  const double half_over_c2 = 0.5 / c.c2, over_s = 1.0 / s, cotangent = c.c1 * half_over_c2;
  return {(1.0 - cotangent) * over_s, (half_over_c2 + cotangent - 2.0) * over_s * over_s};
}

/// The second derivative of d by s/2. With k = (θ/2)cot(θ/2), k' its derivative by s/2: ((2k+1)k' + ½)/s² - 4(k² + k - 2 + s/4)/s³.
inline double inverse_tangent_curvature(double s) {
  using namespace series;
  if (s < small_angle2) return polynomial(cotangent_curvature_terms<small_cotangent>, s);
  if (s < moderate_cotangent_angle2) return polynomial(cotangent_curvature_terms<moderate_cotangent - 1>, s);
  const Stumpff123 c = stumpff123(s);
  const double k = 0.5 * c.c1 / c.c2, over_s = 1.0 / s, slope = (k - k * k - 0.25 * s) * over_s;
  return ((2.0 * k + 1.0) * slope + 0.5 - 4.0 * (k * k + k - 2.0 + 0.25 * s) * over_s) * over_s * over_s;
}

}  // namespace kreisel::lie
