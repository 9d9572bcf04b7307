// Finished rows of a study that is not complete yet.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "kreisel/study/row.hpp"

namespace kreisel::study {

inline constexpr const char* journal_name = "study.journal";

/// What a row depends on: the case, the measures and the program.
std::string key_of(const Spec& spec, const Case& a_case);

/// One JSON line per row, on disk as soon as the row is there. A line that was cut off is ignored.
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

 private:
  io::Path path_;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::map<std::string, Row> rows_;
};

}  // namespace kreisel::study
