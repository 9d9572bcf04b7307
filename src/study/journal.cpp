#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kreisel/base/error.hpp"
#include "kreisel/base/version.hpp"
#include "reference_cache.hpp"

namespace kreisel::study {

std::string key_of(const Spec& spec, const Case& c) {
  std::string text = fmt::format("{} {};{};{};{}", version(), commit(), spec.analysis, c.label, c.coordinates.dump());
  for (const std::string& setting : c.request.settings) text += ";" + setting;
  for (const Measure& m : spec.measures)
    text += fmt::format(";{} {} {} {:a} {:a} {} {} {}", m.name, m.quantity, static_cast<int>(m.span), m.from, m.to, static_cast<int>(m.scale),
                        m.component, m.is_largest);
  for (const Series& s : spec.series) text += fmt::format(";{} {} {} {:a} {:a}", s.name, s.quantity, s.component, s.from, s.to);
  text += fmt::format(";{:a} {}", spec.reference.tolerance, spec.reference.max_steps);
  // A model file counts by what it says.
  std::error_code error;
  if (std::filesystem::is_regular_file(c.request.model, error)) text += io::read_text(c.request.model, "model file");
  return fmt::format("{:016x}", hash_of(text));
}

Journal::Journal(const io::Path& folder) {
  if (folder.empty()) return;
  path_ = folder / journal_name;
  std::error_code error;
  if (std::filesystem::exists(path_, error)) {
    const std::string text = io::read_text(path_, "journal of the study", std::size_t{1} << 30);
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      try {
        const Json line = Json::parse(text.substr(begin, end - begin));
        rows_[line.at("key").get<std::string>()] = row_from_json(line.at("row"));
      } catch (const Json::exception&) {
      }
    }
  }
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) io::throw_file_error("cannot write", path_, errno);
  // Whatever a killed program left of its last line must not swallow the next one.
  if (!rows_.empty() && ::write(descriptor_, "\n", 1) != 1) io::throw_file_error("cannot write", path_, errno);
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
  const std::string line = Json{{"key", key}, {"row", to_json(row)}}.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()))
    throw EnvironmentError(fmt::format("cannot write '{}': {}", path_.string(), written < 0 ? std::strerror(errno) : "the disk is full"));
}

}  // namespace kreisel::study
