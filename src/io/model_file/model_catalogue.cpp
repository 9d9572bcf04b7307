#include "io/model_file/model_catalogue.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "io/model_file/model_compose.hpp"
#include "io/model_file/model_file.hpp"
#include "io/model_file/model_parameters.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

using models::ModelInfo;

std::string text_at(const Json& root, const char* key, std::string otherwise) {
  if (!root.is_object()) return otherwise;
  const auto found = root.find(key);
  return found != root.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// Only what must be known before the model is made; complaints come then.
ModelInfo info_of(std::shared_ptr<const JsonSource> source, std::string name, bool accepts_gaps,
                  const UserFunctions& functions = {}) {
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
      return definition_of(flat != nullptr ? *flat : source->root(), own, values);
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
  if (name.empty()) throw InvalidInput("no model given; 'kreisel list models' shows the built-in ones");
  const bool looks_like_a_file = name.find('/') != std::string::npos || name.ends_with(".json");
  if (!looks_like_a_file) {
    for (const ModelInfo& info : model_catalogue())
      if (info.name == name) return {std::shared_ptr<const void>(), &info};
    throw InvalidInput(unknown_name("model", name, model_names()));
  }
  std::error_code error;
  if (!std::filesystem::exists(name, error)) throw InvalidInput(fmt::format("there is no model file '{}'", name));
  return std::make_shared<const ModelInfo>(
      model_of(std::make_shared<JsonSource>(JsonSource::read(name, "model file")), accepts_gaps));
}

ModelInfo model_of(std::shared_ptr<const JsonSource> source, bool accepts_gaps, const UserFunctions& functions) {
  return info_of(std::move(source), "", accepts_gaps, functions);
}

}  // namespace kreisel::io
