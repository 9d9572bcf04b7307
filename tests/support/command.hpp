// The arguments of `kreisel run` that the tests need, turned into an Experiment.
#pragma once

#include <string>

#include "support/experiment.hpp"

namespace kreisel::support {

/// "kreisel run MODEL --method M --step H ... --set key=value"; `--set` reaches the model first, then the method.
/// Throws std::invalid_argument for anything else.
Experiment parse_command(const std::string& command);

}  // namespace kreisel::support
