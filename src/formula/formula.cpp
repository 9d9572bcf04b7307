#include "formula/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::formula {
namespace {

struct Function {
  std::string_view name;
  Operation operation;
  int arguments;
};
constexpr std::array<Function, 17> functions{{{"sin", Operation::sin, 1},
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

const Function* find_function(std::string_view name) {
  const auto found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() ? nullptr : &*found;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What people write who know other languages.
constexpr std::pair<std::string_view, std::string_view> in_other_languages[] = {
    {"ln", "log is the natural logarithm"},
    {"log10", "write log(x)/log(10)"},
    {"log2", "write log(x)/log(2)"},
    {"pow", "write x^y"},
    {"if", "write branches with max, min, abs and sign; what changes at an instant is an event"},
    {"sgn", "sign does that"},
    {"fabs", "abs does that"},
    {"arcsin", "it is called asin"},
    {"arccos", "it is called acos"},
    {"arctan", "it is called atan"},
};

std::string complaint(std::string_view text, std::size_t at, std::string_view message) {
  return fmt::format("formula '{}', character {}: {}", text.substr(0, 60), at + 1, message);
}

}  // namespace

/// expression = term {(+|-) term};  term = factor {(*|/) factor};  factor = (+|-) factor | base [^ factor];
/// base = number | name | pi | function ( expression [, expression] ) | ( expression );  name = word {. word} {'}.
class Parser {
 public:
  Parser(std::string_view text, const Names& known, Formula& out) : text_(text), known_(known), out_(out) {}

  void parse() {
    if (text_.size() > Formula::max_length)
      throw InvalidInput(fmt::format("has {} characters, at most {} are possible", text_.size(), Formula::max_length));
    expression(0);
    if (at_ < text_.size())
      fail(fmt::format("'{}' is left over, expected an operator or the end", text_.substr(at_, 10)));
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
      skip_space();
      if (text_.substr(at_, 2) == "**") fail("found '**'; a power is written x^2");
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
    if (depth > Formula::max_depth) fail(fmt::format("is nested deeper than {} levels", Formula::max_depth));
    if (accept('-')) {
      factor(depth + 1);
      out_.program_.push_back({Operation::negate});
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
  /// A component belongs to the word only where a letter follows the point.
  std::string_view next_word() {
    const std::size_t begin = at_;
    const auto is_part = [&](std::size_t i) {
      if (i >= text_.size()) return false;
      return is_letter(text_[i]) || is_digit(text_[i]) ||
             (text_[i] == '.' && i + 1 < text_.size() && is_letter(text_[i + 1]));
    };
    while (is_part(at_)) ++at_;
    while (at_ < text_.size() && text_[at_] == '\'') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void word(int depth) {
    const std::size_t begin = at_;
    const std::string_view name = next_word();
    if (known_.has(name)) return push({Operation::name, 0.0, number_of(name, begin)});
    if (name == "pi") return push({Operation::number, M_PI});
    if (const Function* f = find_function(name)) {
      expect('(');
      expression(depth + 1);
      if (f->arguments == 2) {
        expect(',');
        expression(depth + 1);
      }
      expect(')');
      if (f->arguments == 2) return binary(f->operation);
      out_.program_.push_back({f->operation});
      return;
    }
    at_ = begin;
    for (const auto& [other, hint] : in_other_languages)
      if (name == other) fail(fmt::format("there is no function '{}'; {}", name, hint));
    std::vector<std::string> known = known_.list();
    known.insert(known.begin() + (known.empty() ? 0 : 1), "pi");
    for (const Function& f : functions) known.emplace_back(f.name);
    fail(unknown_name("name", name, known));
  }
  int number_of(std::string_view name, std::size_t at) {
    const auto found = std::ranges::find(out_.names_, name, &Formula::Name::text);
    if (found != out_.names_.end()) return static_cast<int>(found - out_.names_.begin());
    out_.names_.push_back({std::string(name), at});
    return static_cast<int>(out_.names_.size()) - 1;
  }
  void number() {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const bool is_plain = at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.');  // not inf, nan
    if (!is_plain || error != std::errc{}) {
      const std::string expected = fmt::format("expected a number, {}pi, a function or '('",
                                               known_.list().empty()       ? ""
                                               : known_.list().size() == 1 ? known_.list().front() + ", "
                                                                           : "a name, ");
      fail(at_ == text_.size() ? "the formula ends, " + expected
                               : fmt::format("found '{}', {}", text_.substr(at_, 10), expected));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    push({Operation::number, value});
  }

  void push(Instruction instruction) {
    if (++waiting_ > Formula::max_depth) fail(fmt::format("more than {} operands are pending", Formula::max_depth));
    out_.program_.push_back(instruction);
  }
  void binary(Operation operation) {
    --waiting_;
    out_.program_.push_back({operation});
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
  [[noreturn]] void fail(const std::string& message) const { throw InvalidInput(complaint(text_, at_, message)); }

  std::string_view text_;
  const Names& known_;
  Formula& out_;
  std::size_t at_ = 0;
  int waiting_ = 0;
};

int operands_of(Operation operation) {
  switch (operation) {
    case Operation::number:
    case Operation::name:
      return 0;
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide:
    case Operation::power:
    case Operation::atan2:
    case Operation::min:
    case Operation::max:
      return 2;
    default:
      return 1;
  }
}

bool has_branches(Operation operation) {
  return operation == Operation::abs || operation == Operation::sign || operation == Operation::min ||
         operation == Operation::max;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Function& f : functions) names.emplace_back(f.name);
  return names;
}

Names::Names(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) add(name);
}

bool Names::add(std::string_view name, bool is_listed) {
  if (!all_.insert(std::string(name)).second) return false;
  if (is_listed) list_.emplace_back(name);
  return true;
}

const double* Constants::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

Formula::Formula(std::string_view text, const Names& known) : text_(text) { Parser(text_, known, *this).parse(); }

void Formula::refuse(const Name& name, std::string_view message) const {
  throw InvalidInput(complaint(text_, name.at, message));
}

std::string problem_with_name(std::string_view name) {
  const auto is_word = [](std::string_view word) {
    return !word.empty() && is_letter(word.front()) &&
           std::ranges::all_of(word, [](char c) { return is_letter(c) || is_digit(c); });
  };
  for (std::string_view rest = name;;) {
    const std::size_t point = rest.find('.');
    const std::string_view word = rest.substr(0, point);
    if (!is_word(word)) return "is not a word of letters, digits and _ that begins with a letter";
    if (word.size() > 60) return "has more than 60 characters";
    if (point == std::string_view::npos) break;
    rest.remove_prefix(point + 1);
  }
  if (find_function(name) != nullptr) return "is a function in formulas";
  if (name == "t") return "is the time in formulas";
  if (name == "pi") return "is a number in formulas";
  if (name == "x" || name == "v") return "is the coordinate of a force or its rate in formulas";
  return {};
}

}  // namespace kreisel::formula
