// Formulas in t with their derivatives and corners.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formula/formula.hpp"

namespace kreisel::multibody {

/// A function of time with its first two derivatives.
struct Jet {
  double value = 0.0, rate = 0.0, curve = 0.0;
};

/// A formula whose names are t and constants.
class Expression {
 public:
  static constexpr int max_depth = formula::Formula::max_depth;
  static constexpr int max_corners = 100;  ///< of abs, sign, min and max in one formula

  Expression() = default;  ///< zero
  explicit Expression(double constant);
  /// Of t alone. Throws InvalidInput as formula::Formula does.
  explicit Expression(std::string_view text);
  /// Every name except t is one of the constants.
  Expression(const formula::Formula& formula, const formula::Constants& constants);

  /// At a zero of their argument abs and sign, at equal arguments min and max are what they are just after it.
  Jet at(double t) const { return evaluate(t, nullptr); }
  bool is_constant() const { return is_constant_; }

  /// Where one of abs, sign, min and max takes its other branch, or where there is a peak: there both sides are the same.
  struct Corner {
    double t = 0.0;     ///< the first number with the branch after it
    Jet before, after;  ///< the function on either side
  };
  /// The first one in (after, until). No change of branches is missed: intervals of t are divided until intervals of the
  /// arguments show that there is no other, or down to round-off. A peak is a value ten times those at both ends of the time
  /// before it: a step over it would miss it.
  std::optional<Corner> next_corner(double after, double until) const;
  const std::string& text() const { return text_; }

 private:
  using Operation = formula::Operation;  ///< `name` is t
  using Instruction = formula::Instruction;

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
