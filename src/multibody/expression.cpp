#include "multibody/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "kreisel/error.hpp"

namespace kreisel::multibody {
namespace {

Jet operator+(const Jet& a, const Jet& b) { return {a.value + b.value, a.rate + b.rate, a.curve + b.curve}; }
Jet operator-(const Jet& a, const Jet& b) { return {a.value - b.value, a.rate - b.rate, a.curve - b.curve}; }
Jet operator*(const Jet& a, const Jet& b) {
  return {a.value * b.value, a.rate * b.value + a.value * b.rate,
          a.curve * b.value + 2.0 * a.rate * b.rate + a.value * b.curve};
}
/// f(a) for f with the derivatives f1, f2 at a.
Jet chain(double f, double f1, double f2, const Jet& a) {
  return {f, f1 * a.rate, f1 * a.curve + f2 * a.rate * a.rate};
}
Jet operator/(const Jet& a, const Jet& b) {
  const double r = 1.0 / b.value;
  return a * chain(r, -r * r, 2.0 * r * r * r, b);
}
Jet power(const Jet& a, const Jet& b) {
  const double n = b.value;
  if (b.rate == 0.0 && b.curve == 0.0) {
    // Small integer powers stay exact, also where the base is zero or negative.
    const double f1 = n == 0.0 ? 0.0 : n * std::pow(a.value, n - 1.0);
    const double f2 = n == 0.0 || n == 1.0 ? 0.0 : n * (n - 1.0) * std::pow(a.value, n - 2.0);
    return chain(std::pow(a.value, n), f1, f2, a);
  }
  const double log = std::log(a.value);
  const Jet exponent = b * chain(log, 1.0 / a.value, -1.0 / (a.value * a.value), a);
  const double f = std::exp(exponent.value);
  return chain(f, f, f, exponent);
}

/// atan2(y, x): θ̇ = (x ẏ - y ẋ)/r², θ̈ = (x ÿ - y ẍ)/r² - 2 θ̇ (x ẋ + y ẏ)/r².
Jet angle_of(const Jet& y, const Jet& x) {
  const double square = x.value * x.value + y.value * y.value;
  const double rate = (x.value * y.rate - y.value * x.rate) / square;
  const double curve = (x.value * y.curve - y.value * x.curve - 2.0 * rate * (x.value * x.rate + y.value * y.rate)) / square;
  return {std::atan2(y.value, x.value), rate, curve};
}

/// The sign of a function now, or from now on where it is zero.
int side_of(const Jet& g) {
  for (const double x : {g.value, g.rate, g.curve})
    if (x != 0.0) return x > 0.0 ? 1 : -1;
  return 0;
}

}  // namespace

/// expression = term {(+|-) term};  term = factor {(*|/) factor};  factor = (+|-) factor | base [^ factor];
/// base = number | t | pi | function ( expression [, expression] ) | ( expression ).
class ExpressionParser {
 public:
  using Operation = Expression::Operation;
  struct Function {
    std::string_view name;
    Operation operation;
    int arguments;
  };
  static constexpr std::array<Function, 17> functions{{{"sin", Operation::sin, 1},
                                                       {"cos", Operation::cos, 1},
                                                       {"tan", Operation::tan, 1},
                                                       {"exp", Operation::exp, 1},
                                                       {"log", Operation::log, 1},
                                                       {"sqrt", Operation::sqrt, 1},
                                                       {"sinh", Operation::sinh, 1},
                                                       {"cosh", Operation::cosh, 1},
                                                       {"tanh", Operation::tanh, 1},
                                                       {"asin", Operation::asin, 1},
                                                       {"acos", Operation::acos, 1},
                                                       {"atan", Operation::atan, 1},
                                                       {"abs", Operation::abs, 1},
                                                       {"sign", Operation::sign, 1},
                                                       {"atan2", Operation::atan2, 2},
                                                       {"min", Operation::min, 2},
                                                       {"max", Operation::max, 2}}};

  ExpressionParser(std::string_view text, Expression& out) : text_(text), out_(out) {}

  void parse() {
    if (text_.size() > Expression::max_length)
      throw InvalidInput(fmt::format("has {} characters, at most {} are read", text_.size(), Expression::max_length));
    expression(0);
    if (at_ < text_.size())
      fail(fmt::format("'{}' is left over, expected an operator or the end", text_.substr(at_, 10)));
    out_.corners_ = static_cast<int>(std::count_if(out_.program_.begin(), out_.program_.end(), [](const auto& instruction) {
      return instruction.operation == Operation::abs || instruction.operation == Operation::sign ||
             instruction.operation == Operation::min || instruction.operation == Operation::max;
    }));
    if (out_.corners_ > Expression::max_corners)
      throw InvalidInput(fmt::format("has {} of abs, sign, min and max, at most {} are read", out_.corners_, Expression::max_corners));
  }

 private:
  void expression(int depth) {
    term(depth);
    while (true) {
      if (accept('+')) {
        term(depth);
        binary(Operation::add);
      } else if (accept('-')) {
        term(depth);
        binary(Operation::subtract);
      } else {
        return;
      }
    }
  }
  void term(int depth) {
    factor(depth);
    while (true) {
      if (accept('*')) {
        factor(depth);
        binary(Operation::multiply);
      } else if (accept('/')) {
        factor(depth);
        binary(Operation::divide);
      } else {
        return;
      }
    }
  }
  void factor(int depth) {
    if (depth > Expression::max_depth) fail(fmt::format("is nested deeper than {} levels", Expression::max_depth));
    if (accept('-')) {
      factor(depth + 1);
      out_.program_.push_back({Operation::negate, 0.0});
      return;
    }
    if (accept('+')) return factor(depth + 1);
    base(depth);
    if (accept('^')) {
      factor(depth + 1);
      binary(Operation::power);
    }
  }
  void base(int depth) {
    skip_space();
    if (accept('(')) {
      expression(depth + 1);
      expect(')');
      return;
    }
    if (at_ < text_.size() && is_letter(text_[at_])) return word(depth);
    number();
  }
  void word(int depth) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "t") {
      out_.is_constant_ = false;
      return push({Operation::time, 0.0});
    }
    if (name == "pi") return push({Operation::number, M_PI});
    for (const Function& f : functions)
      if (f.name == name) {
        expect('(');
        expression(depth + 1);
        if (f.arguments == 2) {
          expect(',');
          expression(depth + 1);
        }
        expect(')');
        if (f.arguments == 2) return binary(f.operation);
        out_.program_.push_back({f.operation, 0.0});
        return;
      }
    at_ = begin;
    std::vector<std::string> known = Expression::function_names();
    known.insert(known.begin(), {"t", "pi"});
    fail(unknown_name("name", name, known));
  }
  void number() {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const bool is_plain = at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.');  // not inf, nan
    if (!is_plain || error != std::errc{})
      fail(at_ == text_.size()
               ? "the formula ends, expected a number, t, pi, a function or '('"
               : fmt::format("found '{}', expected a number, t, pi, a function or '('", text_.substr(at_, 10)));
    at_ = static_cast<std::size_t>(end - text_.data());
    push({Operation::number, value});
  }

  void push(Expression::Instruction instruction) {
    if (++waiting_ > Expression::max_depth)
      fail(fmt::format("more than {} operands wait for an operator", Expression::max_depth));
    out_.program_.push_back(instruction);
  }
  void binary(Operation operation) {
    --waiting_;
    out_.program_.push_back({operation, 0.0});
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      fail(at_ >= text_.size() ? fmt::format("the formula ends, expected '{}'", c)
                               : fmt::format("found '{}', expected '{}'", text_.substr(at_, 10), c));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  [[noreturn]] void fail(const std::string& message) const {
    throw InvalidInput(fmt::format("formula '{}', character {}: {}", text_.substr(0, 60), at_ + 1, message));
  }

  std::string_view text_;
  Expression& out_;
  std::size_t at_ = 0;
  int waiting_ = 0;
};

Expression::Expression(double constant) : program_{{Operation::number, constant}}, text_(fmt::format("{}", constant)) {}

Expression::Expression(std::string_view text) : text_(text) { ExpressionParser(text_, *this).parse(); }

std::vector<std::string> Expression::function_names() {
  std::vector<std::string> names;
  for (const ExpressionParser::Function& f : ExpressionParser::functions) names.emplace_back(f.name);
  return names;
}

Jet Expression::evaluate(double t, Branches* branches) const {
  if (program_.empty()) return {};
  std::array<Jet, max_depth + 1> stack;
  int top = -1, corner = 0;
  const auto branch = [&](const Jet& g) {
    const int side = side_of(g);
    if (branches != nullptr) (*branches)[corner++] = static_cast<signed char>(side);
    return side;
  };
  for (const Instruction& instruction : program_) {
    Jet& a = stack[std::max(top, 0)];
    const double x = a.value;
    switch (instruction.operation) {
      case Operation::number:
        stack[++top] = {instruction.number, 0.0, 0.0};
        break;
      case Operation::time:
        stack[++top] = {t, 1.0, 0.0};
        break;
      case Operation::add:
        --top, stack[top] = stack[top] + stack[top + 1];
        break;
      case Operation::subtract:
        --top, stack[top] = stack[top] - stack[top + 1];
        break;
      case Operation::multiply:
        --top, stack[top] = stack[top] * stack[top + 1];
        break;
      case Operation::divide:
        --top, stack[top] = stack[top] / stack[top + 1];
        break;
      case Operation::power:
        --top, stack[top] = power(stack[top], stack[top + 1]);
        break;
      case Operation::negate:
        a = {-a.value, -a.rate, -a.curve};
        break;
      case Operation::sin:
        a = chain(std::sin(x), std::cos(x), -std::sin(x), a);
        break;
      case Operation::cos:
        a = chain(std::cos(x), -std::sin(x), -std::cos(x), a);
        break;
      case Operation::tan: {
        const double y = std::tan(x), slope = 1.0 + y * y;
        a = chain(y, slope, 2.0 * y * slope, a);
        break;
      }
      case Operation::exp:
        a = chain(std::exp(x), std::exp(x), std::exp(x), a);
        break;
      case Operation::log:
        a = chain(std::log(x), 1.0 / x, -1.0 / (x * x), a);
        break;
      case Operation::sqrt: {
        const double y = std::sqrt(x);
        a = chain(y, 0.5 / y, -0.25 / (x * y), a);
        break;
      }
      case Operation::sinh:
        a = chain(std::sinh(x), std::cosh(x), std::sinh(x), a);
        break;
      case Operation::cosh:
        a = chain(std::cosh(x), std::sinh(x), std::cosh(x), a);
        break;
      case Operation::asin:
      case Operation::acos: {
        const double slope = 1.0 / std::sqrt((1.0 - x) * (1.0 + x)), curve = x * slope * slope * slope;
        a = instruction.operation == Operation::asin ? chain(std::asin(x), slope, curve, a)
                                                     : chain(std::acos(x), -slope, -curve, a);
        break;
      }
      case Operation::abs:
        if (branch(a) < 0) a = {-a.value, -a.rate, -a.curve};
        break;
      case Operation::sign:
        a = {static_cast<double>(branch(a)), 0.0, 0.0};
        break;
      case Operation::atan2:
        --top, stack[top] = angle_of(stack[top], stack[top + 1]);
        break;
      case Operation::min:
        --top, stack[top] = branch(stack[top] - stack[top + 1]) > 0 ? stack[top + 1] : stack[top];
        break;
      case Operation::max:
        --top, stack[top] = branch(stack[top] - stack[top + 1]) < 0 ? stack[top + 1] : stack[top];
        break;
      case Operation::tanh: {
        const double y = std::tanh(x), slope = 1.0 - y * y;
        a = chain(y, slope, -2.0 * y * slope, a);
        break;
      }
      case Operation::atan: {
        const double slope = 1.0 / (1.0 + x * x);
        a = chain(std::atan(x), slope, -2.0 * x * slope * slope, a);
        break;
      }
    }
  }
  return stack[0];
}

}  // namespace kreisel::multibody
