// Output of a model by run, check and list: as one model file, as a graph, as a list of names.
#pragma once

#include <string>

#include "io/json/json_source.hpp"
#include "io/spec/run_spec.hpp"

namespace kreisel::apps {

/// --write-model FILE; nothing when it is empty.
void write_model(const io::PreparedRun& run, const std::string& file);
/// --graph FILE.dot or FILE.svg; nothing when it is empty.
void write_graph(const io::PreparedRun& run, const std::string& file);

/// Everything in a model that has a name, by kind.
io::Json names_of_model(const io::RunSpec& spec);

}  // namespace kreisel::apps
