// State as bytes, for checkpoints: the same code writes and reads, so that the two cannot disagree.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kreisel/error.hpp"
#include "kreisel/types.hpp"

namespace kreisel {

/// Numbers keep their bits. Reading past the end throws InvalidInput.
class Archive {
 public:
  Archive() = default;                                                             ///< for writing
  explicit Archive(std::string_view bytes) : is_loading_(true), source_(bytes) {}  ///< for reading; refers to the bytes

  bool is_loading() const { return is_loading_; }
  bool is_at_end() const { return source_.empty(); }
  std::string_view rest() const { return source_; }  ///< not read yet
  /// Checks a value just read: a value that no written state can have throws InvalidInput.
  void require(bool holds) const {
    if (is_loading_ && !holds) throw InvalidInput("the state does not fit the run");
  }
  const std::string& bytes() const { return bytes_; }

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(T& value) { raw(&value, sizeof value); }
  void operator()(bool& value) {
    auto byte = static_cast<unsigned char>(value);
    raw(&byte, 1);
    require(byte <= 1);
    value = byte == 1;
  }
  void operator()(std::string& text) {
    text.resize(length(text.size()));
    raw(text.data(), text.size());
  }
  void operator()(Vector& values) {
    values.resize(static_cast<Eigen::Index>(length(static_cast<std::size_t>(values.size()), sizeof(double))));
    raw(values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
  }
  /// A vector of known size.
  void sized(Vector& values) {
    require(length(static_cast<std::size_t>(values.size())) == static_cast<std::size_t>(values.size()));
    raw(values.data(), static_cast<std::size_t>(values.size()) * sizeof(double));
  }
  template <class T, std::size_t n>
  void operator()(std::array<T, n>& values) {
    for (T& value : values) (*this)(value);
  }
  void operator()(std::vector<double>& values) {
    values.resize(length(values.size(), sizeof(double)));
    raw(values.data(), values.size() * sizeof(double));
  }
  template <class T, class Exchange>
  void operator()(std::vector<T>& values, Exchange exchange) {
    values.resize(length(values.size()));
    for (T& value : values) exchange(*this, value);
  }
  void operator()(std::map<std::string, int, std::less<>>& values) {
    std::vector<std::pair<std::string, int>> list(values.begin(), values.end());
    (*this)(list, [](Archive& a, auto& entry) {
      a(entry.first);
      a(entry.second);
    });
    values = {list.begin(), list.end()};
  }
  template <class... Values>
  void all(Values&... values) {
    ((*this)(values), ...);
  }

 private:
  /// Rejected before any allocation when the remaining bytes are too few for the items.
  std::size_t length(std::size_t n, std::size_t item_size = 1) {
    std::uint64_t count = n;
    (*this)(count);
    if (is_loading_ && count > source_.size() / item_size) fail();
    return static_cast<std::size_t>(count);
  }
  void raw(void* data, std::size_t size) {
    if (size == 0) return;
    if (!is_loading_) {
      bytes_.append(static_cast<const char*>(data), size);
      return;
    }
    if (size > source_.size()) fail();
    std::memcpy(data, source_.data(), size);
    source_.remove_prefix(size);
  }
  [[noreturn]] static void fail() { throw InvalidInput("the state ends too early"); }

  bool is_loading_ = false;
  std::string bytes_;
  std::string_view source_;
};

/// FNV-1a: every changed bit changes it.
inline std::uint64_t fingerprint_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace kreisel
