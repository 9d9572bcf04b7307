// Random numbers for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace kreisel::support {

/// splitmix64: the distributions of the standard library differ between implementations.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double between(double low, double high) { return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Uniform in the logarithm, between powers of ten.
  double decades(double low, double high) { return std::pow(10.0, between(low, high)); }
  bool chance(double probability) { return between(0.0, 1.0) < probability; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[bits() % list.size()];
  }

 private:
  std::uint64_t state_;
};

}  // namespace kreisel::support
