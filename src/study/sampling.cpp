#include "study/sampling.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "sobol_directions.hpp"

namespace kreisel::study {
namespace {

/// splitmix64 (Steele, Lea and Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mixed(mixed(a) ^ b); }
std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return mixed(mixed(a, b) ^ c); }

/// In (0, 1), 53 bits.
double fraction(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

std::uint32_t reversed(std::uint32_t x) {
  x = (x >> 16) | (x << 16);
  x = ((x & 0x00ff00ffu) << 8) | ((x & 0xff00ff00u) >> 8);
  x = ((x & 0x0f0f0f0fu) << 4) | ((x & 0xf0f0f0f0u) >> 4);
  x = ((x & 0x33333333u) << 2) | ((x & 0xccccccccu) >> 2);
  return ((x & 0x55555555u) << 1) | ((x & 0xaaaaaaaau) >> 1);
}

/// Every bit is flipped or not by a hash of the bits above it: nested uniform scrambling (Owen 1995, Burley 2020).
std::uint32_t scrambled(std::uint32_t x, std::uint64_t seed) {
  std::uint32_t y = reversed(x), s = static_cast<std::uint32_t>(seed);
  y ^= y * 0x3d20adeau;
  y += s;
  y *= static_cast<std::uint32_t>(seed >> 32) | 1u;
  y ^= y * 0x05526c56u;
  y ^= y * 0x53a22864u;
  return reversed(y);
}

/// Place of i in a permutation of 0 … n - 1 (Kensler 2013): a bijection of the next power of two, walked until it is
/// inside.
std::size_t permuted(std::size_t i, std::size_t n, std::uint64_t seed) {
  if (n <= 1) return 0;
  const int bits = std::bit_width(n - 1);
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const int half = (bits + 1) / 2;
  std::uint64_t x = i;
  do {
    for (std::uint64_t round = 0; round < 4; ++round) {
      x ^= mixed(seed, round) & mask;
      x = (x * (mixed(seed, round + 16) | 1u)) & mask;
      x ^= x >> half;
      x = (x + mixed(seed, round + 32)) & mask;
    }
  } while (x >= n);
  return static_cast<std::size_t>(x);
}

}  // namespace

double normal_quantile(double u) {
  // A rational approximation (Acklam 2003), relative error 1.2e-9, and one step of Halley's method.
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                          -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double low = 0.02425;
  const double p = std::min(u, 1.0 - u);  // the lower half, where small numbers are exact
  double x = 0.0;
  if (p < low) {
    const double q = std::sqrt(-2.0 * std::log(p));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1.0);
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1.0);
  }
  const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
  const double step = error * std::sqrt(2.0 * std::numbers::pi) * std::exp(0.5 * x * x);
  x -= step / (1.0 + 0.5 * x * step);
  return u > 0.5 ? -x : x;
}

double Draw::at(double u) const {
  switch (distribution) {
    case Distribution::uniform:
      return a + (b - a) * u;
    case Distribution::normal:
      return a + b * normal_quantile(u);
    case Distribution::lognormal:
      return std::exp(a + b * normal_quantile(u));
  }
  return a;
}

std::size_t PointSet::max_dimensions(SampleKind kind) {
  return kind == SampleKind::sobol      ? sobol_dimensions.size()
         : kind == SampleKind::saltelli ? sobol_dimensions.size() / 2
                                        : 1000;
}

PointSet::PointSet(SampleKind kind, std::size_t points, std::uint64_t seed, std::size_t dimensions)
    : kind_(kind), points_(points), dimensions_(dimensions), seed_(seed) {
  if (kind != SampleKind::sobol && kind != SampleKind::saltelli) return;
  const std::size_t count = kind == SampleKind::saltelli ? 2 * dimensions : dimensions;
  for (std::size_t k = 0; k < count; ++k) {
    const SobolDimension& dimension = sobol_dimensions[k];
    const int degree = std::bit_width(dimension.polynomial) - 1;
    std::uint32_t v[32];
    for (int i = 0; i < 32; ++i) {
      if (degree == 0) {  // van der Corput
        v[i] = std::uint32_t{1} << (31 - i);
      } else if (i < degree) {
        v[i] = dimension.directions[static_cast<std::size_t>(i)] << (31 - i);
      } else {
        v[i] = v[i - degree] ^ (v[i - degree] >> degree);
        for (int j = 1; j < degree; ++j)
          if ((dimension.polynomial >> (degree - j)) & 1u) v[i] ^= v[i - j];
      }
    }
    directions_.insert(directions_.end(), v, v + 32);
  }
}

std::size_t PointSet::size() const { return kind_ == SampleKind::saltelli ? points_ * (dimensions_ + 2) : points_; }

double PointSet::sobol(std::size_t point, std::size_t dimension) const {
  std::uint32_t x = 0;
  std::uint64_t gray = point ^ (point >> 1);
  for (const std::uint32_t* v = &directions_[32 * dimension]; gray != 0; gray >>= 1, ++v)
    if (gray & 1u) x ^= *v;
  if (seed_ != 0) x = scrambled(x, mixed(seed_, dimension));
  return (static_cast<double>(x) + 0.5) * 0x1p-32;
}

double PointSet::at(std::size_t point, std::size_t dimension) const {
  switch (kind_) {
    case SampleKind::sobol:
      return sobol(point, dimension);
    case SampleKind::saltelli: {
      // A_0, B_0, then A_0 with column 0, 1, … of B_0; A_1, …
      const std::size_t base = point / (dimensions_ + 2), which = point % (dimensions_ + 2);
      const bool is_of_b = which == 1 || which == dimension + 2;
      return sobol(base, is_of_b ? dimensions_ + dimension : dimension);
    }
    case SampleKind::latin_hypercube: {
      const std::size_t strip = permuted(point, points_, mixed(seed_, dimension, 1));
      return (static_cast<double>(strip) + fraction(mixed(mixed(seed_, dimension, 2), point))) /
             static_cast<double>(points_);
    }
    case SampleKind::random:
      return fraction(mixed(mixed(seed_, dimension, 3), point));
  }
  return 0.5;
}

}  // namespace kreisel::study
