#include "io/model_file/model_catalogue.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "io/model_file/mesh_file.hpp"
#include "io/model_file/model_compose.hpp"
#include "io/model_file/model_file.hpp"
#include "io/model_file/model_parameters.hpp"
#include "io/model_file/part_numbers.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

using models::ModelInfo;

std::string text_at(const Json& root, const char* key, std::string otherwise) {
  if (!root.is_object()) return otherwise;
  const auto found = root.find(key);
  return found != root.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

ModelInfo info_of(std::shared_ptr<const JsonSource> source, std::string name, bool accepts_gaps,
                  const UserFunctions& functions = {});

/// Position of the part of this name in the file; empty: not found.
std::string find_part(const Json& root, const std::string& name) {
  for (const char* kind : {"forces", "joints", "drivers", "bodies", "events", "rods", "sections", "materials"}) {
    const auto list = root.is_object() ? root.find(kind) : root.end();
    if (!root.is_object() || list == root.end() || !list->is_array()) continue;
    for (std::size_t i = 0; i < list->size(); ++i)
      if (text_at((*list)[i], "name", "") == name) return below(below("", kind), i);
  }
  return {};
}

/// The model with another name for one of its parameters.
ModelInfo renamed(ModelInfo info, const std::string& own, const std::string& called) {
  const std::vector<ParameterInfo> parameters = info.parameters;
  for (ParameterInfo& parameter : info.parameters)
    if (parameter.name == own) parameter.name = called;
  const auto translated = [parameters, own, called](const ParameterValues& values) {
    ParameterValues out = values;
    if (values.is_set(called)) out.set("", parameters, own, values.number(called));
    return out;
  };
  info.make = [make = info.make, translated, own, called](std::string_view group, const ParameterValues& values) {
    models::Model model = make(group, translated(values));
    if (auto entry = model.parameters.extract(own)) {
      entry.key() = called;
      model.parameters.insert(std::move(entry));
    }
    return model;
  };
  info.suggestions = [suggestions = info.suggestions, translated](const ParameterValues& values) {
    return suggestions(translated(values));
  };
  return info;
}

ModelInfo with_numbers(const JsonSource& source, const std::string& called, bool accepts_gaps,
                       const std::vector<std::string>& numbers);

/// The same for a file that includes others. The number of parts may depend on parameters, so it is composed for every set of values.
ModelInfo with_numbers_of_composed(const JsonSource& source, const std::string& called, bool accepts_gaps,
                                   const std::vector<std::string>& numbers) {
  const auto kept = std::make_shared<const JsonSource>(source);
  const auto flat = [kept, called, accepts_gaps, numbers](const ParameterValues& values) {
    const Composed whole = composed(*kept, values);
    if (!whole.problems.empty()) throw InvalidInput(fmt::format("{}", fmt::join(whole.problems, "\n")));
    return with_numbers(JsonSource(called, whole.root.dump(1)), called, accepts_gaps, numbers);
  };
  ModelInfo info = flat({});
  info.parameters_with = [flat](const ParameterValues& values) { return flat(values).parameters; };
  info.make = [flat](std::string_view group, const ParameterValues& values) {
    return flat(values).make(group, values);
  };
  return info;
}

/// The file with parameters in place of numbers: each of `numbers` is "spring.length".
ModelInfo with_numbers(const JsonSource& source, const std::string& called, bool accepts_gaps,
                       const std::vector<std::string>& numbers) {
  if (source.root().is_object() && source.root().contains("include"))
    return with_numbers_of_composed(source, called, accepts_gaps, numbers);
  Json root = source.root();
  std::vector<std::string> names;
  for (const std::string& number : numbers) {
    const std::size_t point = number.rfind('.');
    const std::string part = number.substr(0, point), key = point == std::string::npos ? "" : number.substr(point + 1);
    const std::string pointer = find_part(root, part);
    if (key.empty() || pointer.empty())
      throw InvalidInput(fmt::format("the model has no parameter '{}' and no part named '{}'", number, part));
    Json& owner = root.at(Json::json_pointer(pointer));
    const auto value = owner.find(key);
    if (value == owner.end() || !(value->is_number() || is_formula(*value))) {
      std::vector<std::string> known;
      for (const auto& item : owner.items())
        if (item.value().is_number() || is_formula(item.value())) known.push_back(part + "." + item.key());
      throw InvalidInput(source.located(
          pointer,
          fmt::format("'{}' {} no number '{}'; {}", part, value == owner.end() ? "gives" : "has", key,
                      known.empty() ? std::string("it has none") : fmt::format("it has {}", fmt::join(known, ", ")))));
    }
    std::string own;
    for (const char c : number) own += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (std::isalpha(static_cast<unsigned char>(own.front())) == 0) own = "part_" + own;
    while (root.contains("parameters") && root["parameters"].contains(own)) own += "_";
    const Json before = *value;
    *value = "=" + own;
    root["parameters"][own] = {{"value", before}, {"meaning", fmt::format("{} of '{}'", key, part)}};
    names.push_back(own);
  }
  ModelInfo info = info_of(std::make_shared<JsonSource>(called, root.dump(1)), called, accepts_gaps);
  for (std::size_t i = 0; i < numbers.size(); ++i) info = renamed(std::move(info), names[i], numbers[i]);
  return info;
}

/// Only what must be known before the model is built; errors are reported when it is built.
ModelInfo info_of(std::shared_ptr<const JsonSource> source, std::string name, bool accepts_gaps,
                  const UserFunctions& functions) {
  ModelInfo info;
  info.name = name.empty() ? text_at(source->root(), "name", "mechanism") : std::move(name);
  info.summary = text_at(source->root(), "comment", "");
  info.groups = {"r3xso3", "se3"};
  const bool has_rods = source->root().is_object() && source->root().contains("rods");
  if (text_at(source->root(), "group", has_rods ? "se3" : "") == "se3") std::swap(info.groups[0], info.groups[1]);
  info.parameters = parameters_in(source->root());
  if (source->root().is_object() && source->root().contains("include")) {
    info.parameters_with = [source](const ParameterValues& values) {
      return parameters_in(composed(*source, values).root);
    };
    info.parameters = info.parameters_with({});
  }
  info.suggestions = [source](const ParameterValues& values) { return suggestions_in(*source, values); };
  for (const models::Suggestion& suggestion : suggestions_in(*source, {}))
    accepts_gaps = accepts_gaps || (suggestion.field == "assemble" && suggestion.value == Value(true));
  info.make = [source, accepts_gaps, functions, called = info.name](std::string_view group,
                                                                    const ParameterValues& values) {
    ModelFile file = read_model(
        *source,
        {.group = std::string(group), .accepts_gaps = accepts_gaps, .parameters = values, .functions = functions});
    models::Model model = std::move(file.model);
    model.name = called;
    model.parameters = std::move(file.parameters);
    model.definition = [source, flat = file.flat, own = std::string(group), values] {
      Json whole = flat != nullptr ? *flat : source->root();
      resolve_mesh_files(whole, source->folder());
      return definition_of(whole, own, values);
    };
    return model;
  };
  return info;
}

std::shared_ptr<const JsonSource> source_of(const ShippedFile& file) {
  return std::make_shared<JsonSource>(std::string(file.name), std::string(file.text));
}

}  // namespace

const std::vector<ModelInfo>& model_catalogue() {
  static const std::vector<ModelInfo> list = [] {
    std::vector<ModelInfo> all = models::catalogue();
    for (const ShippedFile& file : shipped_files())
      all.push_back(info_of(source_of(file), std::string(file.name), false));
    return all;
  }();
  return list;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelInfo& info : model_catalogue()) names.push_back(info.name);
  return names;
}

std::shared_ptr<const ModelInfo> find_model(const std::string& name, bool accepts_gaps) {
  return find_model_with({}, name, accepts_gaps);
}

std::shared_ptr<const ModelInfo> find_model_with(const std::vector<std::string>& numbers, const std::string& name,
                                                 bool accepts_gaps) {
  if (name.empty()) throw InvalidInput("no model given; 'kreisel list models' shows the built-in ones");
  const bool looks_like_a_file = name.find('/') != std::string::npos || name.ends_with(".json");
  if (!looks_like_a_file) {
    for (const ShippedFile& file : shipped_files())
      if (!numbers.empty() && file.name == name)
        return std::make_shared<const ModelInfo>(with_numbers(*source_of(file), name, accepts_gaps, numbers));
    for (const ModelInfo& info : model_catalogue())
      if (info.name == name) return {std::shared_ptr<const void>(), &info};
    throw InvalidInput(unknown_name("model", name, model_names()));
  }
  std::error_code error;
  if (!std::filesystem::exists(name, error)) throw InvalidInput(fmt::format("there is no model file '{}'", name));
  const auto source = std::make_shared<JsonSource>(JsonSource::read(name, "model file"));
  return std::make_shared<const ModelInfo>(
      numbers.empty() ? model_of(source, accepts_gaps)
                      : with_numbers(*source, text_at(source->root(), "name", "mechanism"), accepts_gaps, numbers));
}

ModelInfo model_of(std::shared_ptr<const JsonSource> source, bool accepts_gaps, const UserFunctions& functions) {
  return info_of(std::move(source), "", accepts_gaps, functions);
}

}  // namespace kreisel::io
