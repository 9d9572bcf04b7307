// Everything a program needs. What is not in these headers is private and not installed.
#pragma once

#include "kreisel/analysis.hpp"
#include "kreisel/check.hpp"
#include "kreisel/choices.hpp"
#include "kreisel/element.hpp"
#include "kreisel/error.hpp"
#include "kreisel/event.hpp"
#include "kreisel/groups.hpp"
#include "kreisel/mechanism.hpp"
#include "kreisel/methods.hpp"
#include "kreisel/motion.hpp"
#include "kreisel/observer.hpp"
#include "kreisel/options.hpp"
#include "kreisel/own_method.hpp"
#include "kreisel/own_system.hpp"
#include "kreisel/problem.hpp"
#include "kreisel/report.hpp"
#include "kreisel/simulation.hpp"
#include "kreisel/solution.hpp"
#include "kreisel/study.hpp"
#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "kreisel/version.hpp"

namespace kreisel {

// `solve` is found through its Problem; a using-declaration here would clash with the namespace of that name.
using lie::GroupId;
using lie::Motion;
using linear::SolverKind;
using method::Metric;
using method::Modification;
using method::OwnMethod;
using method::OwnMethodInfo;
using method::Projection;
using method::register_method;
using namespace method::choices;  // methods and their parameters: Bliedf, GeneralizedAlpha, Radau, ...
using run::integrate;
using run::NewtonMatrix;
using run::Observer;
using run::Occurrence;
using run::Options;
using run::Point;
using run::Problem;
using run::Report;
using run::Restart;
using run::Simulation;
using run::Solution;
using run::Starting;
using run::State;
using run::Status;
using study::ExactMotion;
using study::motion_of_csv;
using study::StudyCurve;
using study::StudyRequest;
using study::StudyTable;
using system::audit;
using system::CoordinateKind;
using system::Corner;
using system::Direction;
using system::Event;
using system::Formulation;
using system::FunctionSystem;
using system::Impact;
using system::Jump;
using system::Record;
using system::Start;
using system::Switch;
using system::System;
using system::SystemFunctions;

}  // namespace kreisel
