#include "io/trajectory/curve_file.hpp"

#include <fmt/format.h>

#include "hdf5_handle.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

#define KREISEL_HDF5_FUNCTION(name) constinit const Hdf5Function<decltype(::name)> name(#name)
KREISEL_HDF5_FUNCTION(H5Gclose);
KREISEL_HDF5_FUNCTION(H5Gcreate2);
KREISEL_HDF5_FUNCTION(H5Lcreate_external);
KREISEL_HDF5_FUNCTION(H5Pset_obj_track_times);
#undef KREISEL_HDF5_FUNCTION
constinit const Hdf5Variable H5P_CLS_GROUP_CREATE_ID_g("H5P_CLS_GROUP_CREATE_ID_g");

}  // namespace

struct CurveFile::State {
  Path path, part;
  Silence silence;
  Handle groups, datasets, file;

  template <class Result>
  Result check(Result result) const {
    if (result < 0)
      throw EnvironmentError(
          fmt::format("cannot write '{}': the HDF5 library failed; is the disk full?", path.string()));
    return result;
  }
  Handle own(hid_t id, herr_t (*closer)(hid_t)) const { return {check(id), closer}; }
};

CurveFile::CurveFile(const Path& path) : state_(new State{path, part_of(path), {}, {}, {}, {}}) {
  State& s = *state_;
  s.file = s.own(H5Fcreate(s.part.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  // The same content has the same bytes.
  s.groups = s.own(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  s.check(H5Pset_obj_track_times(s.groups, false));
  s.datasets = s.own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  s.check(H5Pset_obj_track_times(s.datasets, false));
}

CurveFile::~CurveFile() = default;

void CurveFile::add(const std::string& group, const std::vector<Column>& columns) {
  State& s = *state_;
  const Handle made = s.own(H5Gcreate2(s.file, group.c_str(), H5P_DEFAULT, s.groups, H5P_DEFAULT), H5Gclose);
  for (const Column& column : columns) {
    const hsize_t size = column.values.size();
    const Handle space = s.own(H5Screate_simple(1, &size, nullptr), H5Sclose);
    const Handle set = s.own(
        H5Dcreate2(made, column.name.c_str(), H5T_IEEE_F64LE, space, H5P_DEFAULT, s.datasets, H5P_DEFAULT), H5Dclose);
    if (size > 0) s.check(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, column.values.data()));
  }
}

void CurveFile::link(const std::string& name, const std::string& file, const std::string& group) {
  State& s = *state_;
  s.check(H5Lcreate_external(file.c_str(), ("/" + group).c_str(), s.file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT));
}

void CurveFile::commit() {
  State& s = *state_;
  s.check(s.file.close());
  std::error_code error;
  std::filesystem::rename(s.part, s.path, error);
  if (error) throw_file_error("cannot write", s.path, error.value());
}

}  // namespace kreisel::io
