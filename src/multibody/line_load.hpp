// Forces and torques per length along a rod.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "multibody/body.hpp"
#include "multibody/signal.hpp"

namespace kreisel::multibody {

/// Constant along the rod, a function of time: at the nodes, with the weights of an integral along it.
class LineLoad final : public Element {
 public:
  /// Nodes that one element takes; longer loads are several.
  static constexpr int most_nodes = 64;

  struct Point {
    int node = 0;
    double weight = 0.0;                 ///< length of the rod that loads this node [m]
    double before = 0.0;                 ///< the part of it that lies before the node
    Vector3 at = Vector3::Zero();        ///< of the axis of the rod, in the body frame [m]
    Matrix3 axes = Matrix3::Identity();  ///< of the section, in the body frame
  };
  struct Load {
    std::array<Signal, 3> force, torque;  ///< per length [N/m, N]
    bool in_section_axes = false;         ///< they turn with the sections; otherwise inertial
  };
  LineLoad(std::string name, std::vector<Point> points, Load load);

  Facets facets() const override { return {.has_force = true, .couples_nodes = false, .does_work = true}; }
  void add_force(const Instant& at, const Forces& out) const override;
  void linearize(const Instant& at, const Blocks& out) const override;
  void add_power(const Instant& at, system::Power& power) const override;
  /// What loads the node from the rod before it, or behind it: force and torque in the body frame, about the axis of the rod. Zero: it
  /// loads another node.
  Vector6 load_at(const Instant& at, int node, bool is_before) const;
  std::vector<NamedSignal> signals() const override;
  system::Corner next_corner(double t, double until, double resolution) const override;

 private:
  /// At the axis of the rod, in the body frame.
  struct Pull {
    Vector3 force, torque;
  };
  Pull pull_on(const Instant& at, std::size_t i, const Vector3& force, const Vector3& torque) const;

  std::vector<Point> points_;
  Load load_;
};

}  // namespace kreisel::multibody
