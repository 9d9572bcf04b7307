// Bodies + joints + forces = System, on SE(3) or ℝ³×SO(3) per body.
#pragma once

#include <string>
#include <vector>

#include "kreisel/multibody/body.hpp"
#include "kreisel/multibody/force.hpp"
#include "kreisel/multibody/joint.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::multibody {

/// Everything a mechanism consists of.
struct Mechanism {
  std::string name = "mechanism";
  lie::GroupId group = lie::GroupId::r3xso3;  ///< or se3
  Vector3 gravity = Vector3::Zero();          ///< [m/s²]
  std::vector<Body> bodies;
  std::vector<Joint> joints;
  std::vector<ForcePtr> forces;
};

/// Joints and forces speak of inertial velocities u; on SE(3), where v = (U, Ω) with u = R U, they are converted here:
///
///     B_U = B_u R,   f_U = Rᵀ f_u,   H_Ω += -B_u R Ũ,   K_UΩ += skew(Rᵀ f_u),   K_Ω += -D_u R Ũ.
///
/// First-order states of forces (counted turns, deflections of bristles) stand in blocks of their own behind those of the
/// bodies.
///
/// Evaluation allocates nothing and keeps no state. Loops over bodies and elements are shared by the workers in force
/// (base/workers.hpp); the order in which a body collects its forces does not depend on them.
class Assembly final : public system::System {
 public:
  /// Throws InvalidInput when body or joint numbers do not exist.
  explicit Assembly(Mechanism mechanism);

  void residual(const lie::Motion& m, ConstVectorRef lambda, system::Residual& out) const override;
  void linearize(const lie::Motion& m, ConstVectorRef lambda, system::KktBlocks& out) const override;
  void acceleration_gap(const lie::Motion& m, VectorRef out) const override;
  void mass_and_jacobian(const lie::Motion& m, system::KktBlocks& out) const override;
  void constraint_force(const lie::Motion& m, ConstVectorRef mu, VectorRef out) const override;
  void constraints(const lie::Motion& m, ConstVectorRef lambda, system::Residual& out) const override;
  void saddle_point(const lie::Motion& m, ConstVectorRef lambda, system::KktBlocks& blocks, system::Residual& out,
                    VectorRef z) const override;
  bool is_affine_in_multipliers() const override { return is_affine_; }
  double energy(const lie::Motion& m) const override;
  bool has_energy_parts() const override { return true; }
  system::EnergyParts energy_parts(const lie::Motion& m) const override;
  bool is_conservative() const override { return is_conservative_; }
  system::Power power(const lie::Motion& m, ConstVectorRef lambda) const override;
  system::Corner next_corner(double t, double until, double resolution) const override;

  int body_count() const override { return static_cast<int>(mechanism_.bodies.size()); }
  std::string body_name(int body) const override { return mechanism_.bodies[body].name; }
  system::Pose body_pose(int body, ConstVectorRef q) const override;
  int joint_count() const override { return static_cast<int>(mechanism_.joints.size()); }
  std::string joint_name(int joint) const override { return mechanism_.joints[joint].name(); }
  /// Of the joint itself; friction in it is a force of its own.
  system::Reaction reaction(int joint, const lie::Motion& m, ConstVectorRef lambda) const override;

  std::string undefined_between(double t, double t_next) const override;
  std::string force_that_changes(const lie::Motion& before, const lie::Motion& after, ConstVectorRef lambda) const override;

  const Mechanism& mechanism() const { return mechanism_; }
  /// q and v of the bodies as given, states of forces as for a motion that starts there.
  system::Start start(double t_end) const;
  /// States of forces and their rates, as the poses and velocities of the bodies in q and v at t say.
  void set_states(double t, Vector& q, Vector& v) const;
  /// Largest |Φ| of each joint at (t, q) of m.
  std::vector<double> joint_gaps(const lie::Motion& m) const;

 private:
  struct Slot {
    int body = ground;
    int v_at = 0;
    int touch_at = -1;  ///< offset in B, H, F; forces without multipliers have none
  };
  struct Element {  ///< where a joint or force stands in the equations
    std::array<Slot, max_slots> slots;
    std::array<int, max_slots * max_slots> coupling_at;  ///< offsets in M, D, K, -1: none
    int slot_count = 0;
    int row = 0, rows = 0;
  };

  /// Where the states of a force stand.
  struct OwnStates {
    int count = 0;
    int q_at = 0, v_at = 0;
    int diagonal_at = 0;
    std::array<int, max_slots> row_at, column_at;  ///< with the bodies in D, K; -1: ground
  };

  /// The states of the bodies of one element; those that the next element shares are not computed again.
  struct States {
    std::array<BodyState, max_slots> s;
    std::array<int, max_slots> body{ground, ground, ground};
  };

  struct Piece {  ///< elements begin … end-1, evaluated one after the other
    int begin = 0, end = 0;
  };
  /// Pieces of the joints or forces. Those of one wave touch no body in common and may be evaluated at the same time.
  using Waves = std::vector<std::vector<Piece>>;

  static Waves waves_of(const std::vector<Element>& elements, int bodies);
  static system::Pattern make_pattern(const Mechanism& mechanism);
  Element place(const std::vector<int>& bodies, int group) const;

  void set_state(int body, const lie::Motion& m, BodyState& s) const;
  const BodyState* load(const Element& element, const lie::Motion& m, States& states) const;
  void store_inertia_forces(const lie::Motion& m, VectorRef force) const;
  void add_forces(const lie::Motion& m, ConstVectorRef lambda, VectorRef force) const;
  void set_accelerations(const Element& element, const BodyState* s, const lie::Motion& m, Slopes& out) const;
  void add_wrench(const Element& element, const BodyState* s, const Slopes& wrench, VectorRef force) const;
  void store_B(const Element& element, const BodyState* s, const ElementBlocks& blocks, system::KktBlocks& out) const;
  void store_F(const Element& element, system::KktBlocks& out) const;
  void store_H(const Element& element, const BodyState* s, const ElementBlocks& blocks, system::KktBlocks& out) const;
  void add_F(const Element& element, const BodyState* s, const ElementBlocks& blocks, system::KktBlocks& out) const;
  /// K and, unless null, D; wrench is the one whose derivatives they are.
  void add_couplings(const Element& element, const BodyState* s, const Slopes& wrench, const Curvature& K,
                     const Curvature* D, system::KktBlocks& out) const;
  void store_mass(system::KktBlocks& out) const;
  ForceState force_state(int force, const BodyState* s, const lie::Motion& m, const double* lambda) const;
  void store_states(const OwnStates& own, const Element& element, const BodyState* s, const ElementBlocks& blocks,
                    system::KktBlocks& out) const;

  Mechanism mechanism_;
  bool is_se3_, is_affine_ = true, is_conservative_ = true;
  bool needs_newton_ = false;  ///< for v̇ and λ; then F is wanted wherever B is
  std::vector<int> diagonal_at_;
  std::vector<Element> joints_, forces_;
  std::vector<OwnStates> states_;  ///< by force
  Waves joint_waves_, force_waves_;
};

}  // namespace kreisel::multibody
