// The version of kreisel, for `kreisel --version` and for every result.
#pragma once

#include <string_view>

namespace kreisel {

/// The release, "0.1.0".
std::string_view version();

/// The commit it was built from: 12 hexadecimal digits, followed by "-modified" when tracked files differed from it;
/// "unknown" outside a git checkout.
std::string_view commit();

/// The compiler and its version, "GNU 12.2.0".
std::string_view compiler();

}  // namespace kreisel
