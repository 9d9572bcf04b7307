// Forces between bodies, written in terms of BodyState.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/base/parameters.hpp"
#include "kreisel/multibody/joint.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::multibody {

/// What a force may depend on.
struct ForceState {
  const BodyState* s = nullptr;  ///< by slot
  double t = 0.0;
  const double* lambda = nullptr;  ///< multipliers of Force::joint()
  double turned = 0.0;             ///< Force::winding() with its turns, nearly: exact enough to tell the turn
};

/// A wrench by slot is (force at the centre of mass, inertial; torque, body frame), with the sign of the left-hand side
/// M v̇ + g + Bᵀλ = 0: the negative of what acts on the body.
class Force {
 public:
  Force(std::string type, std::string name, std::vector<int> bodies)
      : type_(std::move(type)), name_(std::move(name)), bodies_(std::move(bodies)) {}
  virtual ~Force() = default;

  const std::string& type() const { return type_; }
  const std::string& name() const { return name_; }
  const std::vector<int>& bodies() const { return bodies_; }
  int slots() const { return static_cast<int>(bodies_.size()); }
  /// The joint whose multipliers it depends on, -1: none. Its bodies are then those of the joint.
  virtual int joint() const { return -1; }
  /// The angle whose whole turns matter, nullptr: none. The poses do not tell turns; the assembly counts them.
  virtual const Measure* winding() const { return nullptr; }

  /// wrench += g.
  virtual void add_wrench(const ForceState& at, Slopes& wrench) const = 0;
  /// K and D += ∂g/∂(x,θ) and ∂g/∂(u,w), F += ∂g/∂λ.
  virtual void add_blocks(const ForceState& at, ElementBlocks& out) const = 0;
  /// Stored energy [J].
  virtual double potential(const ForceState&) const { return 0.0; }
  /// power += what enters the bodies beside the potential.
  virtual void add_power(const ForceState& at, system::Power& power) const = 0;
  /// Of its functions of time, see System::next_corner.
  virtual system::Corner next_corner(double /*t*/, double /*until*/, double /*resolution*/) const { return {}; }

 private:
  std::string type_, name_;
  std::vector<int> bodies_;
};
using ForcePtr = std::unique_ptr<const Force>;

/// What a builder gets; each map has the keys of the ForceInfo that were given or have a default.
struct ForceSpec {
  std::string name;
  std::vector<int> bodies;
  std::vector<Frame> frames;  ///< one per body; z is the axis
  int joint_number = -1;
  const Joint* joint = nullptr;  ///< of friction
  bool in_body_frame = false;
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, Vector3, std::less<>> vectors;
  std::map<std::string, Signal, std::less<>> signals;
  std::map<std::string, std::array<Signal, 3>, std::less<>> vector_signals;

  double number(std::string_view key) const { return numbers.find(key)->second; }
  bool has_number(std::string_view key) const { return numbers.find(key) != numbers.end(); }
  Vector3 vector(std::string_view key) const { return vectors.find(key)->second; }
};

struct ForceInfo {
  std::string_view name, summary;
  int bodies = 2;  ///< 2, 1, or 0: those of a joint
  JointInfo::Place place = JointInfo::Place::one_point;
  bool place_is_optional = false;  ///< defaults to the centre of mass
  int axes = 0;
  bool axis_is_optional = false;
  bool has_frame = false;                                     ///< "frame": "world" or "body"
  std::vector<ParameterInfo> numbers{};                       ///< required when the default is NaN
  std::vector<std::string_view> vectors{};                    ///< three numbers, default zero
  std::vector<std::string_view> signals{}, vector_signals{};  ///< default absent
  ForcePtr (*build)(const ForceSpec&) = nullptr;
};

const std::vector<ForceInfo>& force_catalogue();
/// Throws InvalidInput with the nearest match.
const ForceInfo& find_force(std::string_view name);
std::vector<std::string> force_names();

/// Efforts on measures: τ = k (ξ - s) + c (ξ̇ - ṡ) - p(t), for springs, dampers, bushings and actuators.
class MeasuredForce final : public Force {
 public:
  struct Term {
    MeasurePtr measure;
    double stiffness = 0.0, damping = 0.0;
    Signal target{};      ///< s
    Signal effort{};      ///< p
    bool counts_turns = false;  ///< ξ is an angle, and 2π more is another position; at most one such term
  };
  using Force::Force;
  MeasuredForce& act(Term term);

  const Measure* winding() const override;
  void add_wrench(const ForceState& at, Slopes& wrench) const override;
  void add_blocks(const ForceState& at, ElementBlocks& out) const override;
  double potential(const ForceState& at) const override;
  void add_power(const ForceState& at, system::Power& power) const override;
  system::Corner next_corner(double t, double until, double resolution) const override;

 private:
  std::vector<Term> terms_;
};

// One function per file of forces/, listed in forces/catalogue.cpp.
ForceInfo applied_force();
ForceInfo spring_damper();
ForceInfo torsional_spring_damper();
ForceInfo bushing();
ForceInfo joint_friction();
ForceInfo linear_actuator();
ForceInfo rotary_actuator();

}  // namespace kreisel::multibody
