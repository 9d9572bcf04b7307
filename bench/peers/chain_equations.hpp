// The chain of the peers, in absolute coordinates with quaternions.
#pragma once

#include <Eigen/Geometry>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "kreisel/types.hpp"
#include "peers/sundials.hpp"
#include "solve/kkt.hpp"
#include "support/mechanisms.hpp"
#include "support/problem.hpp"

namespace bench {

using Map3 = Eigen::Map<const Vector3>;
using Map4 = Eigen::Map<const Eigen::Vector4d>;
using Matrix34 = Eigen::Matrix<double, 3, 4>;
using Matrix43 = Eigen::Matrix<double, 4, 3>;

/// Per link (x, p, v, Ω | λ, μ, ε), p = (w, x, y, z).
inline constexpr int link_size = 20, at_x = 0, at_p = 3, at_v = 7, at_w = 10, at_lambda = 13, at_mu = 16,
                     at_epsilon = 19;

inline Matrix3 skew(const Vector3& a) {
  Matrix3 A;
  A << 0, -a[2], a[1], a[2], 0, -a[0], -a[1], a[0], 0;
  return A;
}

/// Quadratic in p without division, so that its derivative is that of the code.
inline Matrix3 rotation(const Eigen::Vector4d& p) {
  const double s = p[0];
  const Vector3 u = p.tail<3>();
  return (s * s - u.squaredNorm()) * Matrix3::Identity() + 2.0 * u * u.transpose() + 2.0 * s * skew(u);
}

/// ∂(R w)/∂p, with sign = -1 ∂(Rᵀ w)/∂p.
inline Matrix34 rotation_slope(const Eigen::Vector4d& p, const Vector3& w, double sign) {
  const Vector3 u = p.tail<3>();
  Matrix34 D;
  D.col(0) = 2.0 * (p[0] * w + sign * u.cross(w));
  D.rightCols<3>() =
      2.0 * (-w * u.transpose() + u * w.transpose() - sign * p[0] * skew(w) + u.dot(w) * Matrix3::Identity());
  return D;
}

/// ṗ = ½ E(p) Ω.
inline Matrix43 quaternion_map(const Eigen::Vector4d& p) {
  Matrix43 E;
  E << -p[1], -p[2], -p[3], p[0], -p[3], p[2], p[3], p[0], -p[1], -p[2], p[1], p[0];
  return E;
}

/// Stabilized index-2 form (Gear, Gupta, Leimkuhler): joint k holds a = -½ l e_x of link k at b = ½ l e_x of link k-1.
class ChainDae final : public DaeProblem {
 public:
  explicit ChainDae(const Chain& chain)
      : chain_(chain),
        masses_(chain.links, chain.mass),
        a_(-0.5 * chain.length, 0.0, 0.0),
        b_(0.5 * chain.length, 0.0, 0.0),
        gravity_(0.0, 0.0, -chain.gravity) {}

  /// One number per link; its inertia goes with its mass.
  void set_masses(const double* masses, int count) { std::copy_n(masses, count, masses_.begin()); }

  int size() const override { return link_size * chain_.links; }
  bool is_algebraic(int i) const override { return i % link_size >= at_lambda; }
  double looseness() const override { return 1e4; }

  void start(double* y, double* y_dot) const override {
    using namespace kreisel;
    const multibody::Assembly assembly(
        chain_with(Eigen::Map<const Vector>(masses_.data(), static_cast<Eigen::Index>(masses_.size()))));
    const system::Start from = assembly.start(chain_.t_end);
    system::Motion m(assembly.space());
    m.q = from.q0;
    m.v = from.v0;
    Vector lambda(assembly.pattern().rows());
    Counters unused;
    if (!solve::Kkt(assembly, unused).accelerate(m, lambda)) throw std::runtime_error("no accelerations");
    std::fill(y, y + size(), 0.0);
    std::fill(y_dot, y_dot + size(), 0.0);
    for (int k = 0; k < chain_.links; ++k) {
      double *Y = y + link_size * k, *Z = y_dot + link_size * k;
      Y[at_x] = (k + 0.5) * chain_.length;
      Y[at_p] = 1.0;
      for (int i = 0; i < 3; ++i) {
        Y[at_lambda + i] = -lambda[3 * k + i];  // their Φ is link minus predecessor
        Z[at_v + i] = m.a[6 * k + i];
        Z[at_w + i] = m.a[6 * k + 3 + i];
      }
    }
  }

  void residual(const double* y, const double* y_dot, double* r) const override {
    Vector3 end = Vector3::Zero(), end_velocity = Vector3::Zero();
    for (int k = 0; k < chain_.links; ++k) {
      const double *Y = y + link_size * k, *Z = y_dot + link_size * k;
      double* out = r + link_size * k;
      const Link l = link(y, k);
      const Matrix3 Rt = l.R.transpose();
      put(out + at_x, Map3(Z + at_x) - l.v + l.mu - l.next_mu);
      const Vector3 turn = l.w - (a_.cross(Rt * l.mu) - b_.cross(Rt * l.next_mu));
      Eigen::Map<Eigen::Vector4d>(out + at_p) = Map4(Z + at_p) - 0.5 * quaternion_map(l.p) * turn + l.p * Y[at_epsilon];
      put(out + at_v, Map3(Z + at_v) - gravity_ + (l.lambda - l.next_lambda) / l.mass);
      const Vector3 torque = l.J.cwiseProduct(l.w).cross(l.w) - a_.cross(Rt * l.lambda) + b_.cross(Rt * l.next_lambda);
      put(out + at_w, Map3(Z + at_w) - torque.cwiseQuotient(l.J));
      put(out + at_lambda, l.x + l.R * a_ - end);
      put(out + at_mu, l.v + l.R * l.w.cross(a_) - end_velocity);
      out[at_epsilon] = 0.5 * (l.p.squaredNorm() - 1.0);
      end = l.x + l.R * b_;
      end_velocity = l.v + l.R * l.w.cross(b_);
    }
  }

  void jacobian(const double* y, double c, double* columns) const override {
    const auto add = [&](int row, int column, const auto& block) {
      for (Eigen::Index j = 0; j < block.cols(); ++j)
        for (Eigen::Index i = 0; i < block.rows(); ++i)
          columns[static_cast<std::size_t>(column + j) * size() + row + i] += block(i, j);
    };
    assemble(y, c, add);
  }

  std::vector<bool> jacobian_pattern() const override {
    std::vector<bool> pattern(static_cast<std::size_t>(size()) * size(), false);
    std::vector<double> y(size(), 0.5), y_dot(size());
    const auto mark = [&](int row, int column, const auto& block) {
      for (Eigen::Index j = 0; j < block.cols(); ++j)
        for (Eigen::Index i = 0; i < block.rows(); ++i)
          if (block.rows() != 3 || block.cols() != 3 || !is_diagonal(block) || i == j)
            pattern[static_cast<std::size_t>(column + j) * size() + row + i] = true;
    };
    assemble(y.data(), 1.0, mark);
    return pattern;
  }

 private:
  struct Link {
    Vector3 x, v, w, lambda, mu, next_lambda, next_mu;
    Eigen::Vector4d p;
    Matrix3 R;
    double mass;
    Vector3 J;
  };
  Link link(const double* y, int k) const {
    const double* Y = y + link_size * k;
    Link l{Map3(Y + at_x),
           Map3(Y + at_v),
           Map3(Y + at_w),
           Map3(Y + at_lambda),
           Map3(Y + at_mu),
           Vector3::Zero(),
           Vector3::Zero(),
           Map4(Y + at_p),
           {},
           masses_[k],
           masses_[k] / chain_.mass * chain_.J};
    if (k + 1 < chain_.links) {
      l.next_lambda = Map3(Y + link_size + at_lambda);
      l.next_mu = Map3(Y + link_size + at_mu);
    }
    l.R = rotation(l.p);
    return l;
  }
  static void put(double* out, const Vector3& value) { Eigen::Map<Vector3>{out} = value; }
  template <class Block>
  static bool is_diagonal(const Block& block) {
    return block(0, 1) == 0.0 && block(0, 2) == 0.0 && block(1, 0) == 0.0 && block(1, 2) == 0.0 && block(2, 0) == 0.0 &&
           block(2, 1) == 0.0;
  }

  /// add(row, column, block). What μ, which vanishes, adds to ∂ṗ/∂p is left out.
  template <class Add>
  void assemble(const double* y, double c, const Add& add) const {
    const Matrix3 one = Matrix3::Identity();
    for (int k = 0; k < chain_.links; ++k) {
      const int at = link_size * k, next = at + link_size;
      const bool has_next = k + 1 < chain_.links;
      const Link l = link(y, k);
      const Matrix3 J_inverse = l.J.cwiseInverse().asDiagonal();
      const Matrix3 aR = skew(a_) * l.R.transpose(), bR = skew(b_) * l.R.transpose();
      const Matrix43 E = quaternion_map(l.p);
      add(at + at_x, at + at_x, Matrix3(c * one));
      add(at + at_x, at + at_v, Matrix3(-one));
      add(at + at_x, at + at_mu, one);
      Eigen::Matrix4d spin;
      spin << 0, -l.w[0], -l.w[1], -l.w[2], l.w[0], 0, l.w[2], -l.w[1], l.w[1], -l.w[2], 0, l.w[0], l.w[2], l.w[1],
          -l.w[0], 0;
      add(at + at_p, at + at_p, Eigen::Matrix4d(-0.5 * spin + (c + y[at + at_epsilon]) * Eigen::Matrix4d::Identity()));
      add(at + at_p, at + at_w, Matrix43(-0.5 * E));
      add(at + at_p, at + at_mu, Matrix43(0.5 * E * aR));
      add(at + at_p, at + at_epsilon, l.p);
      add(at + at_v, at + at_v, Matrix3(c * one));
      add(at + at_v, at + at_lambda, Matrix3(one / l.mass));
      const Matrix3 Jw = l.J.asDiagonal(), gyro = skew(l.J.cwiseProduct(l.w)) - skew(l.w) * Jw;
      add(at + at_w, at + at_w, Matrix3(c * one - J_inverse * gyro));
      add(at + at_w, at + at_p,
          Matrix34(J_inverse * (skew(a_) * rotation_slope(l.p, l.lambda, -1.0) -
                                skew(b_) * rotation_slope(l.p, l.next_lambda, -1.0))));
      add(at + at_w, at + at_lambda, Matrix3(J_inverse * aR));
      add(at + at_lambda, at + at_x, one);
      add(at + at_lambda, at + at_p, rotation_slope(l.p, a_, 1.0));
      add(at + at_mu, at + at_v, one);
      add(at + at_mu, at + at_p, rotation_slope(l.p, l.w.cross(a_), 1.0));
      add(at + at_mu, at + at_w, Matrix3(aR.transpose()));
      add(at + at_epsilon, at + at_p, Eigen::Matrix<double, 1, 4>(l.p.transpose()));
      if (!has_next) continue;
      add(at + at_x, next + at_mu, Matrix3(-one));
      add(at + at_p, next + at_mu, Matrix43(-0.5 * E * bR));
      add(at + at_v, next + at_lambda, Matrix3(-one / l.mass));
      add(at + at_w, next + at_lambda, Matrix3(-J_inverse * bR));
      add(next + at_lambda, at + at_x, Matrix3(-one));
      add(next + at_lambda, at + at_p, Matrix34(-rotation_slope(l.p, b_, 1.0)));
      add(next + at_mu, at + at_v, Matrix3(-one));
      add(next + at_mu, at + at_p, Matrix34(-rotation_slope(l.p, l.w.cross(b_), 1.0)));
      add(next + at_mu, at + at_w, Matrix3(-bR.transpose()));
    }
  }

  Chain chain_;
  std::vector<double> masses_;
  Vector3 a_, b_, gravity_;
};

}  // namespace bench
