#include "kreisel/io/json_source.hpp"

#include <fmt/format.h>

#include <set>

#include "kreisel/base/error.hpp"

namespace kreisel::io {
namespace {

TextPosition position_of_byte(std::string_view text, std::size_t byte) {
  TextPosition at;
  for (const char c : text.substr(0, byte)) {
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {  // not inside a UTF-8 sequence
      ++at.column;
    }
  }
  return at;
}

/// "syntax error while parsing value - unexpected '}'; expected ..." of nlohmann's message, without its prefixes.
std::string reason_of(const nlohmann::json::parse_error& error) {
  const std::string_view text = error.what();
  const std::size_t column = text.find(", column ");
  const std::size_t colon = text.find(": ", column == std::string_view::npos ? 0 : column);
  return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

/// Walks a text that is known to be JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) { skip_space(); }

  std::size_t at() const { return at_; }
  bool is(char c) const { return at_ < text_.size() && text_[at_] == c; }

  /// Goes to the value of `key` in the object or array that begins here; false, unmoved, when there is none.
  bool enter(const std::string& key) {
    const std::size_t begin = at_;
    const bool is_object = is('{');
    if (is_object || is('[')) {
      ++at_;
      skip_space();
      for (std::size_t index = 0; !is('}') && !is(']'); ++index) {
        std::string name = std::to_string(index);
        if (is_object) {
          const std::size_t key_at = at_;
          skip_value();
          name = nlohmann::json::parse(text_.substr(key_at, at_ - key_at)).get<std::string>();
          skip_space();
          ++at_;  // the colon
          skip_space();
        }
        if (name == key) return true;
        skip_value();
        skip_space();
        if (is(',')) ++at_;
        skip_space();
      }
    }
    at_ = begin;
    return false;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
  }
  void skip_value() {
    int depth = 0;
    do {
      if (is('"')) {
        skip_string();
      } else if (is('{') || is('[')) {
        ++depth;
        ++at_;
      } else if (is('}') || is(']')) {
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {
        while (at_ < text_.size() && std::string_view(" \t\r\n,]}").find(text_[at_]) == std::string_view::npos) ++at_;
      }
    } while (depth > 0);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

JsonSource::JsonSource(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  const auto watch_keys = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && repeated.empty())
      repeated = parsed.get<std::string>();
    return true;
  };
  try {
    root_ = Json::parse(text_, watch_keys);
  } catch (const nlohmann::json::parse_error& error) {
    const TextPosition at = position_of_byte(text_, error.byte > 0 ? error.byte - 1 : 0);
    throw InvalidInput(fmt::format("{}:{}:{}: not valid JSON: {}", name_, at.line, at.column, reason_of(error)));
  } catch (const nlohmann::json::exception& error) {  // such as a number beyond the range of double
    throw InvalidInput(fmt::format("{}: not valid JSON: {}", name_, error.what()));
  }
  if (!repeated.empty()) throw InvalidInput(fmt::format("{}: an object names the key '{}' twice", name_, repeated));
}

JsonSource JsonSource::read(const Path& path, std::string_view what) { return {path.string(), read_text(path, what)}; }

TextPosition JsonSource::position(std::string_view pointer) const {
  Scanner scanner(text_);
  Json::json_pointer rest{std::string(pointer)};
  std::vector<std::string> keys;
  for (; !rest.empty(); rest.pop_back()) keys.push_back(rest.back());
  for (auto key = keys.rbegin(); key != keys.rend() && scanner.enter(*key); ++key) {
  }
  return position_of_byte(text_, scanner.at());
}

std::string JsonSource::place(std::string_view pointer) const {
  const TextPosition at = position(pointer);
  return fmt::format("{}:{}:{}: {}", name_, at.line, at.column, pointer.empty() ? "/" : pointer);
}

std::string JsonSource::located(std::string_view pointer, std::string_view message) const {
  return fmt::format("{}: {}", place(pointer), message);
}

void JsonSource::refuse(std::string_view pointer, std::string_view message) const {
  throw InvalidInput(located(pointer, message));
}

void JsonSource::refuse_unknown_keys(std::string_view pointer, const std::vector<std::string>& known) const {
  for (const auto& item : at(pointer).items()) {
    bool is_known = false;
    for (const std::string& key : known) is_known = is_known || key == item.key();
    if (!is_known) {
      Json::json_pointer at_key{std::string(pointer)};
      at_key.push_back(item.key());
      refuse(at_key.to_string(), unknown_name("key", item.key(), known));
    }
  }
}

const Json& JsonSource::require(std::string_view pointer, std::string_view key, std::string_view expected) const {
  const Json& object = at(pointer);
  const auto found = object.find(std::string(key));
  if (found == object.end()) refuse(pointer, fmt::format("the key '{}' is missing; expected {}", key, expected));
  return *found;
}

}  // namespace kreisel::io
