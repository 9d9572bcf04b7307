// Elements that are written in terms of BodyState: from and to the velocities of the groups.
#pragma once

#include "kreisel/element.hpp"
#include "multibody/measure.hpp"

namespace kreisel::multibody {

/// First-order states that one force can have.
inline constexpr int max_states = 2;

/// Derivatives of one joint or force by slot; rows beyond those of the joint are not set.
struct ElementBlocks {
  std::array<Matrix6, max_frames> B, H, F;  ///< of a joint: rows x 6; F is 6 x rows
  Curvature K, D;                           ///< by slot pair
  /// Of own states, with ż = f: ∂g/∂z, ∂f/∂(x,θ) and ∂f/∂(u,w) by state and slot, ∂f/∂z.
  std::array<Slopes, max_states> G, f_q, f_v;
  Eigen::Matrix<double, max_states, max_states> f_z;
};

inline void set_zero(Slopes& slopes, int slots) {
  for (int i = 0; i < slots; ++i) slopes[i].setZero();
}

/// The bodies of an element at one instant. BodyState has inertial velocities u; a node on SE(3) has v = (U, Ω) with
/// u = R U, and what belongs to it is converted here, slot by slot:
///
///     B_U = B_u R,   f_U = Rᵀ f_u,   H_Ω += -B_u R Ũ,   K_UΩ += skew(Rᵀ f_u),   K_Ω += -D_u R Ũ.
class Frames {
 public:
  Frames(const Instant& at, int count) : at_(at), count_(count), s_(at.bodies->load(at.slots, count, at.q, at.v)) {}

  /// By slot.
  const BodyState* states() const { return s_; }
  /// u̇ and ẇ by slot.
  void set_accelerations(Slopes& out) const;

  void add_wrench(const Slopes& wrench, const Forces& out) const;
  void store_B(const ElementBlocks& from, const Blocks& out) const;
  void store_H(const ElementBlocks& from, const Blocks& out) const;
  void add_F(const ElementBlocks& from, const Blocks& out) const;
  /// K and, unless null, D; wrench is the one whose derivatives they are.
  void add_couplings(const Slopes& wrench, const Curvature& K, const Curvature* D, const Blocks& out) const;
  /// Rows -f and the columns ∂g/∂z of the bodies.
  void store_states(int states, const ElementBlocks& from, const Blocks& out) const;
  /// Whether add_couplings needs the wrench.
  bool needs_wrench() const;

 private:
  bool is_se3(int slot) const { return at_.slots[slot].group == lie::GroupId::se3; }

  const Instant& at_;
  int count_;
  const BodyState* s_;
};

}  // namespace kreisel::multibody
