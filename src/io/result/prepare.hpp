// From the user's specification to a run that can start.
#pragma once

#include "io/spec/run_spec.hpp"

namespace kreisel::io {

/// Makes the model and checks with run::problems_in. Throws one InvalidInput that lists all problems.
PreparedRun prepare(const RunSpec& spec);

/// Only the model of a spec, without a run; the field `assemble` is respected.
models::Model prepare_model(const RunSpec& spec);

}  // namespace kreisel::io
