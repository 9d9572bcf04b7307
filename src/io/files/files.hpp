// Files that are complete or absent: everything is written under a temporary name and renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/options.hpp"

namespace kreisel::io {

using Path = std::filesystem::path;

/// Suffix of a file name until the file is complete.
inline constexpr std::string_view part_suffix = ".part";
Path part_of(const Path& path);

/// The whole file. InvalidInput when it is missing, unreadable, a folder or larger than `limit` bytes; `what` names its
/// role.
std::string read_text(const Path& path, std::string_view what, std::size_t limit = std::size_t{64} << 20);

/// Files that read_text has read in this thread during the lifetime of this object, in the order of reading, each once.
class ReadingList {
 public:
  ReadingList();
  ~ReadingList();
  ReadingList(const ReadingList&) = delete;
  ReadingList& operator=(const ReadingList&) = delete;

  const std::vector<run::SourceFile>& files() const { return files_; }
  /// The files of the outermost list that lives in this thread.
  static std::vector<run::SourceFile> of_all();
  /// For files that are read in another way.
  static void note(const Path& path, std::string_view content);

 private:
  std::vector<run::SourceFile> files_;
  ReadingList* outer_;
};

/// All or nothing: the old content stays when this throws EnvironmentError. A link stays a link, its target is written.
/// Devices and pipes are written as they are.
void write_atomically(const Path& path, std::string_view text);

/// Throws InvalidInput when `output` is one of the files that were read, whatever path leads there; `option` names what
/// to change.
void refuse_to_overwrite(const std::vector<run::SourceFile>& inputs, const Path& output, std::string_view option);

/// Keeps other processes, and other threads, out of a result folder while it lives: FOLDER/lock, which holds the number
/// of this process. The lock of a process that has died is taken over. With a `part` it keeps others out of that part
/// only: FOLDER/lock and the part's name.
class FolderLock {
 public:
  /// InvalidInput when another one has it.
  explicit FolderLock(const Path& folder, const std::string& part = "");
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  Path path_;
  int descriptor_ = -1;
};

/// InvalidInput when another process has a part of the folder.
void refuse_locked_parts(const Path& folder);

/// Makes the folder, parents included, or checks that an existing one may be overwritten: it is empty or holds a
/// summary.json, a study.json or the journal of a study. InvalidInput otherwise, or when it cannot be written to. True
/// when the folder is new.
bool claim_result_folder(const Path& folder);

/// Throws for a failed system call on `path`: InvalidInput when the user can fix it by another path or permissions,
/// EnvironmentError when the machine is at fault (full, broken, out of handles). `action` as in "cannot write".
[[noreturn]] void throw_file_error(std::string_view action, const Path& path, int error_number);

/// A text file that grows. It carries its final name after commit(); before that, PATH.part holds all lines up to the
/// last flush, also after SIGKILL. Writing trouble throws EnvironmentError and leaves whole lines only.
class PartFile {
 public:
  explicit PartFile(const Path& path);
  /// Continues PATH.part, or PATH, after its first `size` bytes; InvalidInput when it has fewer.
  PartFile(const Path& path, std::int64_t size);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  /// One or several whole lines, buffered; the buffer is written when it is full or a second old.
  void append(std::string_view lines);
  void flush();
  /// Writes everything to the disk; returns the size in bytes.
  std::int64_t sync();
  /// Reads back what was written, from byte `at` on, as much as fits; through the open file, even if it was renamed.
  /// Returns the number of bytes read.
  std::size_t read_back(std::int64_t at, char* to, std::size_t size);
  void commit();
  void discard();

 private:
  Path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;  ///< bytes in the file
  std::int64_t flushed_at_ = 0;
  std::string buffer_;
};

/// `name` as the name of one file or folder: letters, digits, '.', '_' and '-', any others as one '-'; neither empty
/// nor hidden.
std::string as_file_name(std::string_view name);

}  // namespace kreisel::io
