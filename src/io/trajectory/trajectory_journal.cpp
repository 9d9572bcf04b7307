// Rows in order of arrival, converted to HDF5 at the end: a kill during writing may destroy an HDF5 file, but
// a journal can be cut at any checkpoint.
#include <fmt/format.h>

#include <cstring>

#include "base/archive.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

class JournalFile final : public TrajectoryFile {
 public:
  JournalFile(const Path& path, const TrajectoryLayout& layout, const std::vector<std::string>& about)
      : path_(path), layout_(layout), about_(about), part_(std::make_unique<PartFile>(journal_of(path))) {}
  JournalFile(const Path& path, const TrajectoryLayout& layout, const std::vector<std::string>& about, Archive& a)
      : path_(path), layout_(layout), about_(about) {
    std::int64_t size = 0;
    a.all(rows_, stride_, records_, size);
    a.require(rows_ >= 0 && stride_ >= 1 && records_ >= 0);
    part_ = std::make_unique<PartFile>(journal_of(path), size);
  }

  static Path journal_of(const Path& path) { return path.parent_path() / journal_name; }

  const Path& path() const override { return path_; }
  void append(ConstVectorRef row) override {
    const double number = static_cast<double>(rows_++ * stride_);
    line_.assign(reinterpret_cast<const char*>(&number), sizeof number);
    line_.append(reinterpret_cast<const char*>(row.data()), static_cast<std::size_t>(row.size()) * sizeof(double));
    part_->append(line_);
    ++records_;
  }
  /// Rows stay in the journal; those whose number the stride does not divide are left out at the end.
  void thin() override {
    rows_ = (rows_ + 1) / 2;
    stride_ *= 2;
  }
  void keep(Archive& a) override {
    std::int64_t size = part_->sync();
    a.all(rows_, stride_, records_, size);
  }
  void commit() override {
    part_->sync();
    const auto hdf5 = make_hdf5_file(path_, layout_, about_);
    Vector record(layout_.columns() + 1);
    const auto bytes = static_cast<std::size_t>(record.size()) * sizeof(double);
    std::int64_t read = 0, taken = 0;
    while (part_->read_back(read * static_cast<std::int64_t>(bytes), reinterpret_cast<char*>(record.data()), bytes) ==
           bytes) {
      ++read;
      if (static_cast<std::int64_t>(record[0]) % stride_ != 0) continue;
      ++taken;
      hdf5->append(record.tail(layout_.columns()));
    }
    if (read != records_ || taken != rows_) {
      hdf5->discard();
      throw EnvironmentError(fmt::format("'{}' has lost rows: {} of {} are left; start the run from the beginning",
                                         part_of(journal_of(path_)).string(), read, records_));
    }
    hdf5->commit();
  }
  void discard() override { part_->discard(); }

 private:
  Path path_;
  const TrajectoryLayout& layout_;
  std::vector<std::string> about_;
  std::unique_ptr<PartFile> part_;
  std::int64_t rows_ = 0, stride_ = 1;
  std::int64_t records_ = 0;  ///< in the journal, those that were left out included
  std::string line_;
};

}  // namespace

std::unique_ptr<TrajectoryFile> make_journal_file(const Path& path, const TrajectoryLayout& layout,
                                                  const std::vector<std::string>& about) {
  return std::make_unique<JournalFile>(path, layout, about);
}

std::unique_ptr<TrajectoryFile> continue_journal_file(const Path& path, const TrajectoryLayout& layout,
                                                      const std::vector<std::string>& about, Archive& state) {
  return std::make_unique<JournalFile>(path, layout, about, state);
}

}  // namespace kreisel::io
