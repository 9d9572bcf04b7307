// "repeat" in a model file: one entry for many.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "io/json/json_source.hpp"
#include "io/model_file/model_parameters.hpp"

namespace kreisel::io {

/// A file whose repeated entries are written out.
struct Repeated {
  struct Origin {
    std::string pointer;  ///< of the entry in the file
    std::string index;    ///< "i = 3"
  };
  Json root;
  std::map<std::string, Origin, std::less<>> origins;  ///< by the pointer of a written out entry
};

bool has_repeats(const Json& root);
/// Counts may depend on parameters. Errors go to `complain`.
Repeated written_out(const Json& root, ModelParameters& parameters, const ModelParameters::Complain& complain);

}  // namespace kreisel::io
