#include "io/json/base64.hpp"

#include <cstdint>

namespace kreisel::io {
namespace {

constexpr std::string_view base64_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0U;
    };
    const unsigned three = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (std::size_t k = 0; k < 4; ++k)
      out += k > 0 && i + k > bytes.size() ? '=' : base64_letters[three >> (18U - 6U * k) & 63U];
  }
  return out;
}

std::string from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return {};
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char letter : text) {
    const std::size_t value = base64_letters.find(letter);
    if (value == std::string_view::npos) return {};
    word = word << 6U | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out += static_cast<char>(word >> bits & 255U);
  }
  return out;
}

}  // namespace kreisel::io
