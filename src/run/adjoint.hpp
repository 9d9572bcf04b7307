// Gradients of scalars of a run by many parameters: the discrete motion, differentiated backwards.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "run/sensitivity.hpp"

namespace kreisel::run {

/// weight · quantity at a point of the run: outputs come first, then the entries of q, v and λ.
struct OutputTerm {
  std::size_t point = 0;
  Eigen::Index output = 0;
  double weight = 0.0;
};

/// The scalars, one list of terms each, from t, segment and outputs of the points. Where a scalar is not linear, the terms are its
/// derivatives by the outputs.
using ScalarsOf = std::function<std::vector<std::vector<OutputTerm>>(const RunPoints&)>;

struct Gradients {
  Report report;     ///< of the run
  RunPoints points;  ///< t, segment and outputs, with the other quantities behind them if wanted; the rest is empty
  Vector values;     ///< sums of the terms
  Matrix by;         ///< one row per scalar, one column per parameter
  std::string problem;
  std::string obstacle;     ///< what the adjoint does not serve; empty: nothing
  long repeated_steps = 0;  ///< computed again from checkpoints
};

struct AdjointOptions {
  std::vector<std::string> names{};       ///< of the parameters, for messages
  Vector scale{};                         ///< as in SensitivityOptions
  std::vector<bool> moves_start_alone{};  ///< by parameter: it changes initial values and no equation; empty: none does
  bool includes_motion = false;           ///< scalars may have q, v and λ
  /// For the points of the run. Beyond it the run is divided by checkpoints, and its parts are computed again, last one first.
  std::size_t most_bytes = std::size_t{1} << 28;
};

/// The run and the gradient of its discrete motion. Each step is a map whose derivative the forward mode (see Forward) applies to
/// the changes of the past; here its transposed is applied to what multiplies the changes of the new point, from the last step to
/// the first: one solution with the transposed Newton matrix per scalar and step, whatever the number of parameters. A problem says what
/// the steps do not allow: the forward mode serves more.
Gradients differentiate_backwards(const ProblemOf& make, const Vector& parameters, const Options& options,
                                  const AdjointOptions& wanted, const ScalarsOf& scalars, Observer& observer);

}  // namespace kreisel::run
