// Numbers with 34 digits (18 where the C library has no quadruple precision), for reference solutions. A class, so that formulas
// written for any type of number find its functions; they need nothing but arithmetic, sin, cos and sqrt.
#pragma once

#include <cmath>

#if defined(__SIZEOF_FLOAT128__) && defined(__GLIBC__)
#define KREISEL_HAS_FLOAT128 1
// Of the C library since 2.26; its headers show them to g++ only.
__extension__ typedef __float128 kreisel_float128;
extern "C" {
kreisel_float128 sqrtf128(kreisel_float128) noexcept;
kreisel_float128 sinf128(kreisel_float128) noexcept;
kreisel_float128 cosf128(kreisel_float128) noexcept;
}
#endif

namespace kreisel {

class Quad {
 public:
#if defined(KREISEL_HAS_FLOAT128)
  using Value = kreisel_float128;
#else
  using Value = long double;
#endif

  Quad() = default;
  Quad(double x) : value_(x) {}  // NOLINT(google-explicit-constructor): constants appear in formulas unchanged
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
#if defined(KREISEL_HAS_FLOAT128)
  friend Quad sqrt(const Quad& a) { return of(sqrtf128(a.value_)); }
  friend Quad sin(const Quad& a) { return of(sinf128(a.value_)); }
  friend Quad cos(const Quad& a) { return of(cosf128(a.value_)); }
#else
  friend Quad sqrt(const Quad& a) { return of(std::sqrt(a.value_)); }
  friend Quad sin(const Quad& a) { return of(std::sin(a.value_)); }
  friend Quad cos(const Quad& a) { return of(std::cos(a.value_)); }
#endif

 private:
  static Quad of(Value value) {
    Quad out;
    out.value_ = value;
    return out;
  }

  Value value_ = 0;
};

}  // namespace kreisel
