// Colours as in CSS, which the viewer understands.
#pragma once

#include <string_view>

namespace kreisel::io {

/// Three or six hexadecimal digits after a hash sign (also with one or two for alpha), rgb(...), rgba(...), hsl(...),
/// hsla(...), or one of the 148 names of CSS 4.
bool is_css_colour(std::string_view text);

}  // namespace kreisel::io
