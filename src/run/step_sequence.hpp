// Prescribed steps instead of error control, for studies of variable step sizes.
#pragma once

#include <string>
#include <vector>

#include "kreisel/options.hpp"

namespace kreisel::run {

/// Problems of a sequence on [t0, t0 + span], one sentence each; empty: none.
std::vector<std::string> problems_in(const StepSequence& sequence, double span);

struct Steps {
  std::vector<double> sizes;  ///< sum = span
  double factor = 1.0;        ///< by which all were shrunk to end there, ≤ 1
};

/// As many steps as cover `span`, shrunk by one common factor so that the last ends there: their ratios stay. The first
/// `equal` ones have one size, as the starting values of a multistep method need them (Wieloch 2022, Remark 24): where
/// the sequence does not begin so, its first step is repeated. Requires a sequence without problems.
Steps steps_of(const StepSequence& sequence, double t0, double span, int equal);

}  // namespace kreisel::run
