// data/expectations.json: numbers that a correct program gives.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace kreisel::support {

struct Expectation {
  std::string id, quantity, norm, command, source;
  double rho_inf = 0.0;   ///< of quantities without a command
  double value = 0.0, relative_tolerance = 0.0;
  int at_step = -1;       ///< step at which the maximum is reached; -1: not stated
};

void PrintTo(const Expectation& expectation, std::ostream* out);

/// Throws when the file is missing, a field is missing or unknown, or an id repeats.
std::vector<Expectation> load_expectations(const std::string& path);

struct Measured {
  double value = 0.0;
  int at_step = -1;
};
/// Runs the command and takes the norm of the quantity. Throws std::invalid_argument for unknown words.
Measured measure(const Expectation& expectation);

}  // namespace kreisel::support
