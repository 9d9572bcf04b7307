// Named parameters of models and methods: what exists, its default and range, and the values they have.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/base/field.hpp"

namespace kreisel {

/// A parameter is a field that is a number with a range, or one of several words.
using ParameterInfo = Field;

class ParameterValues {
 public:
  ParameterValues() = default;
  explicit ParameterValues(const std::vector<ParameterInfo>& infos);  ///< all defaults

  bool has(std::string_view name) const;
  /// Checks the range and stores; texts are read. Throws InvalidInput naming `owner`, key, value and what would be right.
  void set(std::string_view owner, const std::vector<ParameterInfo>& infos, std::string_view key, const Value& value);
  double number(std::string_view name) const;
  bool is_set(std::string_view name) const;  ///< a number is there (default or given)
  const std::string& word(std::string_view name) const;
  /// name=value, sorted by name.
  std::vector<std::string> listing() const;

 private:
  std::map<std::string, double, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> words_;
};

}  // namespace kreisel
