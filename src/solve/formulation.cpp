#include "kreisel/solve/formulation.hpp"

#include "kreisel/base/error.hpp"

namespace kreisel::solve {

const std::vector<FormulationInfo>& formulations() {
  static const std::vector<FormulationInfo> list{
      {Formulation::ode, "ode", ConstraintLevel::position, false, "no constraints"},
      {Formulation::index3, "index3", ConstraintLevel::position, false, "Phi = 0"},
      {Formulation::stabilized_index2, "stabilized-index2", ConstraintLevel::position, true,
       "Phi = 0 and B v = 0 (Gear, Gupta, Leimkuhler)"},
      {Formulation::index2, "index2", ConstraintLevel::velocity, false, "B v = 0; positions drift linearly"},
      {Formulation::index1, "index1", ConstraintLevel::acceleration, false, "d/dt B v = 0; positions drift quadratically"},
      {Formulation::projected, "projected", ConstraintLevel::acceleration, false,
       "index1 with projection onto Phi = 0 and B v = 0 after each step"},
  };
  return list;
}

const FormulationInfo& info_of(Formulation id) { return formulations()[static_cast<int>(id)]; }

const FormulationInfo& formulation_named(std::string_view name) {
  std::vector<std::string> names;
  for (const FormulationInfo& info : formulations()) {
    if (info.name == name) return info;
    names.emplace_back(info.name);
  }
  throw InvalidInput(unknown_name("formulation", name, names));
}

}  // namespace kreisel::solve
