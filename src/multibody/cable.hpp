// Cables without bending stiffness: between two points they pull or are slack.
#pragma once

#include "multibody/beam.hpp"

namespace kreisel::multibody {

/// A straight piece of cable between points of two nodes: T = EA max(0, ε + βε̇) while it is taut, ε = l/L - 1 > 0; slack, it has
/// no force. It exerts no moment: the rotations of its nodes are free.
class Cable final : public SectionElement {
 public:
  /// `a` and `b` in the body frames of the nodes.
  Cable(std::string name, int node_a, const Vector3& a, int node_b, const Vector3& b, double length, double stiffness,
        double damping_time);

  /// The tension, the same at both ends.
  Vector6 stress(const Instant& at, int end) const override;
  Vector6 strain_of(const Vector6& stress) const override { return stress / stiffness_; }
  double length() const override { return length_; }
  Frame end(int end) const override { return {point_[static_cast<std::size_t>(end)], Matrix3::Identity()}; }

  Facets facets() const override {
    return {.has_force = true, .stores_energy = true, .does_work = damping_time_ > 0.0};
  }
  void add_force(const Instant& at, const Forces& out) const override;
  void linearize(const Instant& at, const Blocks& out) const override;
  void add_energy(const Instant& at, system::EnergyParts& parts) const override;
  void add_power(const Instant& at, system::Power& power) const override;

 private:
  struct State;
  State state_of(const Instant& at) const;

  std::array<Vector3, 2> point_;
  double length_, stiffness_, damping_time_;
};

}  // namespace kreisel::multibody
