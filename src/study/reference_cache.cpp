#include "reference_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/archive.hpp"
#include "kreisel/error.hpp"

namespace kreisel::study {
namespace {

constexpr std::string_view magic = "kreisel-reference-2\n";

io::Path file_of(const io::Path& folder, std::string_view key) {
  return folder / fmt::format("reference-{:016x}.bin", fingerprint_of(key));
}

// The file: magic, length of the key, key, the fields below, number of points, points, hash of everything before.
struct Fields {
  double t0, t_end;
  std::int64_t steps, every, stride, nodes;
  Accuracy accuracy;
  double q_size, v_size, lambda_size;
};

template <class T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  template <class T>
  bool read(T& value) {
    if (text_.size() < sizeof value) return false;
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return true;
  }
  bool skip(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace

std::shared_ptr<const Reference> read_cached(const io::Path& folder, std::string_view key) {
  std::error_code error;
  if (folder.empty() || !std::filesystem::exists(file_of(folder, key), error)) return nullptr;
  std::string text;
  try {
    text = io::read_text(file_of(folder, key), "cached reference", std::size_t{1} << 30);
  } catch (const std::exception&) {
    return nullptr;
  }
  if (text.size() < sizeof(std::uint64_t)) return nullptr;
  const std::string_view body = std::string_view(text).substr(0, text.size() - sizeof(std::uint64_t));
  std::uint64_t hash = 0, key_size = 0, count = 0;
  std::memcpy(&hash, text.data() + body.size(), sizeof hash);
  Fields f{};
  Reader reader(body);
  if (hash != fingerprint_of(body) || !reader.skip(magic) || !reader.read(key_size) || key_size != key.size() ||
      !reader.skip(key) || !reader.read(f) || !reader.read(count) || reader.rest().size() != count * sizeof(double))
    return nullptr;
  auto out = std::make_shared<Reference>();
  out->t0 = f.t0;
  out->t_end = f.t_end;
  out->steps = f.steps;
  out->every = f.every;
  out->stride = static_cast<int>(f.stride);
  out->nodes = f.nodes;
  out->accuracy = f.accuracy;
  out->q_size = f.q_size;
  out->v_size = f.v_size;
  out->lambda_size = f.lambda_size;
  out->points.resize(count);
  std::memcpy(out->points.data(), reader.rest().data(), reader.rest().size());
  out->was_cached = true;
  return out;
}

void write_cached(const io::Path& folder, std::string_view key, const Reference& r) {
  if (folder.empty()) return;
  std::string text(magic);
  append(text, static_cast<std::uint64_t>(key.size()));
  text.append(key);
  append(text,
         Fields{r.t0, r.t_end, r.steps, r.every, r.stride, r.nodes, r.accuracy, r.q_size, r.v_size, r.lambda_size});
  append(text, static_cast<std::uint64_t>(r.points.size()));
  text.append(reinterpret_cast<const char*>(r.points.data()), r.points.size() * sizeof(double));
  append(text, fingerprint_of(text));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // Another process may write the same file: each has its own name until it is complete.
  const io::Path file = file_of(folder, key), own = file.string() + fmt::format(".{}", ::getpid());
  try {
    io::write_atomically(own, text);
    std::filesystem::rename(own, file, error);
  } catch (const EnvironmentError&) {
  } catch (const InvalidInput&) {
  }
}

io::Path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return io::Path(value != nullptr ? value : "");
  };
  if (const io::Path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "kreisel";
  if (const io::Path home = variable("HOME"); home.is_absolute()) return home / ".cache" / "kreisel";
  return {};
}

}  // namespace kreisel::study
