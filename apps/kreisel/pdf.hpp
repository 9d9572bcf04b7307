// PDF from SVG, by whatever converter this machine has.
#pragma once

#include <vector>

#include "io/files/files.hpp"

namespace kreisel::apps {

/// A PDF beside each picture, which is then removed; their paths. Throws InvalidInput when there is no converter, EnvironmentError when it
/// fails.
std::vector<io::Path> pdf_of(const std::vector<io::Path>& pictures);

}  // namespace kreisel::apps
