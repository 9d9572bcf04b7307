// The mechanical system as solvers see it.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kreisel/event.hpp"
#include "kreisel/motion.hpp"

namespace kreisel::system {

using lie::Motion;

// ---- corners: times, known in advance, at which the equations of motion are not smooth

/// Where forces, or accelerations that drivers prescribe, lose derivatives with respect to time.
struct Corner {
  /// The first time after the corner, where the new functions apply; infinite: none.
  double t = std::numeric_limits<double>::infinity();
  /// Number of continuous derivatives: 0 where only the slope jumps, -1 where the value jumps, less where a prescribed velocity
  /// or position jumps.
  int smooth = -1;

  bool exists() const { return t < std::numeric_limits<double>::infinity(); }
};

/// The earlier one; of two at the same time the one with the larger jump.
inline const Corner& earlier(const Corner& a, const Corner& b) {
  return b.t < a.t || (b.t == a.t && b.smooth < a.smooth) ? b : a;
}

// ---- the pattern: coordinates come in the blocks of the Space, constraint rows in groups (a joint, a driver), and storage
// is one dense block per pair that touches

/// What the force row of a coordinate block means. `dynamic`: M v̇ + g + Bᵀλ. `state`: a first-order state z = q,
/// row v - f(t, q, v, λ), zero mass. `algebraic`: an index-1 unknown w = q, row s(t, q, v, λ), zero mass.
/// One mechanism may have all three: the BDF relation between q and v is the derivative of z, and determines w.
enum class CoordinateKind { dynamic, state, algebraic };

/// Φ(q,t) = 0, or A(q,t) v + a(q,t) = 0 (nonholonomic).
enum class RowLevel { position, velocity };

/// Rows that belong together, with the name that error messages use. Position groups come before velocity groups.
struct RowGroup {
  std::string name;
  int rows = 0;
  RowLevel level = RowLevel::position;
  std::vector<int> blocks;  ///< coordinate blocks it touches
  int at = 0;               ///< first row, set by Pattern
  bool is_driver = false;   ///< prescribes a motion instead of connecting bodies
};

class Pattern {
 public:
  /// A pair of coordinate blocks with entries in M, D or K.
  struct Coupling {
    int row = 0, column = 0;  ///< block numbers
    int at = 0;               ///< offset of its nv(row) x nv(column) values
  };
  /// A row group touching a coordinate block.
  struct Touch {
    int group = 0, block = 0;
    int at = 0;  ///< offset of its rows x nv(block) values
  };

  Pattern() = default;
  /// `couplings` lists off-diagonal pairs; the diagonal is always included.
  Pattern(const lie::Space& space, std::vector<RowGroup> groups, const std::vector<std::pair<int, int>>& couplings = {},
          std::vector<CoordinateKind> kinds = {}, std::vector<std::string> block_names = {});

  const std::vector<RowGroup>& groups() const { return groups_; }
  const std::vector<Coupling>& couplings() const { return couplings_; }
  const std::vector<Touch>& touches() const { return touches_; }
  int position_rows() const { return position_rows_; }
  int rows() const { return rows_; }
  int coupling_size() const { return coupling_size_; }
  int touch_size() const { return touch_size_; }
  CoordinateKind kind(int block) const { return kinds_[block]; }
  bool is_all_dynamic() const { return is_all_dynamic_; }
  const std::string& block_name(int block) const { return block_names_[block]; }
  /// "joint 'x' row 2", for messages.
  std::string row_name(int row) const;
  int coupling(int row_block, int column_block) const;  ///< index, -1 when absent
  int touch(int group, int block) const;                ///< index, -1 when absent

 private:
  std::vector<RowGroup> groups_;
  std::vector<Coupling> couplings_;
  std::vector<Touch> touches_;
  std::vector<CoordinateKind> kinds_;
  std::vector<std::string> block_names_;
  int position_rows_ = 0, rows_ = 0, coupling_size_ = 0, touch_size_ = 0;
  bool is_all_dynamic_ = true;
};

/// Values on a Pattern: M, D, K on couplings; B, H, F on touches.
///   M = ∂force/∂v̇, D = ∂force/∂v, K = ∂force/∂q (trivialised), F = ∂force/∂λ (= Bᵀ unless forces depend on λ),
///   B = ∂Φ/∂q and A, H = ∂(B v + Φ_t)/∂q.
/// F is stored as nv(block) x rows.
struct KktBlocks {
  Vector M, D, K, B, H, F;

  KktBlocks() = default;
  explicit KktBlocks(const Pattern& pattern)
      : M(Vector::Zero(pattern.coupling_size())),
        D(Vector::Zero(pattern.coupling_size())),
        K(Vector::Zero(pattern.coupling_size())),
        B(Vector::Zero(pattern.touch_size())),
        H(Vector::Zero(pattern.touch_size())),
        F(Vector::Zero(pattern.touch_size())) {}

  void set_zero() {
    M.setZero();
    D.setZero();
    K.setZero();
    B.setZero();
    H.setZero();
    F.setZero();
  }
};

// ---- the system

/// Left-hand sides of the equations at one motion.
struct Residual {
  Vector force;  ///< M v̇ + g(t,q,v,λ) + Bᵀλ
  Vector gap;    ///< Φ(q,t), position rows only
  Vector rate;   ///< B v + Φ_t, then A v + a, all rows

  Residual() = default;
  Residual(int nv, int position_rows, int rows)
      : force(Vector::Zero(nv)), gap(Vector::Zero(position_rows)), rate(Vector::Zero(rows)) {}
};

/// Where a body is: centre of mass and rotation, inertial.
struct Pose {
  Vector3 x = Vector3::Zero();
  Matrix3 R = Matrix3::Identity();
};

/// Force and torque of a joint on its second body, at the joint.
struct Reaction {
  Vector3 force = Vector3::Zero(), torque = Vector3::Zero();  ///< inertial axes [N], [N m]
  Vector3 force_in_joint = Vector3::Zero(),
          torque_in_joint = Vector3::Zero();  ///< axes of the joint frame on that body
};

/// A quantity that results report beside the motion.
struct OutputInfo {
  std::string name, unit, meaning;
  std::vector<std::string> components{};  ///< "x", "y", "z"; empty: it is a number
  bool is_state = false;                  ///< of first order, one of the unknowns

  int size() const { return components.empty() ? 1 : static_cast<int>(components.size()); }
  /// "knee", "foot.x".
  std::string column(int i) const {
    return components.empty() ? name : name + "." + components[static_cast<std::size_t>(i)];
  }
};

/// A number that laws read and that may be set during a run.
struct InputInfo {
  std::string name, unit, meaning;
};
class SetInputs;

/// The terms of the energy [J].
struct EnergyParts {
  double kinetic = 0.0;
  double potential = 0.0;  ///< in the field of gravity
  double elastic = 0.0;    ///< in springs
};

/// Where and how long a run goes.
struct Start {
  double t0 = 0.0;
  double t_end = 1.0;
  Vector q0{}, v0{};
};

/// Tolerances of a run, for quantities that a system computes numerically.
struct Tolerances {
  double relative = 1e-6, absolute = 1e-8;
};

/// What changes the energy [W].
using Power = EnergyFlow;

/// Immutable while a run lasts.
///
///     M(q) v̇ + g(t,q,v,λ) + B(q,t)ᵀλ = 0,   Φ(q,t) = 0,   A(q,t) v + a(q,t) = 0
///
/// Laws, checked by `audit` (check.hpp):
///   linearize is the derivative of residual (trivialised in q); B = ∂gap/∂q = ∂rate/∂v on position rows;
///   d/dt gap = rate and d/dt rate = acceleration_gap along any motion.
class System {
 public:
  System(lie::Space space, Pattern pattern) : space_(std::move(space)), pattern_(std::move(pattern)) {}
  virtual ~System() = default;
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  const lie::Space& space() const { return space_; }
  const Pattern& pattern() const { return pattern_; }

  virtual void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const = 0;
  /// All of M, D, K, B, H, F.
  virtual void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const = 0;
  /// d/dt rate along the motion: B v̇ + Ḃ v + Φ̇_t, all rows. With v̇ = 0 it is the curvature term z(t,q,v).
  virtual void acceleration_gap(const Motion& m, VectorRef out) const = 0;

  /// M and B only, uses t and q. The default computes a whole linearisation.
  virtual void mass_and_jacobian(const Motion& m, KktBlocks& out) const;
  /// Gap and rate of the residual; its force is not set. The default computes the whole residual.
  virtual void constraints(const Motion& m, ConstVectorRef lambda, Residual& out) const { residual(m, lambda, out); }
  /// Everything that determines v̇ and λ, in one call: M and B, the force g of the residual and the curvature z of
  /// acceleration_gap, at v̇ = 0 and λ = 0, which the caller provides. The default evaluates one after the other.
  virtual void saddle_point(const Motion& m, ConstVectorRef lambda, KktBlocks& blocks, Residual& out,
                            VectorRef z) const;
  /// out = Bᵀμ over the position rows. The default computes B.
  virtual void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const;

  /// The residual, and a message when derivatives that the system computes numerically are too inaccurate for the tolerances,
  /// with what to provide instead; empty if they are accurate enough.
  virtual std::string examine(const Motion& m, ConstVectorRef lambda, const Tolerances&, Residual& out) const {
    residual(m, lambda, out);
    return {};
  }
  /// This system prepared for a run from `start`, on which its numerics may depend; null if no preparation is needed.
  virtual std::shared_ptr<const System> prepared_for(const Start&) const { return nullptr; }
  /// Remark on values of user functions that may explain a failure; empty: none.
  virtual std::string remark() const { return {}; }

  /// False when forces depend on λ: then v̇ and λ solve a nonlinear system.
  virtual bool is_affine_in_multipliers() const { return true; }

  /// Kinetic plus potential energy; NaN when the system does not define one.
  virtual double energy(const Motion& m) const;
  /// Whether energy_parts and power are defined.
  virtual bool has_energy_parts() const { return false; }
  virtual EnergyParts energy_parts(const Motion&) const { return {}; }
  /// True when the power is zero at all times.
  virtual bool is_conservative() const { return true; }
  /// d/dt energy = power().total() along every solution.
  virtual Power power(const Motion&, ConstVectorRef) const { return {}; }

  /// The first corner in (t, until) that a step from t to `until` must not cross. Inputs given point by point have
  /// corners only where such a step would miss more than `resolution` of the impulse that they have given so far.
  virtual Corner next_corner(double /*t*/, double /*until*/, double /*resolution*/) const { return {}; }
  /// For messages, when every step from t fails: which function of time is not finite, or changes excessively, between t and
  /// t_next; empty: none.
  virtual std::string undefined_between(double, double) const { return {}; }
  /// The force that changes most between two motions, by name; empty: unknown.
  virtual std::string force_that_changes(const Motion&, const Motion&, ConstVectorRef) const { return {}; }

  /// Events that apply while this system is active.
  const std::vector<Event>& events() const { return events_; }
  void set_events(std::vector<Event> events) { events_ = std::move(events); }
  /// The system whose constraint rows name the columns of results: this one, or one that also has the constraints that
  /// events may switch on.
  const System& result_layout() const { return layout_ != nullptr ? *layout_ : *this; }
  void set_result_layout(std::shared_ptr<const System> layout) { layout_ = std::move(layout); }

  virtual int body_count() const { return 0; }
  virtual std::string body_name(int) const { return {}; }
  virtual Pose body_pose(int, ConstVectorRef) const { return {}; }
  /// Coordinate block of a body, whose v is reported as the body's.
  virtual int body_block(int body) const { return body; }

  /// Joints whose reactions are reported.
  virtual int joint_count() const { return 0; }
  virtual std::string joint_name(int) const { return {}; }
  virtual Reaction reaction(int, const Motion&, ConstVectorRef) const { return {}; }

  /// Outputs that results report beside the motion; `evaluate_outputs` gives their values, one after the other.
  virtual const std::vector<OutputInfo>& outputs() const;
  virtual void evaluate_outputs(const Motion&, ConstVectorRef, VectorRef) const {}
  /// Their rates, in the same places; NaN where the motion gives none.
  virtual void evaluate_output_rates(const Motion&, ConstVectorRef, VectorRef out) const {
    out.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  /// Number of values of all outputs.
  int output_size() const;

  /// Inputs that may be set during a run.
  virtual const std::vector<InputInfo>& inputs() const;
  /// The value at t of an input, by its number.
  virtual double input_at(int, double) const { return std::numeric_limits<double>::quiet_NaN(); }
  /// This system with the input values of one run; null: it has no inputs.
  virtual std::shared_ptr<const System> with_inputs(std::shared_ptr<const SetInputs>) const { return nullptr; }

 protected:
  void take_events_and_layout_of(const System& other) {
    events_ = other.events_;
    layout_ = other.layout_;
  }

 private:
  lie::Space space_;
  Pattern pattern_;
  std::vector<Event> events_;
  std::shared_ptr<const System> layout_;
};

}  // namespace kreisel::system
