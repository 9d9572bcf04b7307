// Rows of velocity level that keep a wheel from slipping; they belong to a joint.
#pragma once

#include "multibody/frames.hpp"

namespace kreisel::multibody {

/// Two rows: the slip, along x and y of the plane, of the points of both bodies that touch each other; or, where it may slip sideways, one
/// along d × n. Slot 0 has the plane, whose normal n is z of its frame, slot 1 the disk, whose centre and axis d are p and z of its frame:
///
///     t·(V₂(C) - V₁(C)) = 0,   C = P₂ - r (n - c d)/√(1 - c²),   c = n·d.
class Rolling final : public Element {
 public:
  Rolling(std::string name, std::vector<int> bodies, const Frame& plane, const Frame& disk, double radius,
          bool holds_sideways);

  Facets facets() const override;
  void constraint(const Instant& at, double* gap, double* rate) const override;
  void add_constraint_force(const Instant& at, const double* mu, const Forces& out) const override;
  void jacobian(const Instant& at, const Blocks& out) const override;
  void linearize_constraint(const Instant& at, const Blocks& out) const override;
  void acceleration_gap(const Instant& at, double* out) const override;
  /// wrench += Aᵀλ of both bodies.
  void add_wrench(const Instant& at, const double* mu, Slopes& wrench) const;

 private:
  /// A by the twists of both bodies, one after the other.
  template <class T, class Body>
  std::array<std::array<T, 12>, 2> rows(const Body& a, const Body& b) const;

  Frame plane_, disk_;
  double radius_;
  int rows_;
};

}  // namespace kreisel::multibody
