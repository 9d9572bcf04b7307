// The shapes of a mechanism for the page, written beside a result so that the page needs no model file.
#pragma once

#include "io/json/json_source.hpp"
#include "models/catalogue.hpp"

namespace kreisel::io {

/// "scene" of summary.json as in viewer/data.md: up, shapes of the bodies, where joints act and which rows are theirs.
/// As given by the model, or derived from its mechanism; null for other systems.
Json scene_of(const models::Model& model);

}  // namespace kreisel::io
