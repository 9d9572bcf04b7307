// Stiff and lightly damped problems as ẏ = f(y), from equations that share nothing with the library but the numbers.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench::stiff {

/// A rod on a hinge (axis y) that carries a tool by a bushing of 1 % damping, rates of 2e4 rad/s: stiff_bushing.json of
/// docs/adaptive.md. The motion is plane: y = (angle of the rod, x, z of the tool, its angle) and their rates.
template <class Real>
struct Bushing {
  static constexpr int size = 8;
  static constexpr double t_end = 5.0;
  static constexpr double g = 9.81, rod_mass = 1.0, rod_inertia = 0.0834, rod_half = 0.5, tool_mass = 0.2,
                          tool_inertia = 1e-3, arm = 0.1, k = 1e8, c = 90.0, rotational_k = 1e5, rotational_c = 0.2;

  static void start(Real* y) {
    std::fill(y, y + size, Real(0));
    y[1] = Real(11) / 10;
  }

  /// A rotation by φ about y takes (1, 0) in the plane (x, z) to (cos φ, -sin φ).
  void rate(const Real* y, Real* f) const {
    using std::cos, std::sin;
    const Real a = y[0], b = y[3], da = y[4], db = y[7];
    const Real hinge_inertia = Real(834) / 10000 + Real(1) / 4, lever = Real(1) / 10, mass = Real(1) / 5,
               G = Real(981) / 100;
    const Real p1x = cos(a), p1z = -sin(a);                // the mount on the rod, 1 m from the hinge
    const Real sx = -lever * cos(b), sz = lever * sin(b);  // from the centre of the tool to its mount
    const Real p2x = y[1] + sx, p2z = y[2] + sz, ux = p2x - p1x, uz = p2z - p1z;
    // Displacement and its rate as the rod sees them.
    const Real wx = y[5] + db * sz - da * p1z - da * uz, wz = y[6] - db * sx + da * p1x + da * ux;
    const Real Fx = -(k * ux + c * wx), Fz = -(k * uz + c * wz);  // on the tool, at its mount
    const Real turn = b - a, C = cos(turn);
    const Real torque = -(Real(rotational_k) * sin(turn) * C + Real(1) / 5 * C * C * (db - da));
    f[0] = da;
    f[1] = y[5];
    f[2] = y[6];
    f[3] = db;
    f[4] = (G / 2 * cos(a) - (p2z * Fx - p2x * Fz) - torque) / hinge_inertia;
    f[5] = Fx / mass;
    f[6] = Fz / mass - G;
    f[7] = (sz * Fx - sx * Fz + torque) * 1000;
  }
  /// Position and velocity of the tool.
  static std::vector<double> end(const Real* y) { return {double(y[1]), double(y[2]), double(y[5]), double(y[6])}; }
};

/// A hub with three elastic modes of 10, 1e3 and 1e5 rad/s and 1 % damping, on SO(3) × ℝ³:
///
///     J Ω̇ + δ η̈ + Ω × (J Ω + δ η̇) = 0,   η̈ᵢ + δᵢ·Ω̇ + 2ζωᵢ η̇ᵢ + ωᵢ² ηᵢ = 0.
///
/// y = quaternion (w, x, y, z), Ω, η, η̇.
template <class Real>
struct Satellite {
  static constexpr int size = 13;
  static constexpr double t_end = 10.0;
  using V = Eigen::Matrix<Real, 3, 1>;
  using M = Eigen::Matrix<Real, 3, 3>;
  V J{Real(1), Real(3) / 2, Real(2)}, omega{Real(10), Real(1e3), Real(1e5)};
  Real damping = Real(1) / 100;
  M delta;
  M inverse;  ///< of J - δδᵀ

  Satellite() {
    delta << 3, 0, 1, 1, 3, 0, 0, 1, 3;  // mode by column
    delta /= Real(10);
    inverse = (M(J.asDiagonal()) - delta * delta.transpose()).inverse();
  }
  static void start(Real* y) {
    std::fill(y, y + size, Real(0));
    y[0] = 1;
    y[4] = Real(3) / 10;
    y[5] = 1;
    y[6] = Real(2) / 10;
  }
  void rate(const Real* y, Real* f) const {
    const V u(y[1], y[2], y[3]), W(y[4], y[5], y[6]), e(y[7], y[8], y[9]), de(y[10], y[11], y[12]);
    const V pull = (Real(2) * damping * omega.array() * de.array() + omega.array().square() * e.array()).matrix();
    const V h = J.cwiseProduct(W) + delta * de;
    const V dW = inverse * (cross(h, W) + delta * pull), dde = -(delta.transpose() * dW) - pull,
            du = (y[0] * W + cross(u, W)) / Real(2);
    f[0] = -u.dot(W) / 2;
    for (int i = 0; i < 3; ++i) {
      f[1 + i] = du[i];
      f[4 + i] = dW[i];
      f[7 + i] = de[i];
      f[10 + i] = dde[i];
    }
  }
  /// Rotation matrix and Ω.
  static std::vector<double> end(const Real* y) {
    const Real n = std::sqrt(y[0] * y[0] + y[1] * y[1] + y[2] * y[2] + y[3] * y[3]);
    const Real w = y[0] / n, a = y[1] / n, b = y[2] / n, c = y[3] / n;
    const Real R[] = {1 - 2 * (b * b + c * c), 2 * (a * b - w * c),     2 * (a * c + w * b),
                      2 * (a * b + w * c),     1 - 2 * (a * a + c * c), 2 * (b * c - w * a),
                      2 * (a * c - w * b),     2 * (b * c + w * a),     1 - 2 * (a * a + b * b)};
    std::vector<double> out;
    for (const Real x : R) out.push_back(double(x));
    for (int i = 4; i < 7; ++i) out.push_back(double(y[i]));
    return out;
  }

 private:
  static V cross(const V& a, const V& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }
};

/// q̈ + 2ω q̇ + ω² (q - cos t) = 0, in the manner of Prothero and Robinson. y = (t, q, q̇).
template <class Real>
struct Follower {
  static constexpr int size = 3;
  static constexpr double t_end = 10.0;
  Real omega;

  explicit Follower(double w) : omega(w) {}
  static void start(Real* y) {
    y[0] = 0;
    y[1] = 1;
    y[2] = 0;
  }
  void rate(const Real* y, Real* f) const {
    f[0] = 1;
    f[1] = y[2];
    f[2] = -omega * (2 * y[2] + omega * (y[1] - std::cos(y[0])));
  }
  static std::vector<double> end(const Real* y) { return {double(y[1]), double(y[2])}; }
  /// A cos t + B sin t, once e^(-ωt) is gone.
  std::vector<double> exact() const {
    const double w = double(omega), d = w * w - 1.0, s = w * w / (d * d + 4.0 * w * w), A = d * s, B = 2.0 * w * s;
    return {A * std::cos(t_end) + B * std::sin(t_end), -A * std::sin(t_end) + B * std::cos(t_end)};
  }
};

/// Calls `work` with the problem of this name: bushing, satellite, or follower-1e4 with any ω.
template <class Real, class Work>
auto with_problem(const std::string& name, Work&& work) {
  if (name == "bushing") return work(Bushing<Real>());
  if (name == "satellite") return work(Satellite<Real>());
  if (name.rfind("follower-", 0) == 0) return work(Follower<Real>(std::stod(name.substr(9))));
  throw std::runtime_error("unknown problem '" + name + "': bushing, satellite or follower-OMEGA");
}

/// The result of Bushing::end and the others at t_end, exact or from bench/reference.
std::vector<double> reference_of(const std::string& name);
/// Largest difference to it.
double error_of(const std::string& name, const std::vector<double>& end);

}  // namespace bench::stiff
