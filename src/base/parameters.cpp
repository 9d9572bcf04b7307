#include "base/field.hpp"

#include <fmt/format.h>

#include "kreisel/error.hpp"

namespace kreisel {

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
                          const Value& value) {
  try {
    const ParameterInfo& info = find_named(infos, "parameter", key);
    try {
      Value found = checked(info, value);
      if (kind_of(info) == FieldKind::word)
        words_[info.name] = std::get<std::string>(found);
      else
        numbers_[info.name] = std::get<double>(found);
    } catch (const InvalidInput& problem) {
      if (kind_of(info) == FieldKind::word) throw;
      throw InvalidInput(fmt::format("parameter '{}' ({}) {}", key, info.meaning, problem.what()));
    }
  } catch (const InvalidInput& problem) {
    throw InvalidInput(owner.empty() ? problem.what() : fmt::format("{}: {}", owner, problem.what()));
  }
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
