// The run: consistent start, starting values, steps.
#pragma once

#include <string_view>

#include "kreisel/run/observer.hpp"
#include "kreisel/run/options.hpp"
#include "kreisel/run/report.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::run {

/// Integrates from start.t0 to options.t_end. Throws InvalidInput when the options cannot be served; every numerical
/// trouble ends in the report, with everything accepted so far already seen by the observer. With the state of a
/// `checkpoint` of the same run it goes on from there, and everything that follows has the same bits.
Report integrate(const system::System& system, const system::Start& start, const Options& options, Observer& observer,
                 std::string_view checkpoint = {});

/// The options that `integrate` would refuse, all at once; empty: none.
std::vector<OptionProblem> problems_in(const Options& options, const system::System& system, const system::Start& start);

/// Throws InvalidInput with all of them, and when the start misses the constraints or these depend on each other.
void refuse_what_cannot_run(const system::System& system, const system::Start& start, const Options& options);

}  // namespace kreisel::run
