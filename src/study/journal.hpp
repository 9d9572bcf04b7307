// Finished rows of a study that is not complete yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "study/row.hpp"

namespace kreisel::study {

inline constexpr const char *journal_name = "study.journal", *study_json_name = "study.json";

/// Files count by their names and contents: a worker may find them in another folder.
std::string words_of(const std::vector<run::SourceFile>& files);

/// What a row depends on: the case, the measures and the program.
class Keys {
 public:
  explicit Keys(const Spec& spec);
  std::string of(const Case& a_case) const;

 private:
  std::string common_;
};
std::string key_of(const Spec& spec, const Case& a_case);

/// The journals of all writers in the folder, in the order of their names.
std::vector<io::Path> journals_in(const io::Path& folder);

/// The fields of a journal line before its numbers.
struct JournalLine {
  std::string_view key;    ///< of the case
  std::string_view study;  ///< Spec::key of the study that made the row
  std::size_t number = 0;  ///< of the case in that study
  std::string_view status;
  std::string_view json;  ///< the whole row
};
/// Nothing when the checksum or the form of the line, given without its newline, is wrong.
std::optional<JournalLine> read_line(std::string_view line);
/// A checksum of 16 hexadecimal digits, the row as JSON, the end of the line.
std::string line_of(const Spec& spec, std::size_t number, const std::string& key, const Row& row);
/// Throws Json::exception when the line is not a row.
Row row_of(const Spec& spec, const JournalLine& line);

/// What the journals of a folder hold for the cases of a study. An incomplete last line is ignored. The rows
/// themselves stay in the files: a case takes eight bytes here. Pages of the files that were read are given back.
class JournalIndex {
 public:
  JournalIndex() = default;
  JournalIndex(const Spec& spec, const io::Path& folder);
  ~JournalIndex();
  JournalIndex(const JournalIndex&) = delete;
  JournalIndex& operator=(const JournalIndex&) = delete;

  bool has(std::size_t number) const { return number < places_.size() && places_[number] != 0; }
  std::string_view status(std::size_t number) const;
  Row row(const Spec& spec, std::size_t number) const;
  /// Which of files() has the row.
  std::size_t file_of(std::size_t number) const { return (places_[number] >> offset_bits) - 1; }
  const std::vector<io::Path>& files() const { return paths_; }

  std::size_t damaged = 0;        ///< lines whose checksum is wrong: their rows are not there
  std::size_t contradicting = 0;  ///< rows that two writers made, and that differ (times of the clock aside)
  std::size_t others = 0;         ///< lines of cases that this study does not have

 private:
  static constexpr int offset_bits = 44;
  struct File {
    const char* begin = nullptr;
    std::size_t size = 0;
  };
  void read(const Spec& spec, std::size_t file, std::map<std::string, std::uint64_t, std::less<>>& foreign);
  std::string_view line_at(std::uint64_t place) const;
  void give_back_pages() const;
  void put(const Spec& spec, std::size_t number, std::uint64_t place);

  std::vector<io::Path> paths_;
  std::vector<File> files_;
  std::vector<std::uint64_t> places_;  ///< by case: file + 1 and offset; 0: no row
  mutable std::atomic<std::size_t> lookups_ = 0;
};

/// One line per row, written to disk as soon as the row is finished. Every writer appends to its own file,
/// study.journal and a suffix.
class Journal {
 public:
  /// An empty folder: nothing is kept.
  explicit Journal(const io::Path& folder, const std::string& suffix = "");
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Whole lines.
  void add(std::string_view lines);

 private:
  io::Path path_;
  int descriptor_ = -1;
  std::mutex mutex_;
};

}  // namespace kreisel::study
