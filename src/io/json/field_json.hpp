// Fields in JSON: their values and their JSON Schemas.
#pragma once

#include <vector>

#include "base/field.hpp"
#include "io/json/json_source.hpp"

namespace kreisel::io {

/// The value of a field, range and words checked. Throws InvalidInput: "is [1, 2], expected a finite number".
Value value_in(const Field& field, const Json& json);

Json to_json(const Value& value);

/// What value_in accepts, as a schema with description and default.
Json schema_of(const Field& field);

/// For messages: the value found, in a few words.
std::string shown(const Json& json);

}  // namespace kreisel::io
