// Formulas such as 0.1*sin(2*pi*t) or -k*(knee - 0.8): parsed into a list of operations, never handed to an
// interpreter.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kreisel::formula {

/// In postfix order; the caller gives each `name` its meaning.
enum class Operation {
  number,
  name,
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
  int name = -1;  ///< of Formula::names
};

/// How many values an operation takes.
int operands_of(Operation operation);
/// abs, sign, min and max: they have two branches.
bool has_branches(Operation operation);

/// The functions that formulas may call.
std::vector<std::string> function_names();

/// Names in the order in which messages list them; each name occurs once.
class Names {
 public:
  Names() = default;
  Names(std::initializer_list<std::string_view> names);

  /// False: already present. Names that are not listed are still known.
  bool add(std::string_view name, bool is_listed = true);
  bool has(std::string_view name) const { return all_.contains(std::string(name)); }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
  std::unordered_set<std::string> all_;
};

/// Numbers by name.
class Constants {
 public:
  void set(const std::string& name, double value) { values_[name] = value; }
  /// nullptr: none.
  const double* find(const std::string& name) const;

 private:
  std::unordered_map<std::string, double> values_;
};

/// Numbers, names, pi, + - * / ^, parentheses and functions. A name is a word; its components are written word.x, its
/// rate word'.
class Formula {
 public:
  static constexpr int max_length = 1000;  ///< characters
  static constexpr int max_depth = 32;     ///< nesting, and values waiting for an operation

  /// Throws InvalidInput "formula '2*sine(t)', character 3: unknown name 'sine'; did you mean ..." for words that are
  /// neither functions nor among `known`.
  Formula(std::string_view text, const Names& known);

  const std::string& text() const { return text_; }
  const std::vector<Instruction>& program() const { return program_; }

  struct Name {
    std::string text;
    std::size_t at = 0;  ///< of its first occurrence
  };
  /// Each name once, in the order in which they appear.
  const std::vector<Name>& names() const { return names_; }
  /// Throws InvalidInput as the parser does, about the name.
  [[noreturn]] void refuse(const Name& name, std::string_view message) const;

 private:
  friend class Parser;
  std::string text_;
  std::vector<Instruction> program_;
  std::vector<Name> names_;
};

/// Why a model cannot use the word as a name ("is a function"); empty: it can.
std::string problem_with_name(std::string_view name);

}  // namespace kreisel::formula
