// One case of a study from request to row.
#pragma once

#include <functional>
#include <memory>

#include "study/row.hpp"

namespace kreisel::study {

/// `reference` may be null when nothing is compared with it. Never throws: errors become the status of the row.
Row run_case(const Spec& spec, const Case& a_case, const std::shared_ptr<const Reference>& reference,
             const std::function<bool()>& wants_to_stop);

/// True when some measure or series of the study is compared with the exact solution.
bool needs_reference(const Spec& spec);

/// Roughly how long the case takes, in steps.
double cost_of(const Spec& spec, const Case& a_case);

inline constexpr const char* not_run = "not-run";

}  // namespace kreisel::study
