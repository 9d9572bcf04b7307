// Runs nobody thought of: random models, parameters, methods and tolerances. Whatever they ask for, they must end cleanly.
#pragma once

#include <cstdint>
#include <string>

#include "support/experiment.hpp"

namespace kreisel::support {

/// The same for the same seed on every machine.
Experiment random_experiment(std::uint64_t seed);
/// As a command a user could type.
std::string describe(const Experiment& experiment);

struct RandomRunCounts {
  int succeeded = 0, failed = 0, refused = 0;
};

/// Integrates the experiments first … first+count-1 and reports, as failures of the test, those that end without a
/// verdict, with NaN in a shown point, with times that fall, or with steps that lead nowhere.
RandomRunCounts run_random_experiments(std::uint64_t first, int count);

}  // namespace kreisel::support
