#include "io/files/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "base/archive.hpp"
#include "base/spelling.hpp"
#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr std::size_t buffer_limit = std::size_t{64} << 10;
constexpr std::int64_t flush_interval = 1'000'000'000;  // ns
constexpr const char* lock_name = "lock";

std::int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

/// Errors that another path or other permissions can fix.
bool is_users_to_mend(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
    case EROFS:
    case ENAMETOOLONG:
    case ELOOP:
    case EINVAL:
    case ENXIO:
    case ETXTBSY:
      return true;
    default:
      return false;
  }
}

int open_for_writing(const Path& path) { return ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); }

/// 0, or the error number.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Pipes and devices cannot be synced, which is fine.
int sync(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS) return 0;
  return errno;
}

[[noreturn]] void throw_write_error(const Path& path, int error_number) {
  throw EnvironmentError(fmt::format("cannot write '{}': {}", path.string(), std::strerror(error_number)));
}

thread_local ReadingList* reading_list = nullptr;

}  // namespace

ReadingList::ReadingList() : outer_(std::exchange(reading_list, this)) {}

ReadingList::~ReadingList() { reading_list = outer_; }

std::vector<run::SourceFile> ReadingList::of_all() {
  const ReadingList* list = reading_list;
  while (list != nullptr && list->outer_ != nullptr) list = list->outer_;
  return list != nullptr ? list->files_ : std::vector<run::SourceFile>();
}

void ReadingList::note(const Path& path, std::string_view content) {
  std::error_code error;
  if (reading_list == nullptr) return;
  const run::SourceFile file{std::filesystem::absolute(path, error).lexically_normal().string(),
                             fingerprint_of(content)};
  for (ReadingList* list = reading_list; list != nullptr; list = list->outer_)
    if (std::find(list->files_.begin(), list->files_.end(), file) == list->files_.end()) list->files_.push_back(file);
}

void throw_file_error(std::string_view action, const Path& path, int error_number) {
  const std::string text = fmt::format("{} '{}': {}", action, path.string(), std::strerror(error_number));
  if (is_users_to_mend(error_number)) throw InvalidInput(text);
  throw EnvironmentError(text);
}

Path part_of(const Path& path) {
  Path part = path;
  part += part_suffix;
  return part;
}

std::string read_text(const Path& path, std::string_view what, std::size_t limit) {
  const auto action = fmt::format("cannot read the {}", what);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error(action, path, errno);
  std::string text;
  int error_number = 0;
  while (error_number == 0 && text.size() <= limit) {
    char piece[1 << 16];
    const ssize_t count = ::read(descriptor, piece, sizeof piece);
    if (count == 0) break;
    if (count > 0)
      text.append(piece, static_cast<std::size_t>(count));
    else if (errno != EINTR)
      error_number = errno;
  }
  ::close(descriptor);
  if (error_number != 0) throw_file_error(action, path, error_number);
  if (text.size() > limit)
    throw InvalidInput(fmt::format("{} '{}': it has more than {} bytes", action, path.string(), limit));
  ReadingList::note(path, text);
  return text;
}

namespace {

/// Paths that must not be replaced by a file: devices, pipes, and the targets of /dev/stdout and /proc/self/fd.
bool is_written_plainly(const Path& path, const struct stat& info) {
  const std::string text = std::filesystem::absolute(path).lexically_normal().string();
  return !S_ISREG(info.st_mode) || text.starts_with("/dev/") || text.starts_with("/proc/");
}

void write_plainly(const Path& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("cannot write", path, errno);
  int error_number = write_all(descriptor, text);
  if (::close(descriptor) != 0 && error_number == 0) error_number = errno;
  if (error_number != 0) throw_write_error(path, error_number);
}

/// Where a chain of links ends, whether or not a file exists there.
Path end_of_links(Path path) {
  constexpr int longest = 40;  // as in Linux
  std::error_code error;
  for (int i = 0; i < longest && std::filesystem::is_symlink(path, error); ++i) {
    const Path next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

}  // namespace

void write_atomically(const Path& given, std::string_view text) {
  struct stat info {};
  const bool exists = ::stat(given.c_str(), &info) == 0;
  if (!exists && errno == ELOOP) throw_file_error("cannot write", given, ELOOP);
  if (exists && is_written_plainly(given, info)) return write_plainly(given, text);
  const Path path = end_of_links(given), part = part_of(path);
  const int descriptor = open_for_writing(part);
  if (descriptor < 0) throw_write_error(part, errno);
  int error_number = exists && ::fchmod(descriptor, info.st_mode & 07777) != 0 && errno != EPERM ? errno : 0;
  if (error_number == 0) error_number = write_all(descriptor, text);
  if (error_number == 0) error_number = sync(descriptor);
  if (::close(descriptor) != 0 && error_number == 0) error_number = errno;
  if (error_number == 0 && ::rename(part.c_str(), path.c_str()) != 0) error_number = errno;
  if (error_number == 0) return;
  ::unlink(part.c_str());
  throw_write_error(path, error_number);
}

void refuse_to_overwrite(const std::vector<run::SourceFile>& inputs, const Path& output, std::string_view option) {
  struct stat written {};
  if (::stat(output.c_str(), &written) != 0 || !S_ISREG(written.st_mode)) return;
  for (const run::SourceFile& input : inputs) {
    struct stat read {};
    if (::stat(input.path.c_str(), &read) != 0 || read.st_dev != written.st_dev || read.st_ino != written.st_ino)
      continue;
    throw InvalidInput(fmt::format("'{}' would be overwritten, but it is read as '{}'; choose another {}",
                                   output.string(), input.path, spelled(option)));
  }
}

namespace {

/// Processes that a killed owner has started hold its lock until they end, too.
constexpr int most_waits = 200;
constexpr std::chrono::milliseconds one_wait{50};

bool is_alive(std::string_view process) {
  const std::optional<double> number = number_in(process);
  return !number || *number < 1.0 || ::kill(static_cast<pid_t>(*number), 0) == 0 || errno != ESRCH;
}

}  // namespace

FolderLock::FolderLock(const Path& folder, const std::string& part) : path_(folder / (lock_name + part)) {
  int waits = 0;
  while (descriptor_ < 0) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) throw_file_error("cannot write", path_, errno);
    // The kernel releases the lock when a process dies. On file systems without locks a single user is assumed.
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      std::array<char, 32> owner{};
      const ssize_t count = ::pread(descriptor_, owner.data(), owner.size() - 1, 0);
      ::close(std::exchange(descriptor_, -1));
      std::string_view text(owner.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
      text = text.substr(0, text.find('\n'));
      if (!is_alive(text) && ++waits <= most_waits) {
        std::this_thread::sleep_for(one_wait);
        continue;
      }
      throw InvalidInput(fmt::format(
          "the folder '{}' is in use by process {}, which writes its result there; wait for it, or choose another "
          "folder with {}",
          folder.string(), text.empty() ? "unknown" : text, spelled("out")));
    }
    // Its last owner may have removed the file between the two calls.
    struct stat mine {
    }, there{};
    if (::fstat(descriptor_, &mine) == 0 && ::stat(path_.c_str(), &there) == 0 && mine.st_ino == there.st_ino) break;
    ::close(std::exchange(descriptor_, -1));
  }
  const std::string owner = fmt::format("{}\n", ::getpid());
  if (::ftruncate(descriptor_, 0) != 0 ||
      ::pwrite(descriptor_, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    // On a full disk the lock holds nevertheless; only the number of the process is missing.
  }
}

FolderLock::~FolderLock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

namespace {

std::vector<std::string> names_in(const Path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) throw_file_error("cannot read the result folder", folder, error.value());
  return names;
}

}  // namespace

void refuse_locked_parts(const Path& folder) {
  const std::string whole = lock_name;
  for (const std::string& name : names_in(folder))
    if (name.size() > whole.size() && name.starts_with(whole)) FolderLock(folder, name.substr(whole.size()));
}

bool claim_result_folder(const Path& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (error) throw_file_error("cannot make the result folder", folder, error.value());
  if (::access(folder.c_str(), W_OK | X_OK) != 0) throw_file_error("cannot write to the result folder", folder, errno);
  if (is_new) return true;
  bool is_empty = true, is_result = false;
  for (const std::string& name : names_in(folder)) {
    is_empty = is_empty && name.starts_with(lock_name);  // a killed run may have left only that
    is_result = is_result || name == "summary.json" || name == "study.json" || name.starts_with("study.journal");
  }
  if (!is_empty && !is_result)
    throw InvalidInput(
        fmt::format("the folder '{}' has files in it but no summary.json or study.json, so it does not look like a "
                    "kreisel result; nothing was changed; "
                    "choose another folder with {}, or empty this one",
                    folder.string(), spelled("out")));
  return false;
}

PartFile::PartFile(const Path& path) : path_(path), descriptor_(open_for_writing(part_of(path))), flushed_at_(now()) {
  if (descriptor_ < 0) throw_file_error("cannot write", part_of(path), errno);
}

PartFile::PartFile(const Path& path, std::int64_t size) : path_(path), size_(size), flushed_at_(now()) {
  const Path part = part_of(path);
  // An interrupted run has already renamed the file.
  if (::access(part.c_str(), F_OK) != 0 && ::access(path.c_str(), F_OK) == 0) ::rename(path.c_str(), part.c_str());
  descriptor_ = ::open(part.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) throw_file_error("cannot continue", part, errno);
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || info.st_size < size) {
    ::close(descriptor_);
    throw InvalidInput(fmt::format("cannot continue '{}': it has {} bytes, the checkpoint was made with {}",
                                   part.string(), static_cast<std::int64_t>(info.st_size), size));
  }
  if (::ftruncate(descriptor_, size) != 0 || ::lseek(descriptor_, size, SEEK_SET) != size)
    throw_write_error(part, errno);
}

PartFile::~PartFile() {
  if (descriptor_ < 0) return;
  write_all(descriptor_, buffer_);
  ::close(descriptor_);
}

void PartFile::append(std::string_view lines) {
  buffer_.append(lines);
  if (buffer_.size() >= buffer_limit || now() - flushed_at_ >= flush_interval) flush();
}

void PartFile::flush() {
  const int error_number = write_all(descriptor_, buffer_);
  const std::size_t count = buffer_.size();
  buffer_.clear();
  flushed_at_ = now();
  if (error_number == 0) {
    size_ += static_cast<std::int64_t>(count);
    return;
  }
  // Half a line would look like a row with other numbers.
  if (::ftruncate(descriptor_, size_) == 0) ::lseek(descriptor_, size_, SEEK_SET);
  throw_write_error(path_, error_number);
}

std::int64_t PartFile::sync() {
  flush();
  if (const int error_number = kreisel::io::sync(descriptor_); error_number != 0)
    throw_write_error(path_, error_number);
  return size_;
}

std::size_t PartFile::read_back(std::int64_t at, char* to, std::size_t size) {
  flush();
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(descriptor_, to + done, size - done, static_cast<off_t>(at + static_cast<std::int64_t>(done)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw EnvironmentError(fmt::format("cannot read '{}' back: {}", part_of(path_).string(), std::strerror(errno)));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void PartFile::commit() {
  flush();
  int error_number = kreisel::io::sync(descriptor_);
  if (::close(descriptor_) != 0 && error_number == 0) error_number = errno;
  descriptor_ = -1;
  if (error_number == 0 && ::rename(part_of(path_).c_str(), path_.c_str()) != 0) error_number = errno;
  if (error_number != 0) throw_write_error(path_, error_number);
}

void PartFile::discard() {
  buffer_.clear();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  ::unlink(part_of(path_).c_str());
}

std::string as_file_name(std::string_view name) {
  constexpr std::size_t longest = 100;
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);  // letters beyond ASCII are bytes from 0x80
    const bool is_kept = byte >= 0x80 || std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-';
    if (out.empty() && (c == '.' || c == '-')) continue;
    if (is_kept)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  if (out.size() > longest) out = clipped(out, longest - 3);
  while (!out.empty() && (out.back() == '-' || out.back() == '.')) out.pop_back();
  return out.empty() ? "model" : out;
}

}  // namespace kreisel::io
