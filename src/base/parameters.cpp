#include "kreisel/base/parameters.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "kreisel/base/error.hpp"

namespace kreisel {
namespace {

double parse_number(std::string_view owner, std::string_view key, std::string_view text) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InvalidInput(fmt::format("{}: parameter '{}' is '{}', expected a finite number, as in --set {}=0.5", owner, key,
                                   text, key));
  return value;
}

}  // namespace

ParameterValues::ParameterValues(const std::vector<ParameterInfo>& infos) {
  for (const ParameterInfo& info : infos) {
    if (!info.words.empty())
      words_[info.name] = info.words.front();
    else if (!info.is_optional)
      numbers_[info.name] = info.default_number;
  }
}

bool ParameterValues::has(std::string_view name) const { return numbers_.contains(name) || words_.contains(name); }

void ParameterValues::set(std::string_view owner, const std::vector<ParameterInfo>& infos, std::string_view key,
                          std::string_view value) {
  std::vector<std::string> names;
  for (const ParameterInfo& info : infos) {
    names.push_back(info.name);
    if (info.name != key) continue;
    if (!info.words.empty()) {
      for (const std::string& word : info.words)
        if (word == value) {
          words_[info.name] = word;
          return;
        }
      throw InvalidInput(fmt::format("{}: {}", owner, unknown_name(fmt::format("value of '{}'", key), value, info.words)));
    }
    const double number = parse_number(owner, key, value);
    const bool too_small = info.minimum_is_excluded ? number <= info.minimum : number < info.minimum;
    if (too_small || number > info.maximum)
      throw InvalidInput(fmt::format("{}: parameter '{}' ({}) is {}, must be {} {}{}", owner, key, info.meaning, number,
                                     info.minimum_is_excluded ? "greater than" : "at least", info.minimum,
                                     std::isfinite(info.maximum) ? fmt::format(" and at most {}", info.maximum) : ""));
    numbers_[info.name] = number;
    return;
  }
  throw InvalidInput(fmt::format("{}: {}", owner, unknown_name("parameter", key, names)));
}

double ParameterValues::number(std::string_view name) const {
  const auto at = numbers_.find(name);
  if (at == numbers_.end()) throw InvalidInput(fmt::format("parameter '{}' has no value", name));
  return at->second;
}

bool ParameterValues::is_set(std::string_view name) const { return numbers_.contains(name); }

const std::string& ParameterValues::word(std::string_view name) const {
  const auto at = words_.find(name);
  if (at == words_.end()) throw InvalidInput(fmt::format("parameter '{}' has no value", name));
  return at->second;
}

std::vector<std::string> ParameterValues::listing() const {
  std::map<std::string, std::string> all(words_.begin(), words_.end());
  for (const auto& [name, number] : numbers_) all[name] = fmt::format("{}", number);
  std::vector<std::string> lines;
  for (const auto& [name, value] : all) lines.push_back(name + "=" + value);
  return lines;
}

}  // namespace kreisel
