// Meshes, as models and robots name them.
#include <cstdint>

#include "io/model_file/mesh_file.hpp"
#include "kreisel/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool is_obj : {false, true}) {
    try {
      kreisel::io::mesh_in({reinterpret_cast<const char*>(data), size}, is_obj);
    } catch (const kreisel::InvalidInput&) {
    }
  }
  return 0;
}
