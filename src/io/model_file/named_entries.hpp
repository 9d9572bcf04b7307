// Entries of a model file by name.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "io/json/json_source.hpp"

namespace kreisel::io {

/// Columns that every result may have; no output may have such a name.
inline bool is_column_of_results(const std::string& name) {
  constexpr std::string_view taken[] = {"q",
                                        "a",
                                        "h",
                                        "lambda",
                                        "eta",
                                        "Phi",
                                        "Bv",
                                        "reaction",
                                        "reaction_joint",
                                        "energy",
                                        "energy_parts",
                                        "kinetic",
                                        "potential",
                                        "elastic",
                                        "work",
                                        "work_forces",
                                        "work_drivers",
                                        "dissipated",
                                        "balance",
                                        "order"};
  return std::ranges::count(taken, name) > 0;
}

/// Whether one of these lists has an entry of that name: if the reader does not know it, its errors are already reported.
inline bool is_listed(const Json& root, std::initializer_list<const char*> lists, const std::string& name) {
  return std::ranges::any_of(lists, [&](const char* key) {
    const auto list = root.find(key);
    return list != root.end() && list->is_array() && std::ranges::any_of(*list, [&](const Json& entry) {
             return entry.is_object() && entry.contains("name") && entry["name"] == name;
           });
  });
}

}  // namespace kreisel::io
