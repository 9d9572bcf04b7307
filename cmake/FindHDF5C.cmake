# Finds the headers of the serial C library of HDF5. The library itself is loaded by the program that needs it
# (src/io/trajectory/hdf5_library.hpp), and not linked.
#
#   HDF5C_FOUND, HDF5C_INCLUDE_DIR, HDF5C_VERSION
find_path(HDF5C_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
mark_as_advanced(HDF5C_INCLUDE_DIR)

if(HDF5C_INCLUDE_DIR)
  file(STRINGS ${HDF5C_INCLUDE_DIR}/H5public.h HDF5C_lines REGEX "^#define H5_VERS_(MAJOR|MINOR|RELEASE)[ \t]+[0-9]+")
  list(TRANSFORM HDF5C_lines REPLACE "^#define H5_VERS_[A-Z]+[ \t]+([0-9]+).*" "\\1")
  list(JOIN HDF5C_lines . HDF5C_VERSION)
  unset(HDF5C_lines)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  HDF5C
  REQUIRED_VARS HDF5C_INCLUDE_DIR
  VERSION_VAR HDF5C_VERSION
  REASON_FAILURE_MESSAGE "On Debian it is in libhdf5-dev")
