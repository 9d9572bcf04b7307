// The end state of stiff-top in long double, from equations that share nothing with the library but the numbers.
//
//   bench_reference PROBLEM STEP > bench/reference/PROBLEM.txt
//
// Classical Runge-Kutta with constant steps on the reduced equations about the tip. For stiff-top stability forces steps
// (1e-7) far below what accuracy needs; heavy-top with 2e-6 confirms the stored reference to 1e-12.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "support/problem.hpp"

namespace {

using Real = long double;
using Real3 = Eigen::Matrix<Real, 3, 1>;
using Real4 = Eigen::Matrix<Real, 4, 1>;
using State = Eigen::Matrix<Real, 7, 1>;  ///< quaternion (w, x, y, z), Ω

Real3 cross(const Real3& a, const Real3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// R a = a + 2w u x a + 2u x (u x a), q = (w, u); the transpose with -u.
Real3 rotate(const Real4& q, const Real3& a, Real sign) {
  const Real3 u = sign * q.tail<3>(), t = Real(2) * cross(u, a);
  return a + q[0] * t + cross(u, t);
}

class ReducedTop {
 public:
  explicit ReducedTop(const bench::Top& top)
      : mass_(top.mass),
        X_(top.X.cast<Real>()),
        gravity_(0, 0, Real(-981) / 100),
        a_(top.body_axis.cast<Real>()),
        n_(top.ground_axis.cast<Real>()),
        stiffness_(top.stiffness),
        damping_(top.damping) {
    J_ = top.J.cast<Real>() + mass_ * (Real3::Constant(X_.squaredNorm()) - X_.cwiseProduct(X_));
  }

  State rate(const State& y) const {
    const Real4 q = y.head<4>();
    const Real3 w = y.tail<3>();
    const Real3 pull = mass_ * rotate(q, gravity_, -1), axis = rotate(q, n_, -1), b = cross(a_, axis);
    const Real3 torque =
        cross(J_.cwiseProduct(w), w) + cross(X_, pull) - (stiffness_ * a_.dot(axis) + damping_ * b.dot(w)) * b;
    State f;
    f[0] = -q.tail<3>().dot(w) / 2;
    f.segment<3>(1) = (q[0] * w + cross(q.tail<3>(), w)) / 2;
    f.tail<3>() = torque.cwiseQuotient(J_);
    return f;
  }

  void step(Real h, State& y) const {
    const State k1 = rate(y), k2 = rate(y + h / 2 * k1), k3 = rate(y + h / 2 * k2), k4 = rate(y + h * k3);
    y += h / 6 * (k1 + 2 * (k2 + k3) + k4);
    y.head<4>() /= y.head<4>().norm();
  }

  void print(const State& y) const {
    const Real4 q = y.head<4>();
    const Real3 w = y.tail<3>(), x = rotate(q, X_, 1), v = rotate(q, cross(w, X_), 1);
    const auto line = [](Real value) { fmt::print("{:.21g}\n", value); };
    for (const Real value : x) line(value);
    for (const Real value : q) line(value);
    for (const Real value : v) line(value);
    for (const Real value : w) line(value);
  }

 private:
  Real mass_;
  Real3 J_, X_, gravity_, a_, n_;
  Real stiffness_, damping_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} heavy-top|stiff-top STEP\n", argv[0]);
    return 2;
  }
  const bench::Top top = bench::top_named(argv[1]);
  const ReducedTop reduced(top);
  const long count = std::lround(top.t_end / std::stod(argv[2]));
  const Real h = Real(top.t_end) / count;
  State y;
  y << 1, 0, 0, 0, top.spin.cast<Real>();
  // 4.61538 is meant as a decimal fraction.
  y[6] = std::round(static_cast<double>(y[6]) * 1e5) / Real(1e5);
  for (long i = 0; i < count; ++i) reduced.step(h, y);
  reduced.print(y);
}
