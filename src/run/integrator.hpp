// What `integrate` refuses.
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

/// Throws InvalidInput for bytes from which `integrate` cannot go on: truncated, damaged, of another build of kreisel,
/// of other options (`max_steps` and `threads` may differ), of files that have changed, of another start or model. Of a
/// model it sees the structure and the equations at the start; `integrate` compares them once more where the run goes
/// on.
void check_checkpoint(std::string_view checkpoint, const system::System& system, const system::Start& start,
                      const Options& options);

/// The formulation that a run with these options uses.
system::Formulation formulation_in_use(const Options& options, const system::System& system);

/// The options that `integrate` would refuse, all at once; empty: none.
std::vector<OptionProblem> problems_in(const Options& options, const system::System& system,
                                       const system::Start& start);

/// Throws InvalidInput with all of them, and when the start misses the constraints or these depend on each other.
void refuse_what_cannot_run(const system::System& system, const system::Start& start, const Options& options);

}  // namespace kreisel::run
