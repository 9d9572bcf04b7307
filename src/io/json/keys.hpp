// Objects in JSON files described as data: their keys and the values of these. Readers take the keys from here; JSON Schemas
// and the reference are generated from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "io/json/field_json.hpp"

namespace kreisel::io {

/// One key of an object.
struct Key {
  Field field;
  std::string form{};  ///< the definition of its value: "vector", "signal"; empty: that of the field
  bool is_required = false;
  bool is_list = false;  ///< of such things
  int count = 0;         ///< of entries; 0: any number
};

/// A kind of object.
struct ObjectInfo {
  std::string name, meaning;
  std::vector<Key> keys;
};

/// Shorthands.
Key key(std::string name, std::string form, std::string unit, std::string meaning);
Key required(Key key);
Key list_of(Key key, int count = 0);
/// Any value; it is not read.
Key remark(std::string name, std::string meaning);

std::vector<std::string> names_of(const std::vector<Key>& keys);

/// A schema of an object that has these keys and no others; forms refer to #/$defs.
Json schema_of(const ObjectInfo& object);
Json schema_of(const Key& key);
Json reference_to(std::string_view form);

/// A table in Markdown: key, type, unit, meaning and default.
std::string table_of(const std::vector<Key>& keys);

}  // namespace kreisel::io
