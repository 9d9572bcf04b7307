// Solves for a parameter with which an output has a given value at rest.
#pragma once

#include <string>

#include "io/spec/run_spec.hpp"

namespace kreisel::io {

/// "ride_height" = 0.3; "foot.x" for a component.
struct Wanted {
  std::string output;
  double value = 0.0;
};

struct Tuned {
  bool is_found = false;
  double value = 0.0;
  std::string message;  ///< why no value was found
};

/// The spec with another value of a parameter of the model; it overrides all other settings of it.
RunSpec with_parameter(RunSpec spec, const std::string& name, double value);
/// The value of a parameter, or of a number of a part, as the spec has it.
double parameter_value(const RunSpec& spec, const std::string& name);
/// The same of many; the model is made once.
Vector parameter_values(const RunSpec& spec, const std::vector<std::string>& names);
/// The number of an output among all columns. Throws InvalidInput with the known names.
int output_number(const system::System& system, const std::string& name);

/// Secant method over equilibria, starting from the value of the spec; each search starts from the last equilibrium. Throws InvalidInput for names that
/// do not exist.
Tuned tune(const RunSpec& spec, const std::string& parameter, const Wanted& wanted);

}  // namespace kreisel::io
