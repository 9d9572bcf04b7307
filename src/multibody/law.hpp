// Laws and outputs: formulas of what the motion of a mechanism gives.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formula/program.hpp"
#include "multibody/frames.hpp"
#include "multibody/joint.hpp"
#include "system/kinks.hpp"

namespace kreisel::multibody {

/// A measure of two bodies that formulas read.
struct Gauge {
  std::shared_ptr<const Measure> measure;     ///< of the slots 0 and 1
  std::array<int, 2> bodies{ground, ground};  ///< by slot; not the same
  int turns = -1;  ///< node of a state with the rate of an angle, from which its turns are read; -1: no turns
};

/// The meaning of a leaf of a formula.
struct Quantity {
  enum class Kind {
    time,
    value,         ///< of a gauge
    rate,          ///< of a gauge
    acceleration,  ///< of a gauge
    state,         ///< a node of first order
    input,         ///< of the mechanism; its value, rate or curve
    effort,        ///< of a force of the mechanism
    power,         ///< of a force of the mechanism, into its bodies
    reaction,      ///< of a joint on its second body: force, then torque, inertial axes
    energy,        ///< kinetic, potential, elastic
    rotation,      ///< of a body relative to another: the rotation vector
    gap,           ///< of a force of the mechanism that has gaps
    limit,         ///< with which a rigid limit of the mechanism pushes
    section,       ///< of a beam among the further elements: stress at A, at B, then strains there
    active         ///< 1 while a further element of the mechanism is active, else 0
  };
  Kind kind = Kind::time;
  int index = 0;  ///< of gauge, node, input, force, joint, limit, body or element
  int component =
      0;  ///< of a reaction, of the energy, of a rotation, of the gaps, of a section; derivatives of an input
  int relative_to = ground;  ///< body from whose axes a rotation is seen

  auto operator<=>(const Quantity&) const = default;
};

/// The formulas of a mechanism: one graph, and the meanings of its leaves.
class Formulas {
 public:
  using Node = formula::Graph::Node;

  int add(Gauge gauge);
  const std::vector<Gauge>& gauges() const { return gauges_; }
  Gauge& gauge(int number) { return gauges_[static_cast<std::size_t>(number)]; }

  /// A table or another function of one variable, which all laws and outputs keep alive.
  const formula::Curve* add(std::shared_ptr<const formula::Curve> curve);
  /// The same for several variables.
  const formula::Function* add(std::shared_ptr<const formula::Function> function);
  using Curves = std::vector<std::shared_ptr<const void>>;
  const Curves& curves() const { return curves_; }

  formula::Graph& graph() { return graph_; }
  const formula::Graph& graph() const { return graph_; }
  Node leaf(const Quantity& quantity);
  const Quantity& quantity(int leaf) const { return quantities_[static_cast<std::size_t>(leaf)]; }
  /// ż of a state, made when it is needed first.
  void set_rate(int state, std::function<Node()> make) { rates_[state].make = std::move(make); }
  /// Throws InvalidInput when it depends on itself.
  Node rate_of_state(int state);
  /// d/dt. Throws InvalidInput when a leaf has no rate that follows from the motion.
  Node rate_of(Node node);

 private:
  formula::Graph graph_;
  std::vector<Quantity> quantities_;
  std::map<Quantity, int> numbers_;
  std::vector<Gauge> gauges_;
  struct Rate {
    std::function<Node()> make;
    Node node = formula::Graph::none;
    bool is_in_work = false;
  };
  std::map<int, Rate> rates_;
  Curves curves_;
};

/// A table as a function of anything.
class TableCurve final : public formula::Curve {
 public:
  explicit TableCurve(Signal signal) : signal_(std::move(signal)), kinks_(signal_.kinks()) {}
  double at(double x, int derivative) const override;
  std::span<const double> kinks() const override { return kinks_; }
  const Signal& signal() const { return signal_; }

 private:
  Signal signal_;
  std::vector<double> kinks_;
};

/// An element whose force is smooth only between the knots of some coordinates, see system::KinkedSystem.
class Kinked {
 public:
  virtual ~Kinked() = default;
  virtual int kink_count() const = 0;
  virtual void kinks(const Instant& at, double* coordinates) const = 0;
  virtual std::optional<double> knot_between(int kink, double from, double to) const = 0;
  virtual bool jumps() const = 0;
};

/// A formula as a force along a gauge or as the rate of a state, with exact derivatives.
class Law final : public Element, public Kinked {
 public:
  /// Whether a positive value shortens the gauge, as a spring does, or lengthens it, as an actuator does.
  enum class Sense { pulls, pushes };

  /// Along a gauge. Terms of the formula that depend on the gauge alone store energy; nothing does if it `drives`. V = ∫ τ dξ from
  /// x0, where the coordinate of the formula is zero, if nothing acts there, as with a spring; else from where the gauge
  /// `starts`. Throws InvalidInput when it reads more bodies than an element can see.
  static std::shared_ptr<const Law> along(std::string type, std::string name, Formulas& formulas, Formulas::Node value,
                                          int gauge, Sense sense, double x0, double starts, bool drives = false);
  struct Component {
    Formulas::Node value;
    int gauge;
  };
  static constexpr std::size_t max_components = 6;
  /// Along several gauges of the same two bodies at once; all that it does is work.
  static std::shared_ptr<const Law> driving(std::string type, std::string name, Formulas& formulas,
                                            const std::vector<Component>& components);
  /// The rate of a state.
  static std::shared_ptr<const Law> rate(std::string name, Formulas& formulas, Formulas::Node value, int state);

  Facets facets() const override;
  void add_force(const Instant& at, const Forces& out) const override;
  void linearize(const Instant& at, const Blocks& out) const override;
  void add_energy(const Instant& at, system::EnergyParts& parts) const override;
  void add_power(const Instant& at, system::Power& power) const override;
  double effort(const Instant& at) const override;
  bool reads_inputs() const;
  /// Whether both have the same formula, its numbers included; their gauges may differ.
  bool has_formula_of(const Law& other) const { return value_ == other.value_; }
  /// Of two laws with the same formula and nodes: whether their gauges show the same at this motion, slopes included.
  bool has_gauges_of(const Law& other, const Instant& at) const;
  /// Parts of the formula that are functions of time alone and have corners.
  std::vector<NamedSignal> signals() const override;
  system::Corner next_corner(double t, double until, double resolution) const override;
  /// Of time and inputs alone they are corners of time.
  int kink_count() const override { return static_cast<int>(kinks_.size()); }
  void kinks(const Instant& at, double* coordinates) const override;
  std::optional<double> knot_between(int kink, double from, double to) const override;
  bool jumps() const override { return jumps_; }

 private:
  struct Seen {  ///< a gauge by slots of this element
    std::shared_ptr<const Measure> measure;
    std::array<int, 2> slots{0, 1};
    int turns = -1;  ///< slot of its state
  };
  struct Reading {  ///< what a leaf of a program is
    Quantity::Kind kind = Quantity::Kind::time;
    int index = 0;       ///< in seen_, a slot, or an input
    int derivative = 0;  ///< of an input
  };
  struct Plan;
  Law(std::string type, std::string name, Formulas& formulas, Plan plan);

  void set_kinks(Formulas& formulas, const Plan& plan);
  std::vector<Reading> readings_of(const formula::Program& program, const Formulas& formulas, const Plan& plan) const;
  void read(const std::vector<Reading>& readings, const Instant& at, const BodyState* s, double* values) const;
  double value_of(const Instant& at, const BodyState* s, const Seen& seen) const;
  using Values = std::array<double, max_components>;
  Values evaluated(const formula::Program& program, const std::vector<Reading>& readings, const Instant& at,
                   const BodyState* s) const;
  double potential(double x) const;

  int bodies_ = 0;  ///< the first slots; states follow
  std::size_t components_ = 1;
  std::vector<Seen> seen_;             ///< the gauges it acts along first
  int state_ = -1;                     ///< slot of the state whose rate it is; -1: it is a force
  double factor_ = 1.0;                ///< of the wrench: 1 pulls, -1 pushes
  formula::Program value_, gradient_;  ///< gradient: the values, then the derivatives of each by the leaves of all
  std::vector<Reading> value_reads_, gradient_reads_;
  formula::Program stored_, spent_;  ///< parts of the value that store energy, and that do not
  std::vector<Reading> spent_reads_;
  bool stores_ = false, spends_ = false, dissipates_ = false;
  double x0_ = 0.0;
  std::vector<Signal> timed_;
  std::vector<const formula::Curve*> kinks_;  ///< null: the knot is zero
  bool jumps_ = false;
  formula::Program kink_program_;
  std::vector<Reading> kink_reads_;
  Formulas::Curves curves_;
};

/// What a type of law gets; the coordinate of the joint is x, its rate v.
struct LawParts {
  Formulas::Node x = formula::Graph::none, v = formula::Graph::none;
  Numbers numbers{};
  std::map<std::string, Formulas::Node, std::less<>> laws{};  ///< those that were given
  std::map<std::string, const formula::Curve*, std::less<>> tables{};
};

/// A force along the coordinate of a joint, made of formulas.
struct LawInfo {
  std::string_view name, summary;
  bool on_rotations = false, on_translations = false;
  std::vector<Field> numbers{};                                   ///< as in ForceInfo
  std::vector<Field> laws{};                                      ///< formulas; required unless optional
  std::vector<Field> tables{};                                    ///< required
  Formulas::Node (*build)(Formulas&, const LawParts&) = nullptr;  ///< positive drives the second body forwards
  bool drives = false;  ///< its power is work, even where it depends on the speed alone
};

const std::vector<LawInfo>& law_catalogue();
/// nullptr: none.
const LawInfo* find_law(std::string_view name);
std::vector<std::string> law_names();

/// What a mechanism reports in addition to its motion.
class Outputs {
 public:
  struct Entry {
    system::OutputInfo info;
    std::vector<Formulas::Node> nodes;  ///< one per component
  };
  Outputs(const Formulas& formulas, const std::vector<Entry>& entries);

  const std::vector<system::OutputInfo>& infos() const { return infos_; }
  const formula::Program& program() const { return program_; }
  /// What each leaf of the program is.
  const std::vector<Quantity>& quantities() const { return quantities_; }
  const std::vector<Gauge>& gauges() const { return gauges_; }

 private:
  std::vector<system::OutputInfo> infos_;
  formula::Program program_;
  std::vector<Quantity> quantities_;
  std::vector<Gauge> gauges_;
  Formulas::Curves curves_;
};

}  // namespace kreisel::multibody
