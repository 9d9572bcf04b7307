#include "support/places.hpp"

namespace kreisel::support {

std::string in_sources(const std::string& path) { return std::string(KREISEL_SOURCE_DIR "/") + path; }

const std::string& program_path() {
  static const std::string path = KREISEL_PROGRAM;
  return path;
}

}  // namespace kreisel::support
