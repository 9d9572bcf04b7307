// Mechanisms in C++: bodies, joints and forces by name, in world coordinates at the start.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kreisel/element.hpp"
#include "kreisel/problem.hpp"

namespace kreisel {

namespace multibody {
class Assembly;
struct Frame;
}  // namespace multibody

/// A body of a mechanism, or the ground; a number wherever bodies are counted.
struct Body {
  int number = multibody::ground;
  constexpr operator int() const { return number; }
};
inline constexpr Body ground{};

inline Matrix3 diagonal(double xx, double yy, double zz) { return Vector3(xx, yy, zz).asDiagonal(); }

/// What a mechanism takes as a joint or driver. Points and axes are in world coordinates at the start.
struct JointDescription {
  std::string type;
  std::vector<Body> bodies;
  std::vector<Vector3> points;                            ///< one that both bodies share, or one on each
  std::vector<Vector3> axes;                              ///< one that both bodies share, or one of each
  std::string name{};                                     ///< empty: made from the type and the bodies
  double length = 0.0;                                    ///< of a distance; 0: that of the points
  std::string value{};                                    ///< of a driver: a formula in t, such as "0.1*sin(2*pi*t)"
  std::vector<std::pair<std::string, double>> numbers{};  ///< as in model files, such as {"pitch", 0.005}
};

/// What a mechanism takes as a force; `numbers` as in model files, such as {"stiffness", 100}.
struct ForceDescription {
  std::string type;
  std::vector<Body> bodies;
  std::vector<Vector3> points{};  ///< none: the centres of mass
  std::vector<Vector3> axes{};
  std::vector<std::pair<std::string, double>> numbers{};
  std::string name{};
};

using Bodies = std::pair<Body, Body>;

// Joints: what they allow is said by their name. `kreisel list joints` has all types; any can be given by its type.

JointDescription spherical(Bodies between, const Vector3& at);
JointDescription revolute(Bodies between, const Vector3& at, const Vector3& axis);
JointDescription prismatic(Bodies between, const Vector3& at, const Vector3& axis);
JointDescription cylindrical(Bodies between, const Vector3& at, const Vector3& axis);
JointDescription planar(Bodies between, const Vector3& at, const Vector3& normal);
/// A first axis fixed in the first body and a second one in the second, perpendicular to each other.
JointDescription universal(Bodies between, const Vector3& at, const Vector3& first, const Vector3& second);
JointDescription fixed(Bodies between, const Vector3& at);
/// A massless rod between two points.
JointDescription distance(Bodies between, const Vector3& from, const Vector3& to);
/// Prescribes the angle [rad] about the axis from the first body to the second: a formula in t.
JointDescription angle_driver(Bodies between, const Vector3& axis, std::string value);

ForceDescription spring_damper(Bodies between, const Vector3& from, const Vector3& to, double stiffness,
                               double damping);

class Mechanism {
 public:
  /// group: ℝ³×SO(3) or SE(3), of every body that does not say its own.
  explicit Mechanism(std::string name = "mechanism", lie::GroupId group = lie::GroupId::r3xso3);

  Mechanism& set_gravity(const Vector3& gravity);  ///< [m/s²]; (0, 0, -9.81) unless set
  Body add_body(multibody::Body body);
  /// Returns the number of the joint, by which `State::system->reaction` asks for it. Throws InvalidInput.
  int add_joint(const JointDescription& joint);
  void add_force(const ForceDescription& force);
  /// A block of coordinates beside the bodies, for elements; returns its number. Bodies are numbered first: add them before.
  int add_node(multibody::Node node);
  /// Anything else that adds to the equations, on the numbers of bodies and nodes.
  void add_element(multibody::ElementPtr element);

  struct Span {
    double t0 = 0.0, t_end = 1.0;
  };
  /// The mechanism as it is now. Bodies start where they were put.
  run::Problem problem(const Span& span) const;

 private:
  std::shared_ptr<multibody::Assembly> assembly() const;
  multibody::Frame in_body(Body body, const Vector3& p, const Matrix3& axes) const;
  Vector3 centre_of(Body body) const;
  void check(Body body, std::string_view where) const;
  std::string label(Body body) const;
  std::vector<multibody::Frame> frames_of(const std::vector<Body>& bodies, const std::vector<Vector3>& points,
                                          const std::vector<Vector3>& axes) const;

  std::string name_;
  lie::GroupId group_;
  Vector3 gravity_{0.0, 0.0, -9.81};
  std::vector<multibody::Body> bodies_;
  std::vector<JointDescription> joints_;
  std::vector<ForceDescription> forces_;
  std::vector<multibody::Node> nodes_;
  std::vector<multibody::ElementPtr> elements_;
};

/// The system of a mechanism with these joints, forces and elements switched off, by name: what the `Switch` of an event goes on
/// with. Throws InvalidInput for a name that it does not have, and when the problem is none of a mechanism.
std::shared_ptr<const system::System> without(const run::Problem& problem, const std::vector<std::string>& names);

}  // namespace kreisel
