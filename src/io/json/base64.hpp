// Bytes as text in base 64.
#pragma once

#include <string>
#include <string_view>

namespace kreisel::io {

std::string base64(std::string_view bytes);
/// The bytes again; empty: `text` is not base 64.
std::string from_base64(std::string_view text);

}  // namespace kreisel::io
