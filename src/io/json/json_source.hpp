// JSON input with error messages that give file, line, column and JSON pointer.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/files/files.hpp"
#include "kreisel/types.hpp"

namespace kreisel::io {

using Json = nlohmann::ordered_json;

/// A finite number or null.
inline Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
inline Json list_of(const Vector3& v) { return {v.x(), v.y(), v.z()}; }
/// `otherwise` where the key does not hold three numbers.
Vector3 vector_at(const Json& object, const char* key, const Vector3& otherwise);

/// Of messages that quote a file [characters].
inline constexpr std::size_t longest_message = 2000;

/// Both count from 1; the column counts characters, not bytes.
struct TextPosition {
  int line = 1, column = 1;
};

/// The JSON pointer of what `key` names in the object at `pointer`, with its slashes and tildes escaped.
std::string below(std::string_view pointer, std::string_view key);
/// Of an entry of the list at `pointer`.
std::string below(std::string_view pointer, std::size_t index);

/// A parsed JSON text that keeps its source for messages.
class JsonSource {
 public:
  /// Throws InvalidInput "NAME:3:14: /lin/0/a: ..." for text that is not JSON, repeated keys, infinite numbers, or huge texts.
  JsonSource(std::string name, std::string text, Path folder = {});
  static JsonSource read(const Path& path, std::string_view what);

  const Json& root() const { return root_; }
  const std::string& name() const { return name_; }
  /// Where files that it names are looked for; empty: the current folder.
  const Path& folder() const { return folder_; }
  /// Where the value at `pointer` ("/lin/0/a") begins; the place of its nearest existing parent when it is missing.
  TextPosition position(std::string_view pointer) const;
  /// "NAME:3:14: /lin/0/a".
  std::string place(std::string_view pointer) const;
  /// "NAME:3:14: /lin/0/a: message".
  std::string located(std::string_view pointer, std::string_view message) const;
  [[noreturn]] void refuse(std::string_view pointer, std::string_view message) const;

  /// Refuses keys of the object at `pointer` that are not among `known`, with the nearest one.
  void refuse_unknown_keys(std::string_view pointer, const std::vector<std::string>& known) const;
  /// The value of a key the object at `pointer` must have.
  const Json& require(std::string_view pointer, std::string_view key, std::string_view expected) const;

 private:
  const Json& at(std::string_view pointer) const { return root_.at(Json::json_pointer(std::string(pointer))); }

  std::string name_, text_;
  Path folder_;
  Json root_;
};

}  // namespace kreisel::io
