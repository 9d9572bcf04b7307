#include "multibody/cable.hpp"

#include <algorithm>

#include "lie/so3.hpp"

namespace kreisel::multibody {
namespace {

using Matrix36 = Eigen::Matrix<double, 3, 6>;

}  // namespace

struct Cable::State {
  std::array<Matrix3, 2> R;
  std::array<Vector3, 2> speed;  ///< of the points, inertial
  Vector3 along;                 ///< from a to b, a unit vector
  double distance = 0.0, strain = 0.0, rate = 0.0;
  double tension = 0.0;
  bool pulls = false;
};

Cable::Cable(std::string name, int node_a, const Vector3& a, int node_b, const Vector3& b, double length,
             double stiffness, double damping_time)
    : SectionElement("cable", std::move(name), {node_a, node_b}),
      point_{a, b},
      length_(length),
      stiffness_(stiffness),
      damping_time_(damping_time) {}

Cable::State Cable::state_of(const Instant& at) const {
  State s;
  std::array<Vector3, 2> x;
  for (const int i : {0, 1}) {
    s.R[i].setIdentity();
    s.speed[i].setZero();
    x[i] = point_[i];
    if (at.slots[i].is_ground()) continue;
    const double *q = at.q_of(i), *v = at.v_of(i);
    s.R[i] = lie::rotation_matrix(q + 3);
    x[i] = Vector3(q[0], q[1], q[2]) + s.R[i] * point_[i];
    const Vector3 u(v[0], v[1], v[2]), turned = s.R[i] * lie::cross(Vector3(v[3], v[4], v[5]), point_[i]);
    s.speed[i] = (at.slots[i].group == lie::GroupId::se3 ? Vector3(s.R[i] * u) : u) + turned;
  }
  const Vector3 r = x[1] - x[0];
  s.distance = r.norm();
  s.strain = s.distance / length_ - 1.0;
  if (!(s.strain > 0.0)) return s;
  s.along = r / s.distance;
  s.rate = s.along.dot(s.speed[1] - s.speed[0]) / length_;
  const double pull = s.strain + damping_time_ * s.rate;
  s.pulls = pull > 0.0;
  s.tension = stiffness_ * std::max(pull, 0.0);
  return s;
}

void Cable::add_force(const Instant& at, const Forces& out) const {
  const State s = state_of(at);
  if (!s.pulls) return;
  for (const int i : {0, 1}) {
    if (at.slots[i].is_ground()) continue;
    const Vector3 force = (i == 0 ? -s.tension : s.tension) * s.along, in_body = s.R[i].transpose() * force;
    Eigen::Map<Vector6> sum(out.of(i));
    sum.head<3>() += at.slots[i].group == lie::GroupId::se3 ? in_body : force;
    sum.tail<3>() += lie::cross(point_[i], in_body);
  }
}

/// With δX = J x the way of a point, g = ±Jᵀ(T e), δ(T e) = N δ(X_b - X_a) + e (∂T/∂ε̇) δε̇.
void Cable::linearize(const Instant& at, const Blocks& out) const {
  const State s = state_of(at);
  if (!s.pulls) return;
  const Matrix3 along = s.along * s.along.transpose(), across = Matrix3::Identity() - along;
  const double by_rate = stiffness_ * damping_time_ / length_;
  const Vector3 difference = s.speed[1] - s.speed[0];
  const Matrix3 N = (stiffness_ / length_) * along + (s.tension / s.distance) * across +
                    (by_rate / s.distance) * s.along * (across * difference).transpose();
  std::array<Matrix36, 2> J, turned;  // ∂X/∂x and ∂V/∂x, V the velocity of the point
  for (const int i : {0, 1}) {
    if (at.slots[i].is_ground()) continue;
    const bool is_se3 = at.slots[i].group == lie::GroupId::se3;
    const double* v = at.v_of(i);
    const Vector3 w(v[3], v[4], v[5]);
    J[i] << (is_se3 ? s.R[i] : Matrix3(Matrix3::Identity())), -s.R[i] * skew(point_[i]);
    Vector3 in_body = lie::cross(w, point_[i]);
    if (is_se3) in_body += Vector3(v[0], v[1], v[2]);
    turned[i] << Matrix3::Zero(), -s.R[i] * skew(in_body);
  }
  for (const int i : {0, 1}) {
    if (at.slots[i].is_ground()) continue;
    for (const int j : {0, 1}) {
      if (at.slots[j].is_ground()) continue;
      const double sign = i == j ? 1.0 : -1.0;
      Matrix6 K = sign * J[i].transpose() * (N * J[j] + by_rate * along * turned[j]);
      if (i == j) {
        const Vector3 in_body = s.R[i].transpose() * ((i == 0 ? -s.tension : s.tension) * s.along);
        if (at.slots[i].group == lie::GroupId::se3) K.topRightCorner<3, 3>() += skew(in_body);
        K.bottomRightCorner<3, 3>() += skew(point_[i]) * skew(in_body);
      }
      Eigen::Map<Matrix6>(out.coupling(out.all.K, i, j)) += K;
      if (damping_time_ > 0.0)
        Eigen::Map<Matrix6>(out.coupling(out.all.D, i, j)) += sign * by_rate * J[i].transpose() * along * J[j];
    }
  }
}

void Cable::add_energy(const Instant& at, system::EnergyParts& parts) const {
  const State s = state_of(at);
  if (s.strain > 0.0) parts.elastic += 0.5 * stiffness_ * length_ * s.strain * s.strain;
}

void Cable::add_power(const Instant& at, system::Power& power) const {
  const State s = state_of(at);
  if (s.strain > 0.0) power.dissipated += (s.tension - stiffness_ * s.strain) * s.rate * length_;
}

Vector6 Cable::stress(const Instant& at, int) const {
  Vector6 out = Vector6::Zero();
  out[0] = state_of(at).tension;
  return out;
}

}  // namespace kreisel::multibody
