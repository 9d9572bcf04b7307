#include "io/model_file/colour.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace kreisel::io {
namespace {

/// Sorted.
constexpr std::array<std::string_view, 148> names{"aliceblue",
                                                  "antiquewhite",
                                                  "aqua",
                                                  "aquamarine",
                                                  "azure",
                                                  "beige",
                                                  "bisque",
                                                  "black",
                                                  "blanchedalmond",
                                                  "blue",
                                                  "blueviolet",
                                                  "brown",
                                                  "burlywood",
                                                  "cadetblue",
                                                  "chartreuse",
                                                  "chocolate",
                                                  "coral",
                                                  "cornflowerblue",
                                                  "cornsilk",
                                                  "crimson",
                                                  "cyan",
                                                  "darkblue",
                                                  "darkcyan",
                                                  "darkgoldenrod",
                                                  "darkgray",
                                                  "darkgreen",
                                                  "darkgrey",
                                                  "darkkhaki",
                                                  "darkmagenta",
                                                  "darkolivegreen",
                                                  "darkorange",
                                                  "darkorchid",
                                                  "darkred",
                                                  "darksalmon",
                                                  "darkseagreen",
                                                  "darkslateblue",
                                                  "darkslategray",
                                                  "darkslategrey",
                                                  "darkturquoise",
                                                  "darkviolet",
                                                  "deeppink",
                                                  "deepskyblue",
                                                  "dimgray",
                                                  "dimgrey",
                                                  "dodgerblue",
                                                  "firebrick",
                                                  "floralwhite",
                                                  "forestgreen",
                                                  "fuchsia",
                                                  "gainsboro",
                                                  "ghostwhite",
                                                  "gold",
                                                  "goldenrod",
                                                  "gray",
                                                  "green",
                                                  "greenyellow",
                                                  "grey",
                                                  "honeydew",
                                                  "hotpink",
                                                  "indianred",
                                                  "indigo",
                                                  "ivory",
                                                  "khaki",
                                                  "lavender",
                                                  "lavenderblush",
                                                  "lawngreen",
                                                  "lemonchiffon",
                                                  "lightblue",
                                                  "lightcoral",
                                                  "lightcyan",
                                                  "lightgoldenrodyellow",
                                                  "lightgray",
                                                  "lightgreen",
                                                  "lightgrey",
                                                  "lightpink",
                                                  "lightsalmon",
                                                  "lightseagreen",
                                                  "lightskyblue",
                                                  "lightslategray",
                                                  "lightslategrey",
                                                  "lightsteelblue",
                                                  "lightyellow",
                                                  "lime",
                                                  "limegreen",
                                                  "linen",
                                                  "magenta",
                                                  "maroon",
                                                  "mediumaquamarine",
                                                  "mediumblue",
                                                  "mediumorchid",
                                                  "mediumpurple",
                                                  "mediumseagreen",
                                                  "mediumslateblue",
                                                  "mediumspringgreen",
                                                  "mediumturquoise",
                                                  "mediumvioletred",
                                                  "midnightblue",
                                                  "mintcream",
                                                  "mistyrose",
                                                  "moccasin",
                                                  "navajowhite",
                                                  "navy",
                                                  "oldlace",
                                                  "olive",
                                                  "olivedrab",
                                                  "orange",
                                                  "orangered",
                                                  "orchid",
                                                  "palegoldenrod",
                                                  "palegreen",
                                                  "paleturquoise",
                                                  "palevioletred",
                                                  "papayawhip",
                                                  "peachpuff",
                                                  "peru",
                                                  "pink",
                                                  "plum",
                                                  "powderblue",
                                                  "purple",
                                                  "rebeccapurple",
                                                  "red",
                                                  "rosybrown",
                                                  "royalblue",
                                                  "saddlebrown",
                                                  "salmon",
                                                  "sandybrown",
                                                  "seagreen",
                                                  "seashell",
                                                  "sienna",
                                                  "silver",
                                                  "skyblue",
                                                  "slateblue",
                                                  "slategray",
                                                  "slategrey",
                                                  "snow",
                                                  "springgreen",
                                                  "steelblue",
                                                  "tan",
                                                  "teal",
                                                  "thistle",
                                                  "tomato",
                                                  "turquoise",
                                                  "violet",
                                                  "wheat",
                                                  "white",
                                                  "whitesmoke",
                                                  "yellow",
                                                  "yellowgreen"};

bool is_hex(std::string_view digits) {
  const bool has_length = digits.size() == 3 || digits.size() == 4 || digits.size() == 6 || digits.size() == 8;
  return has_length && std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Three or four numbers, each perhaps in % or deg, between commas, blanks or a slash.
bool is_list_of_numbers(std::string_view text) {
  int numbers = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto is_one_of = [&](std::string_view set) { return set.find(text[at]) != std::string_view::npos; };
    if (is_one_of(" ,/")) {
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && is_one_of("0123456789.+-")) ++at;
    if (at == begin) return false;
    if (text.substr(at).starts_with("%"))
      ++at;
    else if (text.substr(at).starts_with("deg"))
      at += 3;
    ++numbers;
  }
  return numbers == 3 || numbers == 4;
}

}  // namespace

bool is_css_colour(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.starts_with("#")) return is_hex(std::string_view(lower).substr(1));
  for (const std::string_view function : {"rgb(", "rgba(", "hsl(", "hsla("})
    if (lower.starts_with(function) && lower.ends_with(")"))
      return is_list_of_numbers(std::string_view(lower).substr(function.size(), lower.size() - function.size() - 1));
  return std::binary_search(names.begin(), names.end(), std::string_view(lower));
}

}  // namespace kreisel::io
