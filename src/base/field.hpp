// Fields: values that a user sets by name, described once as data. Readers, help, schemas and references are derived from it.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/choices.hpp"

namespace kreisel {

enum class FieldKind { number, whole, truth, word, words, numbers, text };

struct Field {
  std::string name;     ///< as in C++, JSON and Python
  std::string meaning;  ///< in one sentence, without a full stop
  double default_number = 0.0;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_is_excluded = false;
  /// What a word may be; a number with words is one of them, the first by default. "file:PATH" stands for any path.
  std::vector<std::string> words{};
  bool is_optional = false;  ///< has no default number; absent unless set
  FieldKind kind = FieldKind::number;
  std::string unit{};
  bool maximum_is_excluded = false;
  std::string fallback{};  ///< the default in words, if it is neither a number nor a word
  std::string noun{};      ///< for messages: "unknown NOUN 'x'"; empty: the name
};

/// A parameter is a field that is a number with a range, or one of several words.
using ParameterInfo = Field;

FieldKind kind_of(const Field& field);

/// "must be positive", "must lie between 0 and 1"; empty: any number will do.
std::string range_in_words(const Field& field);

/// "a number", "two or more of ...": for "expected ...".
std::string expectation(const Field& field);

/// The value of a text for the field, with range and words checked. Throws InvalidInput "is 'x', expected a finite number".
Value read_value(const Field& field, std::string_view text);

/// The value in the type of the field: whole numbers count as numbers, and texts are read. Throws InvalidInput as read_value.
Value checked(const Field& field, const Value& value);

/// For messages: "0.5", "'x'", "[1, 2]".
std::string shown(const Value& value);

/// The field of that name, nullptr: none.
const Field* find_field(const std::vector<Field>& fields, std::string_view name);

}  // namespace kreisel
