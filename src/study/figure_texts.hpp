// The files of data/reproduce, compiled into the program (cmake/Figures.cmake).
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace kreisel::study {

std::vector<std::pair<std::string_view, std::string_view>> figure_texts();

}  // namespace kreisel::study
