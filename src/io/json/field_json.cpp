#include "io/json/field_json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr std::string_view any_path = ":PATH", any_name = ".NAME";

/// Words as an enum, or as a pattern where one of them means any path. No words: any text.
Json schema_of_words(const std::vector<std::string>& words) {
  if (words.empty()) return {{"type", "string"}};
  std::vector<std::string> patterns;
  bool has_open_ones = false;
  for (const std::string& word : words) {
    const bool is_open = word.ends_with(any_path) || word.ends_with(any_name);
    has_open_ones = has_open_ones || is_open;
    patterns.push_back(word.ends_with(any_name)   ? word.substr(0, word.size() - any_name.size()) + "[.]"
                       : word.ends_with(any_path) ? word.substr(0, word.size() - any_path.size() + 1)
                                                  : word + "$");
  }
  if (!has_open_ones) return {{"enum", words}};
  return {{"type", "string"}, {"pattern", fmt::format("^({})", fmt::join(patterns, "|"))}};
}

Json schema_of_number(const Field& field, const char* type) {
  Json schema{{"type", type}};
  if (std::isfinite(field.minimum)) schema[field.minimum_is_excluded ? "exclusiveMinimum" : "minimum"] = field.minimum;
  if (std::isfinite(field.maximum)) schema[field.maximum_is_excluded ? "exclusiveMaximum" : "maximum"] = field.maximum;
  return schema;
}

}  // namespace

std::string shown(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return fmt::format("a list of {}", json.size());
    case Json::value_t::string:
      return fmt::format("\"{}\"", clipped(json.get_ref<const std::string&>(), 40));
    default:
      return json.dump();
  }
}

Value value_in(const Field& field, const Json& json) {
  const FieldKind kind = kind_of(field);
  const auto all = [&](auto is) {
    return json.is_array() && !json.empty() && std::all_of(json.begin(), json.end(), is);
  };
  const auto refuse = [&]() -> Value {
    throw InvalidInput(fmt::format("is {}, expected {}", shown(json), expectation(field)));
  };
  if (json.is_number_integer())
    return checked(field, Value(json.is_number_unsigned() ? static_cast<double>(json.get<std::uint64_t>())
                                                          : static_cast<double>(json.get<std::int64_t>())));
  if (json.is_number()) return checked(field, json.get<double>());
  if (json.is_boolean()) return checked(field, json.get<bool>());
  const bool takes_text =
      kind == FieldKind::word || kind == FieldKind::words || kind == FieldKind::numbers || kind == FieldKind::text;
  if (json.is_string() && takes_text) return checked(field, json.get<std::string>());
  if (kind == FieldKind::numbers && all([](const Json& x) { return x.is_number(); }))
    return checked(field, json.get<std::vector<double>>());
  if (kind == FieldKind::words && all([](const Json& x) { return x.is_string(); }))
    return checked(field, json.get<std::vector<std::string>>());
  return refuse();
}

Json to_json(const Value& value) {
  return std::visit([](const auto& x) { return Json(x); }, value);
}

Json schema_of(const Field& field) {
  Json schema;
  switch (kind_of(field)) {
    case FieldKind::number:
      schema = schema_of_number(field, "number");
      break;
    case FieldKind::whole:
      schema = schema_of_number(field, "integer");
      break;
    case FieldKind::truth:
      schema = {{"type", "boolean"}};
      break;
    case FieldKind::word:
      schema = schema_of_words(field.words);
      break;
    case FieldKind::text:
      schema = {{"type", "string"}};
      break;
    case FieldKind::words:
      schema["anyOf"] = {Json{{"type", "string"}},
                         Json{{"type", "array"}, {"items", schema_of_words(field.words)}, {"minItems", 1}}};
      break;
    case FieldKind::numbers: {
      const Json one = schema_of_number(field, "number");
      schema["anyOf"] = {
          one, Json{{"type", "array"}, {"items", one}, {"minItems", 1}},
          Json{{"type", "string"}, {"pattern", R"(^[-+0-9.eE, \t\r\n]*[0-9][-+0-9.eE, \t\r\n]*$|^file:)"}}};
      break;
    }
  }
  const std::string unit = field.unit.empty() ? "" : fmt::format(" [{}]", field.unit);
  const std::string fallback = field.fallback.empty() ? "" : fmt::format("; default: {}", field.fallback);
  schema["description"] = field.meaning + unit + fallback;
  return schema;
}

}  // namespace kreisel::io
