// Ratios of steps h_n/h_{n-1} that BDF tolerates: differences of past errors decay. Cut to four digits; the analysis
// `bdf-stability` computes them.
#pragma once

#include <array>
#include <cmath>

#include "coeff/bdf.hpp"

namespace kreisel::coeff {

struct RatioBounds {
  double constant;  ///< the same growth in every step (Calvo, Grande, Grigorieff 1990)
  double rested;    ///< growth once in k + 1 steps, equal ones between
  double any;       ///< any sequence within [1/s, s]: contraction in the norm of equal steps (Wieloch 2022, eq. 5.42)
};

/// By order; entry 0 is unused.
inline constexpr std::array<RatioBounds, bdf_max_order + 1> bdf_ratio_bounds{{{HUGE_VAL, HUGE_VAL, HUGE_VAL},
                                                                              {HUGE_VAL, HUGE_VAL, HUGE_VAL},
                                                                              {2.414, 18.48, 2.414},
                                                                              {1.618, 4.574, 1.261},
                                                                              {1.280, 3.203, 1.087},
                                                                              {1.127, 1.999, 1.031},
                                                                              {1.044, 1.348, 1.007}}};

}  // namespace kreisel::coeff
