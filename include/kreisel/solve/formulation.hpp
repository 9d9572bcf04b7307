// Formulations as data: which constraint level each multiplier enforces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kreisel::solve {

enum class Formulation { ode, index3, stabilized_index2, index2, index1, projected };

/// The equation that stands against λ. Nonholonomic rows have no position level: they use `velocity` instead.
enum class ConstraintLevel { position, velocity, acceleration };

struct FormulationInfo {
  Formulation id;
  std::string_view name;
  ConstraintLevel lambda_row;
  bool has_eta;  ///< B v + Φ_t = 0 beside Φ = 0, with Bᵀη in the kinematic relation (Gear, Gupta, Leimkuhler)
  std::string_view summary;
};

const std::vector<FormulationInfo>& formulations();
const FormulationInfo& info_of(Formulation);
/// Throws InvalidInput with the nearest match.
const FormulationInfo& formulation_named(std::string_view name);

}  // namespace kreisel::solve
