// Methods and their parameters, one struct each; options.method = GeneralizedAlpha{.rho_inf = 0.8}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kreisel/choices.hpp"

namespace kreisel::method {

struct MethodInfo;

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
  int approximation = 3;             ///< of the jerk where the step size changes, 1…4
  std::optional<double> a3{}, a4{};  ///< weights of the jerk instead
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

/// Throws InvalidInput for numbers out of range.
template <class Parameters>
ParameterValues values_of(const Parameters& parameters);

/// A method and its parameters: by name, or by the struct of its parameters.
class MethodChoice {
 public:
  MethodChoice() : MethodChoice("bliedf") { is_named_ = false; }
  MethodChoice(std::string_view name);  ///< with its default parameters; throws InvalidInput
  MethodChoice(const char* name) : MethodChoice(std::string_view(name)) {}
  MethodChoice(const std::string& name) : MethodChoice(std::string_view(name)) {}
  /// Throws InvalidInput for parameters out of range.
  template <class Parameters>
  requires requires { Parameters::name; }
  MethodChoice(const Parameters& chosen) : MethodChoice(Parameters::name) { parameters = values_of(chosen); }

  const MethodInfo& info() const { return *info_; }
  const std::string& name() const;
  /// True if the user named a method; then no other method replaces it.
  bool is_named() const { return is_named_; }
  /// Reads a parameter by its name. Throws InvalidInput.
  void set(std::string_view parameter, const Value& value);

  ParameterValues parameters;

  friend bool operator==(const MethodChoice& a, std::string_view name) { return a.name() == name; }

 private:
  const MethodInfo* info_;
  bool is_named_ = true;
};

}  // namespace kreisel::method
