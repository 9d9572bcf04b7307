// Points of a motion in quadruple precision.
#pragma once

#include <optional>
#include <vector>

#include "study/reference.hpp"

namespace kreisel::study {

/// q, v, v̇, λ at t0 + i (t_end - t0)/count, i = 0, …, count, rounded.
struct PreciseNodes {
  long count = 0;
  std::vector<double> points;
};

/// Extrapolation (Gragg, Bulirsch, Stoer) of order 16 on the index-1 form from these q and v, with the number of steps
/// doubled until two resolutions agree to all digits of a double. Nothing when the system is not a system::Precise,
/// when this agreement is not reached, or when it was stopped.
std::optional<PreciseNodes> precise_nodes(const system::System& system, const lie::Motion& start, double t_end,
                                          const ReferenceOptions& options);

}  // namespace kreisel::study
