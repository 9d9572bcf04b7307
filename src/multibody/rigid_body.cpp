#include "multibody/rigid_body.hpp"

#include <array>

#include "base/lanes.hpp"
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

// ---- two bodies on SE(3) at once

class RigidBodyPair final : public ElementPair {
 public:
  RigidBodyPair(const RigidBody& first, const Slot& first_slot, const RigidBody& second, const Slot& second_slot)
      : mass_(first.mass_, second.mass_), slots_{first_slot, second_slot} {
    const Matrix3 &I = first.inertia_, &J = second.inertia_;
    for (int i = 0; i < 3; ++i) rows_[i] = {{I(i, 0), J(i, 0)}, {I(i, 1), J(i, 1)}, {I(i, 2), J(i, 2)}};
    const Vector3 &g = first.gravity_, &h = second.gravity_;
    gravity_ = {{g[0], h[0]}, {g[1], h[1]}, {g[2], h[2]}};
  }

  void add_force(const lie::Motion& m, double* force) const override {
    const Gather<Lanes> q = of(m.q.data(), &Slot::q_at), v = of(m.v.data(), &Slot::v_at),
                        a = of(m.a.data(), &Slot::v_at);
    const Triple<Lanes> u = triple_at(v, 0), w = triple_at(v, 3), turn = triple_at(q, 3);
    // Rᵀγ as in lie::rotate_back.
    const Triple<Lanes> t = Lanes(2.0) * cross(gravity_, turn);
    const Triple<Lanes> weight = gravity_ + q[6] * t - cross(turn, t);
    const Triple<Lanes> f = mass_ * (triple_at(a, 0) + cross(w, u) - weight);
    const Triple<Lanes> n = times_inertia(triple_at(a, 3)) + cross(w, times_inertia(w));
    for (const int lane : {0, 1}) {
      double* const to = force + slots_[lane].v_at;
      to[0] += f.x[lane];
      to[1] += f.y[lane];
      to[2] += f.z[lane];
      to[3] += n.x[lane];
      to[4] += n.y[lane];
      to[5] += n.z[lane];
    }
  }
  void add_energy(const lie::Motion& m, system::EnergyParts& parts) const override {
    const Gather<Lanes> v = of(m.v.data(), &Slot::v_at);
    const Triple<Lanes> x = triple_at(of(m.q.data(), &Slot::q_at), 0), u = triple_at(v, 0), w = triple_at(v, 3);
    const Lanes kinetic = Lanes(0.5) * mass_ * dot(u, u) + Lanes(0.5) * dot(w, times_inertia(w));
    const Lanes potential = mass_ * dot(gravity_, x);
    for (const int lane : {0, 1}) {
      parts.kinetic += kinetic[lane];
      parts.potential -= potential[lane];
    }
  }

 private:
  Gather<Lanes> of(const double* x, int Slot::*at) const { return {x + slots_[0].*at, x + slots_[1].*at}; }
  /// Eigen takes the first two rows as a packet, summed from the left, and the last one by halves.
  Triple<Lanes> times_inertia(const Triple<Lanes>& w) const {
    const Triple<Lanes>& last = rows_[2];
    return {dot(rows_[0], w), dot(rows_[1], w), last.x * w.x + (last.y * w.y + last.z * w.z)};
  }

  Lanes mass_;
  std::array<Triple<Lanes>, 3> rows_;  ///< of the inertia
  Triple<Lanes> gravity_;
  std::array<Slot, 2> slots_;
};

std::unique_ptr<ElementPair> RigidBody::pair_with(const Element& next, const Slot* own_slots,
                                                  const Slot* its_slots) const {
  const auto* other = dynamic_cast<const RigidBody*>(&next);
  for (const Slot* slot : {own_slots, its_slots})
    if (other == nullptr || slot->group != lie::GroupId::se3) return nullptr;
  return std::make_unique<RigidBodyPair>(*this, *own_slots, *other, *its_slots);
}

}  // namespace kreisel::multibody
