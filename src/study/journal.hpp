// Finished rows of a study that is not complete yet.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "study/row.hpp"

namespace kreisel::study {

inline constexpr const char *journal_name = "study.journal", *study_json_name = "study.json";

/// What a row depends on: the case, the measures and the program.
std::string key_of(const Spec& spec, const Case& a_case);
/// Of all its cases.
std::string key_of(const Spec& spec);

/// The journals of all writers in the folder, in the order of their names.
std::vector<io::Path> journals_in(const io::Path& folder);

/// What the journals of a folder hold. A last line that was cut off is passed over.
struct JournalRows {
  std::map<std::string, Row> rows;  ///< by key
  std::size_t damaged = 0;          ///< lines whose checksum is wrong: their rows are not there
  std::size_t contradicting = 0;    ///< rows that two writers made, and that differ (times of the clock aside)

  /// Null when the row is not there.
  const Row* find(const std::string& key) const;
};
JournalRows read_journals(const io::Path& folder);

/// One line per row, on disk as soon as the row is finished: a checksum of 16 hexadecimal digits and the row as JSON.
/// Every writer has a file of its own, study.journal and a suffix, and appends to it.
class Journal {
 public:
  /// An empty folder: nothing is kept.
  explicit Journal(const io::Path& folder, const std::string& suffix = "");
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void add(const std::string& key, const Row& row);

 private:
  io::Path path_;
  int descriptor_ = -1;
  std::mutex mutex_;
};

}  // namespace kreisel::study
