#include "multibody/rigid_body.hpp"

#include "lie/so3.hpp"
#include "multibody/body.hpp"

namespace kreisel::multibody {

using Map3 = Eigen::Map<const Vector3>;
using Matrix6Map = Eigen::Map<Matrix6>;

void RigidBody::add_mass(const Instant&, const Blocks& out) const {
  Matrix6Map M(out.coupling(out.all.M, 0, 0));
  M.diagonal().head<3>().array() += mass_;
  M.bottomRightCorner<3, 3>() += inertia_;
}

/// On SE(3): m (U̇ + Ω × U - Rᵀγ).
void RigidBody::add_force(const Instant& at, const Forces& out) const {
  const double *v = at.v_of(0), *a = at.a_of(0);
  const Map3 u(v), w(v + 3), u_dot(a), w_dot(a + 3);
  Eigen::Map<Vector6> force(out.of(0));
  if (at.slots[0].group == lie::GroupId::se3)
    force.head<3>() += mass_ * (u_dot + w.cross(u) - lie::rotate_back(at.q_of(0) + 3, gravity_));
  else
    force.head<3>() += mass_ * (u_dot - gravity_);
  force.tail<3>() += inertia_ * w_dot + w.cross(inertia_ * w);
}

void RigidBody::linearize(const Instant& at, const Blocks& out) const {
  const double* v = at.v_of(0);
  const Vector3 u = Map3(v), w = Map3(v + 3);
  Matrix6Map D(out.coupling(out.all.D, 0, 0)), K(out.coupling(out.all.K, 0, 0));
  D.bottomRightCorner<3, 3>() += skew(w) * inertia_ - skew(inertia_ * w);
  if (at.slots[0].group != lie::GroupId::se3) return;
  D.topLeftCorner<3, 3>() += mass_ * skew(w);
  D.topRightCorner<3, 3>() -= mass_ * skew(u);
  K.topRightCorner<3, 3>() -= mass_ * skew(lie::rotate_back(at.q_of(0) + 3, gravity_));
}

void RigidBody::add_energy(const Instant& at, system::EnergyParts& parts) const {
  const double* v = at.v_of(0);
  const Map3 x(at.q_of(0)), u(v), w(v + 3);
  parts.kinetic += 0.5 * mass_ * u.squaredNorm() + 0.5 * w.dot(inertia_ * w);
  parts.potential -= mass_ * gravity_.dot(x);
}

}  // namespace kreisel::multibody
