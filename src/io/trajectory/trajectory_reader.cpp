#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "column_meanings.hpp"
#include "extremes.hpp"
#include "hdf5_handle.hpp"
#include "io/trajectory/long_trajectory.hpp"
#include "io/trajectory/turns.hpp"
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
    if (end == std::string::npos) break;  // a killed run may leave half a line
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

const Hdf5Function<decltype(::H5Lget_name_by_idx)> H5Lget_name_by_idx("H5Lget_name_by_idx");

/// In the order of CSV files; outputs have datasets under their own names.
constexpr std::array known_quantities{"t",        "q",
                                      "v",        "a",
                                      "lambda",   "eta",
                                      "Phi",      "Bv",
                                      "reaction", "reaction_joint",
                                      "energy",   "energy_parts",
                                      "work",     "balance",
                                      "h",        "order"};
bool is_known(const std::string& name) {
  return std::ranges::any_of(known_quantities, [&](const char* known) { return name == known; });
}

/// Every failure means that the file is not a trajectory.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(const Path& path)
      : path_(path), file_(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {}

  Trajectory read() const {
    check(file_ >= 0);
    Trajectory out;
    for (const std::string& name : datasets()) append(name, out);
    check(!out.columns.empty());
    return out;
  }

  /// Quantities in the order of CSV files, then outputs.
  std::vector<std::string> datasets() const {
    check(file_ >= 0);
    std::vector<std::string> names;
    for (const char* name : known_quantities)
      if (H5Lexists(file_, name, H5P_DEFAULT) > 0) names.emplace_back(name);
    for (hsize_t i = 0;; ++i) {
      std::array<char, 512> text{};
      if (H5Lget_name_by_idx(file_, ".", H5_INDEX_NAME, H5_ITER_INC, i, text.data(), text.size(), H5P_DEFAULT) < 0)
        break;
      const std::string name(text.data());
      const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
      if (!is_known(name) && dataset >= 0 && !texts_of(dataset, name, "units").empty()) names.push_back(name);
    }
    return names;
  }

  bool has(const std::string& name) const { return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0; }

  struct Shape {
    Eigen::Index rows = 0, width = 1;
  };
  Shape shape_of(const std::string& name) const {
    const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    check(dataset >= 0);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const int rank = H5Sget_simple_extent_ndims(space);
    check(rank == 1 || rank == 2);
    std::array<hsize_t, 2> size{0, 1};
    H5Sget_simple_extent_dims(space, size.data(), nullptr);
    return {static_cast<Eigen::Index>(size[0]), static_cast<Eigen::Index>(size[1])};
  }

  /// Rows first, first + stride, …
  RowMajor rows_of(const std::string& name, Eigen::Index first, Eigen::Index count, Eigen::Index stride) const {
    const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    check(dataset >= 0);
    const Shape shape = shape_of(name);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const std::array<hsize_t, 2> begin{static_cast<hsize_t>(first), 0}, step{static_cast<hsize_t>(stride), 1},
        number{static_cast<hsize_t>(count), static_cast<hsize_t>(shape.width)};
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), step.data(), number.data(), nullptr) >= 0);
    const Handle memory(H5Screate_simple(H5Sget_simple_extent_ndims(space), number.data(), nullptr), H5Sclose);
    RowMajor values(count, shape.width);
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) >= 0);
    return values;
  }

  /// One column of a quantity.
  std::vector<double> column_of(const std::string& name, Eigen::Index column, Eigen::Index first,
                                Eigen::Index count) const {
    const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    check(dataset >= 0);
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const std::array<hsize_t, 2> begin{static_cast<hsize_t>(first), static_cast<hsize_t>(column)},
        number{static_cast<hsize_t>(count), 1};
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), nullptr, number.data(), nullptr) >= 0);
    const Handle memory(H5Screate_simple(H5Sget_simple_extent_ndims(space), number.data(), nullptr), H5Sclose);
    std::vector<double> values(static_cast<std::size_t>(count));
    check(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values.data()) >= 0);
    return values;
  }

  /// All rows of a dataset of this width; empty: there is none.
  template <class Number>
  std::vector<Number> all_of(const std::string& name, Eigen::Index width, hid_t type) const {
    if (H5Lexists(file_, name.c_str(), H5P_DEFAULT) <= 0) return {};
    const Shape shape = shape_of(name);
    if (shape.width != width) return {};
    const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    check(dataset >= 0);
    std::vector<Number> values(static_cast<std::size_t>(shape.rows * shape.width));
    check(values.empty() || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    return values;
  }

  /// The meaning of the columns of a quantity.
  std::vector<TrajectoryColumn> columns_of(const std::string& name) const {
    const Handle dataset(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    check(dataset >= 0);
    const auto width = static_cast<std::size_t>(shape_of(name).width);
    const auto texts = [&](const char* attribute) {
      std::vector<std::string> list = texts_of(dataset, name, attribute);
      check(list.size() == width || list.empty());
      list.resize(width);
      return list;
    };
    std::vector<std::string> names = texts("columns"), elements = texts("elements"), components = texts("components"),
                             units = texts("units");
    check(!names.front().empty());
    const bool is_output = !is_known(name);
    std::vector<TrajectoryColumn> out;
    for (std::size_t i = 0; i < width; ++i)
      out.push_back({std::move(names[i]),
                     is_output               ? "output"
                     : components[i].empty() ? ""
                                             : name,
                     std::move(elements[i]), std::move(components[i]), std::move(units[i])});
    return out;
  }

 private:
  void check(bool ok) const {
    if (!ok) throw InvalidInput(fmt::format("'{}' is not a kreisel trajectory in HDF5", path_.string()));
  }

  void append(const std::string& name, Trajectory& out) const {
    const Shape shape = shape_of(name);
    const RowMajor values = rows_of(name, 0, shape.rows, 1);
    // A run killed while it wrote may have extended some quantities further than others.
    const Eigen::Index common = out.columns.empty() ? shape.rows : std::min(shape.rows, out.values.rows());
    for (TrajectoryColumn& column : columns_of(name)) out.columns.push_back(std::move(column));
    out.values.conservativeResize(common, out.values.cols() + shape.width);
    out.values.rightCols(shape.width) = values.topRows(common);
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

// ---- pieces

struct LongTrajectory::Inside {
  static constexpr auto stretch = static_cast<Eigen::Index>(Extremes::stretch);
  static constexpr auto spacing = static_cast<Eigen::Index>(Extremes::spacing);
  /// Stretches of time up to so many rows are read in full.
  static constexpr Eigen::Index read_in_full = 65'536;

  struct Quantity {
    std::string name;
    std::vector<TrajectoryColumn> columns;
    Eigen::Index at = 0;  ///< first column
    /// Smallest and largest value by stretch and column, and their rows in the stretch; empty: not read yet.
    std::vector<double> extremes{};
    std::vector<std::uint8_t> rows{};
  };

  explicit Inside(const Path& path) : reader(path) {
    Eigen::Index at = 0;
    for (const std::string& name : reader.datasets()) {
      quantities.push_back({name, reader.columns_of(name), at});
      at += static_cast<Eigen::Index>(quantities.back().columns.size());
      const Eigen::Index length = reader.shape_of(name).rows;
      rows = quantities.size() == 1 ? length : std::min(rows, length);
    }
    columns = at;
    if (quantities.empty() || quantities.front().name != "t")
      throw InvalidInput(fmt::format("'{}' is not a kreisel trajectory in HDF5", path.string()));
    const RowMajor values = reader.rows_of("t", 0, rows, 1);
    time.assign(values.data(), values.data() + rows);
  }

  Quantity* find(Eigen::Index column) const {
    const auto found = std::ranges::find_if(quantities, [&](const Quantity& q) {
      return column >= q.at && column < q.at + static_cast<Eigen::Index>(q.columns.size());
    });
    return found == quantities.end() ? nullptr : &*found;
  }

  /// Reads the extremes in the file; computes those of the rows after them, and of all rows of older files.
  const Quantity& gathered(Quantity& quantity) const {
    if (!quantity.extremes.empty()) return quantity;
    const auto width = static_cast<Eigen::Index>(quantity.columns.size());
    quantity.extremes = reader.all_of<double>(quantity.name + extremes_suffix, 2 * width, H5T_NATIVE_DOUBLE);
    quantity.rows = reader.all_of<std::uint8_t>(quantity.name + extreme_rows_suffix, 2 * width, H5T_NATIVE_UCHAR);
    // A killed run may have written one of the two further than the other, or further than the values.
    const auto known =
        std::min(static_cast<Eigen::Index>(std::min(quantity.extremes.size(), quantity.rows.size())) / (2 * width),
                 rows / stretch);
    quantity.extremes.resize(static_cast<std::size_t>(2 * width * known));
    quantity.rows.resize(quantity.extremes.size());
    Extremes more(static_cast<std::size_t>(width));
    const Eigen::Index piece = std::max<Eigen::Index>(1, 1'000'000 / (width * stretch)) * stretch;
    for (Eigen::Index begin = known * stretch; begin < rows; begin += piece) {
      const RowMajor values = reader.rows_of(quantity.name, begin, std::min(piece, rows - begin), 1);
      more.add(values.data(), static_cast<std::size_t>(values.rows()), static_cast<std::size_t>(width));
    }
    more.end_early();
    quantity.extremes.insert(quantity.extremes.end(), more.values().begin(), more.values().end());
    quantity.rows.insert(quantity.rows.end(), more.rows().begin(), more.rows().end());
    return quantity;
  }

  /// Rows 0, `spacing`, … that every quantity has set aside: all, fewer if the run was killed, none in older files.
  Eigen::Index samples() const {
    Eigen::Index least = (rows + spacing - 1) / spacing;
    for (const Quantity& quantity : quantities) {
      const std::string name = quantity.name + samples_suffix;
      if (!reader.has(name)) return 0;
      const Hdf5Reader::Shape shape = reader.shape_of(name);
      if (shape.width != static_cast<Eigen::Index>(quantity.columns.size())) return 0;
      least = std::min(least, shape.rows);
    }
    return least;
  }

  /// A column at every `spacing`-th row.
  std::vector<double> sparse(Eigen::Index column) const {
    const Quantity& quantity = *find(column);
    const Eigen::Index place = column - quantity.at, all = (rows + spacing - 1) / spacing;
    const Eigen::Index set_aside = std::min(samples(), all);
    std::vector<double> out;
    if (set_aside > 0) out = reader.column_of(quantity.name + samples_suffix, place, 0, set_aside);
    if (set_aside == all) return out;
    // A run that was killed, or a file without samples.
    const std::vector<double> rest =
        reader.column_of(quantity.name, place, set_aside * spacing, rows - set_aside * spacing);
    for (std::size_t i = 0; i < rest.size(); i += static_cast<std::size_t>(spacing)) out.push_back(rest[i]);
    return out;
  }

  /// The angle of a joint with its turns at every `spacing`-th row; empty if the column has no turns.
  const std::vector<double>& turned(Eigen::Index column) const {
    const auto known = angles.find(column);
    if (known != angles.end()) return known->second;
    std::vector<double>& out = angles[column];
    std::vector<TrajectoryColumn> all;
    for (const Quantity& quantity : quantities) all.insert(all.end(), quantity.columns.begin(), quantity.columns.end());
    const Eigen::Index speed = speed_beside(all, column);
    if (speed < 0) return out;
    std::vector<double> at;
    for (Eigen::Index row = 0; row < rows; row += spacing) at.push_back(time[static_cast<std::size_t>(row)]);
    out = with_turns(at, sparse(column), sparse(speed));
    return out;
  }

  /// The value of a row with the turns that bring it next to the line between the angles known around it.
  double turned(const std::vector<double>& known, Eigen::Index row, double value) const {
    if (known.empty() || !std::isfinite(value)) return value;
    const auto left = static_cast<std::size_t>(row / spacing), right = std::min(left + 1, known.size() - 1);
    const double part = static_cast<double>(row % spacing) / static_cast<double>(spacing);
    const double near = known[left] + part * (known[right] - known[left]);
    return value + 2.0 * M_PI * std::round((near - value) / (2.0 * M_PI));
  }

  /// Gives `use` rows and values of a stretch of rows, the smallest and the largest among them.
  template <class Use>
  void extremes_of(const Quantity& quantity, Eigen::Index place, const std::vector<double>& known, Eigen::Index number,
                   const Use& use) const {
    const auto e = static_cast<std::size_t>(2 * (number * std::ssize(quantity.columns) + place));
    for (const std::size_t at : {e, e + 1}) {
      const Eigen::Index row = number * stretch + quantity.rows[at];
      use(row, turned(known, row, quantity.extremes[at]));
    }
    // Where the angle jumps in the file, these two may be anywhere in the stretch.
    const double jump = quantity.extremes[e + 1] - quantity.extremes[e];
    if (known.empty() || !(jump > M_PI)) return;
    const Eigen::Index end = std::min(rows, (number + 1) * stretch);
    for (Eigen::Index row = number * stretch; row < end; row += spacing)
      use(row, known[static_cast<std::size_t>(row / spacing)]);
  }

  Hdf5Reader reader;
  mutable std::map<Eigen::Index, std::vector<double>> angles;
  mutable std::vector<Quantity> quantities;
  std::vector<double> time;
  Eigen::Index rows = 0, columns = 0;
};

LongTrajectory::LongTrajectory(const Path& path) {
  require_hdf5();
  inside_ = std::make_unique<Inside>(path);
}
LongTrajectory::~LongTrajectory() = default;
Eigen::Index LongTrajectory::rows() const { return inside_->rows; }
Eigen::Index LongTrajectory::columns() const { return inside_->columns; }

bool LongTrajectory::has_extremes() const {
  const Inside::Quantity& longest = inside_->quantities.back();
  return inside_->rows >= static_cast<Eigen::Index>(Extremes::long_rows) &&
         inside_->reader.has(longest.name + extremes_suffix);
}

Trajectory LongTrajectory::sample(Eigen::Index limit) const {
  const Inside& in = *inside_;
  Trajectory out;
  // Rows from all over a file cost a read each; those that were set aside lie together.
  const Eigen::Index set_aside = in.samples(), spacing = set_aside > 0 ? Inside::spacing : 1;
  const Eigen::Index all = (in.rows + spacing - 1) / spacing;
  const Eigen::Index stride = std::max<Eigen::Index>(1, (all + limit - 1) / std::max<Eigen::Index>(1, limit));
  const Eigen::Index count = all == 0 ? 0 : (all - 1) / stride + 1;
  const Eigen::Index near = std::min(count, (set_aside + stride - 1) / stride);
  const bool misses_last = in.rows > 0 && (count - 1) * stride * spacing != in.rows - 1;
  out.values.resize(count + (misses_last ? 1 : 0), in.columns);
  for (const Inside::Quantity& quantity : in.quantities) {
    out.columns.insert(out.columns.end(), quantity.columns.begin(), quantity.columns.end());
    const auto width = static_cast<Eigen::Index>(quantity.columns.size());
    const auto put = [&](Eigen::Index at, Eigen::Index number, const RowMajor& values) {
      out.values.block(at, quantity.at, number, width) = values;
    };
    if (near > 0) put(0, near, in.reader.rows_of(quantity.name + samples_suffix, 0, near, stride));
    if (near < count) {
      const Eigen::Index step = stride * spacing;
      put(near, count - near, in.reader.rows_of(quantity.name, near * step, count - near, step));
    }
    if (misses_last) put(count, 1, in.reader.rows_of(quantity.name, in.rows - 1, 1, 1));
  }
  for (Eigen::Index column = 0; column < in.columns; ++column) {
    if (speed_beside(out.columns, column) < 0) continue;
    const std::vector<double>& known = in.turned(column);
    for (Eigen::Index i = 0; i < out.values.rows(); ++i) {
      const Eigen::Index row = i < count ? i * stride * spacing : in.rows - 1;
      out.values(i, column) = in.turned(known, row, out.values(i, column));
    }
  }
  return out;
}

std::vector<std::pair<double, double>> LongTrajectory::extrema(Eigen::Index column, double from, double to,
                                                               Eigen::Index buckets) const {
  const Inside& in = *inside_;
  Inside::Quantity* const quantity = in.find(column);
  if (quantity == nullptr || in.rows == 0) return {};
  const Eigen::Index place = column - quantity->at;
  const auto first_at = std::ranges::lower_bound(in.time, from), last_at = std::ranges::upper_bound(in.time, to);
  const Eigen::Index first = std::max<Eigen::Index>(0, first_at - in.time.begin() - 1);
  const Eigen::Index last = std::min<Eigen::Index>(in.rows, last_at - in.time.begin() + 1);
  std::vector<std::pair<double, double>> out;
  if (last <= first) return out;
  buckets = std::max<Eigen::Index>(1, buckets);
  const auto time = [&](Eigen::Index i) { return in.time[static_cast<std::size_t>(i)]; };
  const std::vector<double>& angles = in.turned(column);
  struct Known {
    Eigen::Index row;
    double value;
  };
  const auto add = [&](const Known& low, const Known& high) {
    if (low.row < 0) return;
    const bool is_low_first = low.row <= high.row;
    const Known &a = is_low_first ? low : high, &b = is_low_first ? high : low;
    out.push_back({time(a.row), a.value});
    if (a.row != b.row) out.push_back({time(b.row), b.value});
  };
  if (last - first <= std::max(2 * buckets, Inside::read_in_full)) {
    const std::vector<double> values = in.reader.column_of(quantity->name, place, first, last - first);
    const auto value = [&](Eigen::Index i) {
      return in.turned(angles, i, values[static_cast<std::size_t>(i - first)]);
    };
    if (last - first <= 2 * buckets) {
      for (Eigen::Index i = first; i < last; ++i) out.push_back({time(i), value(i)});
      return out;
    }
    for (Eigen::Index b = 0; b < buckets; ++b) {
      const Eigen::Index begin = first + b * (last - first) / buckets, end = first + (b + 1) * (last - first) / buckets;
      Known low{-1, INFINITY}, high{-1, -INFINITY};
      for (Eigen::Index i = begin; i < end; ++i) {
        const double y = value(i);
        if (y < low.value) low = {i, y};
        if (y > high.value) high = {i, y};
      }
      add(low, high);
    }
    return out;
  }
  in.gathered(*quantity);
  const Eigen::Index begin = first / Inside::stretch, end = (last + Inside::stretch - 1) / Inside::stretch;
  const Eigen::Index each = std::max<Eigen::Index>(1, (end - begin + buckets - 1) / buckets);
  for (Eigen::Index s = begin; s < end; s += each) {
    Known low{-1, INFINITY}, high{-1, -INFINITY};
    for (Eigen::Index k = s; k < std::min(s + each, end); ++k)
      in.extremes_of(*quantity, place, angles, k, [&](Eigen::Index row, double value) {
        if (value < low.value) low = {row, value};
        if (value > high.value) high = {row, value};
      });
    add(low, high);
  }
  return out;
}

std::pair<double, double> LongTrajectory::range(Eigen::Index column) const {
  const Inside& in = *inside_;
  std::pair out{std::nan(""), std::nan("")};
  Inside::Quantity* const quantity = in.find(column);
  if (quantity == nullptr) return out;
  in.gathered(*quantity);
  const std::vector<double>& angles = in.turned(column);
  const auto stretches = std::ssize(quantity->extremes) / (2 * std::ssize(quantity->columns));
  for (Eigen::Index number = 0; number < stretches; ++number)
    in.extremes_of(*quantity, column - quantity->at, angles, number, [&](Eigen::Index, double value) {
      out.first = std::fmin(out.first, value);
      out.second = std::fmax(out.second, value);
    });
  return out;
}

}  // namespace kreisel::io
