// Comment lines with '#', one header row, then numbers with the fewest digits that round-trip: exact in both
// directions.
#include <fmt/format.h>

#include <string>

#include "base/archive.hpp"
#include "base/text.hpp"
#include "column_meanings.hpp"
#include "io/files/number_text.hpp"
#include "io/trajectory/trajectory.hpp"
#include "kreisel/version.hpp"

namespace kreisel::io {
namespace {

std::string without_line_ends(std::string line) {
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  return line;
}

/// One member of all columns, separated by commas.
std::string cells_of(const TrajectoryLayout& layout, std::string TrajectoryColumn::*member) {
  std::string line;
  for (const Quantity& quantity : layout.quantities())
    for (const TrajectoryColumn& column : quantity.columns) line.append(csv_cell(column.*member)).append(",");
  line.pop_back();
  return line;
}

class CsvFile final : public TrajectoryFile {
 public:
  CsvFile(const Path& path, const TrajectoryLayout& layout, const std::vector<std::string>& about)
      : path_(path), part_(path) {
    std::string head = fmt::format("# kreisel {} trajectory, SI units\n", version());
    for (const std::string& line : about) head += "# " + without_line_ends(line) + "\n";
    for (const std::string& line : layout.explanation()) head += "# " + without_line_ends(line) + "\n";
    for (const auto& [what, member] : column_meanings)
      head += fmt::format("# {}: {}\n", what, cells_of(layout, member));
    head += cells_of(layout, &TrajectoryColumn::name) + "\n";
    part_.append(head);
  }

  CsvFile(const Path& path, std::int64_t size) : path_(path), part_(path, size) {}

  const Path& path() const override { return path_; }

  void append(ConstVectorRef row) override {
    line_.resize(static_cast<std::size_t>(row.size()) * (longest_number + 1) + number_space);
    char* at = line_.data();
    for (const double value : row) {
      at = write_number(at, value);
      *at++ = ',';
    }
    at[-1] = '\n';
    part_.append({line_.data(), static_cast<std::size_t>(at - line_.data())});
  }

  void keep(Archive& a) override {
    std::int64_t size = part_.sync();
    a(size);
  }
  void thin() override {}  // long trajectories are in HDF5 by then
  void commit() override { part_.commit(); }
  void discard() override { part_.discard(); }

 private:
  Path path_;
  PartFile part_;
  std::string line_;
};

}  // namespace

std::unique_ptr<TrajectoryFile> make_csv_file(const Path& path, const TrajectoryLayout& layout,
                                              const std::vector<std::string>& about) {
  return std::make_unique<CsvFile>(path, layout, about);
}

std::unique_ptr<TrajectoryFile> continue_csv_file(const Path& path, Archive& state) {
  std::int64_t size = 0;
  state(size);
  return std::make_unique<CsvFile>(path, size);
}

}  // namespace kreisel::io
