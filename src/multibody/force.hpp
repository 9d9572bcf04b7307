// Forces between bodies, written in terms of BodyState: elements without rows and without mass.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"
#include "multibody/joint.hpp"

namespace kreisel::multibody {

/// What a force may depend on.
struct ForceState {
  const BodyState* s = nullptr;  ///< by slot
  double t = 0.0;
  const double* lambda = nullptr;  ///< multipliers of Force::joint()
  const double* z = nullptr;       ///< its own states
};

/// A wrench by slot is (force at the centre of mass, inertial; torque, body frame), with the sign of the left-hand side
/// M v̇ + g + Bᵀλ = 0: the negative of what acts on the body.
class Force : public Element {
 public:
  using Element::Element;

  const std::vector<int>& bodies() const { return nodes(); }
  /// The joint whose multipliers it depends on, nullptr: none. Its bodies are then those of the joint.
  virtual const Joint* joint() const { return nullptr; }

  /// First-order states z of its own, at most max_states: ż = f(t, q, v, z). They do not depend on λ.
  virtual int states() const { return 0; }
  /// z at the start of a motion.
  virtual void start_states(const BodyState*, double*) const {}
  /// f of states().
  virtual void state_rates(const ForceState&, double*) const {}

  /// wrench += g.
  virtual void add_wrench(const ForceState& at, Slopes& wrench) const = 0;
  /// K and D += ∂g/∂(x,θ) and ∂g/∂(u,w), F += ∂g/∂λ; of states G += ∂g/∂z and the derivatives of f.
  virtual void add_blocks(const ForceState& at, ElementBlocks& out) const = 0;
  /// Stored energy [J].
  virtual double potential(const ForceState&) const { return 0.0; }
  /// Whether the stored energy is that of a gravity field.
  virtual bool is_gravity() const { return false; }

  /// Gaps whose zeros are corners of the force: a step ends there, and `touched` is called. Their number, and one of them.
  virtual int gaps() const { return 0; }
  virtual double gap_at(const BodyState*, int) const { return std::numeric_limits<double>::quiet_NaN(); }
  /// Changes z where a gap closes or opens.
  virtual void touched(const BodyState*, int, double*) const {}

  /// The only measure that it acts along; nullptr: it acts along several, or along none.
  struct Along {
    const Measure* measure = nullptr;
    bool is_rotation = false;
  };
  virtual Along along() const { return {}; }
  /// Whether one number gives its magnitude.
  virtual bool has_effort() const { return along().measure != nullptr; }
  /// That number, as the model file counts it; NaN: there is none.
  virtual double effort_at(const ForceState&) const { return std::numeric_limits<double>::quiet_NaN(); }
  /// power += the power into the bodies that is not from the potential.
  virtual void add_flow(const ForceState& at, system::Power& power) const = 0;

  // -- as an element

  Facets facets() const override;
  void add_force(const Instant& at, const Forces& out) const final;
  void linearize(const Instant& at, const Blocks& out) const final;
  void start(const Instant& at, double* z) const final;
  void add_energy(const Instant& at, system::EnergyParts& parts) const final;
  void add_power(const Instant& at, system::Power& power) const final;
  double effort(const Instant& at) const final;
  /// Power into its bodies [W]: positive drives them.
  double power(const Instant& at) const;

 private:
  ForceState state_at(const Instant& at, const Frames& frames) const;
};
using ForcePtr = std::shared_ptr<const Force>;

/// What a builder gets; each map has the keys of the ForceInfo that were given or have a default.
struct ForceSpec : Numbers {
  std::string name;
  std::vector<int> bodies;
  std::vector<Frame> frames;   ///< one per body; z is the axis
  JointPtr joint;              ///< of friction
  std::vector<double> masses;  ///< of the bodies; that of the ground is not finite
  bool in_body_frame = false;
  double turned = 0.0;  ///< near the angle at the start, so that it begins with the right number of turns
  std::map<std::string, Vector3, std::less<>> vectors;
  std::map<std::string, Signal, std::less<>> signals;
  std::map<std::string, std::array<Signal, 3>, std::less<>> vector_signals;

  Vector3 vector(std::string_view key) const { return vectors.find(key)->second; }
};

struct ForceInfo {
  std::string_view name, summary;
  int bodies = 2;  ///< 2, 1, or 0: those of a joint
  JointInfo::Place place = JointInfo::Place::one_point;
  bool place_is_optional = false;  ///< defaults to the centre of mass
  int axes = 0;
  bool axis_is_optional = false;
  bool has_frame = false;                          ///< "frame": "world" or "body"
  bool points_may_meet = false;                    ///< as in JointInfo
  std::vector<Field> numbers{};                    ///< required when the default is NaN; or words
  std::vector<Field> vectors{};                    ///< three numbers that are not negative, default zero
  std::vector<Field> signals{}, vector_signals{};  ///< default absent
  /// Of those that act along one measure: what may be a formula of x, the measure from `natural` on, and of v, its
  /// rate.
  struct Law {
    Field field{};               ///< name, meaning and unit of the key; no name: none
    std::string_view natural{};  ///< the number that x is counted from; empty: zero
    bool pushes = false;         ///< a positive value lengthens the measure
    bool counts_turns = false;
    MeasurePtr (*measure)(const ForceSpec&) = nullptr;
  } law{};
  ForcePtr (*build)(const ForceSpec&) = nullptr;
};

/// What pictures show of a force or an output: where it is, and the data for its magnitude.
struct Mark {
  std::string kind;  ///< "force" or "output"
  std::string name, type;
  std::vector<int> bodies{};
  std::vector<Vector3> points{};                        ///< by body, in its frame
  Vector3 axis = Vector3::Zero();                       ///< in the frame of the last body; zero: none
  double stiffness = 0.0, damping = 0.0, length = 0.0;  ///< of a spring along the line between two points
  Vector3 force = Vector3::Zero();                      ///< constant, on the body at its point
  bool in_body_frame = false;                           ///< axes of that force
};
Mark mark_of(const ForceInfo& info, const ForceSpec& spec);

const std::vector<ForceInfo>& force_catalogue();
/// Throws InvalidInput with the nearest match.
const ForceInfo& find_force(std::string_view name);
std::vector<std::string> force_names();

/// Efforts on measures: τ = k (ξ - s) + c (ξ̇ - ṡ) - p(t), for springs, dampers, bushings and actuators. Springs store energy
/// and dampers dissipate it; all that an actuator does is work, its gains included: the energy balance depends on the kind of
/// element, not on how its target is written.
class MeasuredForce final : public Force {
 public:
  struct Term {
    MeasurePtr measure;
    double stiffness = 0.0, damping = 0.0;
    Signal target{};  ///< s; constant unless it is an actuator
    Signal effort{};  ///< p of an actuator
    bool is_actuator = false;
    bool counts_turns = false;  ///< ξ is an angle, and 2π more is another position; at most one such term
    double turned = 0.0;        ///< near ξ at the start: tells its turns
  };
  using Force::Force;
  MeasuredForce& act(Term term);

  std::vector<NamedSignal> signals() const override;
  /// The poses give an angle up to whole turns: where turns matter they are counted by a state with the rate of the angle.
  /// Only the turn is read from it, so that its errors do not reach the force.
  int states() const override { return winding() == nullptr ? 0 : 1; }
  void start_states(const BodyState* s, double* z) const override;
  void state_rates(const ForceState& at, double* f) const override;
  void add_wrench(const ForceState& at, Slopes& wrench) const override;
  void add_blocks(const ForceState& at, ElementBlocks& out) const override;
  double potential(const ForceState& at) const override;
  void add_flow(const ForceState& at, system::Power& power) const override;
  Along along() const override;
  double effort_at(const ForceState& at) const override;
  system::Corner next_corner(double t, double until, double resolution) const override;

 private:
  /// The term with an angle whose turns matter, nullptr: none.
  const Term* winding() const;

  std::vector<Term> terms_;
};

}  // namespace kreisel::multibody
