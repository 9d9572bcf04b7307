#include "base/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel {
namespace {

constexpr std::string_view separators = ", \t\r\n";
/// Endings of words that represent any path, or any name.
constexpr std::string_view any_path = ":PATH", any_name = ".NAME";

std::string noun_of(const Field& field) {
  std::string noun = field.noun.empty() ? field.name : field.noun;
  std::replace(noun.begin(), noun.end(), '_', ' ');
  return noun;
}

bool is_among(const std::vector<std::string>& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view known) {
    for (const std::string_view open : {any_path, any_name})
      if (known.ends_with(open)) return word.starts_with(known.substr(0, known.size() - open.size() + 1));
    return known == word;
  });
}

void check_word(const Field& field, std::string_view word) {
  if (field.words.empty() || is_among(field.words, word)) return;
  throw InvalidInput(unknown_name(noun_of(field), word, field.words));
}

void check_range(const Field& field, double x) {
  const bool is_above = field.minimum_is_excluded ? x > field.minimum : x >= field.minimum;
  const bool is_below = field.maximum_is_excluded ? x < field.maximum : x <= field.maximum;
  if (is_above && is_below) return;
  throw InvalidInput(fmt::format("is {}, {}", x, range_in_words(field)));
}

[[noreturn]] void refuse(const Field& field, const Value& value) {
  throw InvalidInput(fmt::format("is {}, expected {}", shown(value), expectation(field)));
}

double number_of(const Field& field, const Value& value) {
  double x = std::numeric_limits<double>::quiet_NaN();
  if (const auto* number = std::get_if<double>(&value)) x = *number;
  if (const auto* whole = std::get_if<long>(&value)) x = static_cast<double>(*whole);
  if (!std::isfinite(x)) refuse(field, value);
  return x;
}

template <class Take>
void each_part(std::string_view text, std::string_view ends, const Take& take) {
  for (std::size_t at = text.find_first_not_of(ends); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(ends, at), text.size());
    take(text.substr(at, end - at));
    at = text.find_first_not_of(ends, end);
  }
}

}  // namespace

FieldKind kind_of(const Field& field) {
  return field.kind == FieldKind::number && !field.words.empty() ? FieldKind::word : field.kind;
}

std::string range_in_words(const Field& field) {
  const bool has_minimum = std::isfinite(field.minimum), has_maximum = std::isfinite(field.maximum);
  if (has_minimum && has_maximum) return fmt::format("must lie between {} and {}", field.minimum, field.maximum);
  if (has_minimum && field.minimum == 0.0)
    return field.minimum_is_excluded ? "must be positive" : "must not be negative";
  if (has_minimum)
    return fmt::format("must be {} {}", field.minimum_is_excluded ? "greater than" : "at least", field.minimum);
  if (has_maximum)
    return fmt::format("must be {} {}", field.maximum_is_excluded ? "less than" : "at most", field.maximum);
  return "";
}

std::string expectation(const Field& field) {
  switch (kind_of(field)) {
    case FieldKind::number:
      return "a finite number";
    case FieldKind::whole:
      return "a whole number";
    case FieldKind::truth:
      return "true or false";
    case FieldKind::word:
      return fmt::format("one of {}", fmt::join(field.words, ", "));
    case FieldKind::words:
      return field.words.empty() ? "one or more texts" : fmt::format("some of {}", fmt::join(field.words, ", "));
    case FieldKind::numbers:
      return "one or more numbers";
    case FieldKind::text:
      return "a text";
  }
  return "";
}

std::string shown(const Value& value) {
  struct Words {
    std::string operator()(bool x) const { return x ? "true" : "false"; }
    std::string operator()(long x) const { return fmt::format("{}", x); }
    std::string operator()(double x) const { return fmt::format("{}", x); }
    std::string operator()(const std::string& x) const { return fmt::format("'{}'", clipped(x, 100)); }
    std::string operator()(const std::vector<double>& x) const { return fmt::format("[{}]", fmt::join(x, ", ")); }
    std::string operator()(const std::vector<std::string>& x) const { return fmt::format("[{}]", fmt::join(x, ", ")); }
  };
  return clipped(std::visit(Words(), value), 120);
}

Value read_value(const Field& field, std::string_view text) {
  const Value given{std::string(text)};
  switch (kind_of(field)) {
    case FieldKind::number:
    case FieldKind::whole: {
      const std::optional<double> number = number_in(text);
      if (!number) refuse(field, given);
      return checked(field, *number);
    }
    case FieldKind::truth:
      if (text != "true" && text != "false") refuse(field, given);
      return text == "true";
    case FieldKind::word:
    case FieldKind::text:
      check_word(field, text);
      return given;
    case FieldKind::words: {
      std::vector<std::string> words;
      each_part(text, ",", [&](std::string_view part) { words.emplace_back(part); });
      return checked(field, words);
    }
    case FieldKind::numbers: {
      if (is_among(field.words, text)) return given;
      std::vector<double> numbers;
      each_part(text, separators, [&](std::string_view part) {
        const std::optional<double> number = number_in(part);
        if (!number)
          throw InvalidInput(fmt::format("has '{}', expected numbers separated by commas", clipped(part, 100)));
        numbers.push_back(*number);
      });
      return checked(field, numbers);
    }
  }
  return given;
}

Value checked(const Field& field, const Value& value) {
  const FieldKind kind = kind_of(field);
  if (const auto* text = std::get_if<std::string>(&value); text != nullptr && kind != FieldKind::text)
    return read_value(field, *text);
  switch (kind) {
    case FieldKind::number: {
      const double x = number_of(field, value);
      check_range(field, x);
      return x;
    }
    case FieldKind::whole: {
      const double x = number_of(field, value);
      constexpr double most = 1e15;  // beyond this a double is not a valid count
      if (x != std::floor(x) || std::abs(x) > most) refuse(field, value);
      check_range(field, x);
      return static_cast<long>(x);
    }
    case FieldKind::truth:
      if (!std::holds_alternative<bool>(value)) refuse(field, value);
      return value;
    case FieldKind::word:  // some words are numbers
      if (!std::holds_alternative<long>(value) && !std::holds_alternative<double>(value)) refuse(field, value);
      return read_value(field, shown(value));
    case FieldKind::text:
      if (!std::holds_alternative<std::string>(value)) refuse(field, value);
      return value;
    case FieldKind::words: {
      const auto* words = std::get_if<std::vector<std::string>>(&value);
      if (words == nullptr || words->empty()) refuse(field, value);
      for (const std::string& word : *words) check_word(field, word);
      return value;
    }
    case FieldKind::numbers: {
      if (std::holds_alternative<double>(value) || std::holds_alternative<long>(value))
        return checked(field, std::vector<double>{number_of(field, value)});
      const auto* numbers = std::get_if<std::vector<double>>(&value);
      if (numbers == nullptr || numbers->empty()) refuse(field, value);
      for (const double x : *numbers) check_range(field, number_of(field, x));
      return value;
    }
  }
  return value;
}

const Field* find_field(const std::vector<Field>& fields, std::string_view name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace kreisel
