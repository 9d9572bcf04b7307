#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/archive.hpp"
#include "io/json/field_json.hpp"
#include "kreisel/error.hpp"
#include "kreisel/version.hpp"

namespace kreisel::study {

std::string key_of(const Spec& spec, const Case& c) {
  std::string text = fmt::format("{} {};{};{};{}", version(), commit(), spec.analysis, c.label, c.coordinates.dump());
  if (!c.changes.empty()) text += ";" + c.changes.dump();
  for (const io::Setting& setting : c.run.settings)
    text += fmt::format(";{}={}", setting.name, io::to_json(setting.value).dump());
  for (const Measure& m : spec.measures)
    text += fmt::format(";{} {} {} {:a} {:a} {} {} {}", m.name, m.quantity, static_cast<int>(m.span), m.from, m.to,
                        static_cast<int>(m.scale), m.component, m.is_largest);
  for (const Series& s : spec.series)
    text += fmt::format(";{} {} {} {:a} {:a}", s.name, s.quantity, s.component, s.from, s.to);
  text += fmt::format(";{:a} {}", spec.reference.tolerance, spec.reference.max_steps);
  // Files count by what they say.
  for (const run::SourceFile& file : c.sources) text += fmt::format(";{} {:016x}", file.path, file.fingerprint);
  return fmt::format("{:016x}", fingerprint_of(text));
}

std::string key_of(const Spec& spec) {
  std::string keys;
  for (const Case& c : spec.cases) keys += key_of(spec, c);
  return fmt::format("{:016x}", fingerprint_of(keys));
}

namespace {

constexpr std::size_t checksum_digits = 16;
/// Ends the line that a killed program has left unfinished.
constexpr std::string_view cut_off = " cut off\n";

std::string line_of(const std::string& json) { return fmt::format("{:016x} {}\n", fingerprint_of(json), json); }

/// The JSON of a line without its end, or nothing when it is not what was written.
std::optional<Json> content_of(const std::string& line) {
  if (line.size() <= checksum_digits || line + '\n' != line_of(line.substr(checksum_digits + 1))) return {};
  return Json::parse(line.substr(checksum_digits + 1), nullptr, false);
}

bool says_the_same(const Row& a, const Row& b) {
  if (a.status != b.status || a.numbers.size() != b.numbers.size()) return false;
  for (const auto& [name, value] : a.numbers) {
    if (unit_of(name) == "s" && name != "step") continue;  // times of the clock
    const double other = b.number(name);
    if (value.value != other && !(std::isnan(value.value) && std::isnan(other))) return false;
  }
  return true;
}

}  // namespace

std::vector<io::Path> journals_in(const io::Path& folder) {
  std::vector<io::Path> list;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (entry->path().filename().string().starts_with(journal_name)) list.push_back(entry->path());
  std::sort(list.begin(), list.end());
  return list;
}

const Row* JournalRows::find(const std::string& key) const {
  const auto at = rows.find(key);
  return at == rows.end() ? nullptr : &at->second;
}

JournalRows read_journals(const io::Path& folder) {
  JournalRows out;
  if (folder.empty()) return out;
  for (const io::Path& path : journals_in(folder)) {
    std::ifstream file(path, std::ios::binary);
    if (!file) io::throw_file_error("cannot read", path, errno);
    for (std::string line; std::getline(file, line);) {
      // What a killed program, or one that still writes, has left of its last line.
      if (line.empty() || file.eof() || (line + '\n').ends_with(cut_off)) continue;
      try {
        const std::optional<Json> content = content_of(line);
        if (!content) {
          ++out.damaged;
          continue;
        }
        Row row = row_from_json(content->at("row"));
        const auto [at, is_new] = out.rows.try_emplace(content->at("key").get<std::string>());
        if (!is_new && !says_the_same(at->second, row)) ++out.contradicting;
        at->second = std::move(row);
      } catch (const Json::exception&) {
        ++out.damaged;
      }
    }
  }
  return out;
}

Journal::Journal(const io::Path& folder, const std::string& suffix) {
  if (folder.empty()) return;
  path_ = folder / (journal_name + suffix);
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) io::throw_file_error("cannot write", path_, errno);
  // Whatever a killed program left of its last line must not swallow the next one.
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(descriptor_, &last, 1, size - 1) != 1) io::throw_file_error("cannot read", path_, errno);
  if (last != '\n' && ::write(descriptor_, cut_off.data(), cut_off.size()) != static_cast<ssize_t>(cut_off.size()))
    io::throw_file_error("cannot write", path_, errno);
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::add(const std::string& key, const Row& row) {
  if (descriptor_ < 0) return;
  const std::string line =
      line_of(Json{{"key", key}, {"row", to_json(row)}}.dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::lock_guard lock(mutex_);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()))
    throw EnvironmentError(
        fmt::format("cannot write '{}': {}", path_.string(), written < 0 ? std::strerror(errno) : "the disk is full"));
}

}  // namespace kreisel::study
