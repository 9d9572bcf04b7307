// Small formulas in t, such as 0.1*sin(2*pi*t): parsed into a list of operations, never handed to an interpreter.
#pragma once

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

  Expression() = default;  ///< zero
  explicit Expression(double constant);
  /// Throws InvalidInput "column 5: ..., expected ...".
  explicit Expression(std::string_view text);

  Jet at(double t) const;
  bool is_constant() const { return is_constant_; }
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

  std::vector<Instruction> program_;  ///< postfix
  std::string text_ = "0";
  bool is_constant_ = true;
};

}  // namespace kreisel::multibody
