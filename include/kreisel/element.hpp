// The parts of a mechanism: bodies, other nodes, and elements. An element adds to the equations of any number of nodes.
#pragma once

#include <cassert>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::multibody {

/// The number of the ground where a body is expected.
inline constexpr int ground = -1;

/// A surface of triangles.
struct Triangles {
  std::vector<Eigen::Vector3f> points;  ///< [m]
  std::vector<std::uint32_t> corners;   ///< numbers of points, three per triangle, counterclockwise from outside
};

/// For pictures only; in the body frame.
struct Shape {
  enum class Kind { box, sphere, cylinder, capsule, cone, mesh };
  Kind kind = Kind::box;
  Vector3 size = Vector3::Zero();                ///< edges of a box [m]
  double radius = 0.0, length = 0.0;             ///< of round shapes [m]; a sphere has no length
  Vector3 axis = Vector3::UnitZ();               ///< of cylinder, capsule and cone
  Matrix3 rotation = Matrix3::Identity();        ///< of box and mesh, to the body frame
  Vector3 at = Vector3::Zero();                  ///< its centre, the origin of a mesh, from the centre of mass [m]
  std::string color{};                           ///< as in CSS, empty: the viewer chooses
  std::shared_ptr<const Triangles> triangles{};  ///< of a mesh
};

/// A body with its initial state.
struct Body {
  std::string name;
  std::optional<lie::GroupId> group{};         ///< of its node, r3xso3 or se3; that of the mechanism unless given
  double mass = 1.0;                           ///< [kg]
  Matrix3 inertia = Matrix3::Identity();       ///< about the centre of mass, body frame [kg m²]
  Vector3 position = Vector3::Zero();          ///< centre of mass, inertial [m]
  Matrix3 rotation = Matrix3::Identity();      ///< body to inertial
  Vector3 velocity = Vector3::Zero();          ///< of the centre of mass, inertial [m/s]
  Vector3 angular_velocity = Vector3::Zero();  ///< body frame [rad/s]
  std::vector<Shape> shapes{};
};

/// A block of the configuration with its own group. Every body has one; others are states, unknowns or coordinates in ℝⁿ.
struct Node {
  std::string name;
  lie::Factor factor{};
  system::CoordinateKind kind = system::CoordinateKind::dynamic;
  Vector q0{}, v0{};  ///< at the start; empty: the identity and zero
};

/// Offsets of a node of an element in the motion and in the equations.
struct Slot {
  int node = ground;
  lie::GroupId group = lie::GroupId::rn;
  int nv = 0;
  int q_at = nowhere, v_at = nowhere;
  int touch_at = -1;  ///< in B, H and F of its rows, or of the rows it depends on

  /// Offset of the ground: far out of range, so that an element that uses it fails instead of moving another node.
  static constexpr int nowhere = -(1 << 28);

  bool is_ground() const { return node == ground; }
};

class BodyStates;
class InputValues;
struct NamedSignal;

/// The nodes of one element at one instant.
struct Instant {
  double t = 0.0;
  const double *q = nullptr, *v = nullptr, *a = nullptr;  ///< of the whole motion
  const double* lambda = nullptr;                         ///< of its rows, or of the rows it depends on
  const Slot* slots = nullptr;                            ///< own states are in the one after its nodes
  BodyStates* bodies = nullptr;                           ///< for joints and forces
  const InputValues* inputs = nullptr;                    ///< for laws

  const double* q_of(int slot) const { return q + slots[slot].q_at; }
  const double* v_of(int slot) const { return v + slots[slot].v_at; }
  const double* a_of(int slot) const { return a + slots[slot].v_at; }
};

/// Where an element adds its forces: nv numbers per slot. The ground has none.
struct Forces {
  double* force = nullptr;
  const Slot* slots = nullptr;

  double* of(int slot) const { return force + slots[slot].v_at; }
};

/// Where an element adds its derivatives.
struct Blocks {
  system::KktBlocks& all;
  const Slot* slots = nullptr;
  const int* coupling_at = nullptr;  ///< by slot pair, -1: none
  int count = 0, rows = 0;           ///< of slots, including own states; of rows

  /// False with the ground, and between nodes of an element that does not couple them.
  bool couples(int i, int j) const { return coupling_at[i * count + j] >= 0; }
  MatrixMap M(int i, int j) const { return {coupling(all.M, i, j), slots[i].nv, slots[j].nv}; }
  MatrixMap D(int i, int j) const { return {coupling(all.D, i, j), slots[i].nv, slots[j].nv}; }
  MatrixMap K(int i, int j) const { return {coupling(all.K, i, j), slots[i].nv, slots[j].nv}; }
  MatrixMap B(int i) const { return {all.B.data() + slots[i].touch_at, rows, slots[i].nv}; }
  MatrixMap H(int i) const { return {all.H.data() + slots[i].touch_at, rows, slots[i].nv}; }
  MatrixMap F(int i) const { return {all.F.data() + slots[i].touch_at, slots[i].nv, rows}; }
  double* coupling(Vector& values, int i, int j) const {
    assert(couples(i, j));
    return values.data() + coupling_at[i * count + j];
  }
};

class Element;

/// What an element contributes. Functions for other contributions are not called.
struct Facets {
  int rows = 0;
  system::RowLevel level = system::RowLevel::position;
  bool is_driver = false;     ///< its rows prescribe a motion instead of connecting bodies
  int states = 0;             ///< of first order, ż = f, in a node of its own
  bool has_mass = false;      ///< then its inertia forces are among its forces
  bool has_force = false;     ///< beside those of its rows
  bool couples_nodes = true;  ///< false: no block of M, D or K couples two of its nodes
  bool stores_energy = false;
  bool does_work = false;     ///< it changes the energy
  bool is_on_frames = false;  ///< it sees its nodes as BodyState: on SE(3) or ℝ³×SO(3), at most max_frames
  const Element* multipliers_of = nullptr;  ///< whose λ its forces depend on, on the same nodes; it has no mass then
};

/// Immutable, and shared by all assemblies it belongs to. Nothing in an evaluation allocates or keeps state.
///
/// The equations and their signs are those of system::System, and every entry is in the trivialised coordinates of the
/// node it belongs to. A node with states has the rows v - f: the element adds -f, the assembly adds v. F = Bᵀ is set
/// by the assembly, before elements that depend on λ add to it.
class Element {
 public:
  /// `nodes` by number. Only `ground` may occur more than once.
  Element(std::string type, std::string name, std::vector<int> nodes)
      : type_(std::move(type)), name_(std::move(name)), nodes_(std::move(nodes)) {}
  virtual ~Element() = default;

  const std::string& type() const { return type_; }
  const std::string& name() const { return name_; }
  const std::vector<int>& nodes() const { return nodes_; }
  int slots() const { return static_cast<int>(nodes_.size()); }
  virtual Facets facets() const = 0;

  // ---- mass, forces and their derivatives

  /// M += ∂force/∂v̇; uses t and q.
  virtual void add_mass(const Instant&, const Blocks&) const {}
  /// force += M v̇ + g, and -f of its states.
  virtual void add_force(const Instant&, const Forces&) const {}
  /// D and K += ∂force/∂v and ∂force/∂q, F += ∂force/∂λ.
  virtual void linearize(const Instant&, const Blocks&) const {}
  /// Its states at the start of a motion.
  virtual void start(const Instant&, double*) const {}

  // ---- rows

  /// Φ, unless they are of velocity level, and B v + Φ_t.
  virtual void constraint(const Instant&, double* /*gap*/, double* /*rate*/) const {}
  /// force += Bᵀμ.
  virtual void add_constraint_force(const Instant&, const double* /*mu*/, const Forces&) const {}
  /// Both, with μ = λ.
  virtual void constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const {
    constraint(at, gap, rate);
    add_constraint_force(at, at.lambda, out);
  }
  /// Stores B; uses t and q.
  virtual void jacobian(const Instant&, const Blocks&) const {}
  /// Stores B and H; K += ∂(Bᵀλ)/∂q.
  virtual void linearize_constraint(const Instant&, const Blocks&) const {}
  /// d/dt (B v + Φ_t).
  virtual void acceleration_gap(const Instant&, double*) const {}

  // ---- energy

  virtual void add_energy(const Instant&, system::EnergyParts&) const {}
  /// power += its contributions.
  virtual void add_power(const Instant&, system::Power&) const {}

  /// The force or torque along its measure, for reports; NaN: it has no such number.
  virtual double effort(const Instant&) const { return std::numeric_limits<double>::quiet_NaN(); }

  // ---- time

  /// Its functions of time, named as in the model file.
  virtual std::vector<NamedSignal> signals() const;
  /// The next corner in time of its contributions, see System::next_corner. Not called for joints and forces without signals.
  virtual system::Corner next_corner(double /*t*/, double /*until*/, double /*resolution*/) const { return {}; }

 private:
  std::string type_, name_;
  std::vector<int> nodes_;
};
using ElementPtr = std::shared_ptr<const Element>;

}  // namespace kreisel::multibody
