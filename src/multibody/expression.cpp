#include "multibody/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
  const double curve =
      (x.value * y.curve - y.value * x.curve - 2.0 * rate * (x.value * x.rate + y.value * y.rate)) / square;
  return {std::atan2(y.value, x.value), rate, curve};
}

/// The sign of a function now, or from now on where it is zero.
int side_of(const Jet& g) {
  for (const double x : {g.value, g.rate, g.curve})
    if (x != 0.0) return x > 0.0 ? 1 : -1;
  return 0;
}

}  // namespace

Expression::Expression(double constant) : program_{{Operation::number, constant}}, text_(fmt::format("{}", constant)) {}

Expression::Expression(std::string_view text) : Expression(formula::Formula(text, {"t"}), {}) {}

Expression::Expression(const formula::Formula& formula, const formula::Constants& constants)
    : program_(formula.program()), text_(formula.text()) {
  for (Instruction& instruction : program_) {
    if (has_branches(instruction.operation)) ++corners_;
    if (instruction.operation != Operation::name) continue;
    const formula::Formula::Name& name = formula.names()[instruction.name];
    if (name.text == "t") {
      is_constant_ = false;
    } else {
      const double* value = constants.find(name.text);
      if (value == nullptr) formula.refuse(name, fmt::format("'{}' is neither t nor a constant", name.text));
      instruction = {Operation::number, *value};
    }
  }
  if (corners_ > max_corners)
    throw InvalidInput(
        fmt::format("has {} calls of abs, sign, min and max, at most {} are possible", corners_, max_corners));
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
      case Operation::name:
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
