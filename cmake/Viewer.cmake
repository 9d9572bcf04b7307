# The page of viewer/ as a unit of the io room: sets kreisel_viewer_cpp, and kreisel_viewer_html when the page is built.
#
#   KREISEL_VIEWER   AUTO: the page is built when node 18 or later and npm are installed; ON: they are required;
#                    OFF: reports have still plots only. Projects that include kreisel get OFF.
#
# viewer/build.mjs runs 'npm install' first when viewer/node_modules is older than package-lock.json, which needs a network
# once. Build products are not committed.
if(PROJECT_IS_TOP_LEVEL)
  set(KREISEL_VIEWER AUTO CACHE STRING "Build the page of reports with node: AUTO, ON, OFF")
else()
  set(KREISEL_VIEWER OFF CACHE STRING "Build the page of reports with node: AUTO, ON, OFF")
endif()
set_property(CACHE KREISEL_VIEWER PROPERTY STRINGS AUTO ON OFF)

set(kreisel_viewer_cpp ${PROJECT_BINARY_DIR}/generated/viewer_page.cpp)
set(kreisel_viewer_html)
set(KREISEL_NODE)
if(KREISEL_VIEWER)
  find_program(NODE_PROGRAM NAMES node nodejs)
  find_program(NPM_PROGRAM npm)
  mark_as_advanced(NODE_PROGRAM NPM_PROGRAM)
  if(NODE_PROGRAM AND NPM_PROGRAM)
    execute_process(COMMAND ${NODE_PROGRAM} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REGEX REPLACE "^v" "" version "${version}")
    if(version VERSION_GREATER_EQUAL 18)
      set(KREISEL_NODE ${NODE_PROGRAM})
    endif()
  endif()
  if(NOT KREISEL_NODE AND NOT KREISEL_VIEWER STREQUAL AUTO)
    message(FATAL_ERROR "KREISEL_VIEWER is ON, but node 18 or later or npm is missing; 'tools/setup viewer' installs both")
  elseif(NOT KREISEL_NODE)
    message(STATUS "No node 18 or later with npm: reports have still plots only; 'tools/setup viewer' installs both")
  endif()
endif()

# The packages are installed at configure time, so that AUTO can fall back when this fails.
if(KREISEL_NODE)
  execute_process(COMMAND ${KREISEL_NODE} ${PROJECT_SOURCE_DIR}/viewer/build.mjs --install-only RESULT_VARIABLE failed OUTPUT_QUIET)
  if(failed AND KREISEL_VIEWER STREQUAL AUTO)
    message(STATUS "The npm packages of the viewer could not be installed: reports have still plots only")
    set(KREISEL_NODE)
  elseif(failed)
    message(FATAL_ERROR "KREISEL_VIEWER is ON, but the npm packages of the viewer could not be installed")
  endif()
endif()
if(KREISEL_NODE)
  set(viewer ${PROJECT_SOURCE_DIR}/viewer)
  set(kreisel_viewer_html ${PROJECT_BINARY_DIR}/generated/viewer.html)
  file(GLOB sources CONFIGURE_DEPENDS ${viewer}/src/*.ts ${viewer}/src/*.css)
  add_custom_command(
    OUTPUT ${kreisel_viewer_cpp} ${kreisel_viewer_html}
    COMMAND ${KREISEL_NODE} ${viewer}/build.mjs --html ${kreisel_viewer_html} --cpp ${kreisel_viewer_cpp}
    DEPENDS ${sources} ${viewer}/index.html ${viewer}/build.mjs ${viewer}/package.json ${viewer}/package-lock.json
    COMMENT "Building the page of reports"
    VERBATIM)
else()
  file(
    CONFIGURE
    OUTPUT ${kreisel_viewer_cpp}
    CONTENT "#include <string_view>\nnamespace kreisel::io {\nstd::string_view viewer_page();\nstd::string_view viewer_page() { return {}; }\n}  // namespace kreisel::io\n")
endif()
