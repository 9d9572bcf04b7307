// The reader of model files: one class, with one file per section.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json/json_source.hpp"
#include "io/model_file/model_compose.hpp"
#include "io/model_file/model_events.hpp"
#include "io/model_file/model_file.hpp"
#include "io/model_file/model_parameters.hpp"
#include "io/model_file/model_schema.hpp"
#include "kreisel/error.hpp"
#include "multibody/names.hpp"
#include "multibody/rod.hpp"
#include "system/consistency.hpp"

namespace kreisel::io {

using multibody::Body;
using multibody::ForceInfo;
using multibody::Frame;
using multibody::JointInfo;
using multibody::Shape;
using multibody::Signal;

/// Relative tolerance of rotations and inertias, which are typed with few digits.
constexpr double typing_tolerance = 1e-6;
constexpr std::size_t max_problems = 20;
constexpr std::size_t max_elements = 1'000'000;

class ModelReader {
 public:
  ModelReader(const JsonSource& source, const ModelFileOptions& options) : source_(source), options_(options) {}
  ModelFile read();
  /// Reads a rotation without formulas. Returns the errors.
  static std::vector<std::string> rotation_in(const JsonSource& source, std::string_view pointer, const Json& value,
                                              Matrix3& out);

 private:
  // ---- complaints

  void complain(std::string_view pointer, std::string_view message);
  /// "joint 'hinge', limits/from", where there is no file.
  std::string in_words(std::string_view pointer) const;
  /// In the original file, where a repeated entry is written once.
  std::string located(std::string_view pointer, std::string_view message) const;
  void finish() const;
  /// For input that is valid but may not be intended.
  void warn(std::string_view pointer, std::string_view message);
  /// Runs `read`, whose InvalidInput becomes a complaint at `pointer`.
  template <class Read>
  bool guarded(std::string_view pointer, Read&& read) {
    try {
      read();
      return true;
    } catch (const InvalidInput& e) {
      complain(pointer, e.what());
      return false;
    }
  }

  // ---- plain values: false after a complaint

  static const Json* find(const Json& object, std::string_view key);
  const Json* require(std::string_view pointer, const Json& object, std::string_view key, std::string_view expected);
  bool is_object(std::string_view pointer, const Json& value, std::string_view expected);
  bool is_list(std::string_view pointer, const Json& value, std::string_view expected);
  void check_keys(std::string_view pointer, const Json& object, const std::vector<std::string>& known);
  /// A formula of parameters as the number it is; false after a complaint.
  bool evaluated(std::string_view pointer, const Json& value, double& out);
  /// For numbers that are constant during a run.
  void refuse_settable(const formula::Formula& formula) const;
  /// The value of a field, a formula as its number. The null that replaces an invalid formula is reported.
  bool resolved(std::string_view pointer, const Field& field, const Json& given, Json& out);
  bool number(std::string_view pointer, const Json& value, double& out, std::string_view expected = "a number");
  bool text(std::string_view pointer, const Json& value, std::string& out);
  /// Names appear in single lines of results and messages.
  bool name_text(std::string_view pointer, const Json& value, std::string& out);
  bool numbers(std::string_view pointer, const Json& value, std::size_t count, double* out, std::string_view expected);
  bool vector(std::string_view pointer, const Json& value, Vector3& out);
  bool direction(std::string_view pointer, const Json& value, Vector3& out);
  /// `derivatives` that the equations need: none for a force, one for a target, two for a driver.
  bool signal(std::string_view pointer, const Json& value, int derivatives, Signal& out);
  bool read_signal(std::string_view pointer, const Json& value, int derivatives, Signal& out);
  bool table_points(const std::string& at, const Json& table, std::vector<std::pair<double, double>>& points);
  static std::string_view text_of(const Json& formula);

  // ---- angles that may be in degrees

  void suspect_degrees(const std::string& pointer, const Json& given, double value);
  void suspect_degrees(const std::string& pointer, const Json& given, const Signal& signal);
  /// Arguments of sin, cos and tan.
  void suspect_degrees_in(std::string_view pointer, const formula::Formula& formula);
  /// Numbers beside angles; `known` has been suspected already.
  void suspect_degrees_in(const std::string& pointer, int node, double known);
  bool is_angle(int node);
  /// A name with a number, in case formulas use it as an angle.
  void note_angle(int own, const std::string& at, const Json& given, const Json& entry, Signal value);
  /// When all formulas are known.
  void suspect_degrees_in_names();

  // ---- names and laws

  using Node = multibody::Formulas::Node;
  static constexpr Node no_node = formula::Graph::none;
  using MakeNode = std::function<Node()>;
  multibody::Formulas& formulas() { return names_.formulas(); }
  /// The section as an object, empty when it is absent or wrong.
  const Json& section(const Json& root, std::string_view key);
  /// Declares every name before the first formula is read, so that formulas may use names of later entries.
  void declare_names(const Json& root);
  /// Whether a value can only be a law: a formula that depends on more than t, or a table of something.
  bool is_law(const Json& value);
  /// A number, a formula or a table of x or of the formula "of"; false after a complaint. The node is made when all
  /// names are defined.
  bool law(const std::string& pointer, const Json& value, Node x, Node v, MakeNode& out);
  bool table_curve(const std::string& pointer, const Json& value, const formula::Curve*& out);
  /// A law of which everything but its formula is known.
  struct PendingLaw {
    std::string at, type, name;
    MakeNode value;
    int gauge = -1, state = -1;
    multibody::Law::Sense sense = multibody::Law::Sense::pushes;
    double x0 = 0.0;
    bool drives = false;                                 ///< all that it does is work
    std::vector<std::pair<int, MakeNode>> components{};  ///< gauges and values of a wrench
  };
  /// The value of a gauge; an angle that counts its turns has a state for them from now on.
  Node value_of(int gauge, bool counts_turns, const std::string& name);
  Node rate_of(int gauge) { return formulas().leaf({multibody::Quantity::Kind::rate, gauge}); }
  int add_state(std::string name, double initial);
  /// A state that only events change.
  int add_set_state(const std::string& name, double initial);
  double initial_value(const multibody::Gauge& gauge) const;
  /// The same of a gauge by number, turns counted.
  double start_of(int gauge) const;
  /// The coordinate of a joint, -1 when it has none of that kind.
  int joint_gauge(int joint, bool is_rotation);
  bool joint_named(const std::string& at, const Json& value, int& out);
  void read_inputs(const Json& root);
  /// Of the caller, by name.
  void define_functions();
  void read_states(const Json& root);
  std::string unit_of(const std::string& at, const Json& value, std::string otherwise = "");
  std::string meaning_of(const std::string& at, const Json& value, std::string otherwise);

  // ---- outputs

  void read_outputs(const Json& root);
  void read_output(const std::string& at, const std::string& name, const Json& value);
  bool two_bodies(const std::string& at, const Json& value, std::vector<int>& bodies);
  /// Coordinates of a point of a body in the axes of another one, or their derivatives.
  bool point_nodes(const std::string& at, const Json& object, const std::string& name, const std::string& kind,
                   const std::string& here, const Json& what, std::vector<Node>& nodes);
  /// Defines the names of forces that are not laws by their efforts.
  void define_forces();
  struct ForceOutput {
    std::string at, output, kind, force;
  };
  /// "force", "length", "speed" or "power" of a force.
  void define_force_output(const ForceOutput& output);
  void define_gaps();
  void make_laws();
  void make_outputs();

  // ---- events

  struct PendingEvent {
    std::string at;
    MakeNode when;
    ModelEvent event;
    std::vector<std::pair<std::string, MakeNode>> values{};  ///< with their places
    std::string between_at{};
  };
  /// Parameters and inputs that events set, by the place of the first; they are states.
  void declare_settable(const Json& root);
  void make_settable(const Json& root);
  bool read_set(const std::string& at, const Json& value, PendingEvent& out);
  bool velocity_named(const std::string& at, const std::string& name, ModelEvent::Velocity& out);
  void make_values(PendingEvent& pending);
  void make_normal(PendingEvent& pending, Node when);
  bool read_jump(const std::string& at, const Json& value, PendingEvent& out);
  void read_events(const Json& root);
  void read_event(const std::string& at, const Json& value);
  bool read_action(const std::string& at, const Json& value, int after, PendingEvent& pending);
  void make_events();
  /// With what starts inactive switched off, and with its events.
  std::shared_ptr<multibody::Assembly> with_events(std::shared_ptr<multibody::Assembly> all);

  // ---- initial values of joints

  struct Placed {
    std::string at;
    int joint = 0, sliding = 0;
    std::optional<double> value, rate;
  };
  void read_initial(const std::string& here, const Json& initial, int joint, int sliding);
  /// Joints from the ground outwards, by the order in which they are listed; a joint that closes a loop carries
  /// nothing.
  void place_joints();
  /// The bodies that a joint carries, as one.
  void move_outer(const Placed& placed, const std::vector<int>& carried_by, bool is_rate);
  /// The angle of two bodies as initial values of joints have turned them from the drawn position, with its turns.
  double turned_angle(const multibody::Measure& angle, const std::vector<int>& bodies) const;
  /// Springs and actuators between bodies that initial values turn by more than half a turn.
  void start_turns_of_forces();

  // ---- rotations

  bool rotation(std::string_view pointer, const Json& value, Matrix3& out);
  /// The keys of those forms of a rotation that have one of these keys; empty: of all forms.
  static std::vector<std::string> rotation_keys(const std::vector<std::string>& marks);
  /// `name` in radians or `name`_deg in degrees, exactly one of them.
  bool angles(std::string_view pointer, const Json& value, std::string_view name, std::size_t count, double* out);
  bool rotation_about_axis(std::string_view pointer, const Json& value, Matrix3& out);
  bool rotation_from_quaternion(std::string_view pointer, const Json& value, Matrix3& out);
  bool rotation_from_matrix(std::string_view pointer, const Json& value, Matrix3& out);
  bool rotation_from_euler(std::string_view pointer, const Json& value, Matrix3& out);
  static Matrix3 about(const Vector3& axis, double angle);
  bool matrix(std::string_view pointer, const Json& value, Matrix3& out);

  // ---- the model

  static std::vector<std::string> body_groups() { return {"r3xso3", "se3"}; }
  /// A group that bodies may have.
  bool group(std::string_view pointer, const Json& value, lie::GroupId& out);
  void read_group(const Json& root);
  /// The list under `key`, empty when it is absent or wrong.
  const Json& list(const Json& root, std::string_view key);
  void read_bodies(const Json& root);
  void read_body(const std::string& at, const Json& value);
  void read_inertia(const std::string& at, const Json& value, Matrix3& J);
  void read_shape(const std::string& at, const Json& value, Body& body);
  bool read_mesh_shape(const std::string& at, const Json& data, Shape& shape);

  // ---- rods

  struct RodNodes {
    std::string at;  ///< place in the file
    int first = 0, first_element = 0;
    std::vector<double> s;         ///< distances of the nodes from the start along the rod [m]
    std::vector<Vector3> on_axis;  ///< in the body frames of the nodes, whose origins are centres of mass
    std::vector<double> report;    ///< parts of the length
    bool reports_all = false, reports_strains = false;
    double highest_frequency = 0.0;  ///< of one element [rad/s]

    int last() const { return first + static_cast<int>(s.size()) - 1; }
    double length() const { return s.back(); }
  };
  struct NamedSection {
    std::string at;
    multibody::RodSection section;
    multibody::Shape shape;          ///< of a piece, but for its length
    std::array<bool, 3> has_none{};  ///< no stiffness along x, y, z: for rods that are rigid there
    bool is_limp = false;            ///< neither torsion nor bending stiffness: for cables
    double height = 0.0;             ///< [m]
  };
  /// A name that is not taken yet.
  bool new_name(const std::string& at, const Json& value, std::string_view kind,
                bool is_taken(const ModelReader&, const std::string&), std::string& out);
  static std::vector<Field> fields_of(const ObjectInfo& object);
  void read_materials(const Json& root);
  void read_sections(const Json& root);
  bool read_section(const std::string& at, const Json& value, NamedSection& out);
  bool section_stiffness(const std::string& at, const Json& value, multibody::Matrix6& K);
  void read_rods(const Json& root);
  void read_rod(const std::string& at, const Json& value);
  /// The damping time of a material or section; NaN: not given.
  bool damping_time(const std::string& at, const Json& value, const multibody::Numbers& n, double& out);
  bool section_shape(const std::string& at, const Json& value, multibody::Shape& shape, double radii[2]);
  bool read_path(const std::string& at, const Json& value, const Json& path, multibody::RodPath& out);
  bool points(const std::string& at, const Json& value, std::vector<Vector3>& out);
  /// Distances from the start of a rod at which any entry of the file needs nodes.
  void find_places(const Json& value, const std::string& rod, double length, std::vector<double>& out) const;
  static std::optional<double> place_in(std::string_view text, double length);
  void warn_about_rods(double t_end);
  /// "NAME@start", "NAME@0.3", "NAME@1.2m".
  bool node_number(const std::string& at, const std::string& name, int& out);
  /// The rod of a place and the node there.
  const RodNodes* rod_at(const std::string& at, const Json& value, int& node);
  /// Leaves for the section forces and strains at a node of a rod.
  std::vector<multibody::Formulas::Node> section_nodes(const RodNodes& rod, int node, bool are_strains);
  void report_rods();
  void read_line_load(const std::string& at, const Json& value);
  /// The first of the bodies that is a node of a rod; else the ground.
  int node_of_rod(const std::vector<int>& bodies) const;
  /// The default point of a body, in its frame: the centre of mass, or the axis of a rod.
  Vector3 own_point(int body) const;

  // ---- joints and their frames

  bool body_number(const std::string& at, const Json& value, int& out);
  bool read_between(const std::string& at, const Json& value, std::vector<int>& bodies);
  /// World coordinates at t = 0 to those of a body.
  Frame in_body(int body, const Vector3& p, const Matrix3& E) const;
  Frame centre_of(int body) const;
  Vector3 in_world(int body, const Vector3& p) const;
  /// Axes along `z`; "x_axis" of `value`, if given, is the direction of the first one.
  bool read_axes(const std::string& at, const Json& value, const Vector3& z, Matrix3& E);
  /// "at", "axis", "axes" in world coordinates, or "frames" in those of the bodies.
  bool read_frames(const std::string& at, const Json& value, const Placement& layout, const std::vector<int>& bodies,
                   std::vector<Frame>& frames);
  bool read_body_frames(const std::string& at, const Json& value, const Placement& layout,
                        const std::vector<int>& bodies, std::vector<Frame>& frames);
  std::string element_name(const std::string& at, const Json& value, const std::string& fallback,
                           std::set<std::string>& taken);
  std::string body_label(int body) const { return body == multibody::ground ? "ground" : mechanism_.bodies[body].name; }
  void read_joints(const Json& root);
  void read_joint(const std::string& at, const Json& value, bool is_driver);
  /// A linear relation between the coordinates of two joints.
  void read_coupler(const std::string& at, const Json& value);
  void read_coordinates(const std::string& at, const Json& value, const JointInfo& info, int joint);
  void read_limits(const std::string& here, const Json& limits, int joint, int sliding);
  /// A law along a joint that acts beyond its limits only.
  void add_compliant_limits(const std::string& at, int joint, int sliding, const std::string& name, int gauge,
                            bool counts_turns, const std::array<std::optional<double>, 2>& bounds, double stiffness,
                            double damping);
  /// Names the forces of limits for outputs: each positive where it pushes, both together along the coordinate.
  void name_limit_forces(const std::string& name, int gauge, bool is_rotation, const std::array<MakeNode, 2>& pushes);
  void check_limits(const multibody::Assembly& assembly, const system::Motion& m);
  /// Warns of a motion that begins beyond a compliant limit, which is seldom intended.
  void warn_about_limits();
  /// Laws that are switched with their joint.
  void add_followers(std::vector<std::string>& names) const;
  void swing_second_frame(multibody::JointSpec& spec) const;
  /// Of a universal joint. --assemble can correct a small angle, but not parallel axes, where the row has no gradient.
  bool are_perpendicular(const std::string& at, const Json& value, const multibody::JointSpec& spec);
  /// Of a type of joint or force, made once: files have many of them.
  template <class Info>
  const std::vector<std::string>& known_keys(const Info& info) {
    const auto [at, is_new] = known_keys_.try_emplace(&info);
    if (is_new) at->second = names_of(object_of(info).keys);
    return at->second;
  }
  /// Numbers and words of an element: given, or their defaults.
  bool read_numbers(const std::string& at, const Json& value, const std::vector<Field>& fields,
                    multibody::Numbers& out);
  static Value value_with_meaning(const Field& field, const Json& given);
  double distance_between(const std::vector<int>& bodies, const std::vector<Frame>& frames) const;
  bool read_teeth(const std::string& at, const Json& value, multibody::JointSpec& spec);
  bool read_carrier(const std::string& at, const Json& value, multibody::JointSpec& spec);
  bool read_curve(const std::string& at, const Json& value, multibody::JointSpec& spec);

  // ---- forces and laws along joints

  void read_forces(const Json& root);
  void read_force(const std::string& at, const Json& value);
  /// Whether a spring or an actuator depends on more than time and its own measure.
  bool has_law(const Json& value, const ForceInfo& info);
  /// Whether a component of an applied force depends on more than t.
  bool has_wrench_law(const Json& value, const ForceInfo& info);
  void read_wrench_law(const std::string& at, const Json& value, const ForceInfo& info,
                       const multibody::ForceSpec& spec);
  /// A spring or an actuator whose effort or target is a formula.
  void read_measured_law(const std::string& at, const Json& value, const ForceInfo& info,
                         const multibody::ForceSpec& spec);
  /// p - k (x - s) - c (v - ṡ) of an actuator with the effort p and the target s.
  bool servo(const std::string& at, const Json& value, const ForceInfo& info, const multibody::ForceSpec& spec, Node x,
             Node v, PendingLaw& pending);
  /// A law in which a table without "of" is one of t.
  bool law_of_time(const std::string& pointer, const Json& value, Node x, Node v, MakeNode& out);
  void add_touches(const std::string& at, int force);
  /// Whether a law reads its own coordinate: then turns count.
  bool mentions_x(const Json& value);
  /// Joints and forces may be inactive until an event switches them on.
  void read_active(const std::string& at, const Json& value, const std::string& name);
  /// Of a pending law: zero while what is switched with this name is off, where it is reported.
  Node reported_force(const std::string& name, std::size_t number, Node value);
  void add_law(const std::string& at, const Json& value, PendingLaw pending, bool is_rotation);
  /// A force along the coordinate of a joint.
  void read_joint_law(const std::string& at, const Json& value, const multibody::LawInfo& info);
  bool read_force_bodies(const std::string& at, const Json& value, const ForceInfo& info, multibody::ForceSpec& spec);
  bool read_force_values(const std::string& at, const Json& value, const ForceInfo& info, multibody::ForceSpec& spec,
                         bool has_law);

  // ---- parameters and simulation

  void read_parameters(const Json& root);
  /// The model without includes and repeats.
  Json flat_model() const;
  void read_simulation(const Json& root, double& t_end);

  // ---- where the motion begins

  /// Joints and forces stay where they are drawn on their bodies.
  void start_bodies(const Json& root);
  void start_states(const Json& root);

  // ---- consistency

  void check_consistency(const multibody::Assembly& assembly, const system::Start& start);
  /// A body without mass or inertia must be carried by others in every motion that the joints allow.
  void check_mass(const multibody::Assembly& assembly, const system::Motion& m);
  /// Of a joint, the row that exceeds its tolerance most; -1: none does.
  static int worst_row(const Vector& rows, const Vector& tolerance, const system::RowGroup& group);

  const JsonSource& source_;
  const ModelFileOptions& options_;
  multibody::Mechanism mechanism_;
  ModelParameters parameters_;
  Composed composed_;
  multibody::FormulaNames names_{parameters_.values(),
                                 [this](const formula::Formula& formula) { parameters_.note_use(formula); }};
  formula::Names law_names_;  ///< the known ones, x and v
  std::vector<PendingLaw> pending_;
  std::size_t first_law_ = 0;  ///< among the elements of the mechanism
  std::map<std::pair<int, bool>, int> joint_gauges_;
  std::set<std::string> declared_forces_;  ///< whose names formulas may use
  std::map<std::string, Node> efforts_;    ///< of forces that have no law
  std::map<std::string, MakeNode> law_forces_;
  std::vector<system::OutputInfo> output_infos_;
  std::vector<ForceOutput> force_outputs_, gap_outputs_;
  struct LawGauge {  ///< what a force that is a law acts along
    int gauge = -1;
    bool is_rotation = false;
    multibody::Law::Sense sense = multibody::Law::Sense::pushes;
  };
  std::map<std::string, LawGauge> law_gauges_;
  std::map<std::string, MakeNode> wrench_powers_;
  std::vector<std::pair<int, int>> winding_;  ///< node of the turns, gauge
  std::vector<PendingEvent> pending_events_;
  std::vector<ModelEvent> events_;
  std::set<std::string> event_names_;
  std::map<std::string, std::string> settable_;                ///< places by name
  std::map<std::string, int> set_nodes_;                       ///< states by name
  std::vector<std::pair<std::string, std::string>> switched_;  ///< place and name of what events switch
  std::vector<std::string> inactive_;                          ///< at the start
  std::vector<Placed> placed_;
  std::map<int, double> start_of_turns_;  ///< by joint
  struct Turned {
    int joint = 0;
    std::vector<bool> carried;  ///< bodies
    Vector3 axis;
    double angle = 0.0;
  };
  std::vector<Turned> turned_;  ///< in order
  std::vector<Matrix3> drawn_;  ///< rotations of bodies before
  bool has_loops_ = false;      ///< among the joints
  struct CountingForce {
    std::size_t number = 0;
    const multibody::ForceInfo* info = nullptr;
    multibody::ForceSpec spec;
  };
  std::vector<CountingForce> counting_forces_;
  std::map<std::string, int> body_numbers_, joint_numbers_;
  std::map<std::string, std::pair<multibody::Material, double>> materials_;  ///< and their damping times
  std::vector<std::string> asked_places_;                                    ///< "NAME@..." wherever the file has one
  std::map<std::string, NamedSection> sections_;
  std::map<std::string, RodNodes> rods_;
  std::map<std::string, std::vector<std::string>> load_parts_;  ///< further elements of line loads, by name
  std::vector<multibody::Outputs::Entry> rod_reports_;
  std::set<std::string> joint_names_, force_names_;
  std::map<const void*, std::vector<std::string>> known_keys_;  ///< by type
  std::map<std::string, int> last_numbers_;                     ///< of elements without a name, by kind and bodies
  std::vector<std::pair<std::string, const Json*>> couplers_;
  std::map<std::string, std::string> coupler_places_;   ///< by name
  std::map<std::string, std::string> rolling_places_;   ///< by name of the rows
  std::multimap<std::string, std::string> limit_laws_;  ///< of compliant limits, by joint
  struct CompliantLimit {
    std::string at;
    int joint = 0, gauge = -1;
    std::array<std::optional<double>, 2> bounds;
  };
  std::vector<CompliantLimit> compliant_limits_;
  std::vector<std::string> joint_places_;  ///< pointer per joint
  struct FormulaNode {
    std::string at;
    Node node = no_node;
    double known = 0.0;  ///< a number in it that was suspected where it is given
  };
  struct NamedAngle {
    int leaf = -1;
    std::string at;
    Json given;
    std::string unit;
    Signal value;
  };
  struct SetValue {
    std::string at;
    Node own = no_node;
    Json given;
    MakeNode make;
  };
  std::vector<FormulaNode> formula_nodes_;
  std::vector<NamedAngle> named_angles_;
  std::vector<SetValue> set_values_;  ///< of events
  std::set<int> angles_;              ///< leaves that formulas use as angles
  std::set<std::string> doubted_;     ///< parameters
  std::vector<double> doubted_values_;
  std::set<std::pair<std::vector<Node>, Node>> doubted_terms_;
  std::map<const formula::Curve*, std::pair<std::string, std::vector<double>>> abscissas_;  ///< of tables
  std::vector<std::string> problems_, warnings_;
  std::size_t problem_count_ = 0;
};

}  // namespace kreisel::io
