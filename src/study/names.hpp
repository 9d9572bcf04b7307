// Words of study files that name one of a few things.
#pragma once

#include <array>
#include <string_view>

#include "kreisel/choices.hpp"
#include "study/spec.hpp"

namespace kreisel {

template <>
struct Spellings<study::Span> {
  using enum study::Span;
  static constexpr std::string_view noun = "span";
  static constexpr std::array<Spelled<study::Span>, 6> entries{
      {{max, "max"}, {min, "min"}, {end, "end"}, {first, "first"}, {window, "window"}, {local, "local"}}};
};

}  // namespace kreisel

namespace kreisel::study {

struct ExpectationName {
  std::string_view name;
  ExpectationKind kind;
  double tolerance;  ///< unless the file says otherwise
  std::string_view meaning;
};

inline constexpr std::array<ExpectationName, 8> expectation_names{
    {{"order", ExpectationKind::order, 0.2, "observed order of every matching curve"},
     {"value", ExpectationKind::value, 1e-3, "the number in every matching row, or one number per row"},
     {"at_most", ExpectationKind::at_most, 0, "bound of the number in every matching row"},
     {"at_least", ExpectationKind::at_least, 0, "bound of the number in every matching row"},
     {"ranking", ExpectationKind::ranking, 0,
      "labels by increasing number, at every abscissa they share; a list of labels is a tie"},
     {"same", ExpectationKind::same, 0, "matching rows of the same abscissa agree to this, relative"},
     {"ratio", ExpectationKind::ratio, 0.1, "ratio of the number in where to that in over"},
     {"unstable", ExpectationKind::unstable, 0, "every matching run fails or exceeds this number"}}};

}  // namespace kreisel::study
