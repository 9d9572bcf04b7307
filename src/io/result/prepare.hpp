// From the specification of a user to a run that can start.
#pragma once

#include "io/spec/run_spec.hpp"

namespace kreisel::io {

/// Makes the model and asks run::problems_in. Throws one InvalidInput that lists all that is wrong.
PreparedRun prepare(const RunSpec& spec);

/// Only the model of a spec, without a run; the field `assemble` is respected.
models::Model prepare_model(const RunSpec& spec);

}  // namespace kreisel::io
