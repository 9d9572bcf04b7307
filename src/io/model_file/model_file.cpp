#include "io/model_file/model_file.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/spelling.hpp"
#include "base/text.hpp"
#include "io/json/field_json.hpp"
#include "io/model_file/colour.hpp"
#include "io/model_file/model_events.hpp"
#include "io/model_file/model_parameters.hpp"
#include "io/model_file/model_repeat.hpp"
#include "io/model_file/model_schema.hpp"
#include "io/spec/run_spec.hpp"
#include "kreisel/check.hpp"
#include "kreisel/error.hpp"
#include "lie/so3.hpp"
#include "multibody/names.hpp"
#include "multibody/rod.hpp"
#include "system/consistency.hpp"

namespace kreisel::io {
namespace {

using multibody::Body;
using multibody::ForceInfo;
using multibody::Frame;
using multibody::JointInfo;
using multibody::Shape;
using multibody::Signal;

/// Rotations and inertias are typed with few digits; they are refused beyond this, relative.
constexpr double typing_tolerance = 1e-6;
constexpr std::size_t max_problems = 20;
constexpr std::size_t max_elements = 1'000'000;

class ModelReader {
 public:
  ModelReader(const JsonSource& source, const ModelFileOptions& options) : source_(source), options_(options) {}

  ModelFile read() {
    const Json& file_root = source_.root();
    if (!is_object("", file_root, "a model: {\"bodies\": [...], ...}")) finish();
    check_keys("", file_root, names_of(model_object().keys));
    read_parameters(file_root);
    if (has_repeats(file_root))
      repeated_ = written_out(file_root, parameters_,
                              [&](std::string_view pointer, std::string_view message) { complain(pointer, message); });
    const Json& root = repeated_.root.is_null() ? file_root : repeated_.root;
    declare_names(root);
    if (const Json* name = find(root, "name")) name_text("/name", *name, mechanism_.name);
    if (const Json* gravity = find(root, "gravity")) vector("/gravity", *gravity, mechanism_.gravity);
    read_group(root);
    read_bodies(root);
    read_materials(root);
    read_sections(root);
    read_rods(root);
    read_joints(root, false);
    read_joints(root, true);
    read_inputs(root);
    define_functions();
    read_states(root);
    read_outputs(root);
    read_forces(root);
    read_events(root);
    place_joints();
    make_laws();
    make_outputs();
    make_events();
    double t_end = 1.0;
    read_simulation(root, t_end);
    finish();

    ModelFile file;
    auto assembly = std::make_shared<multibody::Assembly>(std::move(mechanism_));
    assembly = with_events(std::move(assembly));
    finish();
    file.model.name = assembly->mechanism().name;
    file.model.group = lie::name_of(assembly->common_group().value_or(assembly->mechanism().group));
    file.model.start = assembly->start(t_end);
    file.assembly = assembly;
    file.model.system = assembly;
    for (const std::string& name : parameters_.names().list()) file.parameters[name] = parameters_.value(name);
    for (const std::string& name : parameters_.unused())
      warn(below("/parameters", name), fmt::format("parameter '{}' is not used", name));
    file.model.warnings = warnings_;
    check_consistency(*assembly, file.model.start);
    finish();
    return file;
  }

 private:
  // ---- complaints

  void complain(std::string_view pointer, std::string_view message) {
    ++problem_count_;
    if (problems_.size() < max_problems) problems_.push_back(located(pointer, message));
  }
  /// In the file, where a repeated entry stands once.
  std::string located(std::string_view pointer, std::string_view message) const {
    const std::size_t name = pointer.find('/', 1),
                      end = name == std::string_view::npos ? name : pointer.find('/', name + 1);
    const auto origin = repeated_.origins.find(pointer.substr(0, end));
    if (origin == repeated_.origins.end()) return source_.located(pointer, message);
    const auto& [entry, index] = origin->second;
    const std::string rest(end == std::string_view::npos ? "" : pointer.substr(end));
    return source_.located(entry + rest,
                           index.empty() ? std::string(message) : fmt::format("with {}: {}", index, message));
  }
  void finish() const {
    if (problem_count_ == 0) return;
    std::string text = fmt::format("{}", fmt::join(problems_, "\n"));
    if (problem_count_ > problems_.size()) text += fmt::format("\n... and {} more", problem_count_ - problems_.size());
    throw InvalidInput(text);
  }
  /// What may be meant as it stands.
  void warn(std::string_view pointer, std::string_view message) {
    if (warnings_.size() < max_problems) warnings_.push_back(located(pointer, message));
  }
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

  static const Json* find(const Json& object, std::string_view key) {
    const auto found = object.find(std::string(key));
    return found == object.end() ? nullptr : &*found;
  }
  const Json* require(std::string_view pointer, const Json& object, std::string_view key, std::string_view expected) {
    const Json* value = find(object, key);
    if (value == nullptr) complain(pointer, fmt::format("the key \"{}\" is missing; expected {}", key, expected));
    return value;
  }
  bool is_object(std::string_view pointer, const Json& value, std::string_view expected) {
    if (value.is_object()) return true;
    complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  bool is_list(std::string_view pointer, const Json& value, std::string_view expected) {
    if (value.is_array()) return true;
    complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
    return false;
  }
  void check_keys(std::string_view pointer, const Json& object, const std::vector<std::string>& known) {
    for (const auto& item : object.items())
      if (std::find(known.begin(), known.end(), item.key()) == known.end())
        complain(below(pointer, item.key()), unknown_name("key", item.key(), known));
  }
  /// A formula of parameters as the number it is; false after a complaint.
  bool evaluated(std::string_view pointer, const Json& value, double& out) {
    return guarded(pointer, [&] {
      const formula::Formula formula(formula_in(value), names_.known());
      parameters_.note_use(formula);
      for (const formula::Formula::Name& name : formula.names())
        if (!parameters_.names().has(name.text))
          formula.refuse(name,
                         fmt::format("depends on {}; this number stays the same while the mechanism moves, expected a "
                                     "formula of parameters",
                                     name.text));
      out = multibody::Expression(formula, parameters_.values()).at(0.0).value;
      if (!std::isfinite(out))
        throw InvalidInput(fmt::format("is {}, which is {}; expected a finite number", shown(value), out));
    });
  }
  /// What stands for a field: its formula as a number. The null that replaces a formula with a mistake is complained
  /// of.
  bool resolved(std::string_view pointer, const Field& field, const Json& given, Json& out) {
    const FieldKind kind = kind_of(field);
    out = given;
    if (kind == FieldKind::numbers && given.is_array())
      for (std::size_t i = 0; i < given.size(); ++i) {
        double value = 0.0;
        if (!is_formula(given[i])) continue;
        if (!evaluated(below(pointer, i), given[i], value)) return false;
        out[i] = value;
      }
    if (!is_formula(given) || (kind != FieldKind::number && kind != FieldKind::whole && kind != FieldKind::numbers))
      return true;
    double value = 0.0;
    if (!evaluated(pointer, given, value)) return false;
    out = value;
    return true;
  }
  bool number(std::string_view pointer, const Json& value, double& out, std::string_view expected = "a number") {
    if (is_formula(value)) return evaluated(pointer, value, out);
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
      return false;
    }
    out = value.get<double>();
    return true;
  }
  bool text(std::string_view pointer, const Json& value, std::string& out) {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      complain(pointer, fmt::format("is {}, expected a text", shown(value)));
      return false;
    }
    out = value.get<std::string>();
    return true;
  }
  /// Names appear in single lines of results and messages.
  bool name_text(std::string_view pointer, const Json& value, std::string& out) {
    if (!text(pointer, value, out)) return false;
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    const auto found = std::find_if(out.begin(), out.end(), is_control);
    if (found == out.end()) return true;
    complain(pointer, fmt::format("has the control character 0x{:02x} at byte {}, expected a name on one line",
                                  static_cast<unsigned char>(*found), found - out.begin() + 1));
    return false;
  }
  bool numbers(std::string_view pointer, const Json& value, std::size_t count, double* out, std::string_view expected) {
    if (!value.is_array() || value.size() != count) {
      complain(pointer, fmt::format("is {}, expected {}", shown(value), expected));
      return false;
    }
    bool ok = true;
    for (std::size_t i = 0; i < count; ++i) ok = number(below(pointer, i), value[i], out[i]) && ok;
    return ok;
  }
  bool vector(std::string_view pointer, const Json& value, Vector3& out) {
    return numbers(pointer, value, 3, out.data(), "three numbers [x, y, z]");
  }
  bool direction(std::string_view pointer, const Json& value, Vector3& out) {
    if (!vector(pointer, value, out)) return false;
    if (const double length = out.norm(); length > 0.0 && std::isfinite(length)) {
      out /= length;
      return true;
    }
    complain(pointer, "is [0, 0, 0], expected a direction: any length but zero");
    return false;
  }
  /// `derivatives` that the equations need: none of a force, the first of a target, two of a driver.
  bool signal(std::string_view pointer, const Json& value, int derivatives, Signal& out) {
    if (!read_signal(pointer, value, derivatives, out)) return false;
    const multibody::Jet jet = out.at(0.0);
    const double parts[] = {jet.value, jet.rate, jet.curve};
    constexpr std::string_view names[] = {"the value", "the first derivative", "the second derivative"};
    for (int i = 0; i <= derivatives; ++i)
      if (!std::isfinite(parts[i])) {
        complain(
            pointer,
            fmt::format(
                "is {}, {} of which is not finite at t = 0; expected a function that the motion can follow from there",
                shown(value), names[i]));
        return false;
      }
    return true;
  }
  bool read_signal(std::string_view pointer, const Json& value, int derivatives, Signal& out) {
    constexpr std::string_view expected =
        "a number, a formula in t such as \"0.1*sin(2*pi*t)\" or {\"table\": [[t, value], ...]}";
    if (value.is_number()) {
      double constant = 0.0;
      if (!number(pointer, value, constant, expected)) return false;
      out = Signal(multibody::Expression(constant));
      return true;
    }
    if (value.is_string())
      return guarded(pointer, [&] {
        const formula::Formula formula(text_of(value), names_.known());
        parameters_.note_use(formula);
        for (const formula::Formula::Name& name : formula.names())
          if (name.text != "t" && !parameters_.names().has(name.text))
            formula.refuse(name, fmt::format("depends on {}; expected a function of t", name.text));
        out = Signal(multibody::Expression(formula, parameters_.values()));
      });
    if (!is_object(pointer, value, expected)) return false;
    check_keys(pointer, value, names_of(table_object().keys));
    // A driver needs accelerations: its table is twice continuously differentiable unless told otherwise. It may not be
    // held outside, where the velocity would jump; a run that leaves the table is refused.
    const bool is_driver = derivatives > 1;
    multibody::Interpolation interpolation =
        is_driver ? multibody::Interpolation::spline : multibody::Interpolation::monotone;
    if (const Json* given = find(value, "interpolation")) {
      const std::string here = below(pointer, "interpolation");
      std::string name;
      if (!text(here, *given, name) || !guarded(here, [&] { interpolation = multibody::interpolation_named(name); }))
        return false;
      if (is_driver && interpolation == multibody::Interpolation::linear) {
        complain(here, "is \"linear\", at whose points the velocity jumps; a driver takes spline or monotone");
        return false;
      }
    }
    const Json* table = require(pointer, value, "table", "a list of points [t, value]");
    const std::string at = below(pointer, "table");
    std::vector<std::pair<double, double>> points;
    if (table == nullptr || !table_points(at, *table, points)) return false;
    return guarded(at, [&] {
      out = Signal(points, interpolation, is_driver ? multibody::Outside::straight : multibody::Outside::hold);
    });
  }

  bool table_points(const std::string& at, const Json& table, std::vector<std::pair<double, double>>& points) {
    if (!is_list(at, table, "a list of points [t, value]")) return false;
    for (std::size_t i = 0; i < table.size(); ++i) {
      double point[2] = {0.0, 0.0};
      if (!numbers(below(at, i), table[i], 2, point, "a point [t, value]")) return false;
      points.push_back({point[0], point[1]});
    }
    return true;
  }
  static std::string_view text_of(const Json& formula) {
    return is_formula(formula) ? formula_in(formula) : std::string_view(formula.get_ref<const std::string&>());
  }

  // ---- names and laws

  using Node = multibody::Formulas::Node;
  static constexpr Node no_node = formula::Graph::none;
  using MakeNode = std::function<Node()>;

  multibody::Formulas& formulas() { return names_.formulas(); }

  /// The section as an object, empty when it is absent or wrong.
  const Json& section(const Json& root, std::string_view key) {
    static const Json empty = Json::object();
    const Json* given = find(root, key);
    return given == nullptr || !is_object(below("", key), *given, "{\"name\": ..., ...}") ? empty : *given;
  }

  /// Every name before the first formula is read, so that any may use any.
  void declare_names(const Json& root) {
    const auto declare = [&](const std::string& at, const std::string& name, const char* kind,
                             std::vector<std::string> components = {}) {
      return guarded(at, [&] { names_.declare(name, kind, std::move(components)); });
    };
    for (const std::string& name : parameters_.names().list()) declare(below("/parameters", name), name, "parameter");
    for (const auto& item : section(root, "inputs").items()) declare(below("/inputs", item.key()), item.key(), "input");
    for (const auto& item : section(root, "states").items()) declare(below("/states", item.key()), item.key(), "state");
    for (const auto& item : section(root, "outputs").items()) {
      const std::string at = below("/outputs", item.key());
      std::vector<std::string> components;
      if (item.value().is_object())
        for (const char* vector : {"position", "velocity", "acceleration", "rotation", "reaction"})
          if (item.value().contains(vector)) components = {"x", "y", "z"};
      declare(at, item.key(), "output", std::move(components));
    }
    for (const auto& [name, function] : options_.functions) declare("", name, "function");
    // Those of forces count where nothing else has them.
    if (const Json* forces = find(root, "forces"); forces != nullptr && forces->is_array())
      for (const Json& force : *forces) {
        const Json* name = force.is_object() ? find(force, "name") : nullptr;
        if (name == nullptr || !name->is_string() || names_.has(*name) ||
            !formula::problem_with_name(name->get<std::string>()).empty())
          continue;
        names_.declare(*name, "force");
        declared_forces_.insert(*name);
      }
    law_names_ = names_.known();
    for (const char* own : {"x", "v"}) law_names_.add(own);
  }

  /// Whether a value can only be a law: a formula that depends on more than t, or a table of something.
  bool is_law(const Json& value) {
    if (value.is_object()) return find(value, "of") != nullptr;
    if (!value.is_string()) return false;
    try {
      const formula::Formula formula(text_of(value), law_names_);
      return std::ranges::any_of(formula.names(), [&](const formula::Formula::Name& name) {
        return name.text != "t" && !parameters_.names().has(name.text);
      });
    } catch (const InvalidInput&) {
      return false;  // whoever reads it as a function of t says what is wrong
    }
  }

  /// A number, a formula or a table of x or of the formula "of"; false after a complaint. The node is made when all
  /// names are defined.
  bool law(const std::string& pointer, const Json& value, Node x, Node v, MakeNode& out) {
    if (value.is_number()) {
      double number = 0.0;
      if (!this->number(pointer, value, number)) return false;
      out = [this, number] { return formulas().graph().number(number); };
      return true;
    }
    if (value.is_string())
      return guarded(pointer, [&] {
        formula::Formula formula(text_of(value), law_names_);
        parameters_.note_use(formula);
        out = [this, formula = std::move(formula), x, v] { return names_.resolve(formula, x, v); };
      });
    if (!is_object(pointer, value, "a number, a formula such as \"=-200*x - 5*v\" or {\"table\": [[x, value], ...]}"))
      return false;
    check_keys(pointer, value, names_of(law_table_object().keys));
    const formula::Curve* curve = nullptr;
    if (!table_curve(pointer, value, curve)) return false;
    MakeNode of = [x] { return x; };
    const Json* given = find(value, "of");
    if (given == nullptr && x == no_node) {
      complain(pointer, "the key \"of\" is missing; expected the formula that the table depends on");
      return false;
    }
    if (given != nullptr && !law(below(pointer, "of"), *given, x, v, of)) return false;
    out = [this, curve, of] { return formulas().graph().curve(curve, 0, of()); };
    return true;
  }
  bool table_curve(const std::string& pointer, const Json& value, const formula::Curve*& out) {
    multibody::Interpolation interpolation = multibody::Interpolation::monotone;
    if (const Json* given = find(value, "interpolation")) {
      const std::string here = below(pointer, "interpolation");
      std::string name;
      if (!text(here, *given, name) || !guarded(here, [&] { interpolation = multibody::interpolation_named(name); }))
        return false;
    }
    const Json* table = require(pointer, value, "table", "a list of points [x, value]");
    const std::string at = below(pointer, "table");
    std::vector<std::pair<double, double>> points;
    if (table == nullptr || !table_points(at, *table, points)) return false;
    return guarded(at, [&] {
      out = formulas().add(
          std::make_shared<const multibody::TableCurve>(Signal(points, interpolation, multibody::Outside::hold)));
    });
  }

  /// A law of which everything but its formula is known.
  struct PendingLaw {
    std::string at, type, name;
    MakeNode value;
    int gauge = -1, state = -1;
    multibody::Law::Sense sense = multibody::Law::Sense::pushes;
    double x0 = 0.0;
  };

  /// The value of a gauge; an angle that counts its turns has a state for them from now on.
  Node value_of(int gauge, bool counts_turns, const std::string& name) {
    if (counts_turns && formulas().gauge(gauge).turns < 0) {
      const int node = add_state(name + " turns", 0.0);
      winding_.push_back({node, gauge});
      formulas().gauge(gauge).turns = node;
      const Node rate = formulas().leaf({multibody::Quantity::Kind::rate, gauge});
      formulas().set_rate(node, [rate] { return rate; });
      pending_.push_back({.at = "", .type = "state", .name = name + " turns", .value = {}, .state = node});
    }
    return formulas().leaf({multibody::Quantity::Kind::value, gauge});
  }
  Node rate_of(int gauge) { return formulas().leaf({multibody::Quantity::Kind::rate, gauge}); }
  int add_state(std::string name, double initial) {
    mechanism_.nodes.push_back({.name = std::move(name),
                                .factor = {lie::GroupId::rn, 1},
                                .kind = system::CoordinateKind::state,
                                .q0 = Vector::Constant(1, initial)});
    return static_cast<int>(mechanism_.bodies.size() + mechanism_.nodes.size()) - 1;
  }
  double initial_value(const multibody::Gauge& gauge) const {
    multibody::BodyState s[2];
    for (const int i : {0, 1})
      if (const int body = gauge.bodies[i]; body != multibody::ground) {
        s[i].x = mechanism_.bodies[body].position;
        s[i].R = mechanism_.bodies[body].rotation;
      }
    return gauge.measure->value(s);
  }

  /// The coordinate of a joint, -1 when it has none of that kind.
  int joint_gauge(int joint, bool is_rotation) {
    const auto known = joint_gauges_.find({joint, is_rotation});
    if (known != joint_gauges_.end()) return known->second;
    const multibody::JointPtr& of = mechanism_.joints[joint];
    int gauge = -1;
    for (const multibody::Joint::Sliding& sliding : of->slidings())
      if (sliding.is_rotation == is_rotation)
        gauge = formulas().add({.measure = {of, sliding.measure.get()}, .bodies = {of->bodies()[0], of->bodies()[1]}});
    joint_gauges_[{joint, is_rotation}] = gauge;
    return gauge;
  }
  bool joint_named(const std::string& at, const Json& value, int& out) {
    std::string name;
    if (!text(at, value, name)) return false;
    const auto found = joint_numbers_.find(name);
    if (found == joint_numbers_.end()) {
      std::vector<std::string> known;
      for (const multibody::JointPtr& j : mechanism_.joints)
        if (known.size() < 30) known.push_back(j->name());
      complain(at, unknown_name("joint", name, known));
      return false;
    }
    out = found->second;
    return true;
  }

  void read_inputs(const Json& root) {
    for (const auto& item : section(root, "inputs").items()) {
      const std::string at = below("/inputs", item.key());
      if (!names_.has(item.key())) continue;
      const Json* value = &item.value();
      std::string here = at;
      if (value->is_object() && find(*value, "table") == nullptr) {
        check_keys(at, *value, names_of(input_object().keys));
        value = require(at, item.value(), "value", "a number, a formula in t or a table");
        here = below(at, "value");
        if (value == nullptr) continue;
      }
      Signal signal;
      if (!this->signal(here, *value, 0, signal)) continue;
      system::InputInfo info{item.key(), "", ""};
      if (value != &item.value()) info = {item.key(), unit_of(at, item.value()), meaning_of(at, item.value(), "")};
      const int number = static_cast<int>(mechanism_.inputs.size());
      names_.define(item.key(), {formulas().leaf({multibody::Quantity::Kind::input, number})});
      mechanism_.inputs.push_back({std::move(info), std::move(signal)});
    }
  }

  void define_functions() {
    for (const auto& [name, user] : options_.functions)
      if (names_.has(name))
        names_.define(name, std::function<std::vector<Node>()>([this, &user = user] {
                        std::vector<Node> arguments{formulas().leaf({multibody::Quantity::Kind::time})};
                        for (const std::string& use : user.uses)
                          arguments.push_back(names_.resolve(formula::Formula(use, names_.known()), no_node, no_node));
                        return std::vector<Node>{formulas().graph().call(formulas().add(user.function),
                                                                         formula::Function::value, arguments)};
                      }));
  }

  void read_states(const Json& root) {
    for (const auto& item : section(root, "states").items()) {
      const std::string at = below("/states", item.key());
      const Json& value = item.value();
      if (!names_.has(item.key()) || !is_object(at, value, "a state {\"rate\": formula, \"initial\": number}"))
        continue;
      check_keys(at, value, names_of(state_object().keys));
      double initial = 0.0;
      if (const Json* given = find(value, "initial");
          given != nullptr && !number(below(at, "initial"), *given, initial))
        continue;
      const Json* rate = require(at, value, "rate", "its rate: a formula");
      if (rate == nullptr) continue;
      const int node = add_state(item.key(), initial);
      PendingLaw law_of_state{.at = below(at, "rate"), .type = "state", .name = item.key(), .value = {}, .state = node};
      names_.define(item.key(), {formulas().leaf({multibody::Quantity::Kind::state, node})});
      MakeNode make;
      if (!law(law_of_state.at, *rate, no_node, no_node, make)) continue;
      formulas().set_rate(node, make);
      pending_.push_back(std::move(law_of_state));
      system::OutputInfo info{item.key(), unit_of(at, value), meaning_of(at, value, "state"), {}};
      info.is_state = true;
      output_infos_.push_back(std::move(info));
    }
  }
  std::string unit_of(const std::string& at, const Json& value, std::string otherwise = "") {
    if (const Json* unit = find(value, "unit")) text(below(at, "unit"), *unit, otherwise);
    return otherwise;
  }
  std::string meaning_of(const std::string& at, const Json& value, std::string otherwise) {
    if (const Json* meaning = find(value, "meaning")) text(below(at, "meaning"), *meaning, otherwise);
    return otherwise;
  }

  // ---- outputs

  void read_outputs(const Json& root) {
    for (const auto& item : section(root, "outputs").items())
      if (names_.has(item.key())) read_output(below("/outputs", item.key()), item.key(), item.value());
  }

  void read_output(const std::string& at, const std::string& name, const Json& value) {
    for (const char* taken : {"q",
                              "a",
                              "h",
                              "lambda",
                              "eta",
                              "Phi",
                              "Bv",
                              "reaction",
                              "reaction_joint",
                              "energy",
                              "energy_parts",
                              "kinetic",
                              "potential",
                              "elastic",
                              "work",
                              "work_forces",
                              "work_drivers",
                              "dissipated",
                              "balance",
                              "order"})
      if (name == taken)
        return complain(at, fmt::format("'{}' is a column of every result; choose another name", name));
    if (body_numbers_.contains(name))
      return complain(
          at, fmt::format("'{}' is the name of a body, whose columns would have the same names; choose another name",
                          name));
    static const std::vector<std::string> kinds = output_kinds();
    const Json formula{{"formula", value}};
    const bool is_formula_alone = !value.is_object();
    const Json& object = is_formula_alone ? formula : value;
    if (is_formula_alone && !value.is_string() && !value.is_number())
      return complain(at, fmt::format("is {}, expected a formula or one of {{\"{}\": ...}}", shown(value),
                                      fmt::join(kinds, "\": ...}, {\"")));
    check_keys(at, object, names_of(output_object().keys));
    std::string kind;
    for (const std::string& known : kinds) {
      if (find(object, known) == nullptr) continue;
      if (!kind.empty())
        return complain(at, fmt::format("has both \"{}\" and \"{}\"; expected one of them", kind, known));
      kind = known;
    }
    if (kind.empty())
      return complain(at, fmt::format("says nothing to report; expected one of {}", fmt::join(kinds, ", ")));
    const std::string here = is_formula_alone ? at : below(at, kind);
    const Json& what = *find(object, kind);
    system::OutputInfo info{name, "", kind, {}};
    std::vector<Node> nodes;
    bool ok = false;
    using Quantity = multibody::Quantity;
    if (kind == "formula") {
      MakeNode make;
      ok = law(here, what, no_node, no_node, make);
      if (ok) names_.define(name, std::function<std::vector<Node>()>([make] { return std::vector<Node>{make()}; }));
    } else if (kind == "angle" || kind == "displacement") {
      int joint = 0;
      ok = joint_named(here, what, joint);
      const int gauge = ok ? joint_gauge(joint, kind == "angle") : -1;
      if (ok && gauge < 0) {
        complain(here, fmt::format("'{}' is a {} joint, which has no {}", mechanism_.joints[joint]->name(),
                                   mechanism_.joints[joint]->type(), kind));
        ok = false;
      }
      if (ok) nodes = {value_of(gauge, kind == "angle", mechanism_.joints[joint]->name())};
      info.unit = kind == "angle" ? "rad" : "m";
    } else if (kind == "distance") {
      std::vector<int> bodies;
      std::vector<Frame> frames;
      Placement layout;
      layout.place = JointInfo::Place::two_points;
      layout.place_is_optional = true;
      ok = two_bodies(here, what, bodies) && read_frames(at, object, layout, bodies, frames);
      if (ok && distance_between(bodies, frames) == 0.0) {
        complain(at, "the two points coincide at t = 0, where their distance has no rate");
        ok = false;
      }
      if (ok)
        nodes = {value_of(formulas().add({.measure = multibody::distance(0, frames[0].p, 1, frames[1].p),
                                          .bodies = {bodies[0], bodies[1]}}),
                          false, name)};
      info.unit = "m";
    } else if (kind == "position" || kind == "velocity" || kind == "acceleration") {
      ok = point_nodes(at, object, kind, here, what, nodes);
      info.unit = kind == "position" ? "m" : kind == "velocity" ? "m/s" : "m/s^2";
      info.components = {"x", "y", "z"};
    } else if (kind == "rotation") {
      int body = multibody::ground;
      ok = body_number(here, what, body);
      if (ok && body == multibody::ground) {
        complain(here, "is \"ground\", which does not turn; expected the name of a body");
        ok = false;
      }
      for (int i = 0; ok && i < 3; ++i) nodes.push_back(formulas().leaf({Quantity::Kind::rotation, body, i}));
      info.unit = "rad";
      info.components = {"x", "y", "z"};
    } else if (kind == "reaction") {
      int joint = 0, first = 0;
      ok = joint_named(here, what, joint);
      if (const Json* part = find(object, "part")) {
        std::string word;
        ok = text(below(at, "part"), *part, word) && ok;
        if (ok && word != "force" && word != "torque")
          complain(below(at, "part"), unknown_name("part", word, {"force", "torque"})), ok = false;
        first = word == "torque" ? 3 : 0;
      }
      for (int i = 0; ok && i < 3; ++i) nodes.push_back(formulas().leaf({Quantity::Kind::reaction, joint, first + i}));
      info.unit = first == 0 ? "N" : "N m";
      info.components = {"x", "y", "z"};
    } else if (kind == "energy") {
      std::string word;
      ok = text(here, what, word);
      const std::vector<std::string> parts{"kinetic", "potential", "elastic", "total"};
      const auto found = std::ranges::find(parts, word);
      if (ok && found == parts.end()) complain(here, unknown_name("energy", word, parts)), ok = false;
      const int part = static_cast<int>(found - parts.begin());
      formula::Graph& graph = formulas().graph();
      Node sum = graph.number(0.0);
      for (int i = 0; ok && i < 3; ++i)
        if (part == i || part == 3)
          sum = graph.apply(formula::Operation::add, sum, formulas().leaf({Quantity::Kind::energy, 0, i}));
      nodes = {sum};
      info.unit = "J";
    } else if (kind == "force") {
      std::string force;
      ok = text(here, what, force);
      if (ok) effort_outputs_.push_back({here, name, force});  // forces are read later
    }
    if (!ok) return;
    if (!nodes.empty()) names_.define(name, std::move(nodes));
    info.unit = is_formula_alone ? info.unit : unit_of(at, object, info.unit);
    info.meaning = is_formula_alone ? "formula" : meaning_of(at, object, kind);
    output_infos_.push_back(std::move(info));
  }

  bool two_bodies(const std::string& at, const Json& value, std::vector<int>& bodies) {
    if (!value.is_array() || value.size() != 2) {
      complain(at, fmt::format("is {}, expected the names of two bodies, \"ground\" for the world", shown(value)));
      return false;
    }
    bodies.assign(2, multibody::ground);
    bool ok = true;
    for (std::size_t i = 0; i < 2; ++i) ok = body_number(below(at, i), value[i], bodies[i]) && ok;
    if (ok && bodies[0] == bodies[1]) {
      complain(at, "names the same body twice, expected two different ones");
      return false;
    }
    return ok;
  }

  /// Coordinates of a point of a body in the axes of another one, or their derivatives.
  bool point_nodes(const std::string& at, const Json& object, const std::string& kind, const std::string& here,
                   const Json& what, std::vector<Node>& nodes) {
    std::vector<int> body{multibody::ground};
    int other = multibody::ground;
    if (!body_number(here, what, body[0])) return false;
    if (const Json* given = find(object, "relative_to");
        given != nullptr && !body_number(below(at, "relative_to"), *given, other))
      return false;
    if (body[0] == other) {
      complain(here, "is the body it is relative to, expected another one");
      return false;
    }
    Placement layout;
    layout.place = JointInfo::Place::one_point;
    layout.place_is_optional = true;
    layout.bodies = 1;
    std::vector<Frame> frames;
    if (!read_frames(at, object, layout, body, frames)) return false;
    using Kind = multibody::Quantity::Kind;
    for (int i = 0; i < 3; ++i) {
      const int gauge =
          formulas().add({.measure = multibody::offset(0, Vector3::Zero(), Vector3::Unit(i), 1, frames[0].p),
                          .bodies = {other, body[0]}});
      nodes.push_back(formulas().leaf({kind == "position"   ? Kind::value
                                       : kind == "velocity" ? Kind::rate
                                                            : Kind::acceleration,
                                       gauge}));
    }
    return true;
  }

  /// Forces that have no law of their own are known by what they are.
  void define_forces() {
    for (std::size_t i = 0; i < mechanism_.forces.size(); ++i) {
      const std::string& name = mechanism_.forces[i]->name();
      efforts_[name] = formulas().leaf({multibody::Quantity::Kind::effort, static_cast<int>(i)});
      if (declared_forces_.contains(name)) names_.define(name, {efforts_[name]});
    }
    for (const auto& [at, output, force] : effort_outputs_) {
      const auto known = efforts_.find(force);
      if (known != efforts_.end()) {
        names_.define(output, {known->second});
      } else if (law_forces_.contains(force)) {
        names_.define(output, std::function<std::vector<Node>()>(
                                  [make = law_forces_.at(force)] { return std::vector<Node>{make()}; }));
      } else {
        std::vector<std::string> list;
        for (const auto& [known_name, node] : efforts_) list.push_back(known_name);
        for (const auto& [known_name, node] : law_forces_) list.push_back(known_name);
        complain(at, unknown_name("force", force, list));
      }
    }
  }

  void make_laws() {
    define_forces();
    for (const auto& [node, gauge] : winding_) {
      double turned = initial_value(formulas().gauge(gauge));
      for (const auto& [joint, value] : start_of_turns_)
        if (const auto own = joint_gauges_.find({joint, true}); own != joint_gauges_.end() && own->second == gauge)
          turned = multibody::unwrapped(turned, value);
      mechanism_.nodes[static_cast<std::size_t>(node) - mechanism_.bodies.size()].q0 = Vector::Constant(1, turned);
    }
    if (problem_count_ > 0) return;  // names may lack a meaning
    for (const PendingLaw& law : pending_)
      guarded(law.at, [&] {
        const Node value = law.state >= 0 ? formulas().rate_of_state(law.state) : law.value();
        mechanism_.elements.push_back(law.state >= 0 ? multibody::Law::rate(law.name, formulas(), value, law.state)
                                                     : multibody::Law::along(law.type, law.name, formulas(), value,
                                                                             law.gauge, law.sense, law.x0));
      });
    for (const std::string& name : names_.unused_inputs())
      warn(below("/inputs", name), fmt::format("input '{}' is not used", name));
  }

  void make_outputs() {
    if (problem_count_ > 0 || output_infos_.empty()) return;
    std::vector<multibody::Outputs::Entry> entries;
    for (system::OutputInfo& info : output_infos_)
      guarded(below(info.is_state ? "/states" : "/outputs", info.name), [&] {
        entries.push_back({info, names_.nodes_of(info.name)});
      });
    if (problem_count_ > 0) return;
    guarded("/outputs", [&] { mechanism_.outputs = std::make_shared<const multibody::Outputs>(formulas(), entries); });
    mechanism_.rates = multibody::rates_of(formulas(), entries);
  }

  // ---- events

  struct PendingEvent {
    std::string at;
    MakeNode when;
    ModelEvent event;
  };

  void read_events(const Json& root) {
    const Json& events = list(root, "events");
    for (std::size_t i = 0; i < events.size(); ++i) read_event(below("/events", i), events[i]);
  }

  void read_event(const std::string& at, const Json& value) {
    if (!is_object(at, value, "an event {\"name\": ..., \"when\": formula, ...}")) return;
    check_keys(at, value, names_of(event_object().keys));
    PendingEvent pending;
    pending.at = below(at, "when");
    std::set<std::string>& taken = event_names_;
    pending.event.name = element_name(at, value, fmt::format("event{}", taken.size() + 1), taken);
    const Json* when = require(at, value, "when", "a formula whose zero is the event");
    if (when == nullptr || !law(pending.at, *when, no_node, no_node, pending.when)) return;
    if (const Json* given = find(value, "direction")) {
      const std::vector<std::string> known{"either", "rising", "falling"};
      std::string word;
      if (!text(below(at, "direction"), *given, word)) return;
      const auto found = std::ranges::find(known, word);
      if (found == known.end()) return complain(below(at, "direction"), unknown_name("direction", word, known));
      constexpr system::Direction directions[] = {system::Direction::either, system::Direction::rising,
                                                  system::Direction::falling};
      pending.event.direction = directions[found - known.begin()];
    }
    double after = 1.0;
    if (const Json* given = find(value, "after");
        given != nullptr &&
        (!number(below(at, "after"), *given, after) || after < 1.0 || after != std::round(after) || after > 1e9))
      return complain(
          below(at, "after"),
          fmt::format("is {}, expected how often it happens before the run stops: 1, 2, ...", shown(*given)));
    if (const Json* action = find(value, "action");
        action != nullptr && !read_action(below(at, "action"), *action, static_cast<int>(after), pending.event))
      return;
    if (find(value, "after") != nullptr && pending.event.terminal_after == 0)
      return complain(below(at, "after"), "counts events before a stop; expected \"action\": \"stop\"");
    pending_events_.push_back(std::move(pending));
  }

  bool read_action(const std::string& at, const Json& value, int after, ModelEvent& out) {
    const std::vector<std::string> known{"record", "stop", "impact", "switch"};
    if (value.is_string()) {
      const std::string word = value;
      if (word == "stop") out.terminal_after = after;
      if (word == "record" || word == "stop") return true;
      complain(at, word == "impact" || word == "switch"
                       ? fmt::format("is \"{}\", expected {{\"{}\": {{...}}}}", word, word)
                       : unknown_name("action", word, known));
      return false;
    }
    if (!is_object(at, value,
                   "\"record\", \"stop\", {\"impact\": {\"restitution\": e}} or {\"switch\": {\"off\": [...], \"on\": "
                   "[...]}}"))
      return false;
    check_keys(at, value, {"impact", "switch"});
    if (value.size() != 1) {
      complain(at, fmt::format("has {} keys, expected one action", value.size()));
      return false;
    }
    if (const Json* impact = find(value, "impact")) {
      const std::string here = below(at, "impact");
      out.action = ModelEvent::Action::impact;
      if (!is_object(here, *impact, "{\"restitution\": e}")) return false;
      check_keys(here, *impact, {"restitution"});
      const Json* given = find(*impact, "restitution");
      if (given != nullptr && !number(below(here, "restitution"), *given, out.restitution)) return false;
      if (!(out.restitution >= 0.0 && out.restitution <= 1.0)) {
        complain(below(here, "restitution"), fmt::format("is {}, expected a number from 0 to 1", out.restitution));
        return false;
      }
      return true;
    }
    const Json* change = find(value, "switch");
    const std::string here = below(at, "switch");
    if (change == nullptr || !is_object(here, *change, "{\"off\": [...], \"on\": [...]}")) return false;
    check_keys(here, *change, {"off", "on"});
    out.action = ModelEvent::Action::switches;
    for (const char* key : {"off", "on"}) {
      const Json* names = find(*change, key);
      const std::string where = below(here, key);
      if (names == nullptr) continue;
      if (!is_list(where, *names, "a list of names of joints and forces")) return false;
      for (std::size_t i = 0; i < names->size(); ++i) {
        std::string name;
        if (!text(below(where, i), (*names)[i], name)) return false;
        (std::string_view(key) == "off" ? out.off : out.on).push_back(name);
        switched_.push_back({below(where, i), name});
      }
    }
    return true;
  }

  void make_events() {
    if (problem_count_ > 0) return;
    for (PendingEvent& pending : pending_events_)
      guarded(pending.at, [&] {
        const Node node = pending.when();
        for (const int leaf : formulas().graph().leaves_of(node))
          if (formulas().quantity(leaf).kind == multibody::Quantity::Kind::acceleration)
            throw InvalidInput("depends on an acceleration, which events do not know");
        pending.event.when = std::make_shared<const multibody::Outputs>(
            formulas(), std::vector<multibody::Outputs::Entry>{{{}, {node}}});
        events_.push_back(pending.event);
      });
  }

  /// With what starts inactive switched off, and with its events.
  std::shared_ptr<multibody::Assembly> with_events(std::shared_ptr<multibody::Assembly> all) {
    for (const auto& [at, name] : switched_) guarded(at, [&, &name = name] { all->element_named(name); });
    if (problem_count_ > 0) return all;
    std::shared_ptr<multibody::Assembly> start = all;
    if (!inactive_.empty()) {
      start = all->without(inactive_);
      start->set_result_layout(all);
    }
    if (!events_.empty()) set_events(*start, std::make_shared<const std::vector<ModelEvent>>(events_));
    return start;
  }

  // ---- initial values of joints

  struct Placed {
    std::string at;
    int joint = 0;
    std::optional<double> value, rate;
  };

  void read_initial(const std::string& at, const Json& value, int joint) {
    const Json* initial = find(value, "initial");
    if (initial == nullptr) return;
    const std::string here = below(at, "initial");
    if (!is_object(here, *initial, "{\"value\": ..., \"rate\": ...}")) return;
    const bool turns = mechanism_.joints[joint]->slidings()[0].is_rotation;
    std::vector<std::string> known{"value", "rate"};
    if (turns) known.insert(known.end(), {"value_deg", "rate_deg"});
    check_keys(here, *initial, known);
    Placed placed{here, joint, {}, {}};
    const auto read = [&](const char* key, double factor, std::optional<double>& out) {
      const Json* given = find(*initial, key);
      double number = 0.0;
      if (given == nullptr || !this->number(below(here, key), *given, number)) return;
      if (out) return complain(below(here, key), "is given twice, in radians and in degrees");
      out = factor * number;
      if (factor == 1.0 && turns && std::string_view(key) == "value")
        if (const std::string doubt = suspicion_of_degrees(number, "rad"); !doubt.empty())
          warn(below(here, key), doubt);
    };
    read("value", 1.0, placed.value);
    read("rate", 1.0, placed.rate);
    if (turns) {
      read("value_deg", M_PI / 180.0, placed.value);
      read("rate_deg", M_PI / 180.0, placed.rate);
    }
    placed_.push_back(placed);
  }

  /// Joints from the ground outwards, by the order in which they are listed; a joint that closes a loop carries
  /// nothing.
  void place_joints() {
    if (placed_.empty() || problem_count_ > 0) return;
    const std::size_t bodies = mechanism_.bodies.size();
    std::vector<int> carried_by(bodies, -1), order;  // joint by body; joints outwards
    std::vector<bool> is_reached(bodies, false);
    const auto reached = [&](int body) { return body == multibody::ground || is_reached[body]; };
    const auto spread = [&] {
      for (bool grows = true; grows;) {
        grows = false;
        for (std::size_t j = 0; j < mechanism_.joints.size(); ++j) {
          if (mechanism_.joints[j]->is_driver()) continue;
          const int a = mechanism_.joints[j]->bodies()[0], b = mechanism_.joints[j]->bodies()[1];
          if (reached(a) == reached(b)) continue;
          const int outer = reached(a) ? b : a;
          is_reached[outer] = true;
          carried_by[outer] = static_cast<int>(j);
          order.push_back(static_cast<int>(j));
          grows = true;
        }
      }
    };
    spread();
    for (std::size_t b = 0; b < bodies; ++b)
      if (!is_reached[b]) is_reached[b] = true, spread();
    std::map<int, std::size_t> depth;
    for (std::size_t i = 0; i < order.size(); ++i) depth[order[i]] = i;
    for (const Placed& placed : placed_)
      if (!depth.contains(placed.joint))
        complain(placed.at,
                 fmt::format("'{}' closes a loop; give the initial value to another joint of the loop and use {}",
                             mechanism_.joints[placed.joint]->name(), spelled("assemble")));
    if (problem_count_ > 0) return;
    std::ranges::sort(placed_, {}, [&](const Placed& placed) { return depth.at(placed.joint); });
    for (const bool are_rates : {false, true})
      for (const Placed& placed : placed_)
        if (are_rates ? placed.rate.has_value() : placed.value.has_value()) move_outer(placed, carried_by, are_rates);
    for (const Placed& placed : placed_)
      if (placed.value) start_of_turns_[placed.joint] = *placed.value;
  }

  /// The bodies that a joint carries, as one.
  void move_outer(const Placed& placed, const std::vector<int>& carried_by, bool is_rate) {
    const multibody::Joint& joint = *mechanism_.joints[placed.joint];
    const multibody::Joint::Sliding& sliding = joint.slidings()[0];
    const int first = joint.bodies()[0], second = joint.bodies()[1];
    const int outer = second != multibody::ground && carried_by[second] == placed.joint ? second : first;
    multibody::BodyState s[2];
    for (const int i : {0, 1})
      if (const int body = joint.bodies()[i]; body != multibody::ground) {
        const Body& b = mechanism_.bodies[body];
        s[i] = {b.position, b.rotation, b.velocity, b.angular_velocity};
      }
    const Vector3 axis = s[1].R * joint.frame().E.col(2), pivot = s[1].point(joint.frame().p);
    const double sign = outer == second ? 1.0 : -1.0;
    const double change =
        sign * (is_rate ? *placed.rate - sliding.measure->rate(s) : *placed.value - sliding.measure->value(s));
    const Matrix3 turn = sliding.is_rotation ? about(axis, change) : Matrix3(Matrix3::Identity());
    std::vector<bool> is_carried(mechanism_.bodies.size(), false);
    is_carried[outer] = true;
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t b = 0; b < is_carried.size(); ++b) {
        if (is_carried[b] || carried_by[b] < 0) continue;
        const std::vector<int>& ends = mechanism_.joints[carried_by[b]]->bodies();
        const int inner = ends[0] == static_cast<int>(b) ? ends[1] : ends[0];
        if (inner != multibody::ground && is_carried[inner]) is_carried[b] = grows = true;
      }
    }
    for (std::size_t b = 0; b < is_carried.size(); ++b) {
      if (!is_carried[b]) continue;
      Body& body = mechanism_.bodies[b];
      if (is_rate && sliding.is_rotation) {
        body.velocity += change * axis.cross(body.position - pivot);
        body.angular_velocity += body.rotation.transpose() * (change * axis);
      } else if (is_rate) {
        body.velocity += change * axis;
      } else if (sliding.is_rotation) {
        body.position = pivot + turn * (body.position - pivot);
        body.rotation = lie::rotation_matrix(lie::quaternion_from(Matrix3(turn * body.rotation)).data());
        body.velocity = turn * body.velocity;
      } else {
        body.position += change * axis;
      }
    }
  }

  // ---- rotations

  bool rotation(std::string_view pointer, const Json& value, Matrix3& out) {
    constexpr std::string_view expected =
        "one of {\"axis\": [x, y, z], \"angle_deg\": a}, {\"quaternion\": [w, x, y, z]}, {\"matrix\": [[..], [..], "
        "[..]]}, "
        "{\"euler_deg\": [a, b, c], \"order\": \"zxz\"}";
    if (!is_object(pointer, value, expected)) return false;
    if (find(value, "quaternion") != nullptr) return rotation_from_quaternion(pointer, value, out);
    if (find(value, "matrix") != nullptr) return rotation_from_matrix(pointer, value, out);
    if (find(value, "euler_deg") != nullptr || find(value, "euler") != nullptr)
      return rotation_from_euler(pointer, value, out);
    if (find(value, "axis") != nullptr) return rotation_about_axis(pointer, value, out);
    const std::size_t before = problem_count_;
    check_keys(pointer, value, rotation_keys({}));
    if (problem_count_ == before) complain(pointer, fmt::format("is incomplete, expected {}", expected));
    return false;
  }
  /// Of the ways to give a rotation that have one of these keys; none: of all.
  static std::vector<std::string> rotation_keys(const std::vector<std::string>& marks) {
    std::vector<std::string> keys;
    for (const ObjectInfo& object : rotation_objects()) {
      const std::vector<std::string> names = names_of(object.keys);
      const auto has = [&](const std::string& mark) { return std::ranges::count(names, mark) > 0; };
      if (!marks.empty() && std::ranges::none_of(marks, has)) continue;
      for (const std::string& name : names)
        if (std::ranges::count(keys, name) == 0) keys.push_back(name);
    }
    return keys;
  }
  /// `name` in radians or `name`_deg in degrees, exactly one of them.
  bool angles(std::string_view pointer, const Json& value, std::string_view name, std::size_t count, double* out) {
    const std::string in_degrees = std::string(name) + "_deg";
    const Json *radians = find(value, name), *degrees = find(value, in_degrees);
    if ((radians == nullptr) == (degrees == nullptr)) {
      complain(pointer, fmt::format("expected either \"{}\" [rad] or \"{}\" [degrees]", name, in_degrees));
      return false;
    }
    const Json& given = radians != nullptr ? *radians : *degrees;
    const std::string at = below(pointer, radians != nullptr ? std::string(name) : in_degrees);
    if (count == 1 ? !number(at, given, *out) : !numbers(at, given, count, out, "three angles")) return false;
    for (std::size_t i = 0; radians != nullptr && i < count; ++i)
      if (const std::string doubt = suspicion_of_degrees(out[i], "rad"); !doubt.empty()) warn(at, doubt);
    if (degrees != nullptr)
      for (std::size_t i = 0; i < count; ++i) out[i] *= M_PI / 180.0;
    return true;
  }
  bool rotation_about_axis(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"axis"}));
    Vector3 axis;
    double angle = 0.0;
    const bool has_axis = direction(below(pointer, "axis"), *find(value, "axis"), axis);
    if (!angles(pointer, value, "angle", 1, &angle) || !has_axis) return false;
    out = about(axis, angle);
    return true;
  }
  bool rotation_from_quaternion(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"quaternion"}));
    double wxyz[4];
    const std::string at = below(pointer, "quaternion");
    if (!numbers(at, *find(value, "quaternion"), 4, wxyz, "four numbers [w, x, y, z]")) return false;
    Eigen::Vector4d q(wxyz[1], wxyz[2], wxyz[3], wxyz[0]);
    if (!(std::abs(q.norm() - 1.0) <= typing_tolerance)) {
      complain(at, fmt::format("has the norm {:.8g}, expected a unit quaternion [w, x, y, z]", q.norm()));
      return false;
    }
    q.normalize();
    out = lie::rotation_matrix(q.data());
    return true;
  }
  bool rotation_from_matrix(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"matrix"}));
    const std::string at = below(pointer, "matrix");
    Matrix3 R;
    if (!matrix(at, *find(value, "matrix"), R)) return false;
    const double defect = (R.transpose() * R - Matrix3::Identity()).cwiseAbs().maxCoeff();
    if (!(defect <= typing_tolerance)) {
      complain(at, fmt::format("is not orthogonal: R^T R differs from the identity by {:.2g}", defect));
      return false;
    }
    if (R.determinant() < 0.0) {
      complain(at, "is a reflection: its determinant is -1, expected 1");
      return false;
    }
    out = lie::rotation_matrix(lie::quaternion_from(R).data());
    return true;
  }
  bool rotation_from_euler(std::string_view pointer, const Json& value, Matrix3& out) {
    check_keys(pointer, value, rotation_keys({"euler", "euler_deg"}));
    double angle[3];
    if (!angles(pointer, value, "euler", 3, angle)) return false;
    std::string order = "zxz";
    if (const Json* given = find(value, "order"); given != nullptr && !text(below(pointer, "order"), *given, order))
      return false;
    const bool is_order = order.size() == 3 && order.find_first_not_of("xyz") == std::string::npos &&
                          order[0] != order[1] && order[1] != order[2];
    if (!is_order) {
      complain(below(pointer, "order"),
               fmt::format("is \"{}\", expected three of x, y, z without equal neighbours: zxz, xyz, ...; "
                           "rotations follow each other about the turned axes",
                           order));
      return false;
    }
    out.setIdentity();
    for (int i = 0; i < 3; ++i) out = (out * about(Vector3::Unit(order[i] - 'x'), angle[i])).eval();
    return true;
  }
  static Matrix3 about(const Vector3& axis, double angle) {
    // exp takes any angle; whole turns first, for accuracy.
    const lie::SO3::Point q = lie::SO3::exp(std::remainder(angle, 2.0 * M_PI) * axis);
    return lie::rotation_matrix(q.data());
  }
  bool matrix(std::string_view pointer, const Json& value, Matrix3& out) {
    if (!value.is_array() || value.size() != 3) {
      complain(pointer, fmt::format("is {}, expected three rows of three numbers", shown(value)));
      return false;
    }
    bool ok = true;
    for (int i = 0; i < 3; ++i) {
      Vector3 row = Vector3::Zero();
      ok = numbers(below(pointer, i), value[i], 3, row.data(), "a row of three numbers") && ok;
      out.row(i) = row;
    }
    return ok;
  }

  // ---- the model

  static std::vector<std::string> body_groups() { return {"r3xso3", "se3"}; }
  /// A group that bodies may have.
  bool group(std::string_view pointer, const Json& value, lie::GroupId& out) {
    std::string name;
    if (!text(pointer, value, name)) return false;
    const std::vector<std::string> known = body_groups();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      complain(pointer, unknown_name("group", name, known));
      return false;
    }
    out = lie::group_named(name);
    return true;
  }
  void read_group(const Json& root) {
    if (const Json* given = find(root, "group")) group("/group", *given, mechanism_.group);
    if (options_.group.empty()) return;
    const std::string& name = options_.group;
    const std::vector<std::string> known = body_groups();
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InvalidInput(fmt::format("a mechanism runs on r3xso3 or se3; '{}' was asked for", name));
    mechanism_.group = lie::group_named(name);
  }

  /// The list under `key`, empty when it is absent or wrong.
  const Json& list(const Json& root, std::string_view key) {
    static const Json empty = Json::array();
    const Json* given = find(root, key);
    if (given == nullptr || !is_list(below("", key), *given, "a list of objects {...}")) return empty;
    if (given->size() > max_elements) {
      complain(below("", key), fmt::format("has {} entries, at most {} are read", given->size(), max_elements));
      return empty;
    }
    return *given;
  }

  void read_bodies(const Json& root) {
    const bool has_rods = find(root, "rods") != nullptr;
    if (!has_rods &&
        require("", root, "bodies", "a list of bodies: [{\"name\": ..., \"mass\": ..., \"inertia\": ...}]") == nullptr)
      return;
    const std::size_t before = problem_count_;
    const Json& bodies = list(root, "bodies");
    if (bodies.empty() && problem_count_ == before && !has_rods)
      complain("/bodies", "is empty, expected at least one body");
    for (std::size_t i = 0; i < bodies.size(); ++i) read_body(below("/bodies", i), bodies[i]);
  }

  void read_body(const std::string& at, const Json& value) {
    Body body;
    body.name = fmt::format("body{}", mechanism_.bodies.size() + 1);
    if (is_object(at, value, "a body {\"name\": ..., \"mass\": ..., \"inertia\": ..., \"position\": ...}")) {
      static const std::vector<std::string> known = names_of(body_object().keys);
      check_keys(at, value, known);
      if (const Json* name = find(value, "name")) {
        if (name_text(below(at, "name"), *name, body.name) && body.name == "ground")
          complain(below(at, "name"), "is \"ground\", which always means the fixed world; choose another name");
      }
      lie::GroupId own_group = mechanism_.group;
      if (const Json* given = find(value, "group"); given != nullptr && group(below(at, "group"), *given, own_group))
        body.group = own_group;
      if (const Json* mass = require(at, value, "mass", "the mass [kg]");
          mass != nullptr && number(below(at, "mass"), *mass, body.mass))
        if (body.mass < 0.0)
          complain(below(at, "mass"), fmt::format("is {}, expected a mass that is not negative [kg]", body.mass));
      if (const Json* inertia =
              require(at, value, "inertia", "three, six or 3x3 numbers about the centre of mass [kg m^2]"))
        read_inertia(below(at, "inertia"), *inertia, body.inertia);
      if (const Json* x = require(at, value, "position", "the centre of mass [x, y, z] [m]"))
        vector(below(at, "position"), *x, body.position);
      if (const Json* r = find(value, "rotation")) rotation(below(at, "rotation"), *r, body.rotation);
      if (const Json* u = find(value, "velocity")) vector(below(at, "velocity"), *u, body.velocity);
      if (const Json* w = find(value, "angular_velocity"))
        vector(below(at, "angular_velocity"), *w, body.angular_velocity);
      if (const Json* shape = find(value, "shape")) read_shape(below(at, "shape"), *shape, body);
      if (const Json* shapes = find(value, "shapes");
          shapes != nullptr && is_list(below(at, "shapes"), *shapes, "a list of shapes"))
        for (std::size_t i = 0; i < shapes->size(); ++i) read_shape(below(below(at, "shapes"), i), (*shapes)[i], body);
    }
    if (!body_numbers_.insert({body.name, static_cast<int>(mechanism_.bodies.size())}).second)
      complain(below(at, "name"),
               fmt::format("\"{}\" is the name of an earlier body; every body needs its own", body.name));
    mechanism_.bodies.push_back(std::move(body));
  }

  void read_inertia(const std::string& at, const Json& value, Matrix3& J) {
    constexpr std::string_view expected =
        "three diagonal entries, six [xx, yy, zz, xy, xz, yz] or a symmetric 3x3 matrix [kg m^2]";
    if (!value.is_array() || (value.size() != 3 && value.size() != 6))
      return complain(at, fmt::format("is {}, expected {}", shown(value), expected));
    if (value.size() == 3 && value[0].is_array()) {
      if (!matrix(at, value, J)) return;
      const double size = J.cwiseAbs().maxCoeff();
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < i; ++j)
          if (!(std::abs(J(i, j) - J(j, i)) <= 1e-9 * size))
            return complain(at, fmt::format("is not symmetric: row {} column {} is {}, row {} column {} is {}", i + 1,
                                            j + 1, J(i, j), j + 1, i + 1, J(j, i)));
      J = (0.5 * (J + J.transpose())).eval();
    } else {
      double e[6] = {0, 0, 0, 0, 0, 0};
      if (!numbers(at, value, value.size(), e, expected)) return;
      J << e[0], e[3], e[4], e[3], e[1], e[5], e[4], e[5], e[2];
    }
    if (const std::string problem = multibody::problem_with_inertia(J); !problem.empty()) complain(at, problem);
  }

  void read_shape(const std::string& at, const Json& value, Body& body) {
    constexpr Shape::Kind kinds[] = {Shape::Kind::box, Shape::Kind::sphere, Shape::Kind::cylinder, Shape::Kind::capsule,
                                     Shape::Kind::cone};
    if (!is_object(at, value, "a shape such as {\"cylinder\": {\"radius\": 0.05, \"length\": 1, \"axis\": [0, 1, 0]}}"))
      return;
    check_keys(at, value, names_in(shape_objects()));
    for (std::size_t i = 0; i < shape_objects().size(); ++i) {
      const ObjectInfo& form = shape_objects()[i];
      const Json* data = find(value, form.name);
      const std::string here = below(at, form.name);
      if (data == nullptr || !is_object(here, *data, "the data of the shape {...}")) continue;
      Shape shape;
      shape.kind = kinds[i];
      check_keys(here, *data, names_of(form.keys));
      for (const Key& key : form.keys) {
        if (!key.is_required) continue;
        const std::string& name = key.field.name;
        const Json* given = require(here, *data, name, name == "size" ? "the three edges [m]" : "a length [m]");
        if (given == nullptr) continue;
        if (name == "size") {
          if (vector(below(here, name), *given, shape.size) && !(shape.size.minCoeff() > 0.0))
            complain(below(here, name), "has an edge that is not positive");
        } else {
          double& target = name == "radius" ? shape.radius : shape.length;
          if (number(below(here, name), *given, target) && !(target > 0.0))
            complain(below(here, name), fmt::format("is {}, expected a positive length [m]", target));
        }
      }
      if (const Json* axis = find(*data, "axis")) direction(below(here, "axis"), *axis, shape.axis);
      if (const Json* centre = find(*data, "at")) vector(below(here, "at"), *centre, shape.at);
      if (const Json* color = find(*data, "color");
          color != nullptr && text(below(here, "color"), *color, shape.color) && !is_css_colour(shape.color))
        complain(below(here, "color"), fmt::format("is {}, expected a colour as in CSS: \"#1f77b4\", \"rgb(31, 119, "
                                                   "180)\" or a name such as \"steelblue\"",
                                                   shown(*color)));
      body.shapes.push_back(std::move(shape));
    }
  }

  // ---- joints and forces

  // ---- rods

  struct RodNodes {
    int first = 0, elements = 0;
    double length = 0.0;
  };
  struct NamedSection {
    multibody::RodSection section;
    multibody::Shape shape;  ///< of a piece, but for its length
  };

  /// A name that is not taken yet.
  bool new_name(const std::string& at, const Json& value, std::string_view kind,
                bool is_taken(const ModelReader&, const std::string&), std::string& out) {
    const Json* given = require(at, value, "name", fmt::format("the name of the {}", kind));
    if (given == nullptr || !name_text(below(at, "name"), *given, out)) return false;
    if (!is_taken(*this, out)) return true;
    complain(below(at, "name"),
             fmt::format("\"{}\" is the name of an earlier {}; every name must be unique", out, kind));
    return false;
  }
  static std::vector<Field> fields_of(const ObjectInfo& object) {
    std::vector<Field> fields;
    for (const Key& key : object.keys)
      if (key.form.empty() && !key.is_list && kind_of(key.field) != FieldKind::text) fields.push_back(key.field);
    return fields;
  }

  void read_materials(const Json& root) {
    const Json& materials = list(root, "materials");
    for (std::size_t i = 0; i < materials.size(); ++i) {
      const std::string at = below("/materials", i);
      if (!is_object(at, materials[i], "a material {\"name\": ..., \"young\": ..., \"density\": ...}")) continue;
      check_keys(at, materials[i], names_of(material_object().keys));
      std::string name;
      multibody::Numbers n;
      const bool has_name = new_name(
          at, materials[i], "material",
          [](const ModelReader& r, const std::string& x) { return r.materials_.contains(x); }, name);
      if (!read_numbers(at, materials[i], fields_of(material_object()), n) || !has_name) continue;
      materials_[name] = {multibody::Material{n.number("young"), n.number("poisson"), n.number("density")},
                          n.number("damping_time")};
    }
  }

  void read_sections(const Json& root) {
    const Json& sections = list(root, "sections");
    for (std::size_t i = 0; i < sections.size(); ++i) {
      const std::string at = below("/sections", i);
      if (!is_object(at, sections[i], "a section {\"name\": ..., \"material\": ..., \"circle\": {...}}")) continue;
      check_keys(at, sections[i], names_of(section_object().keys));
      std::string name;
      NamedSection section;
      const bool has_name = new_name(
          at, sections[i], "section",
          [](const ModelReader& r, const std::string& x) { return r.sections_.contains(x); }, name);
      if (read_section(at, sections[i], section) && has_name) sections_[name] = section;
    }
  }

  bool read_section(const std::string& at, const Json& value, NamedSection& out) {
    const Json *circle = find(value, "circle"), *rectangle = find(value, "rectangle"),
               *stiffness = find(value, "stiffness");
    if ((circle != nullptr) + (rectangle != nullptr) + (stiffness != nullptr) != 1) {
      complain(at, "expected one of \"circle\", \"rectangle\" (with a \"material\") and \"stiffness\"");
      return false;
    }
    multibody::Numbers n;
    if (!read_numbers(at, value, fields_of(section_object()), n)) return false;
    double damping_time = 0.0;
    const bool has_shape = stiffness == nullptr;
    for (const char* key : {"mass_per_length", "inertia_per_length"})
      if ((find(value, key) != nullptr) == has_shape) {
        complain(at, has_shape ? fmt::format("\"{}\" follows from the shape; leave it out", key)
                               : fmt::format("the key \"{}\" is missing; expected with \"stiffness\"", key));
        return false;
      }
    if (has_shape) {
      const Json* given = require(at, value, "material", "the name of a material");
      std::string name;
      if (given == nullptr || !text(below(at, "material"), *given, name)) return false;
      const auto material = materials_.find(name);
      if (material == materials_.end()) {
        std::vector<std::string> known;
        for (const auto& item : materials_) known.push_back(item.first);
        complain(below(at, "material"), unknown_name("material", name, known));
        return false;
      }
      damping_time = material->second.second;
      out.shape.kind = circle != nullptr ? multibody::Shape::Kind::cylinder : multibody::Shape::Kind::box;
      if (circle != nullptr) {
        const std::string here = below(at, "circle");
        if (!is_object(here, *circle, "a circle {\"radius\": ...}")) return false;
        check_keys(here, *circle, names_of(circle_object().keys));
        multibody::Numbers radii;
        if (!read_numbers(here, *circle, fields_of(circle_object()), radii)) return false;
        const double outside = radii.number("radius"), inside = radii.number("inner_radius");
        if (!(inside < outside)) {
          complain(below(here, "inner_radius"),
                   fmt::format("is {}, must be smaller than the radius {}", inside, outside));
          return false;
        }
        out.section = multibody::circular_section(material->second.first, outside, inside);
        out.shape.radius = outside;
      } else {
        double edges[2];
        if (!numbers(below(at, "rectangle"), *rectangle, 2, edges, "two edges [y, z]")) return false;
        if (!(edges[0] > 0.0 && edges[1] > 0.0)) {
          complain(below(at, "rectangle"), "has an edge that is not positive");
          return false;
        }
        out.section = multibody::rectangular_section(material->second.first, edges[0], edges[1]);
        out.shape.size = {0.0, edges[0], edges[1]};
      }
    } else {
      Matrix3 inertia = Matrix3::Zero();
      Vector3 moments;
      if (find(value, "material") != nullptr) {
        complain(below(at, "material"), "stands beside \"stiffness\", which says all about elasticity; leave it out");
        return false;
      }
      multibody::Matrix6 K;
      if (!section_stiffness(below(at, "stiffness"), *stiffness, K) ||
          !vector(below(at, "inertia_per_length"), *find(value, "inertia_per_length"), moments))
        return false;
      inertia.diagonal() = moments;
      if (const std::string problem = multibody::problem_with_inertia(inertia); !problem.empty()) {
        complain(below(at, "inertia_per_length"), problem);
        return false;
      }
      out.section.beam.compliance = K.inverse();
      out.section.mass_per_length = n.number("mass_per_length");
      out.section.inertia_per_length = inertia;
      out.shape.kind = multibody::Shape::Kind::cylinder;
    }
    out.section.beam.damping_time = n.has_number("damping_time") ? n.number("damping_time") : damping_time;
    return true;
  }

  bool section_stiffness(const std::string& at, const Json& value, multibody::Matrix6& K) {
    constexpr std::string_view expected = "six numbers [EA, GA_y, GA_z, GJ, EI_y, EI_z] or a 6x6 matrix";
    if (!value.is_array() || value.size() != 6) {
      complain(at, fmt::format("is {}, expected {}", shown(value), expected));
      return false;
    }
    if (value[0].is_array()) {
      for (std::size_t i = 0; i < 6; ++i) {
        double row[6];
        if (!numbers(below(at, i), value[i], 6, row, "a row of six numbers")) return false;
        for (int j = 0; j < 6; ++j) K(static_cast<int>(i), j) = row[j];
      }
    } else {
      double diagonal[6];
      if (!numbers(at, value, 6, diagonal, expected)) return false;
      K = Eigen::Map<multibody::Vector6>(diagonal).asDiagonal();
    }
    if (!((K - K.transpose()).norm() <= typing_tolerance * K.norm())) {
      complain(at, "is not symmetric");
      return false;
    }
    K = (0.5 * (K + K.transpose())).eval();
    const double smallest =
        Eigen::SelfAdjointEigenSolver<multibody::Matrix6>(K, Eigen::EigenvaluesOnly).eigenvalues()[0];
    if (!(smallest > 0.0))
      complain(at, fmt::format("is not positive definite: its smallest eigenvalue is {:.6g}", smallest));
    return smallest > 0.0;
  }

  void read_rods(const Json& root) {
    const Json& rods = list(root, "rods");
    if (rods.empty() && mechanism_.bodies.empty() && problem_count_ == 0)
      complain("/rods", "is empty, and there are no bodies");
    for (std::size_t i = 0; i < rods.size(); ++i) read_rod(below("/rods", i), rods[i]);
  }

  void read_rod(const std::string& at, const Json& value) {
    if (!is_object(at, value, "a rod {\"name\": ..., \"section\": ..., \"path\": {...}}")) return;
    check_keys(at, value, names_of(rod_object().keys));
    multibody::Rod rod;
    multibody::Numbers n;
    bool ok = new_name(
        at, value, "rod", [](const ModelReader& r, const std::string& x) { return r.rods_.contains(x); }, rod.name);
    ok = read_numbers(at, value, fields_of(rod_object()), n) && ok;
    if (ok && rod.name.find('@') != std::string::npos) {
      complain(below(at, "name"), "has an \"@\", which stands before a place on the rod");
      ok = false;
    }
    std::string section_name;
    const Json* given = require(at, value, "section", "the name of a section");
    ok = given != nullptr && text(below(at, "section"), *given, section_name) && ok;
    const auto section = sections_.find(section_name);
    if (ok && section == sections_.end()) {
      std::vector<std::string> known;
      for (const auto& item : sections_) known.push_back(item.first);
      complain(below(at, "section"), unknown_name("section", section_name, known));
      ok = false;
    }
    for (const auto& [key, out] :
         {std::pair{"velocity", &rod.velocity}, std::pair{"angular_velocity", &rod.angular_velocity}})
      if (const Json* v = find(value, key)) ok = vector(below(at, key), *v, *out) && ok;
    const Json* path = require(at, value, "path", "{\"line\": [from, to]} or {\"arc\": [from, on the way, to]}");
    if (!ok || path == nullptr || !read_path(at, value, *path, static_cast<int>(n.number("elements")), rod)) return;
    rod.section = section->second.section;
    rod.section.beam.law = n.word("law") == "magnus" ? multibody::SectionLaw::magnus : multibody::SectionLaw::constant;
    rod.is_straight_unloaded = n.word("reference") == "straight";
    rod.prestress[0] = n.number("tension");
    if (n.word("shear") == "rigid") {
      if (rod.section.beam.law == multibody::SectionLaw::constant)
        return complain(below(at, "shear"), "is rigid, which the law \"constant\" cannot represent; take \"magnus\"");
      rod.section.beam.compliance.middleRows<2>(1).setZero();
      rod.section.beam.compliance.middleCols<2>(1).setZero();
    }
    const int elements = static_cast<int>(rod.nodes.size()) - 1, first = static_cast<int>(mechanism_.bodies.size());
    if (!guarded(at, [&] { multibody::add_rod(mechanism_, rod); })) return;
    multibody::Shape shape = section->second.shape;
    if (shape.kind == multibody::Shape::Kind::cylinder && !(shape.radius > 0.0)) shape.radius = rod.length / 200.0;
    shape.axis = Vector3::UnitX();
    shape.length = shape.size[0] = rod.length / elements;
    for (int i = first; i <= first + elements; ++i) {
      Body& body = mechanism_.bodies[i];
      body.shapes.push_back(shape);
      if (!body_numbers_.insert({body.name, i}).second)
        return complain(
            below(at, "name"),
            fmt::format("a node of the rod would have the name \"{}\" of a body; give another name", body.name));
    }
    rods_[rod.name] = {first, elements, rod.length};
  }

  bool read_path(const std::string& at, const Json& value, const Json& path, int elements, multibody::Rod& rod) {
    const std::string here = below(at, "path");
    constexpr std::string_view expected = "{\"line\": [from, to]} or {\"arc\": [from, on the way, to]}";
    if (!is_object(here, path, expected)) return false;
    check_keys(here, path, names_of(path_object().keys));
    const bool is_arc = find(path, "arc") != nullptr;
    if (path.size() != 1 || (!is_arc && find(path, "line") == nullptr)) {
      complain(here, fmt::format("is {}, expected {}", shown(path), expected));
      return false;
    }
    const std::string key = is_arc ? "arc" : "line", place = below(here, key);
    const Json& given = *find(path, key);
    const std::size_t count = is_arc ? 3 : 2;
    Vector3 points[3];
    if (!given.is_array() || given.size() != count) {
      complain(place, fmt::format("is {}, expected {} points [x, y, z]", shown(given), is_arc ? "three" : "two"));
      return false;
    }
    for (std::size_t i = 0; i < count; ++i)
      if (!vector(below(place, i), given[i], points[i])) return false;
    const Vector3 chord = points[count - 1] - points[0];
    if (!(chord.norm() > 0.0)) {
      complain(place, "begins and ends at the same point");
      return false;
    }
    Vector3 up = Vector3::UnitZ();
    const Json* given_up = find(value, "up");
    if (given_up != nullptr && !direction(below(at, "up"), *given_up, up)) return false;
    if (!is_arc) {
      if (given_up == nullptr && chord.cross(up).norm() < 1e-6 * chord.norm()) up = Vector3::UnitY();
      rod.length = chord.norm();
      return guarded(given_up != nullptr ? below(at, "up") : here,
                     [&] { rod.nodes = multibody::line(points[0], points[1], elements, up); });
    }
    return guarded(given_up != nullptr ? below(at, "up") : place, [&] {
      rod.length = multibody::arc(points, elements, given_up != nullptr ? &up : nullptr, rod.nodes);
    });
  }

  /// "NAME@start", "NAME@0.3", "NAME@1.2m".
  bool node_number(const std::string& at, const std::string& name, int& out) {
    const std::size_t split = name.find('@');
    const std::string rod_name = name.substr(0, split);
    std::string place = name.substr(split + 1);
    const auto rod = rods_.find(rod_name);
    if (rod == rods_.end()) {
      std::vector<std::string> known;
      for (const auto& item : rods_) known.push_back(item.first);
      complain(at, unknown_name("rod", rod_name, known));
      return false;
    }
    const auto& [first, elements, length] = rod->second;
    double part = 0.0;
    if (place == "end") {
      part = 1.0;
    } else if (place != "start") {
      const bool is_length = place.ends_with('m');
      if (is_length) place.pop_back();
      const std::optional<double> number = number_in(place);
      if (!number) {
        complain(at, fmt::format(
                         "is \"{}\", expected {}@start, {}@end, a part of the length as {}@0.5 or a length as {}@1.2m",
                         name, rod_name, rod_name, rod_name, rod_name));
        return false;
      }
      part = is_length ? *number / length : *number;
    }
    if (!(part >= 0.0 && part <= 1.0 + 1e-12)) {
      complain(at, fmt::format("is \"{}\", which lies outside the rod of length {:.6g} m", name, length));
      return false;
    }
    const double node = part * elements;
    if (!(std::abs(node - std::round(node)) < 1e-6)) {
      complain(at, fmt::format("is \"{}\", which lies between two nodes of {} equal elements; choose \"elements\" so "
                               "that a node is there, "
                               "such as {}",
                               name, elements, elements_with_node_at(part, elements)));
      return false;
    }
    out = first + static_cast<int>(std::lround(node));
    return true;
  }
  static int elements_with_node_at(double part, int elements) {
    int n = elements;
    while (n < 100 * elements && !(std::abs(part * n - std::round(part * n)) < 1e-6)) ++n;
    return n;
  }
  /// The first of the bodies that is a node of a rod; else the ground.
  int node_of_rod(const std::vector<int>& bodies) const {
    for (const int body : bodies)
      for (const auto& [name, rod] : rods_)
        if (body >= rod.first && body <= rod.first + rod.elements) return body;
    return multibody::ground;
  }

  bool body_number(const std::string& at, const Json& value, int& out) {
    std::string name;
    if (!text(at, value, name)) return false;
    if (name == "ground") {
      out = multibody::ground;
      return true;
    }
    const auto found = body_numbers_.find(name);
    if (found == body_numbers_.end() && name.find('@') != std::string::npos) return node_number(at, name, out);
    if (found == body_numbers_.end()) {
      std::vector<std::string> known{"ground"};
      for (const auto& [rod, nodes] : rods_)
        for (const char* end : {"@start", "@end"}) known.push_back(rod + end);
      for (const Body& body : mechanism_.bodies)
        if (known.size() < 30) known.push_back(body.name);
      complain(at, unknown_name("body", name, known));
      return false;
    }
    out = found->second;
    return true;
  }
  bool read_between(const std::string& at, const Json& value, std::vector<int>& bodies) {
    const Json* between = require(at, value, "between", "the names of two bodies, \"ground\" for the world");
    if (between == nullptr) return false;
    const std::string here = below(at, "between");
    if (!between->is_array() || between->size() != 2) {
      complain(here, fmt::format("is {}, expected the names of two bodies, \"ground\" for the world", shown(*between)));
      return false;
    }
    bodies.assign(2, multibody::ground);
    bool ok = true;
    for (std::size_t i = 0; i < 2; ++i) ok = body_number(below(here, i), (*between)[i], bodies[i]) && ok;
    if (ok && bodies[0] == bodies[1]) {
      complain(here, "names the same body twice, expected two different ones");
      return false;
    }
    return ok;
  }

  /// World coordinates at t = 0 to those of a body.
  Frame in_body(int body, const Vector3& p, const Matrix3& E) const {
    if (body == multibody::ground) return {p, E};
    const Body& b = mechanism_.bodies[body];
    return {b.rotation.transpose() * (p - b.position), b.rotation.transpose() * E};
  }
  Frame centre_of(int body) const {
    return body == multibody::ground ? Frame{} : in_body(body, mechanism_.bodies[body].position, Matrix3::Identity());
  }
  Vector3 in_world(int body, const Vector3& p) const {
    return body == multibody::ground ? p
                                     : Vector3(mechanism_.bodies[body].position + mechanism_.bodies[body].rotation * p);
  }

  /// Axes along `z`; "x_axis" of `value`, if given, says where the first one points.
  bool read_axes(const std::string& at, const Json& value, const Vector3& z, Matrix3& E) {
    const Json* given = find(value, "x_axis");
    if (given == nullptr) {
      E = multibody::axes_along(z);
      return true;
    }
    Vector3 x;
    const std::string here = below(at, "x_axis");
    return direction(here, *given, x) && guarded(here, [&] { E = multibody::axes_along(z, x); });
  }

  /// "at", "axis", "axes" in world coordinates, or "frames" in those of the bodies.
  bool read_frames(const std::string& at, const Json& value, const Placement& layout, const std::vector<int>& bodies,
                   std::vector<Frame>& frames) {
    if (find(value, "frames") != nullptr) return read_body_frames(at, value, layout, bodies, frames);
    const std::size_t n = bodies.size();
    std::vector<Vector3> points(n, Vector3::Zero());
    std::vector<Matrix3> axes(n, Matrix3::Identity());
    bool ok = true;
    switch (layout.place) {
      case JointInfo::Place::none:
        break;
      case JointInfo::Place::one_point: {
        const Json* given = layout.place_is_optional || node_of_rod(bodies) != multibody::ground
                                ? find(value, "at")
                                : require(at, value, "at", "the point [x, y, z] at t = 0 [m]");
        if (given != nullptr)
          ok = vector(below(at, "at"), *given, points[0]);
        else if (layout.place_is_optional)
          points[0] = in_world(bodies[0], centre_of(bodies[0]).p);
        else if (const int node = node_of_rod(bodies); node != multibody::ground)
          points[0] = mechanism_.bodies[node].position;
        else
          ok = false;
        std::fill(points.begin(), points.end(), points[0]);
        break;
      }
      case JointInfo::Place::two_points: {
        constexpr std::string_view expected = "two points [[x, y, z], [x, y, z]], one on each body, at t = 0 [m]";
        const Json* given = layout.place_is_optional ? find(value, "at") : require(at, value, "at", expected);
        if (given == nullptr) {
          ok = layout.place_is_optional;
          for (std::size_t i = 0; i < n; ++i) points[i] = in_world(bodies[i], centre_of(bodies[i]).p);
        } else if (!given->is_array() || given->size() != 2) {
          complain(below(at, "at"), fmt::format("is {}, expected {}", shown(*given), expected));
          ok = false;
        } else {
          for (std::size_t i = 0; i < 2; ++i) ok = vector(below(below(at, "at"), i), (*given)[i], points[i]) && ok;
        }
        break;
      }
    }
    if (layout.axes == 1) {
      const Json* given =
          layout.axis_is_optional ? find(value, "axis") : require(at, value, "axis", "the axis [x, y, z] at t = 0");
      Vector3 axis = Vector3::UnitZ();
      if (given != nullptr)
        ok = direction(below(at, "axis"), *given, axis) && ok;
      else
        ok = layout.axis_is_optional && ok;
      ok = ok && read_axes(at, value, axis, axes[0]);
      std::fill(axes.begin(), axes.end(), axes[0]);
    } else if (layout.axes == 2) {
      constexpr std::string_view expected = "two axes [[x, y, z], [x, y, z]], one of each body, at t = 0";
      const Json* given = require(at, value, "axes", expected);
      if (given == nullptr || !given->is_array() || given->size() != 2) {
        if (given != nullptr) complain(below(at, "axes"), fmt::format("is {}, expected {}", shown(*given), expected));
        ok = false;
      } else {
        for (std::size_t i = 0; i < 2; ++i) {
          Vector3 axis = Vector3::UnitZ();
          ok = direction(below(below(at, "axes"), i), (*given)[i], axis) && ok;
          axes[i] = multibody::axes_along(axis);
        }
      }
    }
    if (!ok) return false;
    frames.clear();
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 2); ++i)
      frames.push_back(in_body(bodies[i], points[i], axes[i]));
    if (n == 3)  // the carrier
      for (std::size_t i = 0; i < 2; ++i) frames.push_back(in_body(bodies[2], points[i], axes[i]));
    return true;
  }

  bool read_body_frames(const std::string& at, const Json& value, const Placement& layout,
                        const std::vector<int>& bodies, std::vector<Frame>& frames) {
    const std::string here = below(at, "frames");
    const Json& given = *find(value, "frames");
    for (const std::string& key : names_of(place_keys(layout)))
      if (find(value, key) != nullptr) {
        complain(below(at, key), fmt::format("cannot be combined with \"frames\"; give either \"frames\" (body "
                                             "coordinates) or \"{}\" (world, t = 0)",
                                             key));
        return false;
      }
    if (bodies.size() == 3) {
      complain(here, "joints with a carrier are given by \"axes\" in world coordinates at t = 0");
      return false;
    }
    if (!given.is_array() || given.size() != bodies.size()) {
      complain(here, fmt::format("is {}, expected one frame {{\"at\": [x, y, z], \"axis\": [x, y, z]}} per body",
                                 shown(given)));
      return false;
    }
    bool ok = true;
    frames.assign(bodies.size(), {});
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::string place = below(here, i);
      if (!is_object(place, given[i], "a frame {\"at\": [x, y, z], \"axis\": [x, y, z]} in body coordinates")) {
        ok = false;
        continue;
      }
      static const std::vector<std::string> known = names_of(frame_object().keys);
      check_keys(place, given[i], known);
      if (const Json* p = find(given[i], "at")) ok = vector(below(place, "at"), *p, frames[i].p) && ok;
      const Json *axis = find(given[i], "axis"), *turned = find(given[i], "rotation");
      const Json* x_axis = find(given[i], "x_axis");
      if ((axis != nullptr || x_axis != nullptr) && turned != nullptr) {
        complain(
            place,
            fmt::format("has both \"{}\" and \"rotation\"; give one, the third axis of the rotation is the joint axis",
                        axis != nullptr ? "axis" : "x_axis"));
        ok = false;
      } else if (axis != nullptr || (x_axis != nullptr && (layout.axes == 0 || layout.axis_is_optional))) {
        Vector3 z = Vector3::UnitZ();
        ok = (axis == nullptr || direction(below(place, "axis"), *axis, z)) &&
             read_axes(place, given[i], z, frames[i].E) && ok;
      } else if (turned != nullptr) {
        ok = rotation(below(place, "rotation"), *turned, frames[i].E) && ok;
      } else if (layout.axes > 0 && !layout.axis_is_optional) {
        complain(place, "the key \"axis\" is missing; expected the joint axis in body coordinates");
        ok = false;
      }
    }
    return ok;
  }

  std::string element_name(const std::string& at, const Json& value, const std::string& fallback,
                           std::set<std::string>& taken) {
    std::string name = fallback;
    const Json* given = find(value, "name");
    if (given != nullptr && name_text(below(at, "name"), *given, name)) {
      if (!taken.insert(name).second)
        complain(below(at, "name"),
                 fmt::format("\"{}\" is the name of an earlier one; every name must be unique", name));
      return name;
    }
    // Counting on from the last number: a million unnamed joints between the same bodies stay quick.
    int& number = last_numbers_[fallback];
    while (!taken.insert(name).second) name = fmt::format("{} {}", fallback, number = std::max(number + 1, 2));
    return name;
  }
  std::string body_label(int body) const { return body == multibody::ground ? "ground" : mechanism_.bodies[body].name; }

  void read_joints(const Json& root, bool are_drivers) {
    const std::string_view key = are_drivers ? "drivers" : "joints";
    const Json& joints = list(root, key);
    for (std::size_t i = 0; i < joints.size(); ++i) read_joint(below(below("", key), i), joints[i], are_drivers);
  }

  void read_joint(const std::string& at, const Json& value, bool is_driver) {
    if (!is_object(at, value, "an object {\"type\": ..., \"between\": [..., ...], ...}")) return;
    std::string type;
    const Json* given_type =
        require(at, value, "type", fmt::format("one of {}", fmt::join(multibody::joint_names(is_driver), ", ")));
    if (given_type == nullptr || !text(below(at, "type"), *given_type, type)) return;
    const JointInfo* info = nullptr;
    if (!guarded(below(at, "type"), [&] { info = &multibody::find_joint(type, is_driver); })) return;

    const Placement layout = placement_of(*info);
    check_keys(at, value, known_keys(*info));
    multibody::JointSpec spec;
    bool ok = read_between(at, value, spec.bodies);
    if (info->has_teeth) ok = read_teeth(at, value, spec) && ok;
    if (info->has_carrier) ok = read_carrier(at, value, spec) && ok;
    ok = read_numbers(at, value, info->numbers, spec.numbers) && ok;
    if (info->is_driver) {
      const Json* driven = require(at, value, "value", "a number, a formula in t or a table");
      ok = driven != nullptr && signal(below(at, "value"), *driven, 2, spec.value) && ok;
    }
    // Frames depend on bodies, which may be the mistake already reported.
    ok = ok && read_frames(at, value, layout, spec.bodies, spec.frames);
    if (!ok) return;
    if (info->axes_are_perpendicular && !are_perpendicular(at, value, spec)) return;
    if (info->axes_swing && !guarded(at, [&] { swing_second_frame(spec); })) return;
    if (info->place == JointInfo::Place::two_points) {
      const double length = distance_between(spec.bodies, spec.frames);
      if (length == 0.0)
        return complain(
            at, "the two points coincide at t = 0; a distance needs two different points, a spherical joint one");
      if (find_field(info->numbers, "length") != nullptr) spec.numbers.numbers.insert({"length", length});
    }
    spec.name = element_name(
        at, value, fmt::format("{} {}-{}", type, body_label(spec.bodies[0]), body_label(spec.bodies[1])), joint_names_);
    joint_numbers_.insert({spec.name, static_cast<int>(mechanism_.joints.size())});
    joint_places_.push_back(at);
    mechanism_.joints.push_back(make_joint(*info, spec));
    if (info->has_coordinate) read_initial(at, value, static_cast<int>(mechanism_.joints.size()) - 1);
    read_active(at, value, spec.name);
  }

  void swing_second_frame(multibody::JointSpec& spec) const {
    const auto rotation = [&](int i) -> Matrix3 {
      return spec.bodies[i] == multibody::ground ? Matrix3(Matrix3::Identity())
                                                 : mechanism_.bodies[spec.bodies[i]].rotation;
    };
    spec.frames[1].E = multibody::swung(rotation(0), spec.frames[0].E, rotation(1), spec.frames[1].E);
  }

  /// Of a universal joint. --assemble can mend a small angle, but no parallel axes: there the row has no gradient.
  bool are_perpendicular(const std::string& at, const Json& value, const multibody::JointSpec& spec) {
    const auto axis = [&](int i) -> Vector3 {
      return spec.bodies[i] == multibody::ground
                 ? Vector3(spec.frames[i].E.col(2))
                 : Vector3(mechanism_.bodies[spec.bodies[i]].rotation * spec.frames[i].E.col(2));
    };
    const double cosine = axis(0).dot(axis(1));
    if (std::abs(cosine) <= (options_.accepts_gaps ? 0.99 : 1e-8)) return true;
    const std::string here = below(at, find(value, "frames") != nullptr ? "frames" : "axes");
    complain(
        here,
        fmt::format("has axes {:.6g} degrees apart at t = 0; a {} joint needs perpendicular axes, one of each body",
                    std::acos(std::clamp(cosine, -1.0, 1.0)) * 180.0 / M_PI, find(value, "type")->get<std::string>()));
    return false;
  }

  /// Of a type of joint or force, made once: files have many of them.
  template <class Info>
  const std::vector<std::string>& known_keys(const Info& info) {
    const auto [at, is_new] = known_keys_.try_emplace(&info);
    if (is_new) at->second = names_of(object_of(info).keys);
    return at->second;
  }

  /// Numbers and words of an element: given, or their defaults.
  bool read_numbers(const std::string& at, const Json& value, const std::vector<Field>& fields,
                    multibody::Numbers& out) {
    bool ok = true;
    for (const Field& field : fields) {
      const bool is_word = kind_of(field) == FieldKind::word;
      if (is_word) out.words[field.name] = field.words.front();
      const Json* given = find(value, field.name);
      if (given != nullptr) {
        ok = guarded(below(at, field.name),
                     [&] {
                       Json number;
                       if (!resolved(below(at, field.name), field, *given, number)) {
                         ok = false;
                         return;
                       }
                       const Value read = is_word ? value_in(field, *given) : value_with_meaning(field, number);
                       if (is_word)
                         out.words[field.name] = std::get<std::string>(read);
                       else
                         out.numbers[field.name] = std::holds_alternative<long>(read)
                                                       ? static_cast<double>(std::get<long>(read))
                                                       : std::get<double>(read);
                     }) &&
             ok;
      } else if (!is_word && !field.is_optional && std::isnan(field.default_number)) {
        complain(at, fmt::format("the key \"{}\" is missing; expected a number: {}", field.name, field.meaning));
        ok = false;
      } else if (!is_word && !field.is_optional) {
        out.numbers[field.name] = field.default_number;
      }
    }
    return ok;
  }

  static Value value_with_meaning(const Field& field, const Json& given) {
    try {
      return value_in(field, given);
    } catch (const InvalidInput& e) {
      throw InvalidInput(
          fmt::format("{}: {}{}", e.what(), field.meaning, field.unit.empty() ? "" : fmt::format(" [{}]", field.unit)));
    }
  }
  double distance_between(const std::vector<int>& bodies, const std::vector<Frame>& frames) const {
    return (in_world(bodies[0], frames[0].p) - in_world(bodies[1], frames[1].p)).norm();
  }

  bool read_teeth(const std::string& at, const Json& value, multibody::JointSpec& spec) {
    const Json* teeth = require(at, value, "teeth", "two whole numbers, negative for an internal gear");
    bool ok = teeth != nullptr;
    if (ok) {
      ok = teeth->is_array() && teeth->size() == 2;
      for (std::size_t i = 0; ok && i < 2; ++i) {
        const Json& n = (*teeth)[i];
        double count = 0.0;
        if (is_formula(n) && !evaluated(below(below(at, "teeth"), i), n, count)) return false;
        if (n.is_number_integer()) count = n.get<double>();
        ok = count == std::round(count) && std::abs(count) >= 1.0 && std::abs(count) <= 1e6;
        if (ok) spec.teeth[i] = static_cast<int>(count);
      }
      if (!ok)
        complain(below(at, "teeth"),
                 fmt::format("is {}, expected two whole numbers from 1 to 1000000, negative for an internal gear",
                             shown(*teeth)));
    }
    return ok;
  }

  bool read_carrier(const std::string& at, const Json& value, multibody::JointSpec& spec) {
    bool ok = true;
    int carrier = multibody::ground;
    if (const Json* given = find(value, "carrier")) ok = body_number(below(at, "carrier"), *given, carrier) && ok;
    if (carrier != multibody::ground &&
        std::find(spec.bodies.begin(), spec.bodies.end(), carrier) != spec.bodies.end()) {
      complain(below(at, "carrier"), "is one of the two bodies, expected the one that holds both axes");
      ok = false;
    }
    spec.bodies.push_back(carrier);
    return ok;
  }

  void read_forces(const Json& root) {
    const Json& forces = list(root, "forces");
    for (std::size_t i = 0; i < forces.size(); ++i) read_force(below("/forces", i), forces[i]);
  }

  void read_force(const std::string& at, const Json& value) {
    if (!is_object(at, value, "an object {\"type\": ..., ...}")) return;
    std::string type;
    const Json* given_type =
        require(at, value, "type", fmt::format("one of {}", fmt::join(multibody::force_names(), ", ")));
    if (given_type == nullptr || !text(below(at, "type"), *given_type, type)) return;
    const ForceInfo* info = nullptr;
    if (const multibody::LawInfo* law_info = multibody::find_law(type)) return read_joint_law(at, value, *law_info);
    if (!guarded(below(at, "type"), [&] {
          std::vector<std::string> known = multibody::force_names();
          for (const std::string& name : multibody::law_names()) known.push_back(name);
          if (std::ranges::count(known, type) == 0) throw InvalidInput(unknown_name("force", type, known));
          info = &multibody::find_force(type);
        }))
      return;

    const Placement layout = placement_of(*info);
    check_keys(at, value, known_keys(*info));

    multibody::ForceSpec spec;
    bool ok = read_force_bodies(at, value, *info, spec);
    const Json* law_value = info->law.measure == nullptr ? nullptr : find(value, info->law.field.name);
    if (law_value != nullptr && find_field(info->signals, info->law.field.name) != nullptr && !is_law(*law_value))
      law_value = nullptr;
    ok = read_force_values(at, value, *info, spec, law_value != nullptr) && ok;
    if (const Json* frame = find(value, "frame"); info->has_frame && frame != nullptr) {
      std::string name;
      if (text(below(at, "frame"), *frame, name)) {
        if (name != "world" && name != "body")
          complain(below(at, "frame"), unknown_name("frame", name, {"world", "body"}));
        spec.in_body_frame = name == "body";
      }
    }
    ok = ok && (info->bodies == 0 || read_frames(at, value, layout, spec.bodies, spec.frames));
    if (!ok) return;
    if (info->place == JointInfo::Place::two_points) {
      const double length = distance_between(spec.bodies, spec.frames);
      if (length == 0.0)
        return complain(at, "the two points coincide at t = 0, where the direction of the force is undefined");
      if (find_field(info->numbers, "length") != nullptr) spec.numbers.insert({"length", length});
    }
    std::string where = info->bodies == 0 ? spec.joint->name() : body_label(spec.bodies[0]);
    if (info->bodies == 2) where += "-" + body_label(spec.bodies[1]);
    spec.name = element_name(at, value, fmt::format("{} {}", type, where), force_names_);
    if (law_value != nullptr) return read_measured_law(at, value, *law_value, *info, spec);
    guarded(at, [&] { mechanism_.forces.push_back(info->build(spec)); });
    read_active(at, value, spec.name);
  }

  /// A spring or an actuator whose effort is a formula.
  void read_measured_law(const std::string& at, const Json& value, const Json& law_value, const ForceInfo& info,
                         const multibody::ForceSpec& spec) {
    for (const char* other : {"stiffness", "damping", "target"})
      if (find(value, other) != nullptr)
        return complain(below(at, other),
                        fmt::format("stands beside the law \"{}\"; write it into the formula", info.law.field.name));
    PendingLaw pending{
        .at = below(at, info.law.field.name), .type = std::string(info.name), .name = spec.name, .value = {}};
    pending.gauge = formulas().add({.measure = info.law.measure(spec), .bodies = {spec.bodies[0], spec.bodies[1]}});
    pending.sense = info.law.pushes ? multibody::Law::Sense::pushes : multibody::Law::Sense::pulls;
    if (!info.law.natural.empty()) pending.x0 = spec.number(info.law.natural);
    formula::Graph& graph = formulas().graph();
    const bool needs_value = info.law.counts_turns ? mentions_x(law_value) : true;
    const Node measured = needs_value ? value_of(pending.gauge, info.law.counts_turns, spec.name) : no_node;
    const Node x =
        measured == no_node ? no_node : graph.apply(formula::Operation::subtract, measured, graph.number(pending.x0));
    if (!law(pending.at, law_value, x, rate_of(pending.gauge), pending.value)) return;
    add_law(at, value, std::move(pending));
  }

  /// Whether a law reads its own coordinate: then turns count.
  bool mentions_x(const Json& value) {
    if (value.is_object()) {
      const Json* of = find(value, "of");
      return of == nullptr || mentions_x(*of);
    }
    if (!value.is_string()) return false;
    try {
      const formula::Formula formula(text_of(value), law_names_);
      return std::ranges::any_of(formula.names(), [](const formula::Formula::Name& name) { return name.text == "x"; });
    } catch (const InvalidInput&) {
      return false;
    }
  }

  /// Joints and forces may wait for an event that switches them on.
  void read_active(const std::string& at, const Json& value, const std::string& name) {
    const Json* given = find(value, "active");
    if (given == nullptr) return;
    if (!given->is_boolean())
      return complain(below(at, "active"), fmt::format("is {}, expected true or false", shown(*given)));
    if (*given == false) inactive_.push_back(name);
  }

  void add_law(const std::string& at, const Json& value, PendingLaw pending) {
    law_forces_[pending.name] = pending.value;
    read_active(at, value, pending.name);
    if (declared_forces_.contains(pending.name))
      names_.define(pending.name,
                    std::function<std::vector<Node>()>([make = pending.value] { return std::vector<Node>{make()}; }));
    // Through the name, so that a law that depends on itself is found.
    if (declared_forces_.contains(pending.name))
      pending.value = [this, name = pending.name] { return names_.nodes_of(name)[0]; };
    pending_.push_back(std::move(pending));
  }

  /// A force along the coordinate of a joint.
  void read_joint_law(const std::string& at, const Json& value, const multibody::LawInfo& info) {
    check_keys(at, value, known_keys(info));
    int joint = 0;
    const Json* named = require(at, value, "joint", "the name of a joint");
    bool ok = named != nullptr && joint_named(below(at, "joint"), *named, joint);
    multibody::LawParts parts;
    ok = read_numbers(at, value, info.numbers, parts.numbers) && ok;
    if (!ok) return;
    const bool turns = info.on_rotations && joint_gauge(joint, true) >= 0;
    const int gauge = turns ? joint_gauge(joint, true) : info.on_translations ? joint_gauge(joint, false) : -1;
    const multibody::JointPtr& of = mechanism_.joints[joint];
    if (gauge < 0)
      return complain(
          below(at, "joint"),
          fmt::format("'{}' is a {} joint, which has no {} for a {}", of->name(), of->type(),
                      info.on_rotations ? info.on_translations ? "coordinate" : "angle" : "displacement", info.name));
    bool needs_x = false;
    for (const Field& field : info.laws)
      if (const Json* given = find(value, field.name)) needs_x = needs_x || mentions_x(*given);
    if (needs_x) parts.x = value_of(gauge, turns, of->name());
    parts.v = rate_of(gauge);
    std::map<std::string, MakeNode> laws;
    for (const Field& field : info.laws) {
      const Json* given =
          field.is_optional ? find(value, field.name) : require(at, value, field.name, "a number or a formula");
      if (given == nullptr) {
        ok = ok && field.is_optional;
        continue;
      }
      ok = law(below(at, field.name), *given, parts.x, parts.v, laws[field.name]) && ok;
    }
    for (const Field& field : info.tables) {
      const formula::Curve* curve = nullptr;
      ok = table_curve(at, value, curve) && ok;
      parts.tables[field.name] = curve;
    }
    if (!ok) return;
    PendingLaw pending{.at = at,
                       .type = std::string(info.name),
                       .name = element_name(at, value, fmt::format("{} {}", info.name, of->name()), force_names_),
                       .value = {}};
    pending.gauge = gauge;
    pending.value = [this, &info, parts, laws] {
      multibody::LawParts all = parts;
      for (const auto& [name, make] : laws) all.laws[name] = make();
      return info.build(formulas(), all);
    };
    add_law(at, value, std::move(pending));
  }

  bool read_force_bodies(const std::string& at, const Json& value, const ForceInfo& info, multibody::ForceSpec& spec) {
    if (info.bodies == 2) return read_between(at, value, spec.bodies);
    if (info.bodies == 1) {
      const Json* on = require(at, value, "on", "the name of a body");
      spec.bodies.assign(1, 0);
      if (on == nullptr || !body_number(below(at, "on"), *on, spec.bodies[0])) return false;
      if (spec.bodies[0] != multibody::ground) return true;
      complain(below(at, "on"), "is \"ground\", which no force can move; expected the name of a body");
      return false;
    }
    const Json* joint = require(at, value, "joint", "the name of a joint");
    std::string name;
    if (joint == nullptr || !text(below(at, "joint"), *joint, name)) return false;
    const auto found = joint_numbers_.find(name);
    if (found == joint_numbers_.end()) {
      std::vector<std::string> known;
      for (const multibody::JointPtr& j : mechanism_.joints)
        if (known.size() < 30) known.push_back(j->name());
      complain(below(at, "joint"), unknown_name("joint", name, known));
      return false;
    }
    spec.joint = mechanism_.joints[found->second];
    return true;
  }

  bool read_force_values(const std::string& at, const Json& value, const ForceInfo& info, multibody::ForceSpec& spec,
                         bool has_law) {
    bool ok = read_numbers(at, value, info.numbers, spec);
    for (const Field& field : info.vectors) {
      Vector3 x = Vector3::Zero();
      if (const Json* given = find(value, field.name)) {
        if (!vector(below(at, field.name), *given, x)) {
          ok = false;
        } else if (x.minCoeff() < 0.0) {
          complain(below(at, field.name), "has a negative entry; stiffness and damping are not negative");
          ok = false;
        }
      }
      spec.vectors[field.name] = x;
    }
    for (const Field& field : info.signals)
      if (const Json* given = find(value, field.name);
          given != nullptr && !(has_law && field.name == info.law.field.name))
        ok = signal(below(at, field.name), *given, field.name == "target" ? 1 : 0, spec.signals[field.name]) && ok;
    for (const Field& field : info.vector_signals)
      if (const Json* given = find(value, field.name)) {
        const std::string here = below(at, field.name);
        if (!given->is_array() || given->size() != 3) {
          complain(here, fmt::format("is {}, expected three entries, each a number or a formula in t", shown(*given)));
          ok = false;
          continue;
        }
        auto& target = spec.vector_signals[field.name];
        for (std::size_t i = 0; i < 3; ++i) ok = signal(below(here, i), (*given)[i], 0, target[i]) && ok;
      }
    return ok;
  }

  void read_parameters(const Json& root) {
    parameters_.read(root, options_.parameters,
                     [&](std::string_view pointer, std::string_view message) { complain(pointer, message); });
    for (const ParameterInfo& info : parameters_in(root))
      if (const std::string doubt = suspicion_of_degrees(parameters_.value(info.name), info.unit); !doubt.empty())
        warn(below("/parameters", info.name), doubt);
  }

  void read_simulation(const Json& root, double& t_end) {
    const Json* given = find(root, "simulation");
    if (given == nullptr || !is_object("/simulation", *given, "an object {\"t_end\": ...}")) return;
    std::vector<std::string> known{"comment"};
    for (const RunField& field : run_fields()) known.push_back(field.field.name);
    check_keys("/simulation", *given, known);
    for (const RunField& field : run_fields()) {
      const Json* value = find(*given, field.field.name);
      if (value == nullptr) continue;
      guarded(below("/simulation", field.field.name), [&] {
        Json given_value;
        if (!resolved(below("/simulation", field.field.name), field.field, *value, given_value)) return;
        const Value read = value_in(field.field, given_value);
        if (field.field.name == "t_end") t_end = std::get<double>(read);
      });
    }
    if (find(*given, "step") != nullptr && (find(*given, "rtol") != nullptr || find(*given, "atol") != nullptr))
      complain("/simulation/step",
               "cannot be combined with rtol or atol; a run has either constant steps or error control");
    if (!(t_end > 0.0)) complain("/simulation/t_end", fmt::format("is {}, expected a positive time [s]", t_end));
  }

  // ---- consistency

  void check_consistency(const multibody::Assembly& assembly, const system::Start& start) {
    system::Motion m(assembly.space());
    m.t = start.t0;
    m.q = start.q0;
    m.v = start.v0;
    const system::Pattern& pattern = assembly.pattern();
    system::Residual r(assembly.space().nv(), pattern.position_rows(), pattern.rows());
    const Vector no_lambda = Vector::Zero(pattern.rows());
    assembly.residual(m, no_lambda, r);
    if (!r.gap.allFinite() || !r.rate.allFinite() || !r.force.allFinite())
      return complain("", "positions, velocities or forces at the start are too large to compute with");
    check_mass(assembly, m);
    if (options_.accepts_gaps) return;
    const system::Consistency allowed = system::consistency_tolerances(assembly, m, start.t_end - start.t0);
    std::size_t next = 0;  // switched off joints have no rows
    for (std::size_t j = 0; j < joint_places_.size(); ++j) {
      if (!assembly.active()[assembly.mechanism().bodies.size() + j]) continue;
      const system::RowGroup& group = pattern.groups()[next++];
      const auto refuse = [&](const Vector& rows, const Vector& tolerance, std::string_view what) {
        const int row = worst_row(rows, tolerance, group);
        if (row < 0) return false;
        complain(
            joint_places_[j],
            fmt::format("'{}': the initial {} miss the joint by {:.6g} (row {} of {}); correct them or use {}",
                        group.name, what, std::abs(rows[group.at + row]), row + 1, group.rows, spelled("assemble")));
        return true;
      };
      if (!refuse(r.gap, allowed.position, "positions")) refuse(r.rate, allowed.velocity, "velocities");
    }
  }
  /// A body without mass or inertia must be carried by others in every motion that the joints leave it.
  void check_mass(const multibody::Assembly& assembly, const system::Motion& m) {
    constexpr int most_rows = 500;  // of full matrices: a second
    const std::vector<Body>& bodies = assembly.mechanism().bodies;
    const bool is_suspicious = std::any_of(bodies.begin(), bodies.end(), [](const Body& body) {
      return body.mass == 0.0 ||
             Eigen::SelfAdjointEigenSolver<Matrix3>(body.inertia, Eigen::EigenvaluesOnly).eigenvalues()[0] <=
                 1e-14 * body.inertia.norm();
    });
    if (!is_suspicious || assembly.space().nv() + assembly.pattern().rows() > most_rows) return;
    const system::RankReport ranks = system::rank_report(assembly, m);
    if (ranks.has_mass) return;
    for (std::size_t b = 0; b < bodies.size(); ++b)
      if (bodies[b].name == ranks.weakest_block)
        return complain(
            below("/bodies", b),
            fmt::format("'{}' has a motion without mass or inertia that the joints allow; give it mass or inertia "
                        "there, or constrain it",
                        bodies[b].name));
  }
  /// Of a joint, the row that exceeds its tolerance most; -1: none does.
  static int worst_row(const Vector& rows, const Vector& tolerance, const system::RowGroup& group) {
    int worst = -1;
    double excess = 1.0;
    for (int i = 0; i < group.rows; ++i) {
      const double miss = std::abs(rows[group.at + i]);
      if (miss > 0.0 && miss > excess * tolerance[group.at + i]) worst = i, excess = miss / tolerance[group.at + i];
    }
    return worst;
  }

  const JsonSource& source_;
  const ModelFileOptions& options_;
  multibody::Mechanism mechanism_;
  ModelParameters parameters_;
  Repeated repeated_;
  multibody::FormulaNames names_{parameters_.values(),
                                 [this](const formula::Formula& formula) { parameters_.note_use(formula); }};
  formula::Names law_names_;  ///< the known ones, x and v
  std::vector<PendingLaw> pending_;
  std::map<std::pair<int, bool>, int> joint_gauges_;
  std::set<std::string> declared_forces_;  ///< whose names formulas may use
  std::map<std::string, Node> efforts_;    ///< of forces that have no law
  std::map<std::string, MakeNode> law_forces_;
  std::vector<system::OutputInfo> output_infos_;
  struct EffortOutput {
    std::string at, output, force;
  };
  std::vector<EffortOutput> effort_outputs_;
  std::vector<std::pair<int, int>> winding_;  ///< node of the turns, gauge
  std::vector<PendingEvent> pending_events_;
  std::vector<ModelEvent> events_;
  std::set<std::string> event_names_;
  std::vector<std::pair<std::string, std::string>> switched_;  ///< place and name of what events switch
  std::vector<std::string> inactive_;                          ///< at the start
  std::vector<Placed> placed_;
  std::map<int, double> start_of_turns_;  ///< by joint
  std::map<std::string, int> body_numbers_, joint_numbers_;
  std::map<std::string, std::pair<multibody::Material, double>> materials_;  ///< and their damping times
  std::map<std::string, NamedSection> sections_;
  std::map<std::string, RodNodes> rods_;
  std::set<std::string> joint_names_, force_names_;
  std::map<const void*, std::vector<std::string>> known_keys_;  ///< by type
  std::map<std::string, int> last_numbers_;                     ///< of elements without a name, by kind and bodies
  std::vector<std::string> joint_places_;                       ///< pointer per joint
  std::vector<std::string> problems_, warnings_;
  std::size_t problem_count_ = 0;
};

}  // namespace

std::vector<models::Suggestion> suggestions_in(const JsonSource& source, const ParameterValues& given) {
  std::vector<models::Suggestion> list;
  const Json& root = source.root();
  if (!root.is_object() || !root.contains("simulation") || !root["simulation"].is_object()) return list;
  ModelParameters parameters;
  parameters.read(root, given, [](std::string_view, std::string_view) {});
  const auto resolved = [&](const Json& value) -> Json {
    if (!is_formula(value)) return value;
    return multibody::Expression(formula::Formula(formula_in(value), parameters.names()), parameters.values())
        .at(0.0)
        .value;
  };
  for (const RunField& field : run_fields()) {
    const auto found = root["simulation"].find(field.field.name);
    if (found == root["simulation"].end()) continue;
    try {
      Json value = kind_of(field.field) == FieldKind::text ? *found : resolved(*found);
      if (value.is_array())
        for (Json& entry : value) entry = resolved(entry);
      list.push_back(
          {field.field.name, value_in(field.field, value), source.place(below("/simulation", field.field.name))});
    } catch (const InvalidInput&) {  // the reader says so
    }
  }
  return list;
}

ModelFile read_model(const JsonSource& source, const ModelFileOptions& options) {
  return ModelReader(source, options).read();
}

ModelFile read_model_file(const Path& path, const ModelFileOptions& options) {
  return read_model(JsonSource::read(path, "model file"), options);
}

}  // namespace kreisel::io
