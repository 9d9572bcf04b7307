// Finished rows of a study that is not complete yet.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "study/row.hpp"

namespace kreisel::study {

inline constexpr const char* journal_name = "study.journal";

/// What a row depends on: the case, the measures and the program.
std::string key_of(const Spec& spec, const Case& a_case);

/// One line per row, on disk as soon as the row is there: a checksum of 16 hexadecimal digits and the row as JSON. A
/// last line that was cut off goes; lines whose checksum is wrong are counted, and their rows are not there.
class Journal {
 public:
  /// An empty folder: nothing is kept.
  explicit Journal(const io::Path& folder);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Null when the row is not there.
  const Row* find(const std::string& key) const;
  void add(const std::string& key, const Row& row);
  std::size_t damaged() const { return damaged_; }

 private:
  io::Path path_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
  std::size_t damaged_ = 0;
};

}  // namespace kreisel::study
