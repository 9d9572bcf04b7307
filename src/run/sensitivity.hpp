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
  Vector event_times;  ///< of the events that happened, in their order
  /// Relative to the largest numbers: residual of the linear equations, or estimated from two steps of differences.
  double uncertainty = 0.0;
};

struct SensitivityOptions {
  std::vector<std::string> names{};  ///< of the parameters, for messages
  Vector scale{};                    ///< change of each parameter that matters; empty: its size, or 1
  bool is_cheap = false;             ///< two neighbouring runs per parameter instead of four, if any: for searches
  bool uses_differences = false;     ///< always from neighbouring runs: a check of the others
  std::vector<double> times{};       ///< at which outputs are wanted as the run itself interpolates them, increasing
};

struct Sensitivities {
  Report report;  ///< of the run
  RunPoints points;
  std::vector<Sensitivity> by;
  Matrix sampled;           ///< outputs at the requested times, one row each; NaN after the end of the run
  std::string problem;      ///< why there are none although the run succeeded; empty: no problem
  std::string differences;  ///< why they come from neighbouring runs; empty: they were carried along with the run

  /// Rows of a matrix of this run at other times, by polynomials through the six nearest points of their segment.
  Matrix at(const std::vector<double>& times, const Matrix& rows) const;
};

/// By how much neighbours differ in a parameter: 2^-bits of its scale, as a power of two, so that p ± s is not rounded. `scale` is
/// that of SensitivityOptions.
double neighbour_step(const Vector& scale, const Vector& parameters, Eigen::Index j, int bits);

/// Weights of points for the value at a time, by the polynomial through the six nearest points of their segment.
struct PointWeight {
  std::size_t point = 0;
  double weight = 1.0;
};
std::vector<PointWeight> interpolation_at(const RunPoints& points, double t);

/// The run with the derivatives of its discrete motion, see Forward. Where that is not possible (Runge-Kutta methods,
/// projections, redundant constraints) they come, for each parameter, from neighbouring runs with the same steps and orders,
/// solved to round-off: differences then contain no error from another choice of steps (Bock 1981). Events move with the
/// parameters, and derivatives jump there. Throws InvalidInput if a parameter changes the number of coordinates, constraints or
/// outputs.
Sensitivities differentiate(const ProblemOf& problem, const Vector& parameters, const Options& options,
                            const SensitivityOptions& wanted, Observer& observer);

}  // namespace kreisel::run
