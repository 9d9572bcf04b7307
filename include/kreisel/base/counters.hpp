// What a run cost. Each field is incremented in one place, by the caller of the counted operation.
#pragma once

#include <cstdint>

namespace kreisel {

struct Counters {
  std::int64_t steps = 0;
  std::int64_t rejected_steps = 0;
  std::int64_t newton_iterations = 0;
  std::int64_t residual_evaluations = 0;
  std::int64_t jacobian_evaluations = 0;
  std::int64_t factorizations = 0;
  std::int64_t exponentials = 0;
  std::int64_t brackets = 0;
};

}  // namespace kreisel
