// Geometrically exact beams: two nodes, a relative pose, a section.
#pragma once

#include "kreisel/element.hpp"
#include "multibody/body.hpp"

namespace kreisel::multibody {

/// How stress follows from the pose of one end against the other.
enum class SectionLaw {
  constant,  ///< strain and stress are constant along the element (Sonneville, Cardona and Brüls 2014): order 2 in its length
  magnus,  ///< strain varies as the balance of an unloaded element says: order 4
};

/// What an element of a rod is made of, in the axes of its cross-section: x along the rod. Strains (and velocities) are ordered
/// as (Γ, κ): extension and shear, then torsion and curvature [1, 1/m]; stresses as (n, m) [N, N m].
struct BeamSection {
  Matrix6 compliance =
      Matrix6::Identity();    ///< C = K⁻¹; zero shear compliance is a shear-rigid rod, with the magnus law only
  double damping_time = 0.0;  ///< β of Kelvin and Voigt: stress grows by βKε̇ [s]
  SectionLaw law = SectionLaw::magnus;
};

/// An element between frames of two nodes A and B. With h = a⁻¹b the pose of one end frame against the other,
///
///     d = log h,   f = d/L,   ε = f - f₀,   V = (L/2) ε·C*⁻¹ε,   C* = C + (L²/12) hat(f) C hat(f)ᵀ
///
/// where the second part of C* is the commutator of the Magnus series of q' = q f: strain changes along the element because
/// stress obeys σ' = hat(f)ᵀσ. It vanishes in the constant law. Everything depends on h alone: rigid motions do nothing.
class Beam final : public Element {
 public:
  /// `strain0` is f₀, the strain of the reference against one frame carried along the rod: (1, 0, 0, 0, 0, 0) is straight.
  Beam(std::string name, int node_a, const Frame& a, int node_b, const Frame& b, double length, const Vector6& strain0,
       const BeamSection& section);

  double length() const { return length_; }
  /// ε at the middle.
  Vector6 strain(const Instant& at) const;
  /// Section force and moment at A (end 0) or B (end 1), in the axes of that end: what the part behind the cut does to the part before.
  Vector6 stress(const Instant& at, int end) const;
  /// Angle between the two ends [rad].
  double bend(const Instant& at) const;

  Facets facets() const override;
  void add_force(const Instant& at, const Forces& out) const override;
  void linearize(const Instant& at, const Blocks& out) const override;
  void add_energy(const Instant& at, system::EnergyParts& parts) const override;
  void add_power(const Instant& at, system::Power& power) const override;

 private:
  struct Ends;  ///< poses and velocities of the end frames
  struct Law;   ///< d, the stress that works on ḋ, and its derivative
  Ends ends_of(const Instant& at) const;
  /// ∂V/∂d; with derivatives also ∂²V/∂d².
  void set_law(const Vector6& d, bool with_derivatives, Law& out) const;
  void add_to(const Instant& at, int slot, const Vector6& wrench, const Forces& out) const;

  std::array<Frame, 2> frame_;
  double length_;
  Vector6 strain0_;
  Matrix6 compliance_, stiffness_;
  Matrix6 damping_;  ///< on ḋ/L
  SectionLaw law_;
  bool is_damped_;
};

}  // namespace kreisel::multibody
