// The words of --steps, and what they describe.
#include <cstdint>

#include "io/spec/step_words.hpp"
#include "kreisel/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    kreisel::io::read_step_sequence(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const kreisel::InvalidInput&) {
  }
  return 0;
}
