// Everything a program of its own needs.
#pragma once

#include <iosfwd>

#include "kreisel/base/error.hpp"
#include "kreisel/base/version.hpp"
#include "kreisel/mechanism.hpp"
#include "kreisel/run/integrator.hpp"
#include "kreisel/run/simulation.hpp"
#include "kreisel/run/solution.hpp"
#include "kreisel/system/adapter.hpp"
#include "kreisel/system/event.hpp"

namespace kreisel {

// `solve` is found through its Problem; a name of its own here would clash with the room.
using lie::GroupId;
using linear::SolverKind;
using method::Metric;
using method::Modification;
using method::Projection;
using namespace method::choices;  // methods and their parameters: Bliedf, GeneralizedAlpha, Radau, ...
using run::NewtonMatrix;
using run::Options;
using run::Problem;
using run::Report;
using run::Restart;
using run::Simulation;
using run::Solution;
using run::Starting;
using run::State;
using run::Status;
using Formulation = system::Formulation;
using system::Event;
using system::FunctionSystem;
using system::Start;
using system::System;
using system::SystemFunctions;

}  // namespace kreisel
