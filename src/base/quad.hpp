// Numbers with about 34 digits, for reference solutions. A class, so that formulas written for any type of number find its
// functions; they need nothing but arithmetic, sin, cos and sqrt.
#pragma once

#include <cmath>

namespace kreisel {

class Quad {
 public:
#if defined(__SIZEOF_FLOAT128__)
  __extension__ typedef __float128 Value;
#else
  using Value = long double;
#endif

  Quad() = default;
  Quad(double x) : value_(x) {}  // NOLINT(google-explicit-constructor): constants stand in formulas as they are
  explicit operator double() const { return static_cast<double>(value_); }

  Quad& operator+=(const Quad& b) { return value_ += b.value_, *this; }
  Quad& operator-=(const Quad& b) { return value_ -= b.value_, *this; }
  friend Quad operator-(const Quad& a) { return of(-a.value_); }
  friend Quad operator+(const Quad& a, const Quad& b) { return of(a.value_ + b.value_); }
  friend Quad operator-(const Quad& a, const Quad& b) { return of(a.value_ - b.value_); }
  friend Quad operator*(const Quad& a, const Quad& b) { return of(a.value_ * b.value_); }
  friend Quad operator/(const Quad& a, const Quad& b) { return of(a.value_ / b.value_); }
  friend bool operator<(const Quad& a, const Quad& b) { return a.value_ < b.value_; }
  friend bool operator==(const Quad& a, const Quad& b) { return a.value_ == b.value_; }

  friend Quad abs(const Quad& a) { return a.value_ < 0 ? -a : a; }
  /// The root in double has 53 bits; every step of Newton doubles them.
  friend Quad sqrt(const Quad& a) {
    Quad root = std::sqrt(static_cast<double>(a));
    if (!(root.value_ > 0)) return root;
    for (int i = 0; i < 2; ++i) root = 0.5 * (root + a / root);
    return root;
  }
  friend Quad sin(const Quad& a) { return of_quadrant(a, 0); }
  friend Quad cos(const Quad& a) { return of_quadrant(a, 1); }

 private:
  static Quad of(Value value) {
    Quad out;
    out.value_ = value;
    return out;
  }
  /// sin(a + quadrant π/2): series at the distance r from the next multiple of π/2, |r| ≤ π/4.
  static Quad of_quadrant(const Quad& a, int quadrant) {
    // π/2 in three doubles.
    const Quad half_pi = Quad(1.5707963267948966) + (Quad(6.123233995736766e-17) + Quad(-1.4973849048591833e-33));
    const double turns = std::nearbyint(static_cast<double>(a) / 1.5707963267948966);
    const Quad r = a - Quad(turns) * half_pi, minus_square = -(r * r);
    const int at = (static_cast<int>(std::fmod(turns, 4.0)) + quadrant + 4) % 4;
    constexpr int terms = 16;
    const int parity = at % 2;  // 1: cosine of r
    Quad sum = 1.0;
    for (int j = terms; j > 0; --j) sum = 1.0 + minus_square * sum / Quad((2.0 * j - parity) * (2.0 * j + 1.0 - parity));
    if (parity == 0) sum = sum * r;
    return at < 2 ? sum : -sum;
  }

  Value value_ = 0;
};

}  // namespace kreisel
