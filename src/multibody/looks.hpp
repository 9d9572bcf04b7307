// Where steps have to look at a formula of time.
#pragma once

#include "multibody/signal.hpp"

namespace kreisel::multibody {

/// The next corner of a formula in (t, until), or a time before it at which a step from t has to look into the piece up to there: at
/// rest, and with the same value at both ends, as of a bump, nothing else would tell that there is something. Straight pieces need
/// no look.
system::Corner next_look(const Signal& formula, double t, double until, double resolution);

}  // namespace kreisel::multibody
