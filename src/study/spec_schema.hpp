// Format of study files: the objects in them as data, the JSON Schema and the reference made from them.
#pragma once

#include <string>

#include "io/json/keys.hpp"

namespace kreisel::study {

// Every kind of object. A study and its runs have the fields of runs as well, each with one value or several.
const io::ObjectInfo& study_object();
const io::ObjectInfo& grid_object();  ///< keys of studies and of runs beside the fields
const io::ObjectInfo& measure_object();
const io::ObjectInfo& series_object();
const io::ObjectInfo& plot_object();
const io::ObjectInfo& expectation_object();
const io::ObjectInfo& mutation_object();
const io::ObjectInfo& reference_object();
const io::ObjectInfo& progression_object();
const io::ObjectInfo& distribution_object();

/// Accepts what the reader of studies accepts, as far as the form of a file goes.
io::Json spec_schema();
/// The same for people, in Markdown.
std::string spec_reference();

}  // namespace kreisel::study
