// Tables in CSV files: lists of cases.
#pragma once

#include "io/json/json_source.hpp"

namespace kreisel::study {

struct Table {
  std::vector<std::string> names;
  std::vector<std::vector<io::Json>> columns;  ///< numbers, true, false and texts
};

/// The first line names the columns; lines that are empty or begin with # do not count. Throws InvalidInput with the
/// line.
Table read_table(const io::Path& path);

}  // namespace kreisel::study
