#include "io/json/keys.hpp"

#include <fmt/format.h>

#include <cmath>

namespace kreisel::io {
namespace {

constexpr std::string_view any = "any value";

std::string type_in_words(const Key& key) {
  std::string type = key.form;
  if (type.empty()) switch (kind_of(key.field)) {
      case FieldKind::number:
        type = "number";
        break;
      case FieldKind::whole:
        type = "whole number";
        break;
      case FieldKind::truth:
        type = "true or false";
        break;
      case FieldKind::word:
        type = fmt::format("{}", fmt::join(key.field.words, ", "));
        break;
      case FieldKind::words:
        type = key.field.words.empty() ? "texts" : fmt::format("some of {}", fmt::join(key.field.words, ", "));
        break;
      case FieldKind::numbers:
        type = "numbers";
        break;
      case FieldKind::text:
        type = "text";
        break;
    }
  if (!key.is_list) return type;
  return key.count > 0 ? fmt::format("{} of {}", key.count, type) : fmt::format("list of {}", type);
}

std::string default_in_words(const Key& key) {
  const Field& field = key.field;
  if (key.is_required) return "required";
  if (!field.fallback.empty()) return field.fallback;
  if (!key.form.empty() || key.is_list || field.is_optional) return "";
  if (kind_of(field) == FieldKind::word) return field.words.front();
  return kind_of(field) == FieldKind::number && std::isfinite(field.default_number)
             ? fmt::format("{}", field.default_number)
             : "";
}

std::string in_cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

Key key(std::string name, std::string form, std::string unit, std::string meaning) {
  return {.field = {.name = std::move(name), .meaning = std::move(meaning), .unit = std::move(unit)},
          .form = std::move(form)};
}

Key required(Key key) {
  key.is_required = true;
  return key;
}

Key list_of(Key key, int count) {
  key.is_list = true;
  key.count = count;
  return key;
}

Key remark(std::string name, std::string meaning) {
  return key(std::move(name), std::string(any), "", std::move(meaning));
}

std::vector<std::string> names_of(const std::vector<Key>& keys) {
  std::vector<std::string> names;
  for (const Key& key : keys) names.push_back(key.field.name);
  return names;
}

Json reference_to(std::string_view form) { return {{"$ref", fmt::format("#/$defs/{}", form)}}; }

Json schema_of(const Key& key) {
  Json schema = key.form == any ? Json::object() : key.form.empty() ? schema_of(key.field) : reference_to(key.form);
  schema.erase("description");
  if (key.is_list) {
    schema = {{"type", "array"}, {"items", schema}};
    for (const char* bound : {"minItems", "maxItems"})
      if (key.count > 0) schema[bound] = key.count;
  }
  const std::string unit = key.field.unit.empty() ? "" : fmt::format(" [{}]", key.field.unit);
  const std::string fallback = key.is_required ? "" : default_in_words(key);
  schema["description"] = key.field.meaning + unit + (fallback.empty() ? "" : "; default: " + fallback);
  return schema;
}

Json schema_of(const ObjectInfo& object) {
  Json schema{{"type", "object"},
              {"description", object.meaning},
              {"properties", Json::object()},
              {"additionalProperties", false}};
  Json needed = Json::array();
  for (const Key& key : object.keys) {
    schema["properties"][key.field.name] = schema_of(key);
    if (key.is_required) needed.push_back(key.field.name);
  }
  if (!needed.empty()) schema["required"] = needed;
  return schema;
}

std::string table_of(const std::vector<Key>& keys) {
  std::string out = "| key | what | unit | meaning | default |\n|---|---|---|---|---|\n";
  for (const Key& key : keys)
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", key.field.name, in_cell(type_in_words(key)), key.field.unit,
                       in_cell(key.field.meaning), in_cell(default_in_words(key)));
  return out;
}

}  // namespace kreisel::io
