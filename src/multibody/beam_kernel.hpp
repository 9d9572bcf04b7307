// The forces of beam elements on SE(3) whose section has no couplings, in closed forms: for one element, or for two side by side.
#pragma once

#include <array>
#include <utility>

#include "base/lanes.hpp"
#include "lie/so3.hpp"

namespace kreisel::multibody::kernel {

template <class T>
using Six = std::pair<Triple<T>, Triple<T>>;

/// f(0) … f(n-1) with indices known at compile time, so that short loops are unrolled.
template <int n, class F>
[[gnu::always_inline]] inline void unrolled(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, i>{}), ...);
  }
  (std::make_integer_sequence<int, n>{});
}

/// Of one element, or of two; diagonal matrices as their diagonals.
template <class T>
struct Constants {
  T over_length, half_length;
  Six<T> strain0;
  Six<T> compliance;  ///< C
  Six<T> twelfth;     ///< C/12
  Six<T> twisting;    ///< (L/12) C
  Six<T> stiffness;   ///< K, of the constant law
  Six<T> damping;     ///< on ḋ
  T bow_y, bow_z;     ///< of ε₁ over γ²
};

/// The pose of B, seen from A, by its logarithm d = (u, ω) and what T⁻¹(d) needs.
template <class T>
struct Relative {
  Triple<T> u, omega;
  T s;         ///< θ²
  T c, slope;  ///< as in lie::inverse_tangent_coefficients; NaN for the slope beyond the widest bend
  T mu;        ///< ω·u
};

template <class T>
struct Rotation {
  Triple<T> omega;
  T s, c, slope;
};

template <std::size_t n, class T>
[[gnu::always_inline]] inline T polynomial(const std::array<double, n>& r, const T& s) {
  T sum = r[n - 1];
  unrolled<static_cast<int>(n) - 1>([&](auto i) __attribute__((always_inline)) { sum = sum * s + T(r[n - 2 - i]); });
  return sum;
}

/// Elements turn by small angles: tan²(θ/2) below this is a turn by less than 0.2 rad, for which short series serve to round-off.
inline constexpr double small_tangent2 = 0.01;

/// From v/w of the quaternion (v, w), which needs neither to be of length one nor to have a positive w: ω = 2 atan(|r|)/|r| r.
template <class T>
[[gnu::always_inline]] inline Rotation<T> small_rotation(const Triple<T>& r, const T& r2) {
  constexpr std::array<double, 9> arc{1.0,         -1.0 / 3.0, 1.0 / 5.0,   -1.0 / 7.0, 1.0 / 9.0,
                                      -1.0 / 11.0, 1.0 / 13.0, -1.0 / 15.0, 1.0 / 17.0};
  constexpr auto c = lie::series::cotangent_terms<6>, slope = lie::series::cotangent_slope_terms<6>;
  Rotation<T> out;
  out.omega = (T(2.0) * polynomial(arc, r2)) * r;
  out.s = dot(out.omega, out.omega);
  out.c = polynomial(c, out.s);
  out.slope = polynomial(slope, out.s);
  return out;
}

/// Any rotation; defined beside the element.
Rotation<double> wide_rotation(const Triple<double>& v, double w);

[[gnu::always_inline]] inline Rotation<double> rotation_of(const Triple<double>& v, double w) {
  const Triple<double> r = (1.0 / w) * v;
  const double r2 = dot(r, r);
  if (r2 < small_tangent2) [[likely]]
    return small_rotation(r, r2);
  return wide_rotation(v, w);
}
[[gnu::always_inline]] inline Rotation<Lanes> rotation_of(const Triple<Lanes>& v, Lanes w) {
  const Triple<Lanes> r = (Lanes(1.0) / w) * v;
  const Lanes r2 = dot(r, r);
  if (r2[0] < small_tangent2 && r2[1] < small_tangent2) [[likely]]
    return small_rotation(r, r2);
  const Rotation<double> a = rotation_of({v.x[0], v.y[0], v.z[0]}, w[0]),
                         b = rotation_of({v.x[1], v.y[1], v.z[1]}, w[1]);
  return {{{a.omega.x, b.omega.x}, {a.omega.y, b.omega.y}, {a.omega.z, b.omega.z}},
          {a.s, b.s},
          {a.c, b.c},
          {a.slope, b.slope}};
}

/// d = log(h), h = q_A⁻¹ q_B: u = T⁻¹(-ω) x = x - ½ ω×x + c ω×(ω×x).
template <class T>
[[gnu::always_inline]] inline Relative<T> relative(const Gather<T>& A, const Gather<T>& B) {
  const Triple<T> way = triple_at(B, 0) - triple_at(A, 0), a = triple_at(A, 3), b = triple_at(B, 3);
  const T wa = A[6], wb = B[6];
  const Triple<T> half = cross(way, a), t = half + half;
  const Triple<T> x = way + wa * t - cross(a, t);
  const Triple<T> v = wa * b - wb * a - cross(a, b);
  const Rotation<T> turn = rotation_of(v, wa * wb + dot(a, b));
  Relative<T> out;
  out.omega = turn.omega;
  out.s = turn.s;
  out.c = turn.c;
  out.slope = turn.slope;
  out.mu = dot(turn.omega, x);  // ω·u, as the other parts of u are across ω
  out.u = (T(1.0) - turn.c * turn.s) * x + (turn.c * out.mu) * turn.omega - T(0.5) * cross(turn.omega, x);
  return out;
}

/// E = [A Q; 0 A], the even part of T⁻¹(d): (A y₁, A y₂ + Q y₁). Eᵀ(n, m) is that of (n, m), E y that of (y₂, y₁) with both exchanged.
template <class T>
[[gnu::always_inline]] inline Six<T> even_part(const Relative<T>& d, const Triple<T>& n, const Triple<T>& m) {
  const T wn = dot(d.omega, n), straight = T(1.0) - d.c * d.s, c_wn = d.c * wn, mu_slope = d.mu * d.slope;
  const T along = d.c * (dot(d.omega, m) + dot(d.u, n)) + mu_slope * wn, back = T(2.0) * d.c * d.mu + mu_slope * d.s;
  return {straight * n + c_wn * d.omega, straight * m + along * d.omega + c_wn * d.u - back * n};
}

/// C*⁻¹ε by C* = L D Lᵀ, written out.
template <class T>
[[gnu::always_inline]] inline Six<T> solve_star(const Relative<T>& d, const Constants<T>& k, const Six<T>& strain) {
  const Triple<T>&u = d.u, &w = d.omega, &a = k.twelfth.first, &b = k.twelfth.second;
  const T w00 = w.x * w.x, w11 = w.y * w.y, w22 = w.z * w.z, u00 = u.x * u.x, u11 = u.y * u.y, u22 = u.z * u.z;
  // C + hat(d) (C/12) hat(d)ᵀ, the lower half.
  T A[6][6];
  A[0][0] = k.compliance.first.x + (a.y * w22 + a.z * w11) + (b.y * u22 + b.z * u11);
  A[1][1] = k.compliance.first.y + (a.x * w22 + a.z * w00) + (b.x * u22 + b.z * u00);
  A[2][2] = k.compliance.first.z + (a.x * w11 + a.y * w00) + (b.x * u11 + b.y * u00);
  A[3][3] = k.compliance.second.x + (b.y * w22 + b.z * w11);
  A[4][4] = k.compliance.second.y + (b.x * w22 + b.z * w00);
  A[5][5] = k.compliance.second.z + (b.x * w11 + b.y * w00);
  const T ax = a.x * w.y, ay = a.y * w.x, az = a.z * w.x;
  const T bx1 = b.x * w.y, bx2 = b.x * w.z, by0 = b.y * w.x, by2 = b.y * w.z, bz0 = b.z * w.x, bz1 = b.z * w.y;
  A[1][0] = -(az * w.y + b.z * (u.x * u.y));
  A[2][0] = -(ay * w.z + b.y * (u.x * u.z));
  A[2][1] = -(ax * w.z + b.x * (u.y * u.z));
  A[3][0] = by2 * u.z + bz1 * u.y;
  A[3][1] = -(bz1 * u.x);
  A[3][2] = -(by2 * u.x);
  A[4][0] = -(bz0 * u.y);
  A[4][1] = bx2 * u.z + bz0 * u.x;
  A[4][2] = -(bx2 * u.y);
  A[5][0] = -(by0 * u.z);
  A[5][1] = -(bx1 * u.z);
  A[5][2] = bx1 * u.y + by0 * u.x;
  A[4][3] = -(bz0 * w.y);
  A[5][3] = -(by0 * w.z);
  A[5][4] = -(bx1 * w.z);
  T L[6][6], over[6];
  unrolled<6>([&](auto column) __attribute__((always_inline)) {
    constexpr int j = column;
    unrolled<6 - j>([&](auto rest) __attribute__((always_inline)) {
      constexpr int i = j + rest;
      unrolled<j>([&](auto inner)
                      __attribute__((always_inline)) { A[i][j] = A[i][j] - A[i][int{inner}] * L[j][int{inner}]; });
      if constexpr (i == j)
        over[j] = T(1.0) / A[j][j];
      else
        L[i][j] = A[i][j] * over[j];
    });
  });
  T x[6] = {strain.first.x, strain.first.y, strain.first.z, strain.second.x, strain.second.y, strain.second.z};
  unrolled<6>([&](auto row) __attribute__((always_inline)) {
    constexpr int i = row;
    unrolled<i>([&](auto j) __attribute__((always_inline)) { x[i] = x[i] - L[i][int{j}] * x[int{j}]; });
  });
  unrolled<6>([&](auto back) __attribute__((always_inline)) {
    constexpr int i = 5 - back;
    x[i] = x[i] * over[i];
    unrolled<5 - i>([&](auto j) __attribute__((always_inline)) { x[i] = x[i] - L[i + 1 + j][i] * x[i + 1 + j]; });
  });
  return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

template <class T>
struct Stressed {
  Six<T> work;  ///< t = ∂V/∂d
  T energy;
};

/// check(s) d = hat(d)ᵀ s = (n×ω, n×u + m×ω).
template <class T>
[[gnu::always_inline]] inline Six<T> check(const Six<T>& s, const Triple<T>& u, const Triple<T>& w) {
  return {cross(s.first, w), cross(s.first, u) + cross(s.second, w)};
}

/// See Beam. The bow adds -0.4 p²γ² to ε₁.
template <bool is_magnus, class T>
[[gnu::always_inline]] inline Stressed<T> stress_of(const Relative<T>& d, const Constants<T>& k) {
  Six<T> strain{k.over_length * d.u - k.strain0.first, k.over_length * d.omega - k.strain0.second};
  if constexpr (!is_magnus) {
    const Six<T> stress{scaled(k.stiffness.first, strain.first), scaled(k.stiffness.second, strain.second)};
    return {stress, k.half_length * (dot(strain.first, stress.first) + dot(strain.second, stress.second))};
  } else {
    const T bow_y = k.bow_y * strain.first.y, bow_z = k.bow_z * strain.first.z;
    strain.first.x = strain.first.x + (bow_y * strain.first.y + bow_z * strain.first.z);
    const Six<T> stress = solve_star(d, k, strain);
    // t = σ + (L²/12) check(σ) C check(σ) f
    const Six<T> turned = check(stress, d.u, d.omega);
    const Six<T> more = check(stress, scaled(k.twisting.first, turned.first), scaled(k.twisting.second, turned.second));
    Six<T> work{stress.first + more.first, stress.second + more.second};
    const T twice = stress.first.x + stress.first.x;
    work.first.y = work.first.y + bow_y * twice;
    work.first.z = work.first.z + bow_z * twice;
    return {work, k.half_length * (dot(strain.first, stress.first) + dot(strain.second, stress.second))};
  }
}

/// P v = E (v_B - v_A) + ½ hat(d)(v_A + v_B).
template <class T>
[[gnu::always_inline]] inline Six<T> rate(const Relative<T>& d, const Gather<T>& vA, const Gather<T>& vB) {
  const Triple<T> a = triple_at(vA, 0), wa = triple_at(vA, 3), b = triple_at(vB, 0), wb = triple_at(vB, 3);
  const Six<T> even = even_part(d, wb - wa, b - a);
  const Triple<T> sum = a + b, turn = wa + wb;
  return {even.second + T(0.5) * (cross(d.omega, sum) + cross(d.u, turn)), even.first + T(0.5) * cross(d.omega, turn)};
}

/// g = Pᵀt with P = [-T⁻¹(-d), T⁻¹(d)]: g_A = ½c - e, g_B = ½c + e, e = Eᵀt, c = check(t) d.
template <bool is_magnus, bool is_damped, class T>
[[gnu::always_inline]] inline std::pair<Six<T>, Six<T>> wrenches(const Constants<T>& k, const Gather<T>& A,
                                                                 const Gather<T>& B, const Gather<T>& vA,
                                                                 const Gather<T>& vB) {
  const Relative<T> d = relative(A, B);
  Six<T> t = stress_of<is_magnus>(d, k).work;
  if constexpr (is_damped) {
    const Six<T> speed = rate(d, vA, vB);
    t.first = t.first + scaled(k.damping.first, speed.first);
    t.second = t.second + scaled(k.damping.second, speed.second);
  }
  const Six<T> e = even_part(d, t.first, t.second), twice = check(t, d.u, d.omega);
  const Triple<T> force = T(0.5) * twice.first, moment = T(0.5) * twice.second;
  return {{force - e.first, moment - e.second}, {force + e.first, moment + e.second}};
}

}  // namespace kreisel::multibody::kernel
