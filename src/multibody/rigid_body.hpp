// The inertia of a rigid body, and its weight.
#pragma once

#include "kreisel/element.hpp"
#include "multibody/element_pair.hpp"

namespace kreisel::multibody {

/// Uniform gravity is an acceleration of the frame of reference: m (u̇ - γ), in one expression with the inertia.
class RigidBody final : public Element, public Pairable {
 public:
  RigidBody(const Body& body, int node, const Vector3& gravity)
      : Element("body", body.name, {node}), mass_(body.mass), inertia_(body.inertia), gravity_(gravity) {}

  Facets facets() const override {
    return {.has_mass = true, .has_force = true, .stores_energy = true, .is_on_frames = true};
  }
  void add_mass(const Instant& at, const Blocks& out) const override;
  void add_force(const Instant& at, const Forces& out) const override;
  void linearize(const Instant& at, const Blocks& out) const override;
  void add_energy(const Instant& at, system::EnergyParts& parts) const override;
  std::unique_ptr<ElementPair> pair_with(const Element& next, const Slot* own_slots,
                                         const Slot* its_slots) const override;

 private:
  friend class RigidBodyPair;
  double mass_;
  Matrix3 inertia_;
  Vector3 gravity_;
};

}  // namespace kreisel::multibody
