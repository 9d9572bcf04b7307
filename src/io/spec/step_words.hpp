// Step sequences in words: what `--steps` understands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "run/step_sequence.hpp"

namespace kreisel::io {

/// `constant:h=H`, `change:h=H,at=T,ratio=R`, `alternate:h=H,ratio=R`,
/// `random:h_min=,h_max=,ratio_min=,ratio_max=,every=,seed=,member=` or `file:PATH`, which holds one step size per line.
/// Throws InvalidInput.
run::StepSequence read_step_sequence(std::string_view text);

std::vector<std::string> step_sequence_kinds();

}  // namespace kreisel::io
