#include "journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/archive.hpp"
#include "kreisel/error.hpp"
#include "kreisel/version.hpp"

namespace kreisel::study {

std::string words_of(const std::vector<run::SourceFile>& files) {
  std::string words;
  for (const run::SourceFile& file : files)
    words += fmt::format(";{} {:016x}", io::Path(file.path).filename().string(), file.fingerprint);
  return words;
}

Keys::Keys(const Spec& spec) {
  common_ = fmt::format("{} {};{}", version(), commit(), spec.analysis);
  for (const Measure& m : spec.measures)
    common_ += fmt::format(";{} {} {} {:a} {:a} {} {} {} {}", m.name, m.quantity, static_cast<int>(m.span), m.from,
                           m.to, static_cast<int>(m.scale), m.component, m.is_largest, m.is_signed);
  for (const Series& s : spec.series)
    common_ += fmt::format(";{} {} {} {:a} {:a}", s.name, s.quantity, s.component, s.from, s.to);
  for (const std::string& name : spec.trajectories.outputs)
    common_ += fmt::format(";{} {}", name, spec.trajectories.points);
  common_ += fmt::format(";{:a} {};{}", spec.reference.tolerance, spec.reference.max_steps, spec.own_text);
}

std::string Keys::of(const Case& c) const {
  std::string text = common_ + ";" + c.coordinates.dump();
  if (!c.changes.empty()) text += ";" + c.changes.dump();
  // The values of settings are coordinates.
  for (const io::Setting& setting : c.run.settings) text += ";" + setting.name;
  text += words_of(c.sources);
  return fmt::format("{:016x}", fingerprint_of(text));
}

std::string key_of(const Spec& spec, const Case& c) { return Keys(spec).of(c); }

namespace {

constexpr std::size_t checksum_digits = 16, key_digits = 16;
/// Bytes that are read, and rows that are looked up, before pages are given back.
constexpr std::size_t most_mapped = std::size_t{16} << 20, most_lookups = 1 << 15;
/// Ends the line that a killed program has left unfinished.
constexpr std::string_view cut_off = " cut off\n";
constexpr std::string_view before_key = R"({"key":")", before_study = R"(","study":")", before_case = R"(","case":)",
                           before_status = R"(,"status":")";

bool says_the_same(const Row& a, const Row& b) {
  if (a.status != b.status || a.numbers.size() != b.numbers.size()) return false;
  for (const auto& [name, value] : a.numbers) {
    if (is_of_the_clock(name)) continue;
    const double other = b.number(name);
    if (value.value != other && !(std::isnan(value.value) && std::isnan(other))) return false;
  }
  return true;
}

/// The checksum as text, without the cost of fmt.
void write_checksum(std::uint64_t sum, char* to) {
  for (std::size_t i = 0; i < checksum_digits; ++i) to[i] = "0123456789abcdef"[(sum >> (60 - 4 * i)) & 15];
}

}  // namespace

std::optional<JournalLine> read_line(std::string_view line) {
  const std::size_t head =
      checksum_digits + 1 + before_key.size() + key_digits + before_study.size() + key_digits + before_case.size();
  if (line.size() < head + 4) return {};
  const std::string_view json = line.substr(checksum_digits + 1);
  char sum[checksum_digits];
  write_checksum(fingerprint_of(json), sum);
  if (line[checksum_digits] != ' ' || std::string_view(sum, checksum_digits) != line.substr(0, checksum_digits))
    return {};
  JournalLine out;
  out.json = json;
  std::string_view rest = json;
  const auto skip = [&](std::string_view words) {
    if (!rest.starts_with(words)) return false;
    rest.remove_prefix(words.size());
    return true;
  };
  const auto word = [&](std::size_t size) {
    const std::string_view found = rest.substr(0, size);
    rest.remove_prefix(found.size());
    return found;
  };
  if (!skip(before_key)) return {};
  out.key = word(key_digits);
  if (!skip(before_study)) return {};
  out.study = word(key_digits);
  if (!skip(before_case)) return {};
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.number);
  if (error != std::errc()) return {};
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  if (!skip(before_status)) return {};
  const std::size_t quote = rest.find('"');
  if (quote == std::string_view::npos) return {};
  out.status = rest.substr(0, quote);
  return out;
}

std::string line_of(const Spec& spec, std::size_t number, const std::string& key, const Row& row) {
  // Numbers are in the order of Spec::number_names, which is part of the key.
  Json numbers = Json::array(), places = Json::array(), floors = Json::array();
  if (!row.numbers.empty()) {
    for (const std::string& name : spec.number_names()) numbers.push_back(io::number_or_null(row.number(name)));
    for (const Measure& m : spec.measures) {
      const auto at = row.numbers.find(m.name);
      places.push_back(at == row.numbers.end() ? -1 : at->second.at_step);
    }
  }
  if (!row.floors.empty())
    for (const Measure& m : spec.measures) {
      const auto at = row.floors.find(m.name);
      floors.push_back(at == row.floors.end() ? Json(false) : io::number_or_null(at->second));
    }
  Json json{{"key", key},           {"study", spec.key},      {"case", number},
            {"status", row.status}, {"message", row.message}, {"numbers", numbers},
            {"at", places}};
  if (!floors.empty()) json["floors"] = floors;
  const auto listed = [](const std::vector<Curve>& curves) {
    Json list = Json::array();
    for (const Curve& curve : curves) {
      Json y = Json::array();
      for (const double value : curve.y) y.push_back(io::number_or_null(value));
      list.push_back({{"t", curve.t}, {"y", y}});
      if (!curve.name.empty()) list.back()["name"] = curve.name;
    }
    return list;
  };
  if (!row.curves.empty()) json["curves"] = listed(row.curves);
  if (!row.trajectories.empty()) json["trajectories"] = listed(row.trajectories);
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("{:016x} {}\n", fingerprint_of(text), text);
}

Row row_of(const Spec& spec, const JournalLine& line) {
  const Json json = Json::parse(line.json);
  const auto number_in = [](const Json& value) {
    return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  };
  Row row;
  row.status = json.at("status").get<std::string>();
  row.message = json.at("message").get<std::string>();
  const Json& numbers = json.at("numbers");
  if (!numbers.empty()) {
    const std::vector<std::string> names = spec.number_names();
    for (std::size_t i = 0; i < names.size(); ++i) row.numbers[names[i]] = {number_in(numbers.at(i)), -1};
    for (std::size_t i = 0; i < spec.measures.size(); ++i)
      row.numbers[spec.measures[i].name].at_step = json.at("at").at(i).get<long>();
  }
  if (json.contains("floors"))
    for (std::size_t i = 0; i < spec.measures.size(); ++i)
      if (const Json& floor = json["floors"].at(i); !floor.is_boolean())
        row.floors[spec.measures[i].name] = number_in(floor);
  const auto read = [&](const char* name, std::vector<Curve>& curves) {
    if (!json.contains(name)) return;
    for (const Json& curve : json[name]) {
      Curve c;
      c.t = curve.at("t").get<std::vector<double>>();
      c.name = curve.value("name", "");
      for (const Json& value : curve.at("y")) c.y.push_back(number_in(value));
      curves.push_back(std::move(c));
    }
  };
  read("curves", row.curves);
  read("trajectories", row.trajectories);
  return row;
}

std::vector<io::Path> journals_in(const io::Path& folder) {
  std::vector<io::Path> list;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (entry->path().filename().string().starts_with(journal_name)) list.push_back(entry->path());
  std::sort(list.begin(), list.end());
  return list;
}

JournalIndex::JournalIndex(const Spec& spec, const io::Path& folder) : places_(spec.size(), 0) {
  if (folder.empty()) return;
  paths_ = journals_in(folder);
  // Rows of an earlier form of the study, by the key of their case.
  std::map<std::string, std::uint64_t, std::less<>> foreign;
  for (std::size_t i = 0; i < paths_.size(); ++i) read(spec, i, foreign);
  if (foreign.empty()) return;
  const Keys keys(spec);
  std::size_t used = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] != 0) continue;
    const auto known = foreign.find(keys.of(spec.outline(i)));
    if (known == foreign.end()) continue;
    places_[i] = known->second;
    ++used;
  }
  others = foreign.size() - used;
}

JournalIndex::~JournalIndex() {
  for (const File& file : files_)
    if (file.begin != nullptr) ::munmap(const_cast<char*>(file.begin), file.size);
}

void JournalIndex::read(const Spec& spec, std::size_t number,
                        std::map<std::string, std::uint64_t, std::less<>>& foreign) {
  const io::Path& path = paths_[number];
  files_.emplace_back();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) io::throw_file_error("cannot read", path, errno);
  const off_t size = ::lseek(descriptor, 0, SEEK_END);
  if (size > 0) {
    void* const begin = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (begin == MAP_FAILED) {
      const int reason = errno;
      ::close(descriptor);
      io::throw_file_error("cannot read", path, reason);
    }
    files_.back() = {static_cast<const char*>(begin), static_cast<std::size_t>(size)};
  }
  ::close(descriptor);
  const std::string_view text(files_.back().begin, files_.back().size);
  std::size_t given_back = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (at - given_back > most_mapped) {
      give_back_pages();
      given_back = at;
    }
    const std::size_t end = text.find('\n', at);
    // The incomplete last line of a program that was killed or is still writing.
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(at, end - at);
    const std::uint64_t place = (static_cast<std::uint64_t>(number + 1) << offset_bits) | at;
    at = end + 1;
    if (line.empty() || line.ends_with(cut_off.substr(0, cut_off.size() - 1))) continue;
    const std::optional<JournalLine> read = read_line(line);
    if (!read)
      ++damaged;
    else if (read->study == spec.key && read->number < places_.size())
      put(spec, read->number, place);
    else if (const auto [known, is_new] = foreign.emplace(read->key, place); !is_new)
      if (read->status == Row().status || read_line(line_at(known->second))->status != Row().status)
        known->second = place;
  }
}

void JournalIndex::put(const Spec& spec, std::size_t number, std::uint64_t place) {
  if (places_[number] != 0) {
    try {
      const Row before = row_of(spec, *read_line(line_at(places_[number]))),
                now = row_of(spec, *read_line(line_at(place)));
      // A failed case was run again: its success counts.
      if (before.is_success() && !now.is_success()) return;
      if (before.is_success() == now.is_success() && !says_the_same(before, now)) ++contradicting;
    } catch (const Json::exception&) {
      ++damaged;
      return;
    }
  }
  places_[number] = place;
}

/// The system takes pages of files only when it is short of memory; until then they look like memory of the program.
void JournalIndex::give_back_pages() const {
  for (const File& file : files_)
    if (file.begin != nullptr) ::madvise(const_cast<char*>(file.begin), file.size, MADV_DONTNEED);
}

std::string_view JournalIndex::line_at(std::uint64_t place) const {
  if (++lookups_ % most_lookups == 0) give_back_pages();
  const File& file = files_[(place >> offset_bits) - 1];
  const std::string_view rest =
      std::string_view(file.begin, file.size).substr(place & ((std::uint64_t{1} << offset_bits) - 1));
  return rest.substr(0, rest.find('\n'));
}

std::string_view JournalIndex::status(std::size_t number) const { return read_line(line_at(places_[number]))->status; }

Row JournalIndex::row(const Spec& spec, std::size_t number) const {
  return row_of(spec, *read_line(line_at(places_[number])));
}

Journal::Journal(const io::Path& folder, const std::string& suffix) {
  if (folder.empty()) return;
  path_ = folder / (journal_name + suffix);
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) io::throw_file_error("cannot write", path_, errno);
  // The incomplete last line of a killed program must not be joined with the next one.
  const off_t size = ::lseek(descriptor_, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(descriptor_, &last, 1, size - 1) != 1) io::throw_file_error("cannot read", path_, errno);
  if (last != '\n' && ::write(descriptor_, cut_off.data(), cut_off.size()) != static_cast<ssize_t>(cut_off.size()))
    io::throw_file_error("cannot write", path_, errno);
}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Journal::add(std::string_view lines) {
  if (descriptor_ < 0) return;
  const std::lock_guard lock(mutex_);
  const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
  if (written != static_cast<ssize_t>(lines.size()))
    throw EnvironmentError(
        fmt::format("cannot write '{}': {}", path_.string(), written < 0 ? std::strerror(errno) : "the disk is full"));
}

}  // namespace kreisel::study
