// "include" and "repeat" of a model file: one file that says all that several files and repeated entries say.
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
  /// Those, and what they depend on, of which `root` has the values only: they cannot change in it any more.
  std::set<std::string> fixed;
  std::vector<std::string> problems, warnings;  ///< with their places
};

/// `given` values of parameters go before those of the file. Included files are read now.
Composed composed(const JsonSource& source, const ParameterValues& given);

}  // namespace kreisel::io
