# Finds the serial C library of HDF5. CMake's own FindHDF5 makes every user of kreisel enable the C language, and links
# what the HDF5 library itself was linked with.
#
#   HDF5C::HDF5C     imported target
#   HDF5C_FOUND, HDF5C_VERSION
find_path(HDF5C_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5C_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
mark_as_advanced(HDF5C_INCLUDE_DIR HDF5C_LIBRARY)

if(HDF5C_INCLUDE_DIR)
  file(STRINGS ${HDF5C_INCLUDE_DIR}/H5public.h HDF5C_lines REGEX "^#define H5_VERS_(MAJOR|MINOR|RELEASE)[ \t]+[0-9]+")
  list(TRANSFORM HDF5C_lines REPLACE "^#define H5_VERS_[A-Z]+[ \t]+([0-9]+).*" "\\1")
  list(JOIN HDF5C_lines . HDF5C_VERSION)
  unset(HDF5C_lines)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  HDF5C
  REQUIRED_VARS HDF5C_LIBRARY HDF5C_INCLUDE_DIR
  VERSION_VAR HDF5C_VERSION
  REASON_FAILURE_MESSAGE "On Debian it is in libhdf5-dev")

if(HDF5C_FOUND AND NOT TARGET HDF5C::HDF5C)
  add_library(HDF5C::HDF5C UNKNOWN IMPORTED)
  set_target_properties(
    HDF5C::HDF5C PROPERTIES IMPORTED_LOCATION ${HDF5C_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${HDF5C_INCLUDE_DIR})
endif()
