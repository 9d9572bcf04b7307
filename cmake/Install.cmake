# Installation and Debian packages. Components: program, development, python; `cmake --install` takes all of them.

# ---- share/kreisel: beside bin/ in the build tree as in an installation, because the program looks there

set(shared ${PROJECT_BINARY_DIR}/share/kreisel)
file(REMOVE_RECURSE ${shared})
file(MAKE_DIRECTORY ${shared})
foreach(folder models studies reproduce)
  set(from ${folder})
  if(folder STREQUAL reproduce)
    set(from data/reproduce)
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${from}/*.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    # Source files name the schema of the build tree.
    string(REGEX REPLACE "\"[./]+/build/share/kreisel/([a-z]+\\.schema\\.json)\"" "\"../\\1\"" text "${text}")
    file(WRITE ${shared}/${folder}/${name} "${text}")
  endforeach()
endforeach()
install(DIRECTORY ${shared} DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)

# ---- the program, and its generated files: schemas, manual page, completions

if(TARGET kreisel_program)
  install(TARGETS kreisel_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  set(words ${PROJECT_BINARY_DIR}/generated/words)
  file(MAKE_DIRECTORY ${words})
  set(program $<TARGET_FILE:kreisel_program>)
  add_custom_command(
    OUTPUT ${words}/kreisel.1 ${words}/kreisel ${words}/_kreisel ${words}/kreisel.fish ${shared}/model.schema.json
           ${shared}/study.schema.json
    COMMAND ${program} schema model > ${shared}/model.schema.json
    COMMAND ${program} schema study > ${shared}/study.schema.json
    COMMAND ${program} man > ${words}/kreisel.1
    COMMAND ${program} completion bash > ${words}/kreisel
    COMMAND ${program} completion zsh > ${words}/_kreisel
    COMMAND ${program} completion fish > ${words}/kreisel.fish
    DEPENDS kreisel_program
    COMMENT "Writing schemas, the manual page and completions"
    VERBATIM)
  add_custom_target(kreisel_words ALL DEPENDS ${words}/kreisel.1 ${shared}/model.schema.json)
  add_dependencies(product kreisel_words)
  install(FILES ${words}/kreisel.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${words}/kreisel DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES ${words}/kreisel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  # Debian's zsh uses different folders for packages and for the administrator.
  install(
    CODE "
      set(zsh site-functions)
      if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
        set(zsh vendor-completions)
      endif()
      file(INSTALL \"${words}/_kreisel\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${zsh}\")"
    COMPONENT program)
endif()

# ---- the library: headers, libkreisel.a, find_package(kreisel) and pkg-config

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/kreisel)
install(DIRECTORY include/kreisel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(TARGETS kreisel EXPORT kreiselTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT kreiselTargets NAMESPACE kreisel:: DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(cmake/kreiselConfig.cmake.in generated/kreiselConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(generated/kreiselConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/generated/kreiselConfig.cmake ${PROJECT_BINARY_DIR}/generated/kreiselConfigVersion.cmake
        cmake/FindKLU.cmake
  DESTINATION ${package_folder}
  COMPONENT development)

# Libraries that have no pkg-config file everywhere: by name where the linker looks anyway, by path elsewhere.
set(link_words)
foreach(library ${KLU_KLU_LIBRARY} ${KLU_BTF_LIBRARY} ${KLU_AMD_LIBRARY} ${KLU_COLAMD_LIBRARY} ${KLU_SUITESPARSECONFIG_LIBRARY})
  get_filename_component(folder ${library} DIRECTORY)
  get_filename_component(name ${library} NAME_WE)
  if(folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    string(REGEX REPLACE "^lib" "-l" library ${name})
  endif()
  list(APPEND link_words ${library})
endforeach()
list(TRANSFORM public_definitions PREPEND -D OUTPUT_VARIABLE compile_words)
list(JOIN compile_words " " definitions)
list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE dl_words)
list(APPEND link_words ${dl_words})
list(JOIN link_words " " libraries)
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" to_prefix ${to_prefix})
configure_file(cmake/kreisel.pc.in generated/kreisel.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/generated/kreisel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# ---- Python: a folder in which Debian's python looks below /usr as well as below /usr/local

add_custom_target(installable DEPENDS product)
if(TARGET kreisel_python)
  add_dependencies(installable kreisel_python)
  set(site lib/python${PYTHON_VERSION_MAJOR}.${PYTHON_VERSION_MINOR}/dist-packages/kreisel)
  install(TARGETS kreisel_python LIBRARY DESTINATION ${site} COMPONENT python)
  install(FILES ${kreisel_python_modules} DESTINATION ${site} COMPONENT python)
endif()

# ---- licence notices

file(READ LICENSE license)
file(READ NOTICES notices)
file(WRITE ${PROJECT_BINARY_DIR}/generated/copyright "${license}\n${notices}")
foreach(pair program:kreisel development:libkreisel-dev python:python3-kreisel)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${PROJECT_BINARY_DIR}/generated/copyright DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package} COMPONENT ${component})
endforeach()

# ---- Debian packages: cpack -G DEB

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_PACKAGE_CONTACT "the kreisel authors")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_ALL program development)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  find_program(DPKG_SHLIBDEPS dpkg-shlibdeps)
  mark_as_advanced(DPKG_SHLIBDEPS)
  if(DPKG_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  endif()

  set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${PROJECT_DESCRIPTION}\n The program kreisel, its manual page, models and studies.")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME kreisel)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
  # Loaded when a file needs it, so dpkg-shlibdeps does not see it.
  set(hdf5_packages "libhdf5-103-1 | libhdf5-103 | libhdf5-310")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS ${hdf5_packages})
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS ${hdf5_packages})
  set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS ${hdf5_packages})
  set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${PROJECT_DESCRIPTION}\n The C++ library, for find_package and pkg-config.")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libkreisel-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
      "libeigen3-dev (>= 3.4), libfmt-dev, libpugixml-dev, libsuitesparse-dev")
  if(TARGET kreisel_python)
    list(APPEND CPACK_COMPONENTS_ALL python)
    math(EXPR next "${PYTHON_VERSION_MINOR} + 1")
    set(CPACK_COMPONENT_PYTHON_DESCRIPTION "${PROJECT_DESCRIPTION}\n The Python module kreisel.")
    set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-kreisel)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
    set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
        "python3 (>= 3.${PYTHON_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy")
    set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS python3-matplotlib)
  endif()
  include(CPack)
endif()
