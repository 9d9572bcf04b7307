// The model of a run as one file: parts and group written out, the start where the run has it.
#pragma once

#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::io {

/// A model file that moves as the run does. Throws InvalidInput for a model that cannot be written as a file.
Json written_model(const PreparedRun& run);

}  // namespace kreisel::io
