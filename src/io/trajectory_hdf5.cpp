// One dataset per quantity, rows along the first axis. Rows are gathered and appended in batches; after each batch the
// file is flushed, and the metadata cache may not evict in between, so that a killed run leaves a readable file.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "hdf5_handle.hpp"
#include "kreisel/base/error.hpp"
#include "kreisel/base/version.hpp"
#include "kreisel/io/trajectory.hpp"

namespace kreisel::io {
namespace {

/// The innermost reason of the last failure; system calls leave "error message = 'No space left on device'" there.
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

struct Dataset {
  Quantity quantity;
  Handle id;
};

class Hdf5File final : public TrajectoryFile {
 public:
  Hdf5File(const Path& path, const TrajectoryLayout& layout, const std::vector<std::string>& about)
      : path_(path),
        quantities_(layout.quantities()),
        columns_(layout.columns()),
        about_(about),
        batch_rows_(std::clamp<hsize_t>((1 << 17) / static_cast<hsize_t>(columns_), 1, 1024)) {
    const Silence silence;
    for (const std::string& line : layout.explanation()) about_.push_back(line);
    create(part_of(path_));
    batch_.reserve(batch_rows_ * static_cast<std::size_t>(columns_));
    flushed_at_ = std::time(nullptr);
  }

  ~Hdf5File() override {
    if (file_ < 0) return;
    const Silence silence;
    try {
      write_batch();
    } catch (const std::exception&) {  // the file keeps the earlier batches
    }
    close();
  }

  const Path& path() const override { return path_; }

  void append(ConstVectorRef row) override {
    batch_.insert(batch_.end(), row.data(), row.data() + row.size());
    const bool is_full = batch_.size() >= batch_rows_ * static_cast<std::size_t>(columns_);
    if (!is_full && std::time(nullptr) - flushed_at_ < 2) return;
    const Silence silence;
    write_batch();
  }

  void thin() override {
    const Silence silence;
    write_batch();
    std::vector<Dataset> old = std::move(datasets_);
    Handle old_file = std::move(file_);
    const hsize_t old_rows = rows_;
    // A file of its own until it is complete: a kill in between leaves the old one.
    Path next = part_of(path_);
    next += ".next";
    create(next);
    const hsize_t kept = (old_rows + 1) / 2;
    std::vector<double> values;
    for (std::size_t i = 0; i < old.size(); ++i) {
      const hsize_t width = static_cast<hsize_t>(old[i].quantity.size());
      values.resize(kept * width);
      read_every_second(old[i], kept, width, values.data());
      append_to(datasets_[i], 0, kept, width, 0, width, values.data());
    }
    rows_ = kept;
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
    old.clear();
    old_file.close();
    if (std::rename(next.c_str(), part_of(path_).c_str()) != 0)
      throw EnvironmentError(fmt::format("cannot rename '{}'", next.string()));
  }

  void commit() override {
    {
      const Silence silence;
      write_batch();
      if (!close()) fail();
    }
    std::error_code error;
    std::filesystem::rename(part_of(path_), path_, error);
    if (error) throw EnvironmentError(fmt::format("cannot write '{}': {}", path_.string(), error.message()));
  }

  void discard() override {
    const Silence silence;
    batch_.clear();
    close();
    std::error_code ignored;
    std::filesystem::remove(part_of(path_), ignored);
  }

 private:
  [[noreturn]] void fail() const {
    const std::string why = reason();
    abandon();
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path_.string(), why));
  }
  /// HDF5 cannot close a file without writing its metadata, and on a full disk some of that would arrive and some not.
  /// It goes to /dev/null instead: the file stays as the last flush left it.
  void abandon() const {
    void* handle = nullptr;
    if (file_ < 0 || H5Fget_vfd_handle(file_, H5P_DEFAULT, &handle) < 0 || handle == nullptr) return;
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere < 0) return;
    ::dup2(nowhere, *static_cast<int*>(handle));
    ::close(nowhere);
  }
  template <class Result>
  Result check(Result result) const {
    if (result < 0) fail();
    return result;
  }
  Handle own(hid_t id, herr_t (*closer)(hid_t)) const { return {check(id), closer}; }

  void create(const Path& path) {
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
    file_ = own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
    rows_ = 0;
    write_text(file_, "kreisel", {std::string(version())});
    write_text(file_, "about", about_);
    datasets_.clear();
    for (const Quantity& quantity : quantities_) datasets_.push_back({quantity, create_dataset(quantity)});
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
  }

  Handle create_dataset(const Quantity& quantity) const {
    const hsize_t width = static_cast<hsize_t>(quantity.size());
    const std::array<hsize_t, 2> size{0, width}, limit{H5S_UNLIMITED, width};
    const std::array<hsize_t, 2> chunk{std::clamp<hsize_t>(8192 / width, 1, 4096), width};
    const int rank = quantity.size() == 1 ? 1 : 2;
    const Handle space = own(H5Screate_simple(rank, size.data(), limit.data()), H5Sclose);
    const Handle layout = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_chunk(layout, rank, chunk.data()));
    const hid_t type = quantity.is_count ? H5T_STD_I32LE : H5T_IEEE_F64LE;
    Handle dataset = own(
        H5Dcreate2(file_, quantity.name.c_str(), type, space, H5P_DEFAULT, layout, H5P_DEFAULT), H5Dclose);
    write_text(dataset, "unit", {quantity.unit});
    write_text(dataset, "meaning", {quantity.meaning});
    write_text(dataset, "columns", quantity.columns);
    return dataset;
  }

  /// An attribute NAME; lists that exceed what an attribute can hold go to a dataset OWNER_NAME instead.
  void write_text(hid_t owner, const char* name, const std::vector<std::string>& lines) const {
    std::vector<const char*> pointers;
    std::size_t bytes = 0;
    for (const std::string& line : lines) {
      pointers.push_back(line.c_str());
      bytes += 16 + line.size();
    }
    if (pointers.empty()) return;
    const Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose);
    check(H5Tset_size(type, H5T_VARIABLE));
    check(H5Tset_cset(type, H5T_CSET_UTF8));
    const hsize_t count = pointers.size();
    const Handle space =
        own(lines.size() == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose);
    const bool fits = bytes < 60'000;
    if (fits) {
      const Handle attribute = own(H5Acreate2(owner, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
      check(H5Awrite(attribute, type, pointers.data()));
      return;
    }
    std::string owner_name(256, '\0');
    const ssize_t length = H5Iget_name(owner, owner_name.data(), owner_name.size());
    owner_name.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    if (owner_name == "/") owner_name.clear();
    const std::string full = fmt::format("{}_{}", owner_name.empty() ? "/file" : owner_name, name);
    const Handle dataset =
        own(H5Dcreate2(file_, full.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()));
  }

  /// Appends columns at … at + width of a row-major array with `stride` columns.
  void append_to(const Dataset& dataset, hsize_t first, hsize_t count, hsize_t stride, hsize_t at, hsize_t width,
                 const double* values) const {
    const std::array<hsize_t, 2> size{first + count, width}, from{first, 0}, piece{count, width};
    check(H5Dset_extent(dataset.id, size.data()));
    const Handle target = own(H5Dget_space(dataset.id), H5Sclose);
    check(H5Sselect_hyperslab(target, H5S_SELECT_SET, from.data(), nullptr, piece.data(), nullptr));
    const std::array<hsize_t, 2> memory_size{count, stride}, memory_from{0, at};
    const Handle memory = own(H5Screate_simple(2, memory_size.data(), nullptr), H5Sclose);
    check(H5Sselect_hyperslab(memory, H5S_SELECT_SET, memory_from.data(), nullptr, piece.data(), nullptr));
    check(H5Dwrite(dataset.id, H5T_NATIVE_DOUBLE, memory, target, H5P_DEFAULT, values));
  }

  void read_every_second(const Dataset& dataset, hsize_t count, hsize_t width, double* values) const {
    const Handle source = own(H5Dget_space(dataset.id), H5Sclose);
    const std::array<hsize_t, 2> from{0, 0}, step{2, 1}, piece{count, width};
    check(H5Sselect_hyperslab(source, H5S_SELECT_SET, from.data(), step.data(), piece.data(), nullptr));
    const Handle memory = own(H5Screate_simple(2, piece.data(), nullptr), H5Sclose);
    check(H5Dread(dataset.id, H5T_NATIVE_DOUBLE, memory, source, H5P_DEFAULT, values));
  }

  void write_batch() {
    const hsize_t count = batch_.size() / static_cast<std::size_t>(columns_);
    flushed_at_ = std::time(nullptr);
    if (count == 0) return;
    for (const Dataset& dataset : datasets_)
      append_to(dataset, rows_, count, static_cast<hsize_t>(columns_), static_cast<hsize_t>(dataset.quantity.at),
                static_cast<hsize_t>(dataset.quantity.size()), batch_.data());
    batch_.clear();
    rows_ += count;
    check(H5Fflush(file_, H5F_SCOPE_LOCAL));
  }

  bool close() {
    datasets_.clear();
    return file_.close() >= 0;
  }

  Path path_;
  std::vector<Quantity> quantities_;
  int columns_;
  std::vector<std::string> about_;
  hsize_t batch_rows_;
  Handle file_;
  std::vector<Dataset> datasets_;
  std::vector<double> batch_;
  hsize_t rows_ = 0;
  std::time_t flushed_at_ = 0;
};

}  // namespace

std::unique_ptr<TrajectoryFile> make_hdf5_file(const Path& path, const TrajectoryLayout& layout,
                                               const std::vector<std::string>& about) {
  return std::make_unique<Hdf5File>(path, layout, about);
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

}  // namespace kreisel::io
