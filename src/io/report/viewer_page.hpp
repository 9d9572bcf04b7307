// The built viewer, made by viewer/build.mjs.
#pragma once

#include <string_view>

namespace kreisel::io {

/// Empty when the program was built without node.
std::string_view viewer_page();

}  // namespace kreisel::io
