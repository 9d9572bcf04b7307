// From words to a run: what the command line, study files and Python hand over, and the one place that judges it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/base/parameters.hpp"
#include "kreisel/models/catalogue.hpp"
#include "kreisel/run/options.hpp"
#include "kreisel/solve/assemble.hpp"

namespace kreisel::io {

/// A run as asked for, nothing checked yet.
struct RunRequest {
  std::string model;                  ///< name or path
  std::shared_ptr<const models::ModelInfo> own_model;  ///< instead of `model`: one that has neither
  std::string group;                  ///< empty: the model's first
  std::vector<std::string> settings;  ///< key=value, also model.key=value and method.key=value
  std::map<std::string, std::string, std::less<>> options;  ///< by RunOption::name; underscores count as hyphens
  std::optional<double> t0;           ///< start time instead of the model's
};

/// A run that can start.
struct PreparedRun {
  models::Model model;
  std::shared_ptr<const models::ModelInfo> model_info;  ///< of a built-in model or of a file
  ParameterValues model_parameters;
  run::Options options;
  std::string step_sequence;  ///< the words of --steps
  bool assembles = false;    ///< project the initial values onto the constraints
  std::vector<solve::Change> changes;  ///< that did
  std::vector<std::string> warnings;
  RunRequest request;  ///< what was asked, with absolute paths
};

/// One line of the list that feeds command line, help, shell completion, study files and Python.
struct RunOption {
  std::string_view name;     ///< "t-end": --t-end, or t_end in Python and JSON
  std::string_view value;    ///< placeholder in the help; empty: a flag
  std::string_view heading;  ///< of the help
  std::string_view meaning;
  std::vector<std::string> (*words)();                       ///< the values there are; nullptr: a number
  void (*apply)(std::string_view text, PreparedRun& run);  ///< throws InvalidInput, "is 'x', expected a number"
};
const std::vector<RunOption>& run_options();

/// Reads every word, makes the model and asks run::problems_in. Throws one InvalidInput that lists all that is wrong.
PreparedRun prepare(const RunRequest& request);

/// Only the model of a request, for whoever does not run it; the option `assemble` counts.
models::Model prepare_model(const RunRequest& request);

/// The formulation that a run with these options uses.
std::string formulation_in_use(const run::Options& options, const system::System& system);

std::vector<std::string> names_of(const std::vector<ParameterInfo>& infos);

}  // namespace kreisel::io
