// Texts from users and files: in messages, as numbers, in tables.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kreisel {

/// At most `limit` bytes of `text`, then "..." where something was left out; no UTF-8 sequence is cut apart.
std::string clipped(std::string_view text, std::size_t limit);

/// The finite number that the whole text is, in decimal notation whatever the locale; a leading plus sign is allowed.
std::optional<double> number_in(std::string_view text);

/// A cell of a CSV file: in quotes where it has commas, quotes or a '#' (RFC 4180); line ends become blanks.
std::string csv_cell(std::string_view text);

}  // namespace kreisel
