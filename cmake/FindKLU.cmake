# Finds KLU of SuiteSparse, for which Debian ships no CMake package.
#
#   KLU::KLU       imported target with the libraries it depends on
#   KLU_FOUND, KLU_VERSION
find_path(KLU_INCLUDE_DIR klu.h PATH_SUFFIXES suitesparse)
set(KLU_required KLU_INCLUDE_DIR)
set(KLU_below)
foreach(name klu btf amd colamd suitesparseconfig)
  string(TOUPPER ${name} upper)
  find_library(KLU_${upper}_LIBRARY ${name})
  mark_as_advanced(KLU_${upper}_LIBRARY)
  list(APPEND KLU_required KLU_${upper}_LIBRARY)
  if(NOT name STREQUAL klu)
    list(APPEND KLU_below ${KLU_${upper}_LIBRARY})
  endif()
endforeach()
mark_as_advanced(KLU_INCLUDE_DIR)

if(KLU_INCLUDE_DIR)
  file(STRINGS ${KLU_INCLUDE_DIR}/klu.h KLU_lines REGEX "^#define KLU_(MAIN|SUB|SUBSUB)_VERSION +[0-9]+")
  list(TRANSFORM KLU_lines REPLACE ".* +([0-9]+)$" "\\1")
  list(JOIN KLU_lines . KLU_VERSION)
  unset(KLU_lines)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  KLU
  REQUIRED_VARS ${KLU_required}
  VERSION_VAR KLU_VERSION
  REASON_FAILURE_MESSAGE "KLU is part of SuiteSparse, on Debian in libsuitesparse-dev")

if(KLU_FOUND AND NOT TARGET KLU::KLU)
  add_library(KLU::KLU UNKNOWN IMPORTED)
  set_target_properties(
    KLU::KLU
    PROPERTIES IMPORTED_LOCATION ${KLU_KLU_LIBRARY}
               INTERFACE_INCLUDE_DIRECTORIES ${KLU_INCLUDE_DIR}
               INTERFACE_LINK_LIBRARIES "${KLU_below}")
endif()
unset(KLU_required)
unset(KLU_below)
