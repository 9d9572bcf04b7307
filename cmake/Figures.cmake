# The published figures of data/reproduce as a unit of the study room: sets kreisel_figures_cpp.
set(kreisel_figures_cpp ${PROJECT_BINARY_DIR}/generated/figure_texts.cpp)
file(GLOB figures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/data/reproduce/*.json)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${figures})
set(entries)
foreach(figure IN LISTS figures)
  get_filename_component(id ${figure} NAME)
  string(REGEX REPLACE "\\.json$" "" id ${id})
  file(READ ${figure} text)
  string(APPEND entries "      {\"${id}\", R\"kreisel(${text})kreisel\"},\n")
endforeach()
string(
  CONCAT content
         "#include <string_view>\n#include <utility>\n#include <vector>\n\nnamespace kreisel::study {\n"
         "std::vector<std::pair<std::string_view, std::string_view>> figure_texts();\n"
         "std::vector<std::pair<std::string_view, std::string_view>> figure_texts() {\n  return {\n"
         "${entries}"
         "  };\n}\n}  // namespace kreisel::study\n")
file(WRITE ${kreisel_figures_cpp}.new "${content}")
file(COPY_FILE ${kreisel_figures_cpp}.new ${kreisel_figures_cpp} ONLY_IF_DIFFERENT)
