// Errors that end a run before it starts, or that belong to the environment.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kreisel {

/// Invalid input of the user. The message says what is wrong, where, what was expected and what to do.
class InvalidInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A failure of the environment: a file that cannot be written, a full disk.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The entry of `known` nearest to `word` in edit distance; empty when nothing is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "unknown WHAT 'word'; did you mean 'near'? known: a, b, c", the message for every misspelt name.
std::string unknown_name(std::string_view what, std::string_view word, const std::vector<std::string>& known);

// Catalogues: lists of things with a name.

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
