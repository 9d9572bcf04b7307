// PDF from SVG, by whatever converter this machine has.
#pragma once

#include <vector>

#include "io/files/files.hpp"

namespace kreisel::apps {

/// Replaces each picture by a PDF beside it and returns their paths. Throws InvalidInput when there is no converter,
/// EnvironmentError when it fails.
std::vector<io::Path> pdf_of(const std::vector<io::Path>& pictures);

}  // namespace kreisel::apps
