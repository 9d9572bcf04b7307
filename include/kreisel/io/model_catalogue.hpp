// Models by name: the built-in ones, the model files that ship with the program, and files by path.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/models/catalogue.hpp"

namespace kreisel::io {

/// A file of models/ that is part of the program; models/four_bar.json is called four-bar.
struct ShippedFile {
  std::string_view name, text;
};
const std::vector<ShippedFile>& shipped_files();

/// Built-in models, then the shipped files.
const std::vector<models::ModelInfo>& model_catalogue();
std::vector<std::string> model_names();

/// By name, or by path when `name` has a slash or ends with .json. `accepts_gaps`: initial values of a file may miss its
/// joints. Throws InvalidInput with the nearest name; what is wrong in a file shows when the model is made.
std::shared_ptr<const models::ModelInfo> find_model(const std::string& name, bool accepts_gaps = false);

}  // namespace kreisel::io
