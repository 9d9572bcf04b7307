// Options with a fixed set of values: one enum each, with the spellings of its values; and named parameters.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kreisel/error.hpp"

namespace kreisel {

template <class Enum>
struct Spelled {
  Enum id;
  std::string_view name;
};

/// Specialised beside each enum: `noun` for messages, and `entries`, a range of Spelled or of anything with `id` and `name`.
template <class Enum>
struct Spellings;

template <class Enum>
std::vector<std::string> names_of() {
  return names_in(Spellings<Enum>::entries);
}

/// A value of the enum, or none: then a default applies. A name is accepted as well; names other than the spellings throw
/// InvalidInput. The empty name means none.
template <class Enum>
class Choice {
 public:
  constexpr Choice() = default;
  constexpr Choice(Enum value) : value_(value), is_given_(true) {}
  Choice(std::string_view name) {
    if (name.empty()) return;
    value_ = find_named(Spellings<Enum>::entries, Spellings<Enum>::noun, name).id;
    is_given_ = true;
  }
  Choice(const char* name) : Choice(std::string_view(name)) {}
  Choice(const std::string& name) : Choice(std::string_view(name)) {}

  constexpr bool is_given() const { return is_given_; }
  constexpr Enum value_or(Enum otherwise) const { return is_given_ ? value_ : otherwise; }
  /// Empty: none.
  constexpr std::string_view name() const {
    if (is_given_)
      for (const auto& entry : Spellings<Enum>::entries)
        if (entry.id == value_) return entry.name;
    return {};
  }

  friend bool operator==(const Choice&, const Choice&) = default;

 private:
  Enum value_{};
  bool is_given_ = false;
};

/// The value of a field, independent of the format it was read from.
using Value = std::variant<bool, long, double, std::string, std::vector<double>, std::vector<std::string>>;

struct Field;

/// Named parameters of models and methods: the values they have.
class ParameterValues {
 public:
  ParameterValues() = default;
  explicit ParameterValues(const std::vector<Field>& infos);  ///< all defaults

  bool has(std::string_view name) const;
  /// Checks the range and stores; texts are read. Throws InvalidInput with `owner`, key, value and the expected range.
  void set(std::string_view owner, const std::vector<Field>& infos, std::string_view key, const Value& value);
  double number(std::string_view name) const;
  bool is_set(std::string_view name) const;  ///< has a number (default or given)
  const std::string& word(std::string_view name) const;
  /// name=value, sorted by name.
  std::vector<std::string> listing() const;

 private:
  std::map<std::string, double, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> words_;
};

// ---- the enums

namespace linear {

/// `automatic`: dense for few unknowns, tree where the pattern suits it, else sparse. `least_squares` reveals the rank.
enum class SolverKind { automatic, dense, tree, sparse, least_squares };

}  // namespace linear

namespace method {

/// Which quantities a method modifies where the step size changes.
enum class Modification { both, velocity, acceleration, none };
/// The norm that a projection minimises.
enum class Metric { mass, euclidean };
enum class Projection { position_then_velocity, joint };

}  // namespace method

namespace run {

/// How a multistep method gets its first points: starting values corrected such that λ keeps its order; exact ones; those of
/// generalized-alpha with one perturbation only, of v₀ or of a₀; corrected by the formulas of the papers (Wieloch 2022, eq. 3.58,
/// 3.59; Wieloch & Arnold 2019, eq. 56) instead of the defect of the scheme, or by them as printed (index3 on given steps).
enum class Starting { corrected, exact, v0, a0, formula, formula_as_printed };
/// What follows a requested projection.
enum class Restart { none, corrected };
/// When Newton's matrix is evaluated: for every step, or when the iteration no longer converges.
enum class NewtonMatrix { every_step, kept };

}  // namespace run

namespace system {

enum class Formulation { ode, index3, stabilized_index2, index2, index1, projected };

/// The constraint equation that determines λ. Nonholonomic rows have no position level: they use `velocity` instead.
enum class ConstraintLevel { position, velocity, acceleration };

struct FormulationInfo {
  Formulation id;
  std::string_view name;
  ConstraintLevel lambda_row;
  bool has_eta;  ///< B v + Φ_t = 0 beside Φ = 0, with Bᵀη in the kinematic relation (Gear, Gupta, Leimkuhler)
  std::string_view summary;
};

/// In the order of the enum.
inline constexpr std::array<FormulationInfo, 6> formulation_catalogue{{
    {Formulation::ode, "ode", ConstraintLevel::position, false, "no constraints"},
    {Formulation::index3, "index3", ConstraintLevel::position, false, "Phi = 0"},
    {Formulation::stabilized_index2, "stabilized-index2", ConstraintLevel::position, true,
     "Phi = 0 and B v = 0 (Gear, Gupta, Leimkuhler)"},
    {Formulation::index2, "index2", ConstraintLevel::velocity, false, "B v = 0; positions drift linearly"},
    {Formulation::index1, "index1", ConstraintLevel::acceleration, false,
     "d/dt B v = 0; positions drift quadratically"},
    {Formulation::projected, "projected", ConstraintLevel::acceleration, false,
     "index1 with projection onto Phi = 0 and B v = 0 after each step"},
}};

constexpr const std::array<FormulationInfo, 6>& formulations() { return formulation_catalogue; }
constexpr const FormulationInfo& info_of(Formulation id) { return formulation_catalogue[static_cast<std::size_t>(id)]; }
/// Throws InvalidInput with the nearest match.
inline const FormulationInfo& formulation_named(std::string_view name) {
  return find_named(formulation_catalogue, "formulation", name);
}

}  // namespace system

// ---- and their spellings

template <>
struct Spellings<linear::SolverKind> {
  using enum linear::SolverKind;
  static constexpr std::string_view noun = "linear solver";
  static constexpr std::array<Spelled<linear::SolverKind>, 5> entries{{{automatic, "automatic"},
                                                                       {dense, "dense"},
                                                                       {tree, "tree"},
                                                                       {sparse, "sparse"},
                                                                       {least_squares, "least-squares"}}};
};
template <>
struct Spellings<method::Modification> {
  using enum method::Modification;
  static constexpr std::string_view noun = "modification";
  static constexpr std::array<Spelled<method::Modification>, 4> entries{
      {{both, "both"}, {velocity, "velocity"}, {acceleration, "acceleration"}, {none, "none"}}};
};
template <>
struct Spellings<method::Metric> {
  static constexpr std::string_view noun = "metric";
  static constexpr std::array<Spelled<method::Metric>, 2> entries{
      {{method::Metric::mass, "mass"}, {method::Metric::euclidean, "euclidean"}}};
};
template <>
struct Spellings<method::Projection> {
  static constexpr std::string_view noun = "projection";
  static constexpr std::array<Spelled<method::Projection>, 2> entries{
      {{method::Projection::position_then_velocity, "position-then-velocity"}, {method::Projection::joint, "joint"}}};
};
template <>
struct Spellings<run::Starting> {
  using enum run::Starting;
  static constexpr std::string_view noun = "starting procedure";
  static constexpr std::array<Spelled<run::Starting>, 6> entries{{{corrected, "corrected"},
                                                                  {exact, "exact"},
                                                                  {v0, "v0"},
                                                                  {a0, "a0"},
                                                                  {formula, "formula"},
                                                                  {formula_as_printed, "formula-as-printed"}}};
};
template <>
struct Spellings<run::Restart> {
  using enum run::Restart;
  static constexpr std::string_view noun = "restart";
  static constexpr std::array<Spelled<run::Restart>, 2> entries{{{none, "none"}, {corrected, "corrected"}}};
};
template <>
struct Spellings<run::NewtonMatrix> {
  using enum run::NewtonMatrix;
  static constexpr std::string_view noun = "choice";
  static constexpr std::array<Spelled<run::NewtonMatrix>, 2> entries{{{every_step, "every-step"}, {kept, "kept"}}};
};
template <>
struct Spellings<system::Formulation> {
  static constexpr std::string_view noun = "formulation";
  static constexpr const auto& entries = system::formulation_catalogue;
};

}  // namespace kreisel
