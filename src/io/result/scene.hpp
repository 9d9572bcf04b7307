// What a mechanism looks like, for the page: written beside a result, so that the page needs no model file.
#pragma once

#include "io/json/json_source.hpp"
#include "kreisel/system.hpp"

namespace kreisel::io {

/// "scene" of summary.json as in viewer/data.md: up, shapes of the bodies, where joints act and which rows are theirs.
/// Null for systems that are no mechanism.
Json scene_of(const system::System& system);

}  // namespace kreisel::io
