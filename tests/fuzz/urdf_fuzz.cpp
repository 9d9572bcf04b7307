// Robots, and the model files made of them, as `kreisel import` reads them.
#include <cstdint>

#include "io/model_file/model_file.hpp"
#include "io/model_file/urdf.hpp"
#include "io/result/summary.hpp"
#include "kreisel/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const bool is_free : {false, true}) {
    try {
      const kreisel::io::ImportedModel imported = kreisel::io::import_urdf(
          "input.urdf", {reinterpret_cast<const char*>(data), size}, {.has_free_base = is_free});
      kreisel::io::read_model(kreisel::io::JsonSource("input.json", kreisel::io::to_text(imported.model)));
    } catch (const kreisel::InvalidInput&) {
    }
  }
  return 0;
}
