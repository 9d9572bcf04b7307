// The wheelset of the IVP Test Set.
#pragma once

#include "models/catalogue.hpp"

namespace kreisel::models {

ModelInfo wheelset();

}  // namespace kreisel::models
