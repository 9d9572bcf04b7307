#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "column_meanings.hpp"
#include "hdf5_handle.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

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
  const std::string text = read_text(path, "trajectory", std::numeric_limits<std::size_t>::max());
  Trajectory trajectory;
  std::vector<double> values;
  std::map<std::string, std::vector<std::string>, std::less<>> meanings;
  int line_number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a run that was killed left half a line
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (line.starts_with('#')) {
      for (const auto& [what, member] : column_meanings)
        if (const std::string start = fmt::format("# {}: ", what); line.starts_with(start))
          meanings[what] = fields_of(line.substr(start.size()));
      continue;
    }
    if (trajectory.columns.empty()) {
      for (std::string& name : fields_of(line)) trajectory.columns.push_back({std::move(name), {}, {}, {}, {}});
      for (const auto& [what, member] : column_meanings)
        if (const auto texts = meanings.find(what);
            texts != meanings.end() && texts->second.size() == trajectory.columns.size())
          for (std::size_t i = 0; i < texts->second.size(); ++i) trajectory.columns[i].*member = texts->second[i];
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
  const auto columns = static_cast<Eigen::Index>(trajectory.columns.size());
  trajectory.values =
      Eigen::Map<const RowMajor>(values.data(), static_cast<Eigen::Index>(values.size()) / columns, columns);
  return trajectory;
}

/// Every failure means that the file is not a trajectory.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const Path& path)
      : path_(path), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {}

  Trajectory read() const {
    check(file_ >= 0);
    Trajectory out;
    for (const char* name : {"t", "q", "v", "a", "lambda", "eta", "Phi", "Bv", "reaction", "reaction_joint", "energy",
                             "energy_parts", "work", "balance", "h", "order"})
      if (H5Lexists(file_, name, H5P_DEFAULT) > 0) append(name, out);
    check(!out.columns.empty());
    return out;
  }

 private:
  void check(bool ok) const {
    if (!ok) throw InvalidInput(fmt::format("'{}' is not a kreisel trajectory in HDF5", path_.string()));
  }

  void append(const std::string& name, Trajectory& out) const {
    const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    check(dataset >= 0);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    check(rank == 1 || rank == 2);
    std::array<hsize_t, 2> size{0, 1};
    H5Sget_simple_extent_dims(space, size.data(), nullptr);
    const auto rows = static_cast<Eigen::Index>(size[0]), width = static_cast<Eigen::Index>(size[1]);
    RowMajor values(rows, width);
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    const auto texts = [&](const char* attribute) {
      std::vector<std::string> list = texts_of(dataset, name, attribute);
      check(static_cast<Eigen::Index>(list.size()) == width || list.empty());
      list.resize(static_cast<std::size_t>(width));
      return list;
    };
    std::vector<std::string> names = texts("columns"), elements = texts("elements"), components = texts("components"),
                             units = texts("units");
    check(!names.front().empty());

    // A run killed while it wrote may have extended some quantities further than others.
    const Eigen::Index common = out.columns.empty() ? rows : std::min(rows, out.values.rows());
    for (std::size_t i = 0; i < names.size(); ++i)
      out.columns.push_back({std::move(names[i]), components[i].empty() ? "" : name, std::move(elements[i]),
                             std::move(components[i]), std::move(units[i])});
    out.values.conservativeResize(common, out.values.cols() + width);
    out.values.rightCols(width) = values.topRows(common);
  }

  /// An attribute, or a dataset where there are too many.
  std::vector<std::string> texts_of(hid_t dataset, const std::string& name, const std::string& attribute) const {
    const bool is_attribute = H5Aexists(dataset, attribute.c_str()) > 0;
    const std::string beside = name + "_" + attribute;
    if (!is_attribute && H5Lexists(file_, beside.c_str(), H5P_DEFAULT) <= 0) return {};
    const Handle owner = is_attribute ? Handle(H5Aopen(dataset, attribute.c_str(), H5P_DEFAULT), H5Aclose)
                                      : Handle(H5Dopen2(file_, beside.c_str(), H5P_DEFAULT), H5Dclose);
    check(owner >= 0);
    const Handle space(is_attribute ? H5Aget_space(owner) : H5Dget_space(owner), H5Sclose);
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0);
    std::vector<char*> texts(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)), nullptr);
    check((is_attribute ? H5Aread(owner, type, texts.data())
                        : H5Dread(owner, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts.data())) >= 0);
    std::vector<std::string> names;
    for (const char* text : texts) names.emplace_back(text != nullptr ? text : "");
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts.data());
    return names;
  }

  Silence silence_;
  Path path_;
  Handle file_;
};

}  // namespace

Eigen::Index Trajectory::index(std::string_view column) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].name == column) return static_cast<Eigen::Index>(i);
  throw InvalidInput(unknown_name("column", column, names()));
}

std::optional<Eigen::Index> Trajectory::find(std::string_view quantity, std::string_view element,
                                             std::string_view component) const {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].quantity == quantity && columns[i].element == element && columns[i].component == component)
      return static_cast<Eigen::Index>(i);
  return std::nullopt;
}

std::vector<lie::Motion> motions_in(const Trajectory& trajectory, const system::System& system) {
  const TrajectoryLayout layout(system, false);
  const auto columns_of = [&](std::string_view quantity) {
    std::vector<Eigen::Index> columns;
    for (const Quantity& q : layout.quantities())
      if (q.name == quantity)
        for (const TrajectoryColumn& column : q.columns) columns.push_back(trajectory.index(column.name));
    return columns;
  };
  const std::vector<Eigen::Index> t = columns_of("t"), q = columns_of("q"), v = columns_of("v");
  std::vector<lie::Motion> motions;
  for (Eigen::Index row = 0; row < trajectory.values.rows(); ++row) {
    lie::Motion m(system.space());
    m.t = trajectory.values(row, t[0]);
    const Vector values = trajectory.values.row(row)(q).transpose();
    layout.read_position(values, m.q);
    m.v = trajectory.values.row(row)(v).transpose();
    motions.push_back(std::move(m));
  }
  return motions;
}

Trajectory read_trajectory(const Path& path) {
  const Path name = path.extension() == part_suffix ? path.stem() : path.filename();
  if (name.extension() != ".h5") return read_csv(path);
  ReadingList::note(path, {});
  if (!has_hdf5()) throw EnvironmentError(fmt::format("cannot read '{}': {}", path.string(), trouble_with_hdf5()));
  return Hdf5Reader(path).read();
}

}  // namespace kreisel::io
