// Errors that end a run before it starts, or that belong to the environment.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kreisel {

/// The user asked for something that cannot be done: what, where, what was expected, what to do.
class InvalidInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The machine refused: a file that cannot be written, a disk that is full.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The entry of `known` nearest to `word` in edit distance; empty when nothing is near.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// "unknown WHAT 'word'; did you mean 'near'? known: a, b, c", the sentence for every misspelt name.
std::string unknown_name(std::string_view what, std::string_view word, const std::vector<std::string>& known);

}  // namespace kreisel
