#include <fmt/format.h>
#include <hdf5.h>

#include <array>
#include <charconv>
#include <memory>

#include "kreisel/base/error.hpp"
#include "kreisel/io/trajectory.hpp"

namespace kreisel::io {
namespace {

/// Fields of one CSV line; quotes as in RFC 4180.
std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

Trajectory read_csv(const Path& path) {
  const std::string text = read_text(path, "trajectory");
  Trajectory trajectory;
  std::vector<double> values;
  int line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a run that was killed left half a line
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.starts_with('#')) continue;
    if (trajectory.columns.empty()) {
      trajectory.columns = fields_of(line);
      continue;
    }
    const char* at = line.data();
    const char* const last = line.data() + line.size();
    for (std::size_t column = 0; column < trajectory.columns.size(); ++column) {
      double value = 0.0;
      const auto [next, code] = std::from_chars(at, last, value);
      const bool is_last = column + 1 == trajectory.columns.size();
      if (code != std::errc() || (is_last ? next != last : next == last || *next != ','))
        throw InvalidInput(fmt::format("{}:{}:{}: expected {} numbers separated by commas", path.string(), line_number,
                                       at - line.data() + 1, trajectory.columns.size()));
      values.push_back(value);
      at = next + 1;
    }
  }
  if (trajectory.columns.empty()) throw InvalidInput(fmt::format("{}: no header row", path.string()));
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto columns = static_cast<Eigen::Index>(trajectory.columns.size());
  trajectory.values = Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(values.size()) / columns, columns);
  return trajectory;
}

/// Reads HDF5 without printing its errors; every failure means that the file is no trajectory.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const Path& path) : path_(path) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  }
  ~Hdf5Reader() {
    if (file_ >= 0) H5Fclose(file_);
    H5Eset_auto2(H5E_DEFAULT, print_, data_);
  }
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  Trajectory read() {
    check(file_ >= 0);
    Trajectory out;
    for (const char* name : {"t", "q", "v", "a", "lambda", "eta", "Phi", "Bv", "energy", "h", "order"})
      if (H5Lexists(file_, name, H5P_DEFAULT) > 0) append(name, out);
    check(!out.columns.empty());
    return out;
  }

 private:
  void check(bool ok) const {
    if (!ok) throw InvalidInput(fmt::format("'{}' is no trajectory of kreisel in HDF5", path_.string()));
  }

  void append(const std::string& name, Trajectory& out) const {
    const hid_t dataset = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    check(dataset >= 0);
    const std::shared_ptr<void> closing(nullptr, [dataset](void*) { H5Dclose(dataset); });
    const hid_t space = H5Dget_space(dataset);
    std::array<hsize_t, 2> size{0, 1};
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank >= 1 && rank <= 2) H5Sget_simple_extent_dims(space, size.data(), nullptr);
    H5Sclose(space);
    check(rank >= 1 && rank <= 2);
    const auto rows = static_cast<Eigen::Index>(size[0]), width = static_cast<Eigen::Index>(size[1]);
    // The killed run may have extended some quantities further than others.
    const Eigen::Index common = out.columns.empty() ? rows : std::min(rows, out.values.rows());
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    RowMajor values(rows, width);
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    const std::vector<std::string> names = column_names(dataset, name);
    check(static_cast<Eigen::Index>(names.size()) == width);
    out.columns.insert(out.columns.end(), names.begin(), names.end());
    out.values.conservativeResize(common, out.values.cols() + width);
    out.values.rightCols(width) = values.topRows(common);
  }

  std::vector<std::string> column_names(hid_t dataset, const std::string& name) const {
    const bool is_attribute = H5Aexists(dataset, "columns") > 0;
    const hid_t owner = is_attribute ? H5Aopen(dataset, "columns", H5P_DEFAULT)
                                     : H5Dopen2(file_, (name + "_columns").c_str(), H5P_DEFAULT);
    check(owner >= 0);
    const hid_t space = is_attribute ? H5Aget_space(owner) : H5Dget_space(owner);
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    std::vector<char*> texts(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)), nullptr);
    const herr_t result = is_attribute ? H5Aread(owner, type, texts.data())
                                       : H5Dread(owner, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data());
    std::vector<std::string> names;
    for (const char* text : texts)
      if (result >= 0 && text != nullptr) names.emplace_back(text);
    if (result >= 0) H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts.data());
    H5Tclose(type);
    H5Sclose(space);
    is_attribute ? H5Aclose(owner) : H5Dclose(owner);
    return names;
  }

  Path path_;
  hid_t file_ = -1;
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace

Eigen::Index Trajectory::index(std::string_view column) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == column) return static_cast<Eigen::Index>(i);
  throw InvalidInput(unknown_name("column", column, columns));
}

Trajectory read_trajectory(const Path& path) {
  const Path name = path.extension() == part_suffix ? path.stem() : path.filename();
  return name.extension() == ".h5" ? Hdf5Reader(path).read() : read_csv(path);
}

}  // namespace kreisel::io
