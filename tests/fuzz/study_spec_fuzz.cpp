// The files of `kreisel study`, up to the first run.
#include <cstdint>

#include "kreisel/error.hpp"
#include "study/spec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    kreisel::study::parse_spec(kreisel::io::JsonSource("input.json", {reinterpret_cast<const char*>(data), size}));
  } catch (const kreisel::InvalidInput&) {
  }
  return 0;
}
