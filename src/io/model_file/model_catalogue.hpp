// Models by name: the built-in ones, the model files that ship with the program, and files by path.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/json/json_source.hpp"
#include "io/model_file/model_file.hpp"
#include "models/catalogue.hpp"

namespace kreisel::io {

/// A file of models/ that is part of the program; models/double_pendulum.json is called double-pendulum.
struct ShippedFile {
  std::string_view name, text;
};
const std::vector<ShippedFile>& shipped_files();

/// Built-in models, then the shipped files.
const std::vector<models::ModelInfo>& model_catalogue();
std::vector<std::string> model_names();

/// The model of a file, or of text in the same form, with the settings of its section "simulation". `accepts_gaps`: initial
/// values may violate the joints. Errors are reported when the model is built. `functions`: formulas read them by name.
models::ModelInfo model_of(std::shared_ptr<const JsonSource> source, bool accepts_gaps = false,
                           const UserFunctions& functions = {});

/// By name, or by path when `name` has a slash or ends with .json. Throws
/// InvalidInput with the nearest name.
std::shared_ptr<const models::ModelInfo> find_model(const std::string& name, bool accepts_gaps = false);

}  // namespace kreisel::io
