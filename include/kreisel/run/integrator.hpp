// The run: consistent start, starting values, steps.
#pragma once

#include <memory>

#include "kreisel/run/observer.hpp"
#include "kreisel/run/options.hpp"
#include "kreisel/run/report.hpp"
#include "kreisel/system/system.hpp"

namespace kreisel::run {

/// Integrates from start.t0 to options.t_end. Throws InvalidInput when the options cannot be served; every numerical
/// trouble ends in the report, with everything accepted so far already seen by the observer.
Report integrate(const system::System& system, const system::Start& start, const Options& options, Observer& observer);

/// The options that `integrate` would refuse, all at once; empty: none.
std::vector<Problem> problems_in(const Options& options, const system::System& system, const system::Start& start);

}  // namespace kreisel::run
