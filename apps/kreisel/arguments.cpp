// Arguments that several subcommands share, and the words they accept.
#include <fmt/format.h>

#include <CLI/Option.hpp>
#include <algorithm>

#include "command.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"
#include "kreisel/groups.hpp"

namespace kreisel::apps {

ModelArguments::ModelArguments(CLI::App& parser) {
  parser.add_option("MODEL", model_, "model by name, see 'kreisel list models', or a model file")->type_name("");
  parser
      .add_option("--group", group_,
                  fmt::format("Lie group of the formulation {{{}}}", fmt::join(lie::group_names(), ", ")))
      ->type_name("G")
      ->group("Model");
  parser
      .add_option("--set", settings_, "parameters of the model, then of the method; a prefix model. or method. decides")
      ->type_name("KEY=VALUE")
      ->group("Model");
}

void ModelArguments::fill(io::RunSpec& spec) const {
  spec.model = model_;
  spec.group = group_;
  // --set takes all words up to the next option, so a model may have ended up there.
  for (const std::string& word : settings_) {
    if (word.find('=') == std::string::npos && spec.model.empty())
      spec.model = word;
    else
      spec.read_setting(word);
  }
  if (spec.model.empty()) throw InvalidInput("no model given; 'kreisel list models' shows the built-in ones");
}

std::string as_flag(std::string_view field) {
  if (field == "initial values" || field == "events") return std::string(field);  // of the model
  std::string flag = "--" + std::string(field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string as_key(std::string_view field) {
  const bool is_key = io::find_run_field(field) != nullptr || field == "set" || field == "group";
  return is_key ? fmt::format("\"{}\"", field) : as_flag(field);
}

void add_run_option(CLI::App& parser, const io::RunField& field, io::RunSpec& spec) {
  const std::string flag = as_flag(field.field.name), meaning = run::described(field.field), heading(field.heading);
  if (field.field.kind == FieldKind::truth)
    parser
        .add_flag_callback(
            flag, [&] { spec.set(field.field.name, true); }, meaning)
        ->group(heading);
  else
    parser
        .add_option_function<std::string>(
            flag, [&](const std::string& text) { spec.set(field.field.name, text); }, meaning)
        ->type_name(std::string(field.symbol))
        ->group(heading);
}

std::vector<std::string> words_of(std::string_view option) {
  if (option == "group") return lie::group_names();
  if (option == "format") return names_of<io::TrajectoryFormat>();
  const io::RunField* field = io::find_run_field(option);
  return field == nullptr || field->field.kind == FieldKind::numbers ? std::vector<std::string>() : field->field.words;
}

}  // namespace kreisel::apps
