// Geometrically exact beams: two nodes, a relative pose, a section.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "kreisel/element.hpp"
#include "lie/flat_pose.hpp"
#include "multibody/beam_kernel.hpp"
#include "multibody/body.hpp"
#include "multibody/element_pair.hpp"

namespace kreisel::multibody {

/// How stress follows from the pose of one end against the other.
enum class SectionLaw {
  constant,  ///< strain and stress are constant along the element (Sonneville, Cardona and Brüls 2014): order 2 in its length
  magnus,  ///< strain varies as in the balance of an unloaded element: order 4
};

/// What an element of a rod is made of, in the axes of its cross-section: x along the rod. Strains (and velocities) are ordered
/// as (Γ, κ): extension and shear, then torsion and curvature [1, 1/m]; stresses as (n, m) [N, N m].
struct BeamSection {
  Matrix6 compliance =
      Matrix6::Identity();    ///< C = K⁻¹; zero shear compliance is a shear-rigid rod, with the magnus law only
  double damping_time = 0.0;  ///< β of Kelvin and Voigt: stress grows by βKε̇ [s]
  SectionLaw law = SectionLaw::magnus;
  /// Strains Γ that constraint rows keep at those of the reference: extension, shear along y and z. Their stresses are the
  /// multipliers; the compliance has no effect on them.
  std::array<bool, 3> is_rigid{false, false, false};
};

/// The section of a whole rod, for reports.
struct SectionFacts {
  std::string rod;
  Vector6 stiffness =
      Vector6::Zero();  ///< EA, GA_y, GA_z, GJ, EI_y, EI_z: the diagonal; infinite where the rod is rigid [N, N m²]
  double mass_per_length = 0.0;                       ///< [kg/m]
  double shear_factor = 0.0, torsion_constant = 0.0;  ///< of its shape [-, m⁴]; zero: the stiffness was given
};

/// An element of a rod, with the force and moment of its sections.
class SectionElement : public Element {
 public:
  using Element::Element;
  /// Section force and moment at A (end 0) or B (end 1), in the axes of that end, exerted by the part behind the cut on the part before.
  virtual Vector6 stress(const Instant& at, int end) const = 0;
  /// The strains of that stress, with zeros where the section is rigid.
  virtual Vector6 strain_of(const Vector6& stress) const = 0;
  /// Of the reference [m].
  virtual double length() const = 0;
  /// The section at an end, seen from its node.
  virtual Frame end(int end) const = 0;

  /// What is distributed along the rod acts at the nodes: the stress between two of them is that in the middle of the element. At its
  /// end it differs by this part of the mass and weight of the node there.
  double part_of_node(int end) const { return part_of_node_[static_cast<std::size_t>(end)]; }
  void take_part_of_nodes(double at_first, double at_second) { part_of_node_ = {at_first, at_second}; }

  /// The same for all elements of a rod; null: not part of a rod.
  const SectionFacts* facts_of_section() const { return facts_.get(); }
  void take_facts(std::shared_ptr<const SectionFacts> facts) { facts_ = std::move(facts); }

 private:
  std::shared_ptr<const SectionFacts> facts_;
  std::array<double, 2> part_of_node_{};
};

/// C + (L²/12) hat(f) C hat(f)ᵀ, what an element of length L with the strain f yields under stress.
Matrix6 element_compliance(const BeamSection& section, double length, const Vector6& strain);

/// An element between frames of two nodes A and B. With h = a⁻¹b the pose of one end frame against the other,
///
///     d = log h,   f = d/L,   ε = f - f₀,   V = (L/2) ε·C*⁻¹ε,   C* = C + (L²/12) hat(f) C hat(f)ᵀ
///
/// where the second part of C* is the commutator of the Magnus series of q' = q f: strain changes along the element because
/// stress obeys σ' = hat(f)ᵀσ. It vanishes in the constant law. Everything depends on h alone: rigid motions have no effect.
///
/// What the commutator adds to shear is an S-shaped bow of the element, which draws its ends together. For the part p of shear γ
/// that is bow the ends come closer by (p - 0.4 p²)γ² per length; the commutator gives pγ², so ε₁ contains -0.4 p²γ². The
/// term is of fourth order in L, as the error is, and removes most of it.
/// Rigid strains are rows, whose λ is the stress; that of extension keeps the length of the bow.
class Beam final : public SectionElement, public Pairable {
 public:
  /// `strain0` is f₀, the strain of the reference against one frame carried along the rod: (1, 0, 0, 0, 0, 0) is straight.
  Beam(std::string name, int node_a, const Frame& a, int node_b, const Frame& b, double length, const Vector6& strain0,
       const BeamSection& section);

  double length() const override { return length_; }
  Frame end(int end) const override { return frame_[static_cast<std::size_t>(end)]; }
  /// ε at the middle.
  Vector6 strain(const Instant& at) const;
  Vector6 stress(const Instant& at, int end) const override;
  Vector6 strain_of(const Vector6& stress) const override { return compliance_ * stress; }
  /// Angle between the two ends [rad], and the one beyond which it cannot be told from a turn in the opposite direction.
  double bend(const Instant& at) const;
  static constexpr double widest_bend = 2.8;

  Facets facets() const override;
  void add_force(const Instant& at, const Forces& out) const override;
  void linearize(const Instant& at, const Blocks& out) const override;
  void constraint(const Instant& at, double* gap, double* rate) const override;
  void add_constraint_force(const Instant& at, const double* mu, const Forces& out) const override;
  void jacobian(const Instant& at, const Blocks& out) const override;
  void linearize_constraint(const Instant& at, const Blocks& out) const override;
  void acceleration_gap(const Instant& at, double* out) const override;
  void add_energy(const Instant& at, system::EnergyParts& parts) const override;
  void add_power(const Instant& at, system::Power& power) const override;
  std::unique_ptr<ElementPair> pair_with(const Element& next, const Slot* own_slots,
                                         const Slot* its_slots) const override;

 private:
  friend class BeamPair;
  struct Ends;    ///< d, and velocities of the end frames
  struct Law;     ///< the stress that works on ḋ, and its derivative
  struct Slopes;  ///< of a wrench Pᵀt by the velocities of the end frames
  Ends ends_of(const Instant& at, bool with_velocities) const;
  /// Of an end frame; `moved` holds it where it is not that of the node.
  const double* pose_of(const Instant& at, int end, lie::FlatPose& moved) const;
  Vector6 velocity_of(const Instant& at, int end) const;
  /// Whether the closed forms of the kernel serve, and their numbers.
  bool has_closed_form() const;
  kernel::Constants<double> constants() const;
  /// ∂V/∂d; with derivatives also ∂²V/∂d².
  template <bool with_derivatives>
  void set_law(const Vector6& d, Law& out) const;
  Matrix6 reduced(Matrix6 C) const;
  void add_to(const Instant& at, int slot, const Vector6& wrench, const Forces& out) const;
  /// K and D of a wrench g = Pᵀt in end frames, to the velocities of the nodes.
  void add_blocks(const Instant& at, const Slopes& from, const Blocks& out) const;
  /// Rows of end frames to the velocities of a node.
  Matrix6 to_node(const Instant& at, int slot, const Matrix6& rows) const;
  Vector6 rate_of(const Ends& ends) const;
  /// The length of an element by its d, with derivatives by the first three numbers of d.
  struct Stretch {
    double length;
    Vector3 slope;
    Matrix3 curvature;
  };
  Stretch stretch_of(const Vector6& d) const;
  Vector6 multipliers(const Vector6& d, const double* lambda) const;

  std::array<Frame, 2> frame_;
  std::array<lie::FlatPose, 2> pose_;  ///< the same
  std::array<bool, 2> is_plain_;       ///< the frame of the node itself
  double length_;
  Vector6 strain0_;
  Matrix6 compliance_, stiffness_;
  Matrix6 damping_;  ///< on ḋ, over L
  SectionLaw law_;
  bool is_damped_, is_diagonal_;
  bool has_kernel_ = false;
  kernel::Constants<double> constants_{};
  std::array<bool, 3> is_rigid_;
  std::array<int, 3> row_{};  ///< strains that are rows
  int rows_ = 0;
  std::array<double, 2> bow_{};        ///< of ε₁ over γ², along y and z
  std::array<double, 2> chord_bow_{};  ///< of the length over γ², beside that of the chord
  double length0_ = 1.0;               ///< stretch_of the reference
  double scale_ = 1.0;                 ///< of the compliance, where a rigid strain needs a number
};

}  // namespace kreisel::multibody
