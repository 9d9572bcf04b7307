// Texts of others in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kreisel {

/// At most `limit` bytes of `text`, then "..." where something was left out; no UTF-8 sequence is cut apart.
std::string clipped(std::string_view text, std::size_t limit);

}  // namespace kreisel
