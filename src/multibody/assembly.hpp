// Bodies + joints + forces + other elements = System.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"
#include "multibody/body.hpp"
#include "multibody/force.hpp"
#include "multibody/inputs.hpp"
#include "multibody/joint.hpp"
#include "multibody/limit.hpp"
#include "system/deviation.hpp"
#include "system/inputs.hpp"
#include "system/kinks.hpp"
#include "system/limits.hpp"

namespace kreisel::multibody {

class ElementPair;
class Outputs;

/// Everything a mechanism consists of.
struct Mechanism {
  std::string name = "mechanism";
  lie::GroupId group = lie::GroupId::r3xso3;  ///< of bodies without their own; or se3
  Vector3 gravity = Vector3::Zero();          ///< [m/s²]
  std::vector<Body> bodies;                   ///< the first nodes
  std::vector<JointPtr> joints;
  std::vector<ForcePtr> forces;
  std::vector<Node> nodes{};                 ///< further ones, numbered behind the bodies
  std::vector<ElementPtr> elements{};        ///< further ones, behind joints and forces
  std::vector<Limit> limits{};               ///< of joints; open at the start
  std::shared_ptr<const Outputs> outputs{};  ///< what results report; null: nothing
  std::shared_ptr<const Outputs> rates{};    ///< of the outputs that have one, each as "name'"; null: none
  std::vector<Input> inputs{};
  std::vector<Mark> marks{};  ///< what pictures show beside bodies and joints
};

/// Elements add to the equations of their nodes; what an element is does not matter here.
///
/// Every assembly of a mechanism has the same nodes; first-order states of elements are in separate nodes behind the
/// others. Elements are shared, so an assembly in which some are switched off costs no more than its pattern.
///
/// Evaluation allocates nothing and keeps no state. Loops over elements are shared by the workers in force
/// (base/workers.hpp); the order in which a node collects its forces does not depend on them: inertia, rows, other forces,
/// each in the order of the elements.
class Assembly final : public system::System,
                       public system::LimitedSystem,
                       public system::KinkedSystem,
                       public system::SystemWithInputs,
                       public system::PartedSystem {
 public:
  /// Throws InvalidInput when nodes, joints or groups do not exist or do not fit.
  explicit Assembly(Mechanism mechanism);
  ~Assembly() override;

  /// Bodies, joints, forces, rolling rows of joints, the further elements of the mechanism and the rows of its limits, in this
  /// order, whether active or not. An assembly of all elements has its limits open.
  const std::vector<ElementPtr>& elements() const;
  /// By element.
  const std::vector<bool>& active() const { return active_; }
  /// The mechanism with these elements active, and no others: those that are switched off add no rows, no forces and no
  /// energy, their states stay constant. Elements that depend on the multipliers of another one are off with it. Throws
  /// InvalidInput for a mask of another size and for a body without its inertia. Events are not taken over, inputs are.
  std::shared_ptr<Assembly> with(std::vector<bool> active) const;
  /// The elements of this assembly without those of these names. Throws InvalidInput with the nearest match.
  std::shared_ptr<Assembly> without(const std::vector<std::string>& names) const;
  /// The joint, force or further element of that name; throws InvalidInput with the nearest match.
  int element_named(std::string_view name) const;

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
  bool is_conservative() const override { return working_.empty(); }
  system::Power power(const lie::Motion& m, ConstVectorRef lambda) const override;
  system::Corner next_corner(double t, double until, double resolution) const override;

  int body_count() const override { return static_cast<int>(mechanism().bodies.size()); }
  std::string body_name(int body) const override { return mechanism().bodies[body].name; }
  system::Pose body_pose(int body, ConstVectorRef q) const override;
  int joint_count() const override { return static_cast<int>(joints_.size()); }
  std::string joint_name(int joint) const override { return joints_[joint]->name(); }
  /// Of the joint itself; friction in it is a separate force.
  system::Reaction reaction(int joint, const lie::Motion& m, ConstVectorRef lambda) const override;

  const std::vector<system::OutputInfo>& outputs() const override;
  void evaluate_outputs(const lie::Motion& m, ConstVectorRef lambda, VectorRef out) const override;
  void evaluate_output_rates(const lie::Motion& m, ConstVectorRef lambda, VectorRef out) const override;
  /// Of a force of the mechanism that has gaps, whether active or not.
  double gap_of(int force, int component, const lie::Motion& m) const;
  /// To be called when a gap of a force closes or opens: changes the states of the force in q.
  void touch(int force, int component, const Vector& v, Vector& q) const;
  /// Of outputs other than its own.
  void evaluate(const Outputs& outputs, const lie::Motion& m, ConstVectorRef lambda, VectorRef out) const;

  const std::vector<system::InputInfo>& inputs() const override;
  double input_at(int input, double t) const override { return inputs_.at(input, t, 0); }
  /// With the same elements active; its events are those of this one, made for it.
  std::shared_ptr<const System> with_inputs(std::shared_ptr<const system::SetInputs> set) const override;
  /// Makes the events for another assembly of the same mechanism: their functions evaluate the assembly that they belong to.
  using GiveEvents = std::function<void(Assembly&)>;
  void set_events_of_copies(GiveEvents give) { gives_events_ = std::move(give); }
  int limit_count() const override { return static_cast<int>(mechanism().limits.size()); }
  const std::string& limit_name(int number) const override { return limit(number).name; }
  double restitution(int number) const override { return limit(number).restitution; }
  bool is_in_force(int number) const override;
  bool is_closed(int number) const override;
  system::GapState gap(int number, const lie::Motion& m) const override;
  double round_off_of_gap(int number, const lie::Motion& m) const override;
  void normal(int number, const lie::Motion& m, VectorRef n) const override;
  double push(int number, ConstVectorRef lambda) const override;
  std::shared_ptr<const system::System> with_closed(const std::vector<bool>& closed) const override;

  void jump_of_force(const lie::Motion& m, double t, ConstVectorRef lambda, VectorRef out) const override;

  int kink_count() const override { return kink_count_; }
  void kinks(const lie::Motion& m, VectorRef coordinates) const override;
  std::optional<double> knot_between(int kink, double from, double to) const override;
  bool jumps(int kink) const override;

  /// Elements that can differ nowhere without differing everywhere are compared by their values at a few motions.
  std::unique_ptr<system::Deviation> deviation_from(const system::System& other) const override;

  std::string undefined_between(double t, double t_next) const override;
  std::string force_that_changes(const lie::Motion& before, const lie::Motion& after,
                                 ConstVectorRef lambda) const override;

  /// All of it, whether active or not.
  const Mechanism& mechanism() const;
  /// The group of all bodies; none if they differ.
  std::optional<lie::GroupId> common_group() const;
  /// Those that are active; joint_count() and similar functions count them.
  const std::vector<JointPtr>& joints() const { return joints_; }
  /// q and v of the nodes as given, states of elements as for a motion that starts there.
  system::Start start(double t_end) const;
  /// States of elements and their rates, from the poses and velocities of the bodies in q and v at t.
  void set_states(double t, Vector& q, Vector& v) const;
  /// Largest |Φ| of each joint at (t, q) of m.
  std::vector<double> joint_gaps(const lie::Motion& m) const;

 private:
  struct Parts;  ///< what all assemblies of a mechanism share
  class Difference;
  struct Place {  ///< of an active element in the equations
    const Element* element = nullptr;
    int slot_at = 0, slot_count = 0;  ///< in slots_, own states among them
    int coupling_at = 0;              ///< of its slot_count² offsets in couplings_
    int row = 0, rows = 0;            ///< own, or those it depends on
  };
  struct Piece {  ///< places begin … end-1, evaluated one after the other
    int begin = 0, end = 0;
  };
  /// By place: the pair of its element and the next one, or null.
  using Pairs = std::vector<std::unique_ptr<const ElementPair>>;
  /// Elements with the same role in the equations. Pieces of one wave touch no node in common and may be evaluated at the
  /// same time.
  struct Course {
    std::vector<Place> places;
    std::vector<std::vector<Piece>> waves;
    Pairs pairs{};
  };

  Assembly(std::shared_ptr<const Parts> parts, std::vector<bool> active,
           std::shared_ptr<const system::SetInputs> set = nullptr);
  static system::Pattern make_pattern(const Parts& parts, const std::vector<bool>& active);
  Place place(int element, const std::vector<int>& groups);
  std::vector<std::vector<Piece>> waves_of(const std::vector<Place>& places) const;
  Pairs pairs_of(const std::vector<Place>& places) const;

  /// each(place, instant) for all elements of a course.
  template <class Each>
  void sweep(const Course& course, const lie::Motion& m, const double* lambda, const Each& each) const;
  /// each(place, instant), one after the other.
  template <class Each>
  void visit(std::span<const Place> places, const lie::Motion& m, const double* lambda, const Each& each) const;
  Forces forces_of(const Place& place, VectorRef force) const;
  double* gap_of(const Place& place, system::Residual& out) const;
  Blocks blocks_of(const Place& place, system::KktBlocks& out) const;
  /// The forces of a course.
  void add_forces_of(const Course& course, const lie::Motion& m, const double* lambda, VectorRef force) const;
  void store_inertia_forces(const lie::Motion& m, VectorRef force) const;
  void store_mass(const lie::Motion& m, system::KktBlocks& out) const;
  void store_F(const Place& place, system::KktBlocks& out) const;
  void add_forces(const lie::Motion& m, ConstVectorRef lambda, VectorRef force) const;
  struct Seen;
  std::array<Slot, 2> slots_of(const std::array<int, 2>& bodies) const;
  const Limit& limit(int number) const;
  int row_element(int limit) const;

  std::shared_ptr<const Parts> parts_;
  InputValues inputs_;
  GiveEvents gives_events_;
  std::vector<bool> active_;
  std::vector<JointPtr> joints_;
  bool is_affine_ = true;
  bool needs_newton_ = false;  ///< for v̇ and λ; then F is wanted wherever B is
  std::vector<Slot> slots_;
  std::vector<int> couplings_;
  std::vector<Slot> states_;                      ///< nodes with first-order states
  std::vector<int> state_diagonals_;              ///< their offsets in D
  Course inertia_, rows_, loads_;                 ///< with mass; with rows; all other forces
  std::vector<Place> storing_, working_, timed_;  ///< with energy; that change it; that depend on time
  Pairs storing_pairs_;
  std::vector<Place> starting_, connecting_;  ///< with states, active or not; joints
  std::vector<Place> kinked_;                 ///< whose forces have kinks
  std::vector<Place> reading_inputs_;         ///< laws that do
  std::vector<Place> line_loads_;
  int kink_count_ = 0;
  std::vector<int> rolling_;  ///< by joint: its place in rows_ where it rolls, -1: none
};

}  // namespace kreisel::multibody
