// Reference solutions on disk, named after what they depend on.
#pragma once

#include <memory>
#include <string_view>

#include "study/reference.hpp"

namespace kreisel::study {

/// Null when the folder has none for this key, or one that is damaged.
std::shared_ptr<const Reference> read_cached(const io::Path& folder, std::string_view key);
/// Errors of writing are ignored: the cache only saves time.
void write_cached(const io::Path& folder, std::string_view key, const Reference& reference);

}  // namespace kreisel::study
