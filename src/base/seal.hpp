// Bytes with a header that identifies them and a checksum.
#pragma once

#include <string>
#include <string_view>

namespace kreisel {

/// `content` behind a head: magic word, version of the format, commit of kreisel, size, checksum.
std::string sealed(std::string_view content);

/// The content, as a part of `bytes`. Throws InvalidInput, a sentence that begins with `what`, for bytes that were not made by
/// `sealed` of this build: other bytes, truncated or damaged ones, those of another commit.
std::string_view unsealed(std::string_view bytes, std::string_view what);

}  // namespace kreisel
