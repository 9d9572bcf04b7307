// How files describe their columns: comment lines of a CSV file, attributes of an HDF5 dataset.
#pragma once

#include <string>

#include "io/trajectory/trajectory.hpp"

namespace kreisel::io {

struct ColumnMeaning {
  const char* name;
  std::string TrajectoryColumn::*member;
};

inline constexpr ColumnMeaning column_meanings[] = {{"quantity", &TrajectoryColumn::quantity},
                                                    {"element", &TrajectoryColumn::element},
                                                    {"component", &TrajectoryColumn::component},
                                                    {"unit", &TrajectoryColumn::unit}};

}  // namespace kreisel::io
