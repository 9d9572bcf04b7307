// Joints and drivers: rows Φ(q,t) = 0 between bodies, written in terms of BodyState.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "multibody/frames.hpp"
#include "multibody/signal.hpp"

namespace kreisel::multibody {

class Rolling;

/// Rows: first, if requested, the three of P₁ - P₂ (P = x + R p, inertial axes), then one per measure: ξ - s(t).
/// λ acts as M v̇ = -Bᵀλ: for the first three rows +λ is the force on the second body at the joint.
class Joint final : public Element {
 public:
  static constexpr int max_rows = 6;

  /// ξ - target(t) = 0; with a period, up to multiples of it (angles).
  struct Row {
    MeasurePtr measure;
    Signal target;
    double period = 0.0;
  };
  /// A coordinate of the joint: its measure, and the force-like rows that press where friction acts on it.
  struct Sliding {
    MeasurePtr measure;
    bool is_rotation = false;   ///< then friction is a torque, coefficient times radius times force
    std::vector<int> pressing;  ///< rows of this joint; none: its friction is not known
    double lead = 0.0;          ///< way along the axis per radian [m]
  };

  using Element::Element;

  /// Body numbers by slot, `ground` among them.
  const std::vector<int>& bodies() const { return nodes(); }
  int rows() const { return (has_point_ ? 3 : 0) + static_cast<int>(measured_.size()); }
  /// False when the curvature couples no two different bodies: then K needs no block between them.
  bool couples_bodies() const { return !measured_.empty(); }
  bool depends_on_time() const;
  bool is_driver() const { return is_driver_; }
  /// Where its functions of time are known.
  std::pair<double, double> span() const;
  /// Where reactions are reported: on the second body.
  const Frame& frame() const { return frames_.at(1); }
  const std::array<Frame, 2>& frames() const { return frames_; }
  const std::vector<Sliding>& slidings() const { return slidings_; }
  /// Rows of velocity level that belong to it, null: none. They are switched with it.
  const std::shared_ptr<const Rolling>& rolling() const { return rolling_; }

  // -- for the builders in joints/

  /// P of slot 0 = P of slot 1.
  Joint& coincide(const Vector3& p1, const Vector3& p2);
  Joint& demand(MeasurePtr measure, Signal target = {}, double period = 0.0);
  Joint& slides(Sliding sliding);
  Joint& rolls(std::shared_ptr<const Rolling> rolling);
  /// Frames of the slots 0 and 1, for reactions.
  Joint& set_frames(const Frame& a, const Frame& b);
  Joint& set_driver(bool is_driver);

  // -- as an element

  Facets facets() const override;
  void constraint(const Instant& at, double* gap, double* rate) const override;
  void add_constraint_force(const Instant& at, const double* mu, const Forces& out) const override;
  void constraint_with_force(const Instant& at, double* gap, double* rate, const Forces& out) const override;
  void jacobian(const Instant& at, const Blocks& out) const override;
  void linearize_constraint(const Instant& at, const Blocks& out) const override;
  void acceleration_gap(const Instant& at, double* out) const override;
  /// -(Bᵀλ)·v = λ·Φ_t, zero for joints that do not depend on time.
  void add_power(const Instant& at, system::Power& power) const override;
  std::vector<NamedSignal> signals() const override;
  /// Of its functions of time, whose second derivatives are accelerations.
  system::Corner next_corner(double t, double until, double resolution) const override;
  /// On the second body, at the joint; `more` is added to the wrench Bᵀλ of its rows.
  system::Reaction reaction(const Instant& at, const Vector6& more = Vector6::Zero()) const;

 private:
  // s has one state per slot, results have rows() entries.
  void gap_and_rate(const BodyState* s, double t, double* gap, double* rate) const;
  /// wrench += Bᵀμ.
  void add_wrench(const BodyState* s, const double* mu, Slopes& wrench) const;
  void jacobian_of(const BodyState* s, ElementBlocks& out) const;
  /// B, H and K = ∂(Bᵀλ)/∂(x,θ).
  void linearize_at(const BodyState* s, const double* lambda, ElementBlocks& out) const;

  bool has_point_ = false;
  Vector3 p1_ = Vector3::Zero(), p2_ = Vector3::Zero();
  std::vector<Row> measured_;
  std::vector<Sliding> slidings_;
  std::shared_ptr<const Rolling> rolling_;
  std::array<Frame, 2> frames_;
  bool is_driver_ = false;
};

using JointPtr = std::shared_ptr<const Joint>;

/// Numbers and words of an element by the names of their fields: those that were given or have a default.
struct Numbers {
  std::map<std::string, double, std::less<>> numbers;
  std::map<std::string, std::string, std::less<>> words;

  double number(std::string_view key) const { return numbers.find(key)->second; }
  bool has_number(std::string_view key) const { return numbers.find(key) != numbers.end(); }
  const std::string& word(std::string_view key) const { return words.find(key)->second; }
};

/// What a builder gets. Frames are fixed in the bodies of the slots; z is the joint axis.
struct JointSpec {
  std::string name;
  std::vector<int> bodies;    ///< two; then the carrier
  std::vector<Frame> frames;  ///< one per body; a carrier has two, beside those of the others
  Numbers numbers;            ///< of JointInfo::numbers
  Signal value;
  std::array<int, 2> teeth{1, 1};
  std::vector<Eigen::Vector2d> curve{};  ///< in x and y of the first frame
};

/// What a joint is made of, so that files can be read without knowing each joint.
struct JointInfo {
  std::string_view name, summary;
  bool is_driver = false;
  int rows = 0;  ///< all, of velocity level too
  enum class Place { none, one_point, two_points } place = Place::one_point;
  int axes = 0;  ///< 0; 1: shared by both bodies; 2: one per body
  bool axes_are_perpendicular = false;
  bool axes_swing = false;   ///< frame 2 is frame 1, swung at t = 0 on the shortest way onto the other axis
  bool has_carrier = false;  ///< a third body, against which the first two move; `ground` unless it is given
  bool has_teeth = false;
  Joint (*build)(const JointSpec&) = nullptr;
  std::vector<Field> numbers{};      ///< of this joint alone; `length` of two points defaults to their distance
  std::string_view value_unit = "";  ///< of a driver
  int coordinates = 0;               ///< angle and displacement: one of them or both, which may be given for the start
  bool has_curve = false;            ///< a closed curve on the first body
  bool points_may_meet = false;      ///< of two points: nothing depends on the direction from one to the other
};

/// The joint with its frames; `spec` has a number for every one of the info that is not optional, and a length.
JointPtr make_joint(const JointInfo& info, const JointSpec& spec);

const std::vector<JointInfo>& joint_catalogue();
/// Throws InvalidInput with the nearest match.
const JointInfo& find_joint(std::string_view name, bool is_driver);
std::vector<std::string> joint_names(bool is_driver);

}  // namespace kreisel::multibody
