// Shipped machines with wheels, cams, slots and cylinders, against independent equations of motion.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>
#include <functional>

#include "model_runs.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::test;

// ---- a cart

/// Kane's equations for the speed v of the middle of the rear axle: every body moves with V = P(ψ, δ) v + S(ψ, δ) δ̇, in the plane, and
/// Σ P·(m V̇) = 2 drive/r·(the way of the rear wheels). Coordinates: x, y of that point, ψ; ψ̇ = v tan δ/L.
TEST(Cart, FollowsItsMinimalEquations) {
  const double L = 0.8, w = 0.3, r = 0.15, drive = 0.4, turn = 0.25, J = 0.011;
  struct Part {
    double mass, yaw, spin;  // inertias
    double ahead, left;      // of the rear axle, or of the front one
    bool on_front, is_wheel;
  };
  const std::vector<Part> parts{{20, 1.5, 0, L / 2, 0, false, false}, {2, 0.06, 0, 0, 0, true, false},
                                {1, J / 2, J, 0, w, false, true},     {1, J / 2, J, 0, -w, false, true},
                                {1, J / 2, J, 0, w, true, true},      {1, J / 2, J, 0, -w, true, true}};
  using Velocity = Eigen::Vector4d;  // x, y, yaw, spin
  // Of the parts P (with v = 1, δ̇ = 0) and S (v = 0, δ̇ = 1).
  const auto velocity = [&](const Part& p, double psi, double delta, double v, double rate) -> Velocity {
    const double yaw = v * std::tan(delta) / L;
    const Eigen::Vector2d along(std::cos(psi), std::sin(psi)), across(-std::sin(psi), std::cos(psi));
    if (!p.on_front) {
      const Eigen::Vector2d u = v * along + yaw * (p.ahead * across - p.left * along);
      Velocity out;
      out << u, yaw, p.is_wheel ? u.dot(along) / r : 0.0;
      return out;
    }
    const double turned = psi + delta, own = yaw + rate;
    const Eigen::Vector2d heading(std::cos(turned), std::sin(turned));
    const Eigen::Vector2d u = v * along + yaw * L * across - own * p.left * heading;
    Velocity out;
    out << u, own, p.is_wheel ? u.dot(heading) / r : 0.0;
    return out;
  };
  const auto steering = [&](double t) {
    return std::array{turn * (1 - std::cos(1.5 * t)), 1.5 * turn * std::sin(1.5 * t), 2.25 * turn * std::cos(1.5 * t)};
  };
  using State = Eigen::Vector4d;  // x, y, ψ, v
  const auto f = [&](double t, const State& y) -> State {
    const auto [delta, rate, bend] = steering(t);
    const double psi = y[2], v = y[3], yaw = v * std::tan(delta) / L;
    double inertia = 0.0, rest = 0.0;
    for (const Part& p : parts) {
      const Velocity P = velocity(p, psi, delta, 1.0, 0.0), S = velocity(p, psi, delta, 0.0, 1.0);
      const double h = 1e-5;  // along the motion
      const Velocity change = (velocity(p, psi + h * yaw, delta + h * rate, v, rate) -
                               velocity(p, psi - h * yaw, delta - h * rate, v, rate)) /
                              (2 * h);
      const Eigen::Vector4d weight(p.mass, p.mass, p.yaw, p.spin);
      inertia += P.dot(weight.cwiseProduct(P));
      rest += P.dot(weight.cwiseProduct(Velocity(change + S * bend)));
    }
    double push = 0.0;
    for (const std::size_t wheel : {2, 3}) push += drive * velocity(parts[wheel], psi, delta, 1.0, 0.0)[3];
    // What the chassis feels of the drive turns it forwards; it does not pitch.
    return {v * std::cos(psi), v * std::sin(psi), yaw, (push - rest) / inertia};
  };
  const double t_end = 4.0;
  const State y = minimal(State(0, 0, 0, 1), t_end, 20'000, f);
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = shipped("cart");
    spec.group = group;
    const Ran run = ran(spec, t_end, 1e-9);
    EXPECT_NEAR(run["place.x"], y[0] + L / 2 * std::cos(y[2]), 1e-6);
    EXPECT_NEAR(run["place.y"], y[1] + L / 2 * std::sin(y[2]), 1e-6);
    EXPECT_NEAR(run["place.z"], 0.3, 1e-8);
    EXPECT_NEAR(std::remainder(run["heading.z"] - y[2], 2 * M_PI), 0.0, 1e-6);
    EXPECT_GT(y[2], 0.5) << "it turns";
  }
}

// ---- a cam

TEST(CamFollower, FollowsItsMinimalCoordinate) {
  const double J = 2e-4, m = 0.3, k = 2000, preload = 20, stall = 1.5, idle = 45, g = 9.81;
  const auto radius = [](double a) { return 0.045 - 0.006 * std::cos(a) + 0.0015 * std::cos(2 * a); };
  const auto radius_1 = [](double a) { return 0.006 * std::sin(a) - 0.003 * std::sin(2 * a); };
  const auto radius_2 = [](double a) { return 0.006 * std::cos(a) - 0.006 * std::cos(2 * a); };
  // The follower stands above the shaft: at the angle -φ of the cam.
  const auto f = [&](double, const Eigen::Vector2d& y) {
    const double a = -y[0], s_1 = -radius_1(a), s_2 = radius_2(a);
    const double lift = radius(a) - radius(0);
    const double force = stall * (1 - y[1] / idle) - (preload + k * lift + m * g) * s_1;
    return Eigen::Vector2d(y[1], (force - m * s_1 * s_2 * y[1] * y[1]) / (J + m * s_1 * s_1));
  };
  const Eigen::Vector2d y = minimal(Eigen::Vector2d(0, 30), 1.0, 100'000, f);
  for (const char* group : {"r3xso3", "se3"}) {
    io::RunSpec spec = shipped("cam-follower");
    spec.group = group;
    const Ran run = ran(spec, 1.0, 1e-10);
    EXPECT_GT(y[0], 8 * M_PI);
    EXPECT_NEAR(run["turned"], y[0], 1e-5);
    EXPECT_NEAR(run["omega"], y[1], 1e-4);
    EXPECT_NEAR(run["lift"], radius(y[0]) - radius(0), 1e-7);
    const Eigen::Vector2d slope = f(0, y);
    const double a = -y[0], up = -radius_1(a) * slope[1] + radius_2(a) * y[1] * y[1];
    EXPECT_NEAR(run["press.y"], m * (up + g) + preload + k * run["lift"], 2e-2);
  }
}

// ---- a Geneva drive

/// Slots are entered and left without a jump, so that the energy stays the same: θ̇² (J + J_w β'²) is constant, with
/// tan β = sin θ/(√2 - cos θ) while the pin is in a slot.
TEST(GenevaDrive, TurnsItsWheelByAQuarterPerTurn) {
  const double J = 0.01, J_wheel = 0.004, speed = 10, k = std::sqrt(2.0);
  const auto is_in = [](double theta) { return std::abs(std::remainder(theta, 2 * M_PI)) < M_PI / 4; };
  const auto slope = [&](double theta) {
    const double c = std::cos(theta);
    return is_in(theta) ? (k * c - 1) / (1 + k * k - 2 * k * c) : 0.0;
  };
  for (const double t_end : {0.1, 0.15, 1.0, 1.9}) {
    // θ̇ = speed √(J/(J + J_w β'²)): the time from -π/2 on, in steps that end where slots begin.
    double theta = -M_PI / 2, t = 0.0;
    const auto time_over = [&](double from, double to, int n) {
      double sum = 0.0;
      const double h = (to - from) / n;
      for (int i = 0; i <= n; ++i) {
        const double b = slope(std::clamp(from + i * h, from + 1e-13, to - 1e-13));
        sum += (i == 0 || i == n ? 1 : i % 2 == 1 ? 4 : 2) * std::sqrt((J + J_wheel * b * b) / J) / speed;
      }
      return sum * h / 3;
    };
    for (;;) {
      const double next = theta + M_PI / 4, needed = time_over(theta, next, 2000);
      if (t + needed > t_end) break;
      t += needed;
      theta = next;
    }
    double low = theta, high = theta + M_PI / 4;
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      (t + time_over(theta, middle, 2000) > t_end ? high : low) = middle;
    }
    const double end = low;
    const double turns = std::floor((end + M_PI / 4) / (2 * M_PI));  // of the crank, from one entry to the next
    const double in_turn = std::remainder(end, 2 * M_PI);
    const double beta = is_in(end) ? std::atan2(std::sin(in_turn), k - std::cos(in_turn)) : M_PI / 4;
    const double wheel = end < -M_PI / 4 ? 0.0 : -(turns * M_PI / 2 + M_PI / 4 + beta);
    const Ran run = ran(shipped("geneva-drive"), t_end, 1e-9);
    EXPECT_NEAR(run["turned"], end + M_PI / 2, 1e-5) << t_end;
    EXPECT_NEAR(run["wheel_turned"], wheel, 1e-5) << t_end;
    EXPECT_NEAR(run["omega"], speed / std::sqrt(1 + J_wheel / J * slope(end) * slope(end)), 1e-4) << t_end;
    EXPECT_NEAR(run["wheel_omega"], -slope(end) * run["omega"], 1e-4) << t_end;
  }
}

// ---- an excavator

TEST(Excavator, FollowsItsMinimalCoordinates) {
  const double g = 9.81, Q = 2e-3, lag = 0.15, beta = 1.2e9, V = 0.03, p_max = 25e6, relief = 1e-9, c = 2e4, stop = 5e7;
  const std::array<double, 3> length{5, 2.5, 1.2}, centre{2.4, 1, 0.6}, mass{1400, 600, 450}, inertia{3000, 320, 70},
      area{0.016, 0.01, 0.008}, least{1.4, 2.4, 2.1}, most{2.6, 3.4, 2.56};
  using Point = Eigen::Vector2d;
  struct Cylinder {
    int from, to;  // links, -1: ground
    Point a, b;    // from the joint of the link
  };
  const std::array<Cylinder, 3> cylinders{Cylinder{-1, 0, {0.5, -0.6}, {2, -0.3}},
                                          Cylinder{0, 1, {2.2, 0.8}, {-0.6, 0.3}},
                                          Cylinder{1, 2, {0.3, 0.5}, {-0.1, 0.35}}};
  // Absolute angles. A point of a link and its derivative by angle i.
  const auto place = [&](const Eigen::Vector3d& a, int link, const Point& p, Eigen::Matrix<double, 2, 3>& by) {
    by.setZero();
    if (link < 0) return p;
    Point at = Point::Zero();
    for (int k = 0; k < link; ++k) {
      at += length[k] * Point(std::cos(a[k]), std::sin(a[k]));
      by.col(k) = length[k] * Point(-std::sin(a[k]), std::cos(a[k]));
    }
    const double cosine = std::cos(a[link]), sine = std::sin(a[link]);
    const Point turned(cosine * p.x() - sine * p.y(), sine * p.x() + cosine * p.y());
    by.col(link) = Point(-turned.y(), turned.x());
    return Point(at + turned);
  };
  const auto lever = [&](int k, int i) { return i < k ? length[i] : i == k ? centre[i] : 0.0; };
  using State = Eigen::Matrix<double, 12, 1>;  // angles, rates, flows, pressures
  const auto f = [&](double t, const State& y) -> State {
    const Eigen::Vector3d a = y.head<3>(), w = y.segment<3>(3);
    const std::array<double, 3> handle{0.3 * std::sin(0.9 * t), -0.4 * std::sin(0.7 * t), 0.5};
    Eigen::Matrix3d M;
    Eigen::Vector3d force = Eigen::Vector3d::Zero();
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        double sum = 0.0;
        for (int k = 0; k < 3; ++k) sum += mass[k] * lever(k, i) * lever(k, j);
        M(i, j) = sum * std::cos(a[i] - a[j]) + (i == j ? inertia[i] : 0.0);
        force[i] -= sum * std::sin(a[i] - a[j]) * w[j] * w[j];
      }
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 3; ++k) force[i] -= g * mass[k] * lever(k, i) * std::cos(a[i]);
    State out;
    for (int n = 0; n < 3; ++n) {
      Eigen::Matrix<double, 2, 3> by_a, by_b;
      const Point r = place(a, cylinders[n].to, cylinders[n].b, by_b);
      const Point span = r - place(a, cylinders[n].from, cylinders[n].a, by_a);
      const double x = span.norm();
      const Eigen::Vector3d slope = (by_b - by_a).transpose() * span / x;
      const double v = slope.dot(w), flow = y[6 + n], p = y[9 + n];
      const double push = area[n] * p - c * v - stop * std::max(0.0, x - most[n]) + stop * std::max(0.0, least[n] - x);
      force += push * slope;
      out[6 + n] = (Q * handle[n] - flow) / lag;
      out[9 + n] = beta / V * (flow - area[n] * v - relief * (std::max(0.0, p - p_max) - std::max(0.0, -p - p_max)));
    }
    out.head<3>() = w;
    out.segment<3>(3) = M.ldlt().solve(force);
    return out;
  };
  State start = State::Zero();
  start.head<3>() = Eigen::Vector3d(35, -45, -105) * M_PI / 180;
  start.tail<3>() = Eigen::Vector3d(6.5e6, -1.73e6, 3e5);
  const State y = minimal(start, 3.0, 60'000, f);
  const Ran run = ran(shipped("excavator"), 3.0, 1e-9);
  EXPECT_NEAR(run["boom_angle"], y[0], 2e-6);
  EXPECT_NEAR(run["stick_angle"], y[1] - y[0], 2e-6);
  EXPECT_NEAR(run["bucket_angle"], y[2] - y[1], 2e-6);
  EXPECT_GT(run["bucket_length"], 2.56) << "on its stop";
  EXPECT_GT(run["bucket_pressure"], p_max) << "the valve is open";
  for (int n = 0; n < 3; ++n) {
    const char* names[] = {"boom_pressure", "stick_pressure", "bucket_pressure"};
    EXPECT_NEAR(run[names[n]], y[9 + n], 1e-5 * 25e6) << names[n];
  }
}

}  // namespace
