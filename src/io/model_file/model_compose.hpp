// "include" and "repeat" of a model file: one file with the content of several files and of repeated entries.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/field.hpp"
#include "io/json/json_source.hpp"
#include "io/model_file/model_parameters.hpp"

namespace kreisel::io {

/// A model file with its parts and copies written out.
struct Composed {
  struct Origin {
    std::shared_ptr<const JsonSource> source;  ///< nullptr: the file itself
    std::string pointer;                       ///< of the entry in it
    std::string note;                          ///< before messages: "with i = 3: "
  };
  Json root;                                           ///< null: nothing is included or repeated
  std::map<std::string, Origin, std::less<>> origins;  ///< by the pointer of an entry, "/bodies/3"
  bool has_includes = false;
  std::set<std::string> used;  ///< parameters that counts, indices and places depend on
  /// Those and the parameters they depend on: `root` has only their values, so they can no longer change.
  std::set<std::string> fixed;
  std::vector<std::string> problems, warnings;  ///< with their places
};

/// `given` values of parameters take precedence over those of the file. Reads the included files.
Composed composed(const JsonSource& source, const ParameterValues& given);

}  // namespace kreisel::io
