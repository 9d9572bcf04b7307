// Arguments that several subcommands share, and the words they accept.
#include <fmt/format.h>

#include <CLI/Option.hpp>

#include "command.hpp"
#include "kreisel/base/error.hpp"
#include "kreisel/io/trajectory.hpp"
#include "kreisel/lie/space.hpp"

namespace kreisel::apps {

ModelArguments::ModelArguments(CLI::App& parser) {
  parser.add_option("MODEL", model_, "model by name, see 'kreisel list models', or a model file")->type_name("");
  parser.add_option("--group", group_, fmt::format("Lie group of the formulation {{{}}}", fmt::join(lie::group_names(), ", ")))
      ->type_name("G")
      ->group("Model");
  parser.add_option("--set", settings_, "parameters of the model, then of the method; model. or method. in front decides")
      ->type_name("KEY=VALUE")
      ->group("Model");
}

void ModelArguments::fill(io::RunRequest& request) const {
  request.model = model_;
  request.group = group_;
  // --set takes all words up to the next option, so a model may have ended up there.
  for (const std::string& word : settings_) {
    if (word.find('=') == std::string::npos && request.model.empty())
      request.model = word;
    else
      request.settings.push_back(word);
  }
  if (request.model.empty()) throw InvalidInput("no model given; 'kreisel list models' shows the built-in ones");
}

std::vector<std::string> words_of(std::string_view option) {
  if (option == "group") return lie::group_names();
  if (option == "format") return io::trajectory_format_names();
  for (const io::RunOption& known : io::run_options())
    if (known.name == option && known.words != nullptr && !known.value.empty()) return known.words();
  return {};
}

}  // namespace kreisel::apps
