// Catalogues: lists of things with a name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kreisel/base/error.hpp"

namespace kreisel {

template <class List>
std::vector<std::string> names_in(const List& list) {
  std::vector<std::string> names;
  for (const auto& entry : list) names.emplace_back(entry.name);
  return names;
}

/// The entry of that name. Throws InvalidInput with the nearest match: "unknown KIND 'x'; did you mean 'y'?".
template <class List>
const auto& find_named(const List& list, std::string_view kind, std::string_view name) {
  for (const auto& entry : list)
    if (entry.name == name) return entry;
  throw InvalidInput(unknown_name(kind, name, names_in(list)));
}

}  // namespace kreisel
