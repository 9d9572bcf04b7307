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
}  // namespace multibody
namespace io {
struct ModelBase;
}  // namespace io

/// A body of a mechanism, or the ground; a number wherever bodies are counted.
struct Body {
  int number = multibody::ground;
  constexpr operator int() const { return number; }
};
inline constexpr Body ground{};

inline Matrix3 diagonal(double xx, double yy, double zz) { return Vector3(xx, yy, zz).asDiagonal(); }

/// A function of one number through points, constant beyond the first and the last one.
struct Table {
  std::vector<std::pair<double, double>> points;  ///< with increasing first numbers
  std::string interpolation{};                    ///< as in model files; empty: monotone, of a driver spline
  /// Formula of the argument; empty: x for a force along its own measure, t for an input or a driver.
  std::string of{};
};

/// Where a mechanism takes a number that depends on the motion: a constant, a formula of t, parameters, inputs, outputs,
/// states and their rates such as "-k*(knee - 0.8) - 5*knee'", a table, or a function of t and of what it uses, in that order.
struct Law {
  using Function = std::function<double(double t, std::span<const double> uses)>;
  /// ∂/∂uses[i] of a function.
  using Derivative = std::function<double(double t, std::span<const double> uses, int i)>;

  Law(double number) : constant(number) {}
  Law(std::string text) : formula(std::move(text)) {}
  Law(const char* text) : formula(text) {}
  Law(Table points) : table(std::move(points)) {}
  /// It must depend on nothing but its arguments. A missing derivative is computed by differences with automatic steps.
  Law(Function of, std::vector<std::string> what, Derivative by = {})
      : function(std::move(of)), uses(std::move(what)), derivative(std::move(by)) {}

  std::string formula{};
  std::optional<double> constant{};
  std::optional<Table> table{};
  Function function{};
  std::vector<std::string> uses{};
  Derivative derivative{};
};

/// The coordinate of a joint at the start, in rad or m: the bodies that the joint carries are moved, and their velocities changed.
struct InitialValue {
  std::optional<double> value{}, rate{};
};

/// Of the coordinate of a joint, in rad or m. Rigid with a restitution, compliant with a stiffness.
struct Limits {
  std::optional<double> from{}, to{};
  std::optional<double> restitution{};           ///< 0 unless it is compliant
  std::optional<double> stiffness{}, damping{};  ///< of a compliant one
};

/// Description of a joint or driver. Points and axes are in world coordinates at the start.
struct JointDescription {
  std::string type;
  std::vector<Body> bodies;     ///< two; then the carrier, where a joint has one
  std::vector<Vector3> points;  ///< one that both bodies share, or one on each
  std::vector<Vector3> axes;    ///< one that both bodies share, or one of each
  std::string name{};           ///< empty: made from the type and the bodies
  double length = 0.0;          ///< of a distance; 0: that of the points
  std::optional<Law> value{};   ///< of a driver: a formula of t, such as "0.1*sin(2*pi*t)", or a table
  std::vector<std::pair<std::string, double>> numbers{};     ///< as in model files, such as {"pitch", 0.005}
  std::vector<Eigen::Vector2d> curve{};                      ///< of a cam: points in x and y of its frame, each once
  std::pair<int, int> teeth{0, 0};                           ///< of gears
  std::vector<std::pair<std::string, std::string>> words{};  ///< such as {"sideways", "free"} of a wheel
  std::optional<Vector3> x_axis{};                           ///< where the first axis across `axes` points
  InitialValue initial{};                                    ///< of its coordinate; of the angle of a cylindrical joint
  InitialValue initial_displacement{};                       ///< of a cylindrical joint
  Limits limits{};                                           ///< as `initial`
  Limits limits_of_displacement{};                           ///< of a cylindrical joint
  bool is_active = true;                                     ///< false: an event switches it on

  JointDescription&& named(std::string of) && { return name = std::move(of), std::move(*this); }
  JointDescription&& starting(double at, double rate = 0.0) && { return initial = {at, rate}, std::move(*this); }
  JointDescription&& limited(Limits to) && { return limits = std::move(to), std::move(*this); }
};

/// A linear relation between the coordinates of two joints: second = ratio*first + offset. Angles count their turns.
struct CouplerDescription {
  int first = -1, second = -1;  ///< joints with one coordinate each, as add_joint returned them
  double ratio = 1.0, offset = 0.0;
  std::string name{};
  bool is_active = true;
};

/// What happens at an event, with the keys of model files: one of these, or only a record.
struct EventDescription {
  std::string name;
  Law when;
  system::Direction direction = system::Direction::either;
  bool stops = false;
  int after = 1;  ///< number of the first occurrence with the action; those before are only recorded
  std::vector<std::pair<std::string, Law>> set{};  ///< parameters and inputs, by name
  std::vector<std::string> off{}, on{};            ///< joints and forces, by name
  std::optional<double> restitution{};             ///< of an impact
  std::vector<Body> between{};                     ///< the two bodies that collide; none: all that `when` depends on
  std::vector<std::pair<std::string, std::vector<Law>>> jump{};  ///< {"rod.angular_velocity", {0, 0, "-spin"}}
};

/// A model file as a part of a mechanism.
struct ModelPart {
  std::string file;                                       ///< a path, or the name of a shipped file
  std::string prefix{};                                   ///< of all its names, such as "left."
  Vector3 at = Vector3::Zero();                           ///< of its origin [m]
  Matrix3 rotation = Matrix3::Identity();                 ///< of its axes
  std::vector<std::pair<std::string, Law>> parameters{};  ///< numbers, or formulas of those of the mechanism
  std::vector<std::pair<std::string, Body>> connect{};    ///< {"ground", torso}: bodies that replace its own
};

/// Description of a force; numbers, words and laws as in model files, such as {"stiffness", 100}.
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
  int joint = -1;                   ///< of friction, a motor or another law along a joint, as add_joint returned it
  bool in_body_frame = false;       ///< of an applied force and torque
  std::optional<Table> table{};     ///< of a motor: effort over speed
  std::optional<Vector3> x_axis{};  ///< as of a joint
  bool is_active = true;            ///< false: an event switches it on
};

/// What an output measures.
struct MeasureDescription {
  enum class Kind {
    angle,
    displacement,
    position,
    velocity,
    acceleration,
    rotation,
    distance,
    effort,
    length,
    speed,
    power,
    gap,
    reaction,
    reaction_torque,
    energy
  } kind = Kind::angle;
  int joint = -1;              ///< or force
  std::vector<Body> bodies{};  ///< then, for a position, velocity or acceleration, the reference body
  std::vector<Vector3> points{};
  std::string name{};  ///< of the joint or force, where it has no number; a part of the energy
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

/// The same for joints of model files, by name.
inline MeasureDescription angle_of(std::string joint) {
  return {MeasureDescription::Kind::angle, -1, {}, {}, std::move(joint)};
}
inline MeasureDescription displacement_of(std::string joint) {
  return {MeasureDescription::Kind::displacement, -1, {}, {}, std::move(joint)};
}
/// As position_of [m/s], [m/s²].
inline MeasureDescription velocity_of(Body body, const Vector3& at) {
  return {MeasureDescription::Kind::velocity, -1, {body}, {at}};
}
inline MeasureDescription acceleration_of(Body body, const Vector3& at) {
  return {MeasureDescription::Kind::acceleration, -1, {body}, {at}};
}
/// The rotation vector of a body [rad], whose length is at most π.
inline MeasureDescription rotation_of(Body body) { return {MeasureDescription::Kind::rotation, -1, {body}}; }
/// Force [N] or torque [N m] of a joint on its second body, in inertial axes.
inline MeasureDescription reaction_of(int joint) { return {MeasureDescription::Kind::reaction, joint}; }
inline MeasureDescription reaction_torque_of(int joint) { return {MeasureDescription::Kind::reaction_torque, joint}; }
/// "kinetic", "potential", "elastic" or "total" [J].
inline MeasureDescription energy_of(std::string part) {
  return {MeasureDescription::Kind::energy, -1, {}, {}, std::move(part)};
}

/// The force or torque along the measure of a force element [N or N m]; for a contact the normal force. `force` as add_force
/// returned it, or the name of a law.
inline MeasureDescription effort_of(int force) { return {MeasureDescription::Kind::effort, force}; }
inline MeasureDescription effort_of(std::string force) {
  return {MeasureDescription::Kind::effort, -1, {}, {}, std::move(force)};
}
/// The distance [m], angle or displacement [rad, m] that a force acts along, and its rate.
inline MeasureDescription length_of(int force) { return {MeasureDescription::Kind::length, force}; }
inline MeasureDescription length_of(std::string force) {
  return {MeasureDescription::Kind::length, -1, {}, {}, std::move(force)};
}
inline MeasureDescription speed_of(int force) { return {MeasureDescription::Kind::speed, force}; }
inline MeasureDescription speed_of(std::string force) {
  return {MeasureDescription::Kind::speed, -1, {}, {}, std::move(force)};
}
/// Power of a force of any type on its bodies [W]; positive if it drives them.
inline MeasureDescription power_of(int force) { return {MeasureDescription::Kind::power, force}; }
inline MeasureDescription power_of(std::string force) {
  return {MeasureDescription::Kind::power, -1, {}, {}, std::move(force)};
}
/// Of a contact [m], negative where its shapes overlap.
inline MeasureDescription gap_of(int force) { return {MeasureDescription::Kind::gap, force}; }
inline MeasureDescription gap_of(std::string force) {
  return {MeasureDescription::Kind::gap, -1, {}, {}, std::move(force)};
}

using Bodies = std::pair<Body, Body>;

// Joints, named by the motion they allow. `kreisel list joints` shows all types; any can be given by its type.

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
/// Prescribes the angle [rad] about the axis from the first body to the second: a formula of t, or a table.
JointDescription angle_driver(Bodies between, const Vector3& axis, Law value);

ForceDescription spring_damper(Bodies between, const Vector3& from, const Vector3& to, double stiffness,
                               double damping);

/// Material of rods.
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

/// A flexible rod through points: geometrically exact beams of order 4 between nodes, which are bodies. Free of stress as drawn,
/// unless specified otherwise.
struct RodDescription {
  enum class Path { polyline, spline, arc };
  std::string name = "rod";
  CrossSection section{};
  std::vector<Vector3> points{};      ///< two for a line, three for an arc: start, intermediate, end
  Path path = Path::polyline;         ///< corners of a polyline are rigid
  int elements = 8;                   ///< more where corners and places require extra nodes
  std::vector<double> places{};       ///< fractions of the length, 0 to 1, that get nodes
  std::optional<Vector3> up{};        ///< towards which z of the section points; none: z, y for a vertical line
  bool is_shear_rigid = false;        ///< sections stay perpendicular to the axis
  bool is_axial_rigid = false;        ///< it does not stretch; its tension is a multiplier
  bool is_straight_unloaded = false;  ///< the drawn shape is loaded; the unloaded rod is straight
  Vector3 velocity = Vector3::Zero(), angular_velocity = Vector3::Zero();  ///< of a rigid motion about the first node
};

/// The nodes of a rod: bodies for joints, forces and outputs, in order along the rod.
struct RodNodes {
  int first = 0;
  std::vector<double> parts;  ///< fractions of the length, 0 to 1
  Body start() const { return {first}; }
  Body end() const { return {first + static_cast<int>(parts.size()) - 1}; }
  /// The node nearest to a fraction of the length.
  Body at(double part) const;
};

class Mechanism {
 public:
  /// group: ℝ³×SO(3) or SE(3), of every body without its own group.
  explicit Mechanism(std::string name = "mechanism", lie::GroupId group = lie::GroupId::r3xso3);

  Mechanism& set_gravity(const Vector3& gravity);  ///< [m/s²]; (0, 0, -9.81) unless set
  Body add_body(multibody::Body body);
  /// Nodes are on SE(3), where a rotating rod needs the fewest steps. Throws InvalidInput.
  RodNodes add_rod(const RodDescription& rod);
  /// Returns the number of the joint, the argument of `State::system->reaction`. Throws InvalidInput.
  int add_joint(const JointDescription& joint);
  /// Returns the number of the force, for `effort_of` and similar functions. Throws InvalidInput.
  int add_force(const ForceDescription& force);
  Mechanism& add_coupler(const CouplerDescription& coupler);
  /// Bodies are numbered before those of files: add them before. Throws InvalidInput for errors in the file.
  Mechanism& add_model(const ModelPart& part);
  /// By its name, such as "left.shank" of a file that was added. Throws InvalidInput with the nearest one.
  Body body(std::string_view name) const;
  /// A block of coordinates beside the bodies, for elements; returns its number. Bodies are numbered first: add them before.
  int add_node(multibody::Node node);
  /// Anything else that adds to the equations, on the numbers of bodies and nodes.
  void add_element(multibody::ElementPtr element);

  // ---- names that laws may use: unique, made of letters, digits and _

  /// A number, or a formula of other parameters.
  Mechanism& add_parameter(std::string name, const Law& value);
  /// A number, a formula of t or a table, that a `Simulation` may set.
  Mechanism& add_input(std::string name, const Law& value = 0.0, std::string unit = {});
  /// What results report, and `Simulation::output`.
  Mechanism& add_output(std::string name, MeasureDescription measure);
  Mechanism& add_output(std::string name, Law law, std::string unit = {});
  /// An unknown of first order.
  Mechanism& add_state(std::string name, Law rate, double initial = 0.0, std::string unit = {});

  /// A torque along the angle of a joint, or a force along its displacement; positive drives the second body forwards.
  Mechanism& add_law(std::string name, int joint, Law law);
  /// A zero of a law. It belongs to the system of this mechanism and is inactive after a switch to another system.
  Mechanism& add_event(std::string name, Law when, system::Direction direction = system::Direction::either,
                       system::Action action = system::Record{}, int terminal_after = 0);
  /// The action is given with the keys of model files.
  Mechanism& add_event(EventDescription event);

  struct Span {
    double t0 = 0.0;
    std::optional<double> t_end{};  ///< none: one second behind t0, and a Simulation goes on as long as it is advanced
  };
  /// The mechanism as it is now. Bodies start where they were put, and where initial values of joints move them. Throws InvalidInput.
  run::Problem problem(const Span& span) const;

 private:
  std::shared_ptr<const multibody::Assembly> assembly() const;
  void check(Body body, std::string_view where) const;
  void check_joint(int joint, std::string_view where) const;
  std::string label(Body body) const;
  void take_name(const std::string& name);
  /// As a model file without bodies; functions are replaced by names; the rest is in `base`.
  std::string model_text(io::ModelBase& base) const;
  /// Of the files that were added, after those of the mechanism.
  std::vector<std::string> names_of_parts() const;

  std::string name_;
  lie::GroupId group_;
  Vector3 gravity_{0.0, 0.0, -9.81};
  std::vector<multibody::Body> bodies_;
  std::vector<JointDescription> joints_;
  std::vector<CouplerDescription> couplers_;
  std::vector<ForceDescription> forces_;
  std::vector<multibody::Node> nodes_;
  std::vector<multibody::ElementPtr> elements_;
  std::vector<ModelPart> parts_;
  std::vector<std::string> part_bodies_;  ///< their names

  struct NamedLaw {
    std::string name, unit;
    Law law;
    double initial = 0.0;                         ///< of a state
    int joint = -1;                               ///< of a force
    std::optional<MeasureDescription> measure{};  ///< of an output, instead of the law
  };
  struct NamedEvent {
    EventDescription event;
    std::optional<system::Action> action{};  ///< instead of `EventDescription`
    int terminal_after = 0;
  };
  std::vector<std::string> names_;
  std::vector<NamedLaw> parameters_, inputs_, outputs_, states_, laws_;
  std::vector<NamedEvent> events_;
};

/// The system of a mechanism with these joints, forces and elements switched off, by name: for the `Switch` of an event. Throws
/// InvalidInput for an unknown name, and when the problem is not made from a mechanism.
std::shared_ptr<const system::System> without(const run::Problem& problem, const std::vector<std::string>& names);

}  // namespace kreisel
