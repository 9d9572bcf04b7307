// What a mechanism looks like, for the page: written beside a result, so that the page needs no model file.
#pragma once

#include "io/json/json_source.hpp"
#include "models/catalogue.hpp"

namespace kreisel::io {

/// "scene" of summary.json as in viewer/data.md: up, shapes of the bodies, where joints act and which rows are theirs.
/// What the model says itself, or what its mechanism looks like; null for other systems.
Json scene_of(const models::Model& model);

}  // namespace kreisel::io
