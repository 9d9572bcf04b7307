// Products of numbers in kernels that serve double and complex.
#pragma once

#include <cmath>
#include <complex>

namespace kreisel::linear {

inline double times(double a, double b) { return a * b; }
/// The operator of std::complex also repairs products of infinities, by a function call; such matrices are rejected.
inline std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Compares pivots; of complex numbers within √2 of the absolute value, without its root.
inline double magnitude(double a) { return std::abs(a); }
inline double magnitude(std::complex<double> a) { return std::abs(a.real()) + std::abs(a.imag()); }

}  // namespace kreisel::linear
