// Formulations as data: which constraint level each multiplier enforces.
#pragma once

#include <array>
#include <string_view>

#include "kreisel/base/choice.hpp"

namespace kreisel::system {

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

/// In the order of the enum.
inline constexpr std::array<FormulationInfo, 6> formulation_catalogue{{
    {Formulation::ode, "ode", ConstraintLevel::position, false, "no constraints"},
    {Formulation::index3, "index3", ConstraintLevel::position, false, "Phi = 0"},
    {Formulation::stabilized_index2, "stabilized-index2", ConstraintLevel::position, true,
     "Phi = 0 and B v = 0 (Gear, Gupta, Leimkuhler)"},
    {Formulation::index2, "index2", ConstraintLevel::velocity, false, "B v = 0; positions drift linearly"},
    {Formulation::index1, "index1", ConstraintLevel::acceleration, false, "d/dt B v = 0; positions drift quadratically"},
    {Formulation::projected, "projected", ConstraintLevel::acceleration, false,
     "index1 with projection onto Phi = 0 and B v = 0 after each step"},
}};

constexpr const std::array<FormulationInfo, 6>& formulations() { return formulation_catalogue; }
constexpr const FormulationInfo& info_of(Formulation id) { return formulation_catalogue[static_cast<std::size_t>(id)]; }
/// Throws InvalidInput with the nearest match.
inline const FormulationInfo& formulation_named(std::string_view name) {
  return find_named(formulation_catalogue, "formulation", name);
}

}  // namespace kreisel::system

namespace kreisel {

template <>
struct Spellings<system::Formulation> {
  static constexpr std::string_view noun = "formulation";
  static constexpr const auto& entries = system::formulation_catalogue;
};

}  // namespace kreisel
