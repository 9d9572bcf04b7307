// Where steps must sample a formula of time.
#pragma once

#include "multibody/signal.hpp"

namespace kreisel::multibody {

/// The next corner of a formula in (t, until), or a time before it at which a step from t must sample the piece up to there: at
/// rest, and with the same value at both ends, as for a bump, nothing else would show that it is not constant. Straight pieces need
/// no sample.
system::Corner next_look(const Signal& formula, double t, double until, double resolution);

}  // namespace kreisel::multibody
