// Mechanisms in C++: bodies, joints and forces by name, in world coordinates at the start.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kreisel/element.hpp"
#include "kreisel/problem.hpp"

namespace kreisel {

namespace multibody {
class Assembly;
struct ForceSpec;
struct Frame;
struct Mechanism;
}  // namespace multibody

/// A body of a mechanism, or the ground; a number wherever bodies are counted.
struct Body {
  int number = multibody::ground;
  constexpr operator int() const { return number; }
};
inline constexpr Body ground{};

inline Matrix3 diagonal(double xx, double yy, double zz) { return Vector3(xx, yy, zz).asDiagonal(); }

/// Where a mechanism takes a number that depends on the motion: a constant, a formula of t, parameters, inputs, outputs,
/// states and their rates such as "-k*(knee - 0.8) - 5*knee'", or a function of t and of what it uses, in that order.
struct Law {
  using Function = std::function<double(double t, std::span<const double> uses)>;
  /// ∂/∂uses[i] of a function.
  using Derivative = std::function<double(double t, std::span<const double> uses, int i)>;

  Law(double number) : constant(number) {}
  Law(std::string text) : formula(std::move(text)) {}
  Law(const char* text) : formula(text) {}
  /// It must depend on nothing but its arguments. Without a derivative: by differences that find their own step.
  Law(Function of, std::vector<std::string> what, Derivative by = {})
      : function(std::move(of)), uses(std::move(what)), derivative(std::move(by)) {}

  std::string formula{};
  std::optional<double> constant{};
  Function function{};
  std::vector<std::string> uses{};
  Derivative derivative{};
};

/// What a mechanism takes as a joint or driver. Points and axes are in world coordinates at the start.
struct JointDescription {
  std::string type;
  std::vector<Body> bodies;                                  ///< two; then the carrier, where a joint has one
  std::vector<Vector3> points;                               ///< one that both bodies share, or one on each
  std::vector<Vector3> axes;                                 ///< one that both bodies share, or one of each
  std::string name{};                                        ///< empty: made from the type and the bodies
  double length = 0.0;                                       ///< of a distance; 0: that of the points
  std::string value{};                                       ///< of a driver: a formula in t, such as "0.1*sin(2*pi*t)"
  std::vector<std::pair<std::string, double>> numbers{};     ///< as in model files, such as {"pitch", 0.005}
  std::vector<Eigen::Vector2d> curve{};                      ///< of a cam: points in x and y of its frame, each once
  std::pair<int, int> teeth{0, 0};                           ///< of gears
  std::vector<std::pair<std::string, std::string>> words{};  ///< such as {"sideways", "free"} of a wheel
};

/// What a mechanism takes as a force; numbers, words and laws as in model files, such as {"stiffness", 100}.
struct ForceDescription {
  std::string type;
  std::vector<Body> bodies;
  std::vector<Vector3> points{};  ///< none: the centres of mass
  std::vector<Vector3> axes{};
  std::vector<std::pair<std::string, double>> numbers{};
  std::string name{};
  std::vector<std::pair<std::string, std::string>> words{};  ///< such as {"shapes", "plane-sphere"}
  /// Formulas by key: {"force", {"1e4*x + 250*v"}} of a spring, with x and v its own measure and rate, {"force", {0.0, 0.0,
  /// "sin(t)"}} of an applied one.
  std::vector<std::pair<std::string, std::vector<Law>>> laws{};
  std::vector<std::pair<std::string, Vector3>> vectors{};  ///< of a bushing
  int joint = -1;                                          ///< of friction in a joint, as add_joint returned it
  bool in_body_frame = false;                              ///< of an applied force and torque
};

/// What an output measures.
struct MeasureDescription {
  enum class Kind { angle, displacement, position, distance, effort, gap } kind = Kind::angle;
  int joint = -1;  ///< or force
  std::vector<Body> bodies{};
  std::vector<Vector3> points{};
};
/// The angle of a joint with its turns [rad], or its displacement [m]; `joint` as add_joint returned it.
inline MeasureDescription angle_of(int joint) { return {MeasureDescription::Kind::angle, joint}; }
inline MeasureDescription displacement_of(int joint) { return {MeasureDescription::Kind::displacement, joint}; }
/// Where a point of a body is: an output with the components x, y and z [m].
inline MeasureDescription position_of(Body body, const Vector3& at) {
  return {MeasureDescription::Kind::position, -1, {body}, {at}};
}
/// Between points of two bodies [m].
inline MeasureDescription distance_between(Body a, const Vector3& from, Body b, const Vector3& to) {
  return {MeasureDescription::Kind::distance, -1, {a, b}, {from, to}};
}

/// What a force does along its measure [N or N m], the normal force of a contact; `force` as add_force returned it.
inline MeasureDescription effort_of(int force) { return {MeasureDescription::Kind::effort, force}; }
/// Of a contact [m], negative where its shapes overlap.
inline MeasureDescription gap_of(int force) { return {MeasureDescription::Kind::gap, force}; }

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
/// A disk of the second body rolls on a plane of the first without slipping.
JointDescription wheel(Bodies between, const Vector3& point_of_plane, const Vector3& normal, const Vector3& centre,
                       const Vector3& axis, double radius);
/// A point of the second body stays on a closed curve of the first, which lies around `origin` across the axis.
JointDescription cam(Bodies between, const Vector3& origin, const Vector3& axis, const Vector3& point,
                     std::vector<Eigen::Vector2d> curve, double roller_radius = 0.0);
/// Prescribes the angle [rad] about the axis from the first body to the second: a formula in t.
JointDescription angle_driver(Bodies between, const Vector3& axis, std::string value);

ForceDescription spring_damper(Bodies between, const Vector3& from, const Vector3& to, double stiffness,
                               double damping);

/// What rods are made of.
struct RodMaterial {
  double young = 210e9, poisson = 0.3;  ///< [Pa], [-]
  double density = 7800.0;              ///< [kg/m³]
  double damping_time = 0.0;            ///< β of Kelvin and Voigt [s]: a vibration of ω has the damping ratio βω/2
};

/// A cross-section, in its own axes: x along the rod.
struct CrossSection {
  /// (N, Q_y, Q_z, T, M_y, M_z) = K (extension, shear along y and z, twist, curvature about y and z).
  Eigen::Matrix<double, 6, 6> stiffness = Eigen::Matrix<double, 6, 6>::Identity();
  double mass_per_length = 1.0;                      ///< [kg/m]
  Matrix3 inertia_per_length = Matrix3::Identity();  ///< about the centre of mass [kg m]
  Vector3 centre_of_mass = Vector3::Zero();          ///< (0, y, z) [m]
  double damping_time = 0.0;                         ///< [s]
  multibody::Shape shape{
      .kind = multibody::Shape::Kind::cylinder};  ///< for pictures: a radius, or the size of a box in y and z
};
/// A circle or a tube, shear factors of Cowper (1966).
CrossSection circular_cross_section(const RodMaterial& material, double radius, double inner_radius = 0.0);
/// Edges along y and z, torsion constant of Saint-Venant.
CrossSection rectangular_cross_section(const RodMaterial& material, double y, double z);

/// A flexible rod through points: geometrically exact beams of order 4 between nodes, which are bodies. Free of stress as it is
/// drawn, unless it says otherwise.
struct RodDescription {
  enum class Path { polyline, spline, arc };
  std::string name = "rod";
  CrossSection section{};
  std::vector<Vector3> points{};      ///< two are a line; an arc has three: from, on the way, to
  Path path = Path::polyline;         ///< corners of a polyline are rigid
  int elements = 8;                   ///< more where corners and places ask for nodes between them
  std::vector<double> places{};       ///< parts of the length, 0 to 1, that get nodes
  std::optional<Vector3> up{};        ///< towards which z of the section points; none: z, y for a vertical line
  bool is_shear_rigid = false;        ///< sections stay perpendicular to the axis
  bool is_axial_rigid = false;        ///< it does not stretch; its tension is a multiplier
  bool is_straight_unloaded = false;  ///< what is drawn is loaded, the rod itself is straight
  Vector3 velocity = Vector3::Zero(), angular_velocity = Vector3::Zero();  ///< of a rigid motion about the first node
};

/// The nodes of a rod: bodies for joints, forces and outputs, as they stand along it.
struct RodNodes {
  int first = 0;
  std::vector<double> parts;  ///< of the length, 0 to 1
  Body start() const { return {first}; }
  Body end() const { return {first + static_cast<int>(parts.size()) - 1}; }
  /// The node nearest to a part of the length.
  Body at(double part) const;
};

class Mechanism {
 public:
  /// group: ℝ³×SO(3) or SE(3), of every body that does not say its own.
  explicit Mechanism(std::string name = "mechanism", lie::GroupId group = lie::GroupId::r3xso3);

  Mechanism& set_gravity(const Vector3& gravity);  ///< [m/s²]; (0, 0, -9.81) unless set
  Body add_body(multibody::Body body);
  /// Nodes live on SE(3), where a rod that turns needs the fewest steps. Throws InvalidInput.
  RodNodes add_rod(const RodDescription& rod);
  /// Returns the number of the joint, by which `State::system->reaction` asks for it. Throws InvalidInput.
  int add_joint(const JointDescription& joint);
  /// Returns the number of the force, for `effort_of` and `gap_of`. Throws InvalidInput.
  int add_force(const ForceDescription& force);
  /// A block of coordinates beside the bodies, for elements; returns its number. Bodies are numbered first: add them before.
  int add_node(multibody::Node node);
  /// Anything else that adds to the equations, on the numbers of bodies and nodes.
  void add_element(multibody::ElementPtr element);

  // ---- names that laws may use; every one once. A word with letters, digits and _.

  Mechanism& add_parameter(std::string name, double value);
  /// A number, or a formula of t, that a `Simulation` may set.
  Mechanism& add_input(std::string name, const Law& value = 0.0, std::string unit = {});
  /// What results report, and `Simulation::output`.
  Mechanism& add_output(std::string name, MeasureDescription measure);
  Mechanism& add_output(std::string name, Law law, std::string unit = {});
  /// An unknown of first order.
  Mechanism& add_state(std::string name, Law rate, double initial = 0.0, std::string unit = {});

  /// A torque along the angle of a joint, or a force along its displacement; positive drives the second body forwards.
  Mechanism& add_law(std::string name, int joint, Law law);
  /// A zero of a law. It belongs to the system of this mechanism, and ends with it where another one is switched to.
  Mechanism& add_event(std::string name, Law when, system::Direction direction = system::Direction::either,
                       system::Action action = system::Record{}, int terminal_after = 0);

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
  static bool is_law(const ForceDescription& force);
  multibody::ForceSpec spec_of(const ForceDescription& force, const multibody::Mechanism& parts) const;
  void take_name(const std::string& name);
  /// Names, laws and outputs into `parts`; what must be known of the events when the assembly is there.
  std::function<void(multibody::Assembly&)> add_laws(multibody::Mechanism& parts) const;

  std::string name_;
  lie::GroupId group_;
  Vector3 gravity_{0.0, 0.0, -9.81};
  std::vector<multibody::Body> bodies_;
  std::vector<JointDescription> joints_;
  std::vector<ForceDescription> forces_;
  std::vector<multibody::Node> nodes_;
  std::vector<multibody::ElementPtr> elements_;

  struct NamedLaw {
    std::string name, unit;
    Law law;
    double initial = 0.0;                         ///< of a state
    int joint = -1;                               ///< of a force
    std::optional<MeasureDescription> measure{};  ///< of an output, instead of the law
    system::Direction direction{};                ///< of an event
    system::Action action = system::Record{};
    int terminal_after = 0;
  };
  std::vector<std::string> names_;
  std::vector<std::pair<std::string, double>> parameters_;
  std::vector<NamedLaw> inputs_, outputs_, states_, laws_, events_;
};

/// The system of a mechanism with these joints, forces and elements switched off, by name: what the `Switch` of an event goes on
/// with. Throws InvalidInput for a name that it does not have, and when the problem is none of a mechanism.
std::shared_ptr<const system::System> without(const run::Problem& problem, const std::vector<std::string>& names);

}  // namespace kreisel
