// From the user's specification to a run that can start.
#pragma once

#include "io/spec/run_spec.hpp"

namespace kreisel::io {

/// Makes the model and checks with run::problems_in. Throws one InvalidInput that lists all problems.
PreparedRun prepare(const RunSpec& spec);

/// The model of a run that has been prepared, with its start, for a spec that differs in parameters of the model alone: a neighbour, of
/// which nothing is checked that the run has passed.
models::Model prepare_again(const PreparedRun& run, const RunSpec& spec);

/// Only the model of a spec, without a run; the field `assemble` is respected.
models::Model prepare_model(const RunSpec& spec);

}  // namespace kreisel::io
