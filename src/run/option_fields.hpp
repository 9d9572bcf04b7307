// Every field of Options that has a name: what it means, what it may be, and how to get and set it by value.
#pragma once

#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "kreisel/options.hpp"

namespace kreisel::run {

struct OptionField {
  Field field;
  std::string_view symbol;   ///< for its value in a help text: "H"; empty for a switch
  std::string_view heading;  ///< of the help
  Value (*get)(const Options&);
  void (*set)(Options&, const Value&);    ///< a value that `checked` has passed
  bool belongs_to_error_control = false;  ///< has no effect with constant or given steps
};

namespace headings {
inline constexpr std::string_view model = "Model", method = "Method", time = "Time and accuracy",
                                  solver = "Solver and limits";
}

const std::vector<OptionField>& option_fields();

/// Of a help text: meaning, unit, default and words.
std::string described(const Field& field);

}  // namespace kreisel::run
