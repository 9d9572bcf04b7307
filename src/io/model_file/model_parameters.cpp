#include "io/model_file/model_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/field.hpp"
#include "io/json/field_json.hpp"
#include "io/model_file/model_schema.hpp"
#include "kreisel/error.hpp"
#include "multibody/expression.hpp"

namespace kreisel::io {
namespace {

const Json* find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

/// The section; nullptr: absent or unreadable.
const Json* section_of(const Json& root) {
  if (!root.is_object()) return nullptr;
  const Json* section = find(root, "parameters");
  return section != nullptr && section->is_object() ? section : nullptr;
}

/// The number or formula of an entry, nullptr: it has none.
const Json* value_of(const Json& entry) { return entry.is_object() ? find(entry, "value") : &entry; }

bool is_finite_number(const Json& value) { return value.is_number() && std::isfinite(value.get<double>()); }

double number_or(const Json& entry, const char* key, double otherwise) {
  const Json* given = entry.is_object() ? find(entry, key) : nullptr;
  return given != nullptr && is_finite_number(*given) ? given->get<double>() : otherwise;
}

std::string text_or(const Json& entry, const char* key, std::string otherwise) {
  const Json* given = entry.is_object() ? find(entry, key) : nullptr;
  return given != nullptr && given->is_string() ? given->get<std::string>() : otherwise;
}

ParameterInfo info_of(const std::string& name, const Json& entry) {
  ParameterInfo info;
  info.name = name;
  info.meaning = text_or(entry, "meaning", "of the model file");
  info.unit = text_or(entry, "unit", "");
  info.minimum = number_or(entry, "min", info.minimum);
  info.maximum = number_or(entry, "max", info.maximum);
  const Json* value = value_of(entry);
  if (value != nullptr && is_finite_number(*value)) {
    info.default_number = value->get<double>();
  } else {
    info.is_optional = true;
    if (value != nullptr && is_formula(*value)) info.fallback = value->get<std::string>();
  }
  return info;
}

constexpr std::string_view expected =
    "a number, a formula of other parameters such as \"=2*L\", or {\"value\": ..., \"min\": ..., \"max\": ..., "
    "\"unit\": "
    "..., \"meaning\": ...}";

std::string pointer_to(std::string_view name) { return below("/parameters", name); }

}  // namespace

bool is_formula(const Json& value) { return value.is_string() && value.get_ref<const std::string&>().starts_with('='); }

std::string_view formula_in(const Json& value) {
  return std::string_view(value.get_ref<const std::string&>()).substr(1);
}

std::string not_finite(const Json& formula, double value) {
  return fmt::format("is {}, which is {}; expected a finite number", shown(formula),
                     std::isnan(value) ? "not a number" : "infinite");
}

std::vector<ParameterInfo> parameters_in(const Json& root) {
  std::vector<ParameterInfo> infos;
  if (const Json* section = section_of(root))
    for (const auto& item : section->items())
      if (formula::problem_with_name(item.key()).empty()) infos.push_back(info_of(item.key(), item.value()));
  return infos;
}

void ModelParameters::read(const Json& root, const ParameterValues& given, const Complain& complain) {
  const Json* any = root.is_object() ? find(root, "parameters") : nullptr;
  if (any == nullptr) return;
  if (!any->is_object())
    return complain("/parameters", fmt::format("is {}, expected {{\"name\": value, ...}}", shown(*any)));
  static const std::vector<std::string> known = names_of(parameter_object().keys);
  for (const auto& item : any->items()) {
    const std::string& name = item.key();
    const std::string at = pointer_to(name);
    if (const std::string problem = formula::problem_with_name(name); !problem.empty()) {
      complain(at, fmt::format("'{}' {}; choose another name for the parameter", name, problem));
      continue;
    }
    const Json& entry = item.value();
    if (entry.is_object())
      for (const auto& key : entry.items())
        if (std::ranges::count(known, key.key()) == 0)
          complain(below(at, key.key()), unknown_name("key", key.key(), known));
    for (const char* bound : {"min", "max"})
      if (const Json* limit = entry.is_object() ? find(entry, bound) : nullptr;
          limit != nullptr && !is_finite_number(*limit))
        complain(below(at, bound), fmt::format("is {}, expected a number", shown(*limit)));
    for (const char* word : {"unit", "meaning"})
      if (const Json* text = entry.is_object() ? find(entry, word) : nullptr; text != nullptr && !text->is_string())
        complain(below(at, word), fmt::format("is {}, expected a text", shown(*text)));
    const ParameterInfo info = info_of(name, entry);
    if (info.minimum > info.maximum)
      complain(at, fmt::format("has the minimum {}, which is above the maximum {}", info.minimum, info.maximum));
    names_.add(name);
    const Json* value = value_of(entry);
    if (given.is_set(name))
      entries_[name].value = given.number(name);
    else if (value != nullptr && (is_finite_number(*value) || is_formula(*value)))
      entries_[name].value = *value;
    else if (value == nullptr)
      complain(at, "the key \"value\" is missing; expected a number or a formula of other parameters");
    else
      complain(entry.is_object() ? at + "/value" : at, fmt::format("is {}, expected {}", shown(*value), expected));
  }
  for (const std::string& name : names_.list()) {
    const auto entry = entries_.find(name);
    if (entry == entries_.end() || !evaluate(name, complain)) {
      values_.set(name, 0.0);  // already reported; its uses are not reported again
      unknown_.insert(name);
      continue;
    }
    try {
      checked(info_of(name, any->at(name)), value(name));
    } catch (const InvalidInput& problem) {
      complain(pointer_to(name), problem.what());
      unknown_.insert(name);
    }
  }
}

bool ModelParameters::evaluate(const std::string& name, const Complain& complain) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (entry.state == Entry::State::known) return values_.find(name) != nullptr && !unknown_.contains(name);
  if (entry.state == Entry::State::in_work) return refuse_cycle(name, complain), false;
  entry.state = Entry::State::in_work;
  path_.push_back(name);
  try {
    if (entry.value.is_number()) {
      values_.set(name, entry.value.get<double>());
    } else {
      formula::Names allowed{"t"};
      for (const std::string& parameter : names_.list()) allowed.add(parameter);
      const formula::Formula formula(formula_in(entry.value), allowed);
      bool is_known = true;
      for (const formula::Formula::Name& needed : formula.names()) {
        if (needed.text == "t") formula.refuse(needed, "depends on t; a parameter is constant during a run");
        used_.insert(needed.text);
        is_known = evaluate(needed.text, complain) && is_known;
      }
      if (is_known) {
        const double value = multibody::Expression(formula, values_).at(0.0).value;
        if (std::isfinite(value))
          values_.set(name, value);
        else
          complain(pointer_to(name), not_finite(entry.value, value));
      }
    }
  } catch (const InvalidInput& problem) {
    complain(pointer_to(name), problem.what());
  }
  path_.pop_back();
  entry.state = Entry::State::known;
  return values_.find(name) != nullptr;
}

void ModelParameters::refuse_cycle(const std::string& name, const Complain& complain) const {
  const auto begin = std::find(path_.begin(), path_.end(), name);
  complain(pointer_to(name), fmt::format("depends on itself: {} -> {}; give one of these parameters a number",
                                         fmt::join(std::vector<std::string>(begin, path_.end()), " -> "), name));
}

void ModelParameters::note_use(const formula::Formula& formula) {
  for (const formula::Formula::Name& name : formula.names()) used_.insert(name.text);
}

bool ModelParameters::needs_unknown(const formula::Formula& formula) const {
  return std::ranges::any_of(formula.names(),
                             [&](const formula::Formula::Name& name) { return unknown_.contains(name.text); });
}

std::vector<std::string> ModelParameters::unused() const {
  std::vector<std::string> list;
  for (const std::string& name : names_.list())
    if (!used_.contains(name)) list.push_back(name);
  return list;
}

std::string definition_of(const Json& model, std::string_view group, const ParameterValues& values) {
  Json root = model;
  if (!root.is_object()) return root.dump();
  if (!group.empty()) root["group"] = group;
  for (const ParameterInfo& info : parameters_in(root)) {
    if (!values.is_set(info.name) || (!info.is_optional && values.number(info.name) == info.default_number)) continue;
    Json& entry = root["parameters"][info.name];
    (entry.is_object() ? entry["value"] : entry) = values.number(info.name);
  }
  return root.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kreisel::io
