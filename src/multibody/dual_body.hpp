// Bodies with derivatives, for elements whose formulas are too long to be differentiated by hand.
#pragma once

#include <array>

#include "base/dual.hpp"
#include "multibody/body.hpp"

namespace kreisel::multibody {

/// Three numbers of any type.
template <class T>
struct Triple {
  std::array<T, 3> at{};

  T& operator[](int i) { return at[static_cast<std::size_t>(i)]; }
  const T& operator[](int i) const { return at[static_cast<std::size_t>(i)]; }

  friend Triple operator+(const Triple& a, const Triple& b) { return {{a[0] + b[0], a[1] + b[1], a[2] + b[2]}}; }
  friend Triple operator-(const Triple& a, const Triple& b) { return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}}; }
  friend Triple operator*(const T& s, const Triple& a) { return {{s * a[0], s * a[1], s * a[2]}}; }
  friend T dot(const Triple& a, const Triple& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  friend Triple cross(const Triple& a, const Triple& b) {
    return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
  }
};

template <class T>
Triple<T> triple(const Vector3& v) {
  return {{T(v[0]), T(v[1]), T(v[2])}};
}

/// BodyState in numbers of any type; the angular velocity is inertial.
template <class T>
struct MovingFrame {
  Triple<T> x, u, omega;
  std::array<Triple<T>, 3> axes;  ///< columns of R

  /// R p.
  Triple<T> turned(const Triple<T>& p) const { return p[0] * axes[0] + p[1] * axes[1] + p[2] * axes[2]; }
  Triple<T> turned(const Vector3& p) const { return turned(triple<T>(p)); }
  /// Rᵀ y.
  Triple<T> in_body(const Triple<T>& y) const { return {{dot(axes[0], y), dot(axes[1], y), dot(axes[2], y)}}; }
};

inline MovingFrame<double> moving(const BodyState& s) {
  MovingFrame<double> out;
  out.x = triple<double>(s.x);
  out.u = triple<double>(s.u);
  out.omega = triple<double>(s.R * s.w);
  for (int j = 0; j < 3; ++j) out.axes[static_cast<std::size_t>(j)] = triple<double>(s.R.col(j));
  return out;
}

/// With derivatives by (x, θ) in the directions from `position` on, and by (u, w) from `velocity` on; -1: none of these.
template <int N>
MovingFrame<Dual<double, N>> moving(const BodyState& s, int position, int velocity) {
  using D = Dual<double, N>;
  MovingFrame<D> out;
  const auto slope = [](D& of, int direction) -> double& { return of.slope[static_cast<std::size_t>(direction)]; };
  const Vector3 omega = s.R * s.w;
  for (int i = 0; i < 3; ++i) {
    out.x[i] = D(s.x[i]);
    out.u[i] = D(s.u[i]);
    out.omega[i] = D(omega[i]);
    slope(out.x[i], position + i) = 1.0;
    if (velocity < 0) continue;
    slope(out.u[i], velocity + i) = 1.0;
    for (int k = 0; k < 3; ++k) slope(out.omega[i], velocity + 3 + k) = s.R(i, k);
  }
  for (int k = 0; k < 3; ++k) {
    const Vector3 turn = s.R * Vector3::Unit(k).cross(s.w);  // R exp(δθ) w
    for (int i = 0; i < 3; ++i) slope(out.omega[i], position + 3 + k) = turn[i];
  }
  for (int j = 0; j < 3; ++j) {
    Triple<D>& axis = out.axes[static_cast<std::size_t>(j)];
    for (int i = 0; i < 3; ++i) axis[i] = D(s.R(i, j));
    for (int k = 0; k < 3; ++k) {
      const Vector3 turn = s.R * Vector3::Unit(k).cross(Vector3::Unit(j));
      for (int i = 0; i < 3; ++i) slope(axis[i], position + 3 + k) = turn[i];
    }
  }
  return out;
}

}  // namespace kreisel::multibody
