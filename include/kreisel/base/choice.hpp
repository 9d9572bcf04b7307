// Options that are one of a few things: an enum with the spellings of its values.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kreisel/base/find.hpp"

namespace kreisel {

template <class Enum>
struct Spelled {
  Enum id;
  std::string_view name;
};

/// Specialised beside each enum: `noun` for messages, and `entries`, a range of Spelled or of anything with `id` and `name`.
template <class Enum>
struct Spellings;

template <class Enum>
std::vector<std::string> names_of() {
  return names_in(Spellings<Enum>::entries);
}

/// A value of the enum, or none: then a default applies. It can be given by its name as well, which throws InvalidInput
/// unless it is one of the spellings; the empty name is none.
template <class Enum>
class Choice {
 public:
  constexpr Choice() = default;
  constexpr Choice(Enum value) : value_(value), is_given_(true) {}
  Choice(std::string_view name) {
    if (name.empty()) return;
    value_ = find_named(Spellings<Enum>::entries, Spellings<Enum>::noun, name).id;
    is_given_ = true;
  }
  Choice(const char* name) : Choice(std::string_view(name)) {}
  Choice(const std::string& name) : Choice(std::string_view(name)) {}

  constexpr bool is_given() const { return is_given_; }
  constexpr Enum value_or(Enum otherwise) const { return is_given_ ? value_ : otherwise; }
  /// Empty: none.
  constexpr std::string_view name() const {
    if (is_given_)
      for (const auto& entry : Spellings<Enum>::entries)
        if (entry.id == value_) return entry.name;
    return {};
  }

  friend bool operator==(const Choice&, const Choice&) = default;

 private:
  Enum value_{};
  bool is_given_ = false;
};

}  // namespace kreisel
