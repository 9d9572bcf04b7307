// Numbers that carry their derivatives by N directions; nested, also second derivatives.
#pragma once

#include <array>
#include <cmath>

namespace kreisel {

template <class T, int N>
struct Dual {
  T value{};
  std::array<T, N> slope{};

  Dual() = default;
  Dual(double x) : value(x) {}  // NOLINT(google-explicit-constructor): constants appear in formulas unchanged
  Dual(const T& x, int direction) : value(x) { slope[direction] = T(1.0); }

  friend Dual operator-(Dual a) {
    a.value = -a.value;
    for (T& s : a.slope) s = -s;
    return a;
  }
  friend Dual operator+(Dual a, const Dual& b) {
    a.value = a.value + b.value;
    for (int i = 0; i < N; ++i) a.slope[i] = a.slope[i] + b.slope[i];
    return a;
  }
  friend Dual operator-(const Dual& a, const Dual& b) { return a + (-b); }
  friend Dual operator*(const Dual& a, const Dual& b) {
    Dual out;
    out.value = a.value * b.value;
    for (int i = 0; i < N; ++i) out.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return out;
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    Dual out;
    out.value = a.value / b.value;
    for (int i = 0; i < N; ++i) out.slope[i] = (a.slope[i] - out.value * b.slope[i]) / b.value;
    return out;
  }
  friend Dual sin(const Dual& a) {
    using std::cos, std::sin;
    return chained(sin(a.value), cos(a.value), a);
  }
  friend Dual cos(const Dual& a) {
    using std::cos, std::sin;
    return chained(cos(a.value), -sin(a.value), a);
  }
  friend Dual sqrt(const Dual& a) {
    using std::sqrt;
    const T root = sqrt(a.value);
    return chained(root, T(0.5) / root, a);
  }

  /// f(a), given f and its derivative there.
  static Dual chained(const T& value, const T& factor, const Dual& a) {
    Dual out;
    out.value = value;
    for (int i = 0; i < N; ++i) out.slope[i] = factor * a.slope[i];
    return out;
  }
};

}  // namespace kreisel
