// Derivatives of a run by parameters of its problem.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kreisel/observer.hpp"
#include "kreisel/problem.hpp"

namespace kreisel::run {

/// The problem with other values of its parameters, everything that depends on them included: initial values, events.
using ProblemOf = std::function<Problem(const Vector& parameters)>;

/// Points of a run, one row each; λ and outputs as results have them.
struct RunPoints {
  std::vector<double> t;
  std::vector<int> segment;
  Matrix q, v, a, lambda, outputs, output_rates;
};

/// By one parameter, at the points of the run and at their times: δq left-trivialised, q∘exp(δq dp).
struct Sensitivity {
  Matrix q, v, lambda, outputs;
  Vector event_times;        ///< of the events that happened, in their order
  double uncertainty = 0.0;  ///< of the largest numbers, relative, as two steps of differences show it
};

struct SensitivityOptions {
  std::vector<std::string> names;  ///< of the parameters, for messages
  Vector scale;                    ///< change of each parameter that matters; empty: its size, or 1
  bool is_cheap = false;           ///< two neighbouring runs per parameter instead of four: for searches
};

struct Sensitivities {
  Report report;  ///< of the run
  RunPoints points;
  std::vector<Sensitivity> by;
  std::string problem;  ///< why there are none although the run succeeded; empty: they are there

  /// Rows of a matrix of this run at other times, by cubics through the nearest points of their segment.
  Matrix at(const std::vector<double>& times, const Matrix& rows) const;
};

/// The run and, for each parameter, neighbouring runs that take its steps with its orders, solved to round-off: differences of these are
/// derivatives of the discrete motion, free of what another choice of steps would add (Bock 1981). Events move with the
/// parameters, so that what happens after them has its jump. Throws InvalidInput where a parameter changes how many coordinates,
/// constraints or outputs there are.
Sensitivities differentiate(const ProblemOf& problem, const Vector& parameters, const Options& options,
                            const SensitivityOptions& wanted, Observer& observer);

}  // namespace kreisel::run
