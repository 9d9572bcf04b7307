// Two numbers that go through the same operations side by side, in the packed arithmetic that every 64-bit processor has.
#pragma once

namespace kreisel {

/// What a formula gives for lane 0 and lane 1 is bit for bit what it gives for each alone: no operation mixes the lanes, and none
/// is contracted.
struct Lanes {
  using Pair [[gnu::vector_size(16)]] = double;
  Pair pair;

  Lanes() = default;
  Lanes(double both) : pair{both, both} {}  // NOLINT(google-explicit-constructor): constants in formulas
  Lanes(double first, double second) : pair{first, second} {}
  explicit Lanes(Pair given) : pair(given) {}

  double operator[](int lane) const { return pair[lane]; }

  [[gnu::always_inline]] friend Lanes operator+(Lanes a, Lanes b) { return Lanes(a.pair + b.pair); }
  [[gnu::always_inline]] friend Lanes operator-(Lanes a, Lanes b) { return Lanes(a.pair - b.pair); }
  [[gnu::always_inline]] friend Lanes operator*(Lanes a, Lanes b) { return Lanes(a.pair * b.pair); }
  [[gnu::always_inline]] friend Lanes operator/(Lanes a, Lanes b) { return Lanes(a.pair / b.pair); }
  [[gnu::always_inline]] friend Lanes operator-(Lanes a) { return Lanes(-a.pair); }
};

/// Three numbers of any kind, without the expression templates that packed arithmetic would defeat.
template <class T>
struct Triple {
  T x, y, z;

  [[gnu::always_inline]] friend Triple operator+(const Triple& a, const Triple& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  [[gnu::always_inline]] friend Triple operator-(const Triple& a, const Triple& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  [[gnu::always_inline]] friend Triple operator*(const T& c, const Triple& a) { return {c * a.x, c * a.y, c * a.z}; }
};

/// Component by component.
template <class T>
[[gnu::always_inline]] inline Triple<T> scaled(const Triple<T>& by, const Triple<T>& a) {
  return {by.x * a.x, by.y * a.y, by.z * a.z};
}
/// Summed from the left, as Eigen does.
template <class T>
[[gnu::always_inline]] inline T dot(const Triple<T>& a, const Triple<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
[[gnu::always_inline]] inline Triple<T> cross(const Triple<T>& a, const Triple<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// The number at each of two places, or the number at one.
template <class T>
struct Gather;
template <>
struct Gather<double> {
  const double* at;
  [[gnu::always_inline]] double operator[](int i) const { return at[i]; }
};
template <>
struct Gather<Lanes> {
  const double *first, *second;
  [[gnu::always_inline]] Lanes operator[](int i) const { return {first[i], second[i]}; }
};

/// Three in a row.
template <class T>
[[gnu::always_inline]] inline Triple<T> triple_at(const Gather<T>& from, int i) {
  return {from[i], from[i + 1], from[i + 2]};
}

}  // namespace kreisel
