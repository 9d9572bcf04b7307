// Checks before a run: input that `integrate` rejects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kreisel/observer.hpp"

namespace kreisel::run {

/// One thing wrong with the options.
struct OptionProblem {
  std::string field, message;
};

/// Throws InvalidInput for bytes from which `integrate` cannot continue: truncated, damaged, of another build of kreisel,
/// of other options (`max_steps` and `threads` may differ), of files that have changed, of another start or model. It compares
/// the structure of the model and the equations at the start; `integrate` compares them again where the run continues.
void check_checkpoint(std::string_view checkpoint, const system::System& system, const system::Start& start,
                      const Options& options);

/// The formulation that a run with these options uses.
system::Formulation formulation_in_use(const Options& options, const system::System& system);

/// All options that `integrate` would reject; empty: none.
std::vector<OptionProblem> problems_in(const Options& options, const system::System& system,
                                       const system::Start& start);

/// Throws InvalidInput with all of them, and when the start violates the constraints or these are redundant.
void refuse_what_cannot_run(const system::System& system, const system::Start& start, const Options& options);

}  // namespace kreisel::run
