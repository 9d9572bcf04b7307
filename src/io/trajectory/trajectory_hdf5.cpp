// One dataset per quantity, rows along the first axis. Rows are gathered and appended in batches. A killed run and a
// full disk leave a readable file: space is reserved before a batch, the metadata cache may not evict during it, and
// the file is flushed after it, so that the disk holds the state after the last batch.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "extremes.hpp"
#include "hdf5_handle.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"
#include "kreisel/version.hpp"

namespace kreisel::io {
namespace {

constexpr hsize_t chunk_values = 2048;         // of 8 bytes, unless one row is longer
constexpr hsize_t metadata_reserve = 1 << 17;  // bytes a batch may need beside its chunks
constexpr std::size_t attribute_limit = 60'000;
constexpr hsize_t batch_values = 1 << 15;
// Large, because each costs a read of the file, which may not be in memory; written when they are full, so that each is written once.
constexpr hsize_t extremes_chunk = 64;  // stretches
constexpr hsize_t samples_chunk = extremes_chunk * Extremes::stretch / Extremes::spacing;

/// The innermost cause of the last failure; system calls leave "error message = 'No space left on device'" there.
std::string reason() {
  std::string text = "the HDF5 library failed";
  const auto first = [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
    if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &text);
  const std::size_t begin = text.find("error message = '");
  if (begin != std::string::npos) text = text.substr(begin + 17, text.find('\'', begin + 17) - begin - 17);
  return text;
}

/// The datasets of one HDF5 file. Every failure throws EnvironmentError.
class Table {
 public:
  Table(const Path& path, const std::vector<Quantity>& quantities, const std::vector<std::string>& about)
      : path_(path), quantities_(quantities) {
    create();
    write_text(file_, "kreisel", {std::string(version())});
    write_text(file_, "about", about);
    for (const Quantity& quantity : quantities_) {
      datasets_.push_back(create_dataset(quantity));
      extremes_.emplace_back(static_cast<std::size_t>(quantity.size()));
    }
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
  }

  hsize_t rows() const { return rows_; }

  /// `values` holds whole rows, row by row.
  void append(const std::vector<double>& values) {
    const hsize_t stride = columns();
    const hsize_t count = values.size() / stride;
    if (count == 0) return;
    reserve(count);
    for (std::size_t i = 0; i < datasets_.size(); ++i)
      append(i, count, stride, static_cast<hsize_t>(quantities_[i].at), values.data());
    end_batch(count);
  }

  /// Rows 0, 2, 4, … of another table, into this empty one.
  void take_every_second(const Table& other) {
    const hsize_t count = (other.rows_ + 1) / 2;
    reserve(count);
    std::vector<double> values;
    for (std::size_t i = 0; i < datasets_.size(); ++i) {
      const auto width = static_cast<hsize_t>(quantities_[i].size());
      values.resize(count * width);
      other.read_every_second(i, count, values.data());
      append(i, count, width, 0, values.data());
    }
    end_batch(count);
  }

  /// Releases unused reserved space; the table is unusable afterwards.
  void close() {
    write_last_overview();
    hsize_t size = 0;
    check(H5Fget_filesize(file_, &size));
    datasets_.clear();
    check(file_.close());
    if (::truncate(path_.c_str(), static_cast<off_t>(size)) != 0) fail(std::strerror(errno));
  }

  void set_path(const Path& path) { path_ = path; }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path_.string(), why));
  }
  template <class Result>
  Result check(Result result) const {
    if (result < 0) fail(reason());
    return result;
  }
  Handle own(hid_t id, herr_t (*closer)(hid_t)) const { return {check(id), closer}; }

  hsize_t columns() const { return static_cast<hsize_t>(quantities_.back().at + quantities_.back().size()); }

  static hsize_t chunk_rows(const Quantity& quantity) {
    return std::max<hsize_t>(1, chunk_values / static_cast<hsize_t>(quantity.size()));
  }

  void create() {
    const Handle access = own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
    H5AC_cache_config_t cache{};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    check(H5Pget_mdc_config(access, &cache));
    cache.evictions_enabled = false;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
    check(H5Pset_mdc_config(access, &cache));
    file_ = own(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  }

  Handle create_dataset(const Quantity& quantity) const {
    const auto width = static_cast<hsize_t>(quantity.size());
    const std::array<hsize_t, 2> size{0, width}, limit{H5S_UNLIMITED, width}, chunk{chunk_rows(quantity), width};
    const int rank = quantity.size() == 1 ? 1 : 2;
    const Handle space = own(H5Screate_simple(rank, size.data(), limit.data()), H5Sclose);
    const Handle layout = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_chunk(layout, rank, chunk.data()));
    const hid_t type = quantity.is_count ? H5T_STD_I32LE : H5T_IEEE_F64LE;
    Handle dataset =
        own(H5Dcreate2(file_, quantity.name.c_str(), type, space, H5P_DEFAULT, layout, H5P_DEFAULT), H5Dclose);
    write_text(dataset, "unit", {quantity.unit});
    write_text(dataset, "meaning", {quantity.meaning});
    const auto all = [&](std::string TrajectoryColumn::*member) {
      std::vector<std::string> texts;
      for (const TrajectoryColumn& column : quantity.columns) texts.push_back(column.*member);
      return texts;
    };
    write_text(dataset, "columns", all(&TrajectoryColumn::name));
    write_text(dataset, "elements", all(&TrajectoryColumn::element));
    write_text(dataset, "components", all(&TrajectoryColumn::component));
    write_text(dataset, "units", all(&TrajectoryColumn::unit));
    return dataset;
  }

  /// An attribute NAME; lists that exceed what an attribute can hold go to a dataset OWNER_NAME instead.
  void write_text(hid_t owner, const char* name, const std::vector<std::string>& lines) const {
    if (lines.empty()) return;
    std::vector<const char*> pointers;
    std::size_t bytes = 0;
    for (const std::string& line : lines) {
      pointers.push_back(line.c_str());
      bytes += 16 + line.size();
    }
    const Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type, H5T_VARIABLE));
    check(H5Tset_cset(type, H5T_CSET_UTF8));
    const hsize_t count = lines.size();
    const Handle space = own(count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose);
    if (bytes < attribute_limit) {
      const Handle attribute = own(H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
      check(H5Awrite(attribute, type, pointers.data()));
      return;
    }
    std::array<char, 64> owner_name{};
    check(H5Iget_name(owner, owner_name.data(), owner_name.size()));
    const std::string full = fmt::format("{}_{}", owner_name.data(), name);
    const Handle dataset =
        own(H5Dcreate2(file_, full.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()));
  }

  /// HDF5 continues to write metadata after a write has failed, which ruins the file; so a full disk must be detected before.
  void reserve(hsize_t count) const {
    hsize_t bytes = metadata_reserve;
    for (const Quantity& quantity : quantities_)
      bytes += (count + chunk_rows(quantity)) * static_cast<hsize_t>(quantity.size()) * sizeof(double);
    for (const Extremes& extremes : extremes_)
      bytes += (extremes.waiting() + count / Extremes::stretch + 1 + 2 * extremes_chunk) * extremes.bytes();
    for (std::size_t i = 0; i < extremes_.size(); ++i)
      bytes += (extremes_[i].waiting_samples() + count / Extremes::spacing + 1 + 2 * samples_chunk) *
               static_cast<hsize_t>(quantities_[i].size()) * sizeof(double);
    hsize_t size = 0;
    void* descriptor = nullptr;
    check(H5Fget_filesize(file_, &size));
    check(H5Fget_vfd_handle(file_, H5P_DEFAULT, &descriptor));
    const int error_number =
        ::posix_fallocate(*static_cast<int*>(descriptor), static_cast<off_t>(size), static_cast<off_t>(bytes));
    if (error_number == ENOSPC || error_number == EFBIG || error_number == EDQUOT) fail(std::strerror(error_number));
  }

  /// Columns at … of a row-major array with `stride` columns go to the end of one dataset.
  void append(std::size_t index, hsize_t count, hsize_t stride, hsize_t at, const double* values) {
    extremes_[index].add(values + at, count, stride);
    const auto width = static_cast<hsize_t>(quantities_[index].size());
    const hid_t dataset = datasets_[index];
    const std::array<hsize_t, 2> size{rows_ + count, width}, from{rows_, 0}, piece{count, width};
    check(H5Dset_extent(dataset, size.data()));
    const Handle target = own(H5Dget_space(dataset), H5Sclose);
    check(H5Sselect_hyperslab(target, H5S_SELECT_SET, from.data(), nullptr, piece.data(), nullptr));
    const std::array<hsize_t, 2> memory_size{count, stride}, memory_from{0, at};
    const Handle memory = own(H5Screate_simple(2, memory_size.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(memory, H5S_SELECT_SET, memory_from.data(), nullptr, piece.data(), nullptr));
    check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, target, H5P_DEFAULT, values));
  }

  /// Counts the appended rows; long files also get extremes and samples.
  void end_batch(hsize_t count) {
    rows_ += count;
    if (rows_ >= Extremes::long_rows && extremes_.front().waiting() >= extremes_chunk)
      for (std::size_t i = 0; i < datasets_.size(); ++i) write_overview(i);
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
  }

  /// NAME_extremes: smallest and largest value per column of every stretch of rows; NAME_extreme_rows: where in the stretch;
  /// NAME_samples: every so many rows.
  void write_overview(std::size_t index) {
    Extremes& extremes = extremes_[index];
    const std::string name = quantities_[index].name;
    for (const Quantity& other : quantities_)  // an output may have any name
      for (const char* suffix : {extremes_suffix, extreme_rows_suffix, samples_suffix})
        if (other.name == name + suffix) {
          extremes.forget();
          extremes.forget_samples();
          return;
        }
    const auto width = static_cast<hsize_t>(quantities_[index].size());
    const Rows pairs{2 * width, extremes.written(), extremes.waiting(), extremes_chunk};
    add_rows(name + extremes_suffix, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, pairs, extremes.values().data());
    add_rows(name + extreme_rows_suffix, H5T_STD_U8LE, H5T_NATIVE_UCHAR, pairs, extremes.rows().data());
    extremes.forget();
    const Rows samples{width, extremes.written_samples(), extremes.waiting_samples(), samples_chunk};
    add_rows(name + samples_suffix, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, samples, extremes.samples().data());
    extremes.forget_samples();
  }

  /// A full disk is no failure here: readers find the same in the values.
  void write_last_overview() {
    if (rows_ < Extremes::long_rows) return;
    try {
      reserve(0);
    } catch (const EnvironmentError&) {
      return;
    }
    for (std::size_t i = 0; i < datasets_.size(); ++i) write_overview(i);
  }

  struct Rows {
    hsize_t width, written, count, chunk;
  };
  /// Appends to a dataset beside those of quantities, and makes it if there is none.
  void add_rows(const std::string& name, hid_t stored, hid_t given, const Rows& rows, const void* data) const {
    if (rows.count == 0) return;
    if (H5Lexists(file_, name.c_str(), H5P_DEFAULT) <= 0) {
      const std::array<hsize_t, 2> none{0, rows.width}, limit{H5S_UNLIMITED, rows.width}, chunk{rows.chunk, rows.width};
      const Handle space = own(H5Screate_simple(2, none.data(), limit.data()), H5Sclose);
      const Handle layout = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
      check(H5Pset_chunk(layout, 2, chunk.data()));
      own(H5Dcreate2(file_, name.c_str(), stored, space, H5P_DEFAULT, layout, H5P_DEFAULT), H5Dclose);
    }
    const Handle dataset = own(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    const std::array<hsize_t, 2> size{rows.written + rows.count, rows.width}, from{rows.written, 0},
        piece{rows.count, rows.width};
    check(H5Dset_extent(dataset, size.data()));
    const Handle target = own(H5Dget_space(dataset), H5Sclose);
    check(H5Sselect_hyperslab(target, H5S_SELECT_SET, from.data(), nullptr, piece.data(), nullptr));
    const Handle memory = own(H5Screate_simple(2, piece.data(), nullptr), H5Sclose);
    check(H5Dwrite(dataset, given, memory, target, H5P_DEFAULT, data));
  }

  void read_every_second(std::size_t index, hsize_t count, double* values) const {
    const Handle source = own(H5Dget_space(datasets_[index]), H5Sclose);
    const std::array<hsize_t, 2> from{0, 0}, step{2, 1}, piece{count, static_cast<hsize_t>(quantities_[index].size())};
    check(H5Sselect_hyperslab(source, H5S_SELECT_SET, from.data(), step.data(), piece.data(), nullptr));
    const Handle memory = own(H5Screate_simple(2, piece.data(), nullptr), H5Sclose);
    check(H5Dread(datasets_[index], H5T_NATIVE_DOUBLE, memory, source, H5P_DEFAULT, values));
  }

  Path path_;
  std::vector<Quantity> quantities_;
  Handle file_;
  std::vector<Handle> datasets_;
  std::vector<Extremes> extremes_;
  hsize_t rows_ = 0;
};

class Hdf5File final : public TrajectoryFile {
 public:
  Hdf5File(const Path& path, const TrajectoryLayout& layout, const std::vector<std::string>& about)
      : path_(path),
        quantities_(layout.quantities()),
        about_(about),
        batch_size_(static_cast<std::size_t>(layout.columns()) *
                    std::clamp<hsize_t>(batch_values / static_cast<hsize_t>(layout.columns()), 1, 1024)) {
    const Silence silence;
    for (const std::string& line : layout.explanation()) about_.push_back(line);
    table_ = std::make_unique<Table>(part_of(path_), quantities_, about_);
    batch_.reserve(batch_size_);
    written_at_ = std::time(nullptr);
  }

  ~Hdf5File() override {
    if (table_ == nullptr) return;
    const Silence silence;
    try {
      write_batch();
      table_->close();
    } catch (const EnvironmentError&) {  // the earlier batches are in the file
    }
    table_.reset();
  }

  const Path& path() const override { return path_; }

  void append(ConstVectorRef row) override {
    batch_.insert(batch_.end(), row.data(), row.data() + row.size());
    if (batch_.size() < batch_size_ && std::time(nullptr) - written_at_ < 2) return;
    const Silence silence;
    write_batch();
  }

  void thin() override {
    const Silence silence;
    const std::vector<double> gathered = batch_;
    try {
      write_batch();
    } catch (const EnvironmentError&) {
      batch_ = gathered;  // nothing of it is in the file yet: the next attempt may succeed
      throw;
    }
    // A separate file until it is complete: a kill or a full disk in between leaves the old one.
    Path next = part_of(path_);
    next += ".next";
    try {
      auto thinned = std::make_unique<Table>(next, quantities_, about_);
      thinned->take_every_second(*table_);
      table_ = std::move(thinned);
      rename(next, part_of(path_));
      table_->set_path(part_of(path_));
    } catch (const EnvironmentError&) {
      std::remove(next.c_str());
      throw;
    }
  }

  void keep(Archive&) override { throw std::logic_error("HDF5 files keep no state; checkpoints use a journal"); }

  void commit() override {
    const Silence silence;
    write_batch();
    table_->close();
    table_.reset();
    rename(part_of(path_), path_);
  }

  void discard() override {
    const Silence silence;
    table_.reset();
    batch_.clear();
    std::remove(part_of(path_).c_str());
  }

 private:
  /// Rows that cannot be written are dropped, so that a second attempt can complete the file without them.
  void write_batch() {
    written_at_ = std::time(nullptr);
    const std::vector<double> batch = std::exchange(batch_, {});
    batch_.reserve(batch_size_);
    table_->append(batch);
  }

  static void rename(const Path& from, const Path& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
      throw EnvironmentError(fmt::format("cannot write '{}': {}", to.string(), std::strerror(errno)));
  }

  Path path_;
  std::vector<Quantity> quantities_;
  std::vector<std::string> about_;
  std::size_t batch_size_;
  std::unique_ptr<Table> table_;
  std::vector<double> batch_;
  std::time_t written_at_ = 0;
};

}  // namespace

std::unique_ptr<TrajectoryFile> make_hdf5_file(const Path& path, const TrajectoryLayout& layout,
                                               const std::vector<std::string>& about) {
  require_hdf5();
  return std::make_unique<Hdf5File>(path, layout, about);
}

std::string hdf5_version() { return fmt::format("{}.{}.{}", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE); }

bool has_hdf5() { return trouble_with_hdf5().empty(); }

void require_hdf5() {
  if (!has_hdf5()) throw EnvironmentError(trouble_with_hdf5());
}

}  // namespace kreisel::io
