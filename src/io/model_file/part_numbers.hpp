// Numbers of the parts of a model file as parameters: "spring.length".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/catalogue.hpp"

namespace kreisel::io {

/// Like find_model, with one more parameter for each of `numbers`. Throws InvalidInput where the file gives no such number.
std::shared_ptr<const models::ModelInfo> find_model_with(const std::vector<std::string>& numbers,
                                                         const std::string& name, bool accepts_gaps);

}  // namespace kreisel::io
