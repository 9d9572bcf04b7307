// HDF5, loaded when the first file is written or read: Debian's library brings curl, Kerberos and OpenSSL with it,
// whose loading takes longer than a short run.
//
// The functions of hdf5.h in use are declared below under the same names in namespace kreisel::io, where they hide those
// of the header: calls look as usual, and nothing is linked.
#pragma once

#include <hdf5.h>

#include <string>

namespace kreisel::io {

/// Empty when the library is available, otherwise the reason and what to do.
const std::string& trouble_with_hdf5();

/// Throws EnvironmentError when the library, or this symbol in it, is missing.
void* hdf5_symbol(const char* name);

/// A function of the library, found at its first call; it is called through the conversion to a pointer.
template <class Function>
class Hdf5Function {
 public:
  explicit constexpr Hdf5Function(const char* name) : name_(name) {}
  operator Function*() const {
    if (found_ == nullptr) found_ = reinterpret_cast<Function*>(hdf5_symbol(name_));
    return found_;
  }

 private:
  const char* name_;
  mutable Function* found_ = nullptr;
};

/// A variable of the library; hdf5.h calls H5open before it reads one.
class Hdf5Variable {
 public:
  explicit constexpr Hdf5Variable(const char* name) : name_(name) {}
  operator hid_t() const { return *static_cast<const hid_t*>(hdf5_symbol(name_)); }

 private:
  const char* name_;
};

#define KREISEL_HDF5_FUNCTION(name) inline constinit const Hdf5Function<decltype(::name)> name(#name)
KREISEL_HDF5_FUNCTION(H5open);
KREISEL_HDF5_FUNCTION(H5get_libversion);
KREISEL_HDF5_FUNCTION(H5Aclose);
KREISEL_HDF5_FUNCTION(H5Acreate2);
KREISEL_HDF5_FUNCTION(H5Aexists);
KREISEL_HDF5_FUNCTION(H5Aget_space);
KREISEL_HDF5_FUNCTION(H5Aopen);
KREISEL_HDF5_FUNCTION(H5Aread);
KREISEL_HDF5_FUNCTION(H5Awrite);
KREISEL_HDF5_FUNCTION(H5Dclose);
KREISEL_HDF5_FUNCTION(H5Dcreate2);
KREISEL_HDF5_FUNCTION(H5Dget_space);
KREISEL_HDF5_FUNCTION(H5Dopen2);
KREISEL_HDF5_FUNCTION(H5Dread);
KREISEL_HDF5_FUNCTION(H5Dset_extent);
KREISEL_HDF5_FUNCTION(H5Dvlen_reclaim);
KREISEL_HDF5_FUNCTION(H5Dwrite);
KREISEL_HDF5_FUNCTION(H5Eget_auto2);
KREISEL_HDF5_FUNCTION(H5Eset_auto2);
KREISEL_HDF5_FUNCTION(H5Ewalk2);
KREISEL_HDF5_FUNCTION(H5Fclose);
KREISEL_HDF5_FUNCTION(H5Fcreate);
KREISEL_HDF5_FUNCTION(H5Fflush);
KREISEL_HDF5_FUNCTION(H5Fget_filesize);
KREISEL_HDF5_FUNCTION(H5Fget_vfd_handle);
KREISEL_HDF5_FUNCTION(H5Fopen);
KREISEL_HDF5_FUNCTION(H5Iget_name);
KREISEL_HDF5_FUNCTION(H5Lexists);
KREISEL_HDF5_FUNCTION(H5Pclose);
KREISEL_HDF5_FUNCTION(H5Pcreate);
KREISEL_HDF5_FUNCTION(H5Pget_mdc_config);
KREISEL_HDF5_FUNCTION(H5Pset_chunk);
KREISEL_HDF5_FUNCTION(H5Pset_fclose_degree);
KREISEL_HDF5_FUNCTION(H5Pset_mdc_config);
KREISEL_HDF5_FUNCTION(H5Sclose);
KREISEL_HDF5_FUNCTION(H5Screate);
KREISEL_HDF5_FUNCTION(H5Screate_simple);
KREISEL_HDF5_FUNCTION(H5Sget_simple_extent_dims);
KREISEL_HDF5_FUNCTION(H5Sget_simple_extent_ndims);
KREISEL_HDF5_FUNCTION(H5Sget_simple_extent_npoints);
KREISEL_HDF5_FUNCTION(H5Sselect_hyperslab);
KREISEL_HDF5_FUNCTION(H5Tclose);
KREISEL_HDF5_FUNCTION(H5Tcopy);
KREISEL_HDF5_FUNCTION(H5Tset_cset);
KREISEL_HDF5_FUNCTION(H5Tset_size);
#undef KREISEL_HDF5_FUNCTION

/// The macros of hdf5.h would abort the program when the versions of library and headers differ.
inline herr_t H5check_version(unsigned, unsigned, unsigned) { return 0; }

#define KREISEL_HDF5_VARIABLE(name) inline constinit const Hdf5Variable name(#name)
KREISEL_HDF5_VARIABLE(H5P_CLS_DATASET_CREATE_ID_g);
KREISEL_HDF5_VARIABLE(H5P_CLS_FILE_ACCESS_ID_g);
KREISEL_HDF5_VARIABLE(H5T_C_S1_g);
KREISEL_HDF5_VARIABLE(H5T_IEEE_F64LE_g);
KREISEL_HDF5_VARIABLE(H5T_NATIVE_DOUBLE_g);
KREISEL_HDF5_VARIABLE(H5T_STD_I32LE_g);
KREISEL_HDF5_VARIABLE(H5T_STD_U8LE_g);
KREISEL_HDF5_VARIABLE(H5T_NATIVE_UCHAR_g);
#undef KREISEL_HDF5_VARIABLE

}  // namespace kreisel::io
