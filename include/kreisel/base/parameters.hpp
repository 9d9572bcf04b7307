// Named parameters of models and methods: what exists, its default and range; what `--set key=value` reaches.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kreisel {

/// A number with a range, or one of several words.
struct ParameterInfo {
  std::string name;
  std::string meaning;
  double default_number = 0.0;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_is_excluded = false;
  std::vector<std::string> words{};  ///< non-empty: the parameter is a word, the first is the default
  bool is_optional = false;        ///< has no default number; absent unless set
};

class ParameterValues {
 public:
  ParameterValues() = default;
  explicit ParameterValues(const std::vector<ParameterInfo>& infos);  ///< all defaults

  bool has(std::string_view name) const;
  /// Parses, checks the range and stores; throws InvalidInput naming `owner`, key, value and what would be right.
  void set(std::string_view owner, const std::vector<ParameterInfo>& infos, std::string_view key,
           std::string_view value);
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
