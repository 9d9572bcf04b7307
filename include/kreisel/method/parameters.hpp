// What can be chosen in a method, one struct each; options.method = GeneralizedAlpha{.rho_inf = 0.8}.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kreisel/base/choice.hpp"
#include "kreisel/base/parameters.hpp"

namespace kreisel::method {

/// Which quantities a method modifies where the step size changes.
enum class Modification { both, velocity, acceleration, none };
/// In which a projection moves least.
enum class Metric { mass, euclidean };
enum class Projection { position_then_velocity, joint };

namespace choices {

struct Bliedf {
  static constexpr std::string_view name = "bliedf";
  Modification modification = Modification::velocity;  ///< velocity or none, of index3 on given steps
};
struct CommutatorFree {
  static constexpr std::string_view name = "commutator-free";
};
struct CrouchGrossman {
  static constexpr std::string_view name = "crouch-grossman";
};
/// (Chung, Hulbert 1993); parameters given one by one replace those that follow from rho_inf.
struct GeneralizedAlpha {
  static constexpr std::string_view name = "generalized-alpha";
  double rho_inf = 0.9;  ///< spectral radius at infinite frequency, 0…1
  std::optional<double> alpha_m{}, alpha_f{}, beta{}, gamma{};
  int approximation = 3;              ///< of the jerk where the step size changes, 1…4
  std::optional<double> a3{}, a4{};   ///< weights of the jerk instead
  Modification modification = Modification::both;
};
struct Mkam {
  static constexpr std::string_view name = "mkam";
};
struct Mkbdf {
  static constexpr std::string_view name = "mkbdf";
};
struct ProjectedBdf {
  static constexpr std::string_view name = "projected-bdf";
  Metric metric = Metric::mass;
  Projection projection = Projection::position_then_velocity;
};
struct Radau {
  static constexpr std::string_view name = "radau";
};
struct Rkmk {
  static constexpr std::string_view name = "rkmk";
};

}  // namespace choices

/// The fields of such a struct; defaults are those of the struct.
template <class Parameters>
std::vector<Field> fields_of();
/// Throws InvalidInput for numbers out of range.
template <class Parameters>
ParameterValues values_of(const Parameters& parameters);
template <class Parameters>
Parameters parameters_in(const ParameterValues& values);

}  // namespace kreisel::method

namespace kreisel {

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
  static constexpr std::array<Spelled<method::Metric>, 2> entries{{{method::Metric::mass, "mass"}, {method::Metric::euclidean, "euclidean"}}};
};
template <>
struct Spellings<method::Projection> {
  static constexpr std::string_view noun = "projection";
  static constexpr std::array<Spelled<method::Projection>, 2> entries{
      {{method::Projection::position_then_velocity, "position-then-velocity"}, {method::Projection::joint, "joint"}}};
};

}  // namespace kreisel
