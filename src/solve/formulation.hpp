// The formulations of the equations, as the solvers of a step name them.
#pragma once

#include "kreisel/choices.hpp"

namespace kreisel::solve {

using system::ConstraintLevel;
using system::Formulation;
using system::formulation_named;
using system::FormulationInfo;
using system::formulations;
using system::info_of;

}  // namespace kreisel::solve
