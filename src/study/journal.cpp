#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

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

namespace {

constexpr std::size_t checksum_digits = 16;

std::string line_of(const std::string& json) { return fmt::format("{:016x} {}\n", fingerprint_of(json), json); }

/// The JSON of a line, or nothing when it is not what was written.
std::optional<Json> content_of(const std::string& line) {
  if (line.size() <= checksum_digits ||
      line != line_of(line.substr(checksum_digits + 1, line.size() - checksum_digits - 2)))
    return {};
  return Json::parse(line.substr(checksum_digits + 1), nullptr, false);
}

}  // namespace

Journal::Journal(const io::Path& folder) {
  if (folder.empty()) return;
  path_ = folder / journal_name;
  std::error_code error;
  std::size_t whole = 0;
  if (std::filesystem::exists(path_, error)) {
    const std::string text = io::read_text(path_, "journal of the study", std::size_t{1} << 30);
    for (std::size_t end; (end = text.find('\n', whole)) != std::string::npos; whole = end + 1) {
      if (end == whole) continue;
      try {
        const std::optional<Json> line = content_of(text.substr(whole, end + 1 - whole));
        if (line)
          rows_[line->at("key").get<std::string>()] = row_from_json(line->at("row"));
        else
          ++damaged_;
      } catch (const Json::exception&) {
        ++damaged_;
      }
    }
  }
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) io::throw_file_error("cannot write", path_, errno);
  // Whatever a killed program left of its last line must not swallow the next one.
  if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) io::throw_file_error("cannot write", path_, errno);
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

const Row* Journal::find(const std::string& key) const {
  const auto at = rows_.find(key);
  return at == rows_.end() ? nullptr : &at->second;
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
