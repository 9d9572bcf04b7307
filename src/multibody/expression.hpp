// Small formulas in t, such as 0.1*sin(2*pi*t): parsed into a list of operations, never handed to an interpreter.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kreisel::multibody {

/// A function of time with its first two derivatives.
struct Jet {
  double value = 0.0, rate = 0.0, curve = 0.0;
};

/// Numbers, t, pi, + - * / ^, parentheses and the functions of `function_names`.
class Expression {
 public:
  static constexpr int max_length = 1000;  ///< characters
  static constexpr int max_depth = 32;     ///< nesting, and values waiting for an operation
  static constexpr int max_corners = 100;  ///< of abs, sign, min and max in one formula

  Expression() = default;  ///< zero
  explicit Expression(double constant);
  /// Throws InvalidInput "column 5: ..., expected ...".
  explicit Expression(std::string_view text);

  /// At a zero of their argument abs and sign, at equal arguments min and max are what they are just after it.
  Jet at(double t) const { return evaluate(t, nullptr); }
  bool is_constant() const { return is_constant_; }

  /// Where one of abs, sign, min and max takes its other branch.
  struct Corner {
    double t = 0.0;     ///< the first number with the branch after it
    Jet before, after;  ///< the function on either side
  };
  /// The first one in (after, until). None is missed: intervals of t are divided until intervals of the arguments show that
  /// there is no other, or down to round-off.
  std::optional<Corner> next_corner(double after, double until) const;
  const std::string& text() const { return text_; }

  static std::vector<std::string> function_names();

 private:
  friend class ExpressionParser;
  enum class Operation {
    number,
    time,
    add,
    subtract,
    multiply,
    divide,
    power,
    negate,
    sin,
    cos,
    tan,
    exp,
    log,
    sqrt,
    sinh,
    cosh,
    tanh,
    asin,
    acos,
    atan,
    abs,
    sign,
    atan2,
    min,
    max
  };
  struct Instruction {
    Operation operation = Operation::number;
    double number = 0.0;
  };

  /// Which branch each of abs, sign, min and max takes: the sign of the argument, or of the difference of the two.
  using Branches = std::array<signed char, max_corners>;
  class Search;

  Jet evaluate(double t, Branches* branches) const;

  std::vector<Instruction> program_;  ///< postfix
  int corners_ = 0;                   ///< of the instructions, how many have branches
  std::string text_ = "0";
  bool is_constant_ = true;
};

}  // namespace kreisel::multibody
