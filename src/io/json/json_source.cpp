#include "io/json/json_source.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_set>

#include "base/text.hpp"
#include "kreisel/error.hpp"

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

constexpr std::size_t max_depth = 200;
/// Keys of one object are searched one after the other, so the time grows with the square of their number.
constexpr std::size_t max_keys = 1000;
/// A value takes up to 72 bytes in memory, 2 in the text.
constexpr std::size_t max_values = 16'000'000;
constexpr std::size_t max_complaints = 20;

/// "syntax error while parsing value - unexpected '}'; expected ..." of nlohmann's message, without its prefixes.
std::string reason_of(const nlohmann::json::parse_error& error) {
  const std::string_view text = error.what();
  const std::size_t column = text.find(", column ");
  const std::size_t colon = text.find(": ", column == std::string_view::npos ? 0 : column);
  std::string reason(colon == std::string_view::npos ? text : text.substr(colon + 2));
  if (reason.find("expected ") == std::string::npos)
    reason += reason.find("invalid string") != std::string::npos
                  ? "; expected UTF-8 text, with escapes such as \\n and \\u0000 for control characters"
                  : "; expected [, {, a number, a text in double quotes, true, false or null";
  return reason;
}

/// Walks any text as far as it looks like JSON: tracks the pointer at every place and finds what the parser does not report,
/// or reports too late. Needs neither recursion nor memory beyond the open objects.
class Survey {
 public:
  struct Complaint {
    std::size_t byte;
    std::string pointer, message;
  };

  Survey(std::string_view text, std::size_t end) : text_(text.substr(0, end)) {
    while (at_ < text_.size() && !is_beyond_limits_) take_token();
  }

  /// Repeated keys and numbers beyond the range of double; one of them alone when the text is beyond limits.
  const std::vector<Complaint>& complaints() const { return complaints_; }
  bool is_beyond_limits() const { return is_beyond_limits_; }

  /// Of the value at the end of the walk.
  std::string pointer() const {
    Json::json_pointer out;
    for (const Level& level : levels_) {
      if (!level.is_object)
        out.push_back(std::to_string(level.index));
      else if (!level.awaits_key)
        out.push_back(level.key);
    }
    return out.to_string();
  }

 private:
  struct Level {
    bool is_object = false, awaits_key = false;
    std::size_t index = 0;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  void complain(std::size_t byte, std::string message) {
    if (complaints_.size() < max_complaints) complaints_.push_back({byte, pointer(), std::move(message)});
  }
  void give_up(std::size_t byte, std::string message) {
    is_beyond_limits_ = true;
    complaints_ = {{byte, pointer(), std::move(message)}};
  }

  void take_token() {
    const char c = text_[at_];
    switch (c) {
      case ' ':
      case '\t':
      case '\r':
      case '\n':
        ++at_;
        return;
      case '{':
      case '[':
        if (levels_.size() == max_depth)
          return give_up(at_, fmt::format("nesting deeper than {} levels, expected a model or a study", max_depth));
        count_value();
        levels_.emplace_back().is_object = c == '{';
        levels_.back().awaits_key = c == '{';
        ++at_;
        return;
      case '}':
      case ']':
        if (!levels_.empty()) levels_.pop_back();
        ++at_;
        return;
      case ',':
        if (!levels_.empty()) {
          ++levels_.back().index;
          levels_.back().awaits_key = levels_.back().is_object;
        }
        ++at_;
        return;
      case ':':
        ++at_;
        return;
      case '"':
        return take_string();
      default:
        return take_word();
    }
  }

  void take_string() {
    const std::size_t begin = at_;
    bool has_escapes = false;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_, has_escapes = true;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return;
    }
    ++at_;
    if (levels_.empty() || !levels_.back().awaits_key) return count_value();
    Level& level = levels_.back();
    level.awaits_key = false;
    level.key = text_.substr(begin + 1, at_ - begin - 2);
    if (has_escapes) {
      const auto decoded = nlohmann::json::parse(text_.substr(begin, at_ - begin), nullptr, false);
      if (decoded.is_string()) level.key = decoded.get<std::string>();
    }
    if (!level.keys.insert(level.key).second) complain(begin, "duplicate key; remove one of the two");
    if (level.keys.size() > max_keys)
      give_up(begin, fmt::format("the object has more than {} keys, expected a model or a study", max_keys));
  }

  void take_word() {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(" \t\r\n,:[]{}\"", begin), text_.size());
    count_value();
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool may_be_large = word.size() > 300 || word.find_first_of("eE") != std::string_view::npos;
    if (may_be_large && std::string_view("-0123456789").find(word[0]) != std::string_view::npos &&
        std::isinf(std::strtod(std::string(word).c_str(), nullptr)))
      complain(begin, fmt::format("is {}, expected a number below 1.8e308", clipped(word, 40)));
  }

  void count_value() {
    if (++values_ > max_values)
      give_up(at_, fmt::format("the text has more than {} values, expected fewer", max_values));
  }

  std::string_view text_;
  std::size_t at_ = 0, values_ = 0;
  std::vector<Level> levels_;
  std::vector<Complaint> complaints_;
  bool is_beyond_limits_ = false;
};

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

Vector3 vector_at(const Json& object, const char* key, const Vector3& otherwise) {
  if (!object.contains(key)) return otherwise;
  const Json& value = object[key];
  if (!value.is_array() || value.size() != 3) return otherwise;
  Vector3 out;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!value[i].is_number()) return otherwise;
    out[static_cast<Eigen::Index>(i)] = value[i].get<double>();
  }
  return out;
}

// Called for every value of a file: no formatting.
std::string below(std::string_view pointer, std::string_view key) {
  std::string out;
  out.reserve(pointer.size() + key.size() + 1);
  out.append(pointer) += '/';
  if (key.find_first_of("~/") == std::string_view::npos) return out.append(key);
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

std::string below(std::string_view pointer, std::size_t index) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, index).ptr;
  return std::string(pointer).append(1, '/').append(digits, end);
}

JsonSource::JsonSource(std::string name, std::string text, Path folder)
    : name_(std::move(name)), text_(std::move(text)), folder_(std::move(folder)) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);  // the byte order mark that some editors write
  const auto message_at = [&](std::size_t byte, const std::string& pointer, std::string_view message) {
    const TextPosition at = position_of_byte(text_, byte);
    return clipped(fmt::format("{}:{}:{}: {}: {}", name_, at.line, at.column, pointer.empty() ? "/" : pointer, message),
                   longest_message);
  };
  const Survey survey(text_, text_.size());
  try {
    if (!survey.is_beyond_limits()) root_ = Json::parse(text_);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
    throw InvalidInput(message_at(byte, Survey(text_, byte).pointer(), "not valid JSON: " + reason_of(error)));
  } catch (const nlohmann::json::exception& error) {  // a number beyond the range of double, which the survey has found
    if (survey.complaints().empty()) throw InvalidInput(fmt::format("{}: not valid JSON: {}", name_, error.what()));
  }
  std::vector<std::string> messages;
  for (const Survey::Complaint& c : survey.complaints()) messages.push_back(message_at(c.byte, c.pointer, c.message));
  if (!messages.empty()) throw InvalidInput(fmt::format("{}", fmt::join(messages, "\n")));
}

JsonSource JsonSource::read(const Path& path, std::string_view what) {
  return {path.string(), read_text(path, what), path.parent_path()};
}

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
  return clipped(fmt::format("{}: {}", place(pointer), message), longest_message);
}

void JsonSource::refuse(std::string_view pointer, std::string_view message) const {
  throw InvalidInput(located(pointer, message));
}

void JsonSource::refuse_unknown_keys(std::string_view pointer, const std::vector<std::string>& known) const {
  for (const auto& item : at(pointer).items()) {
    bool is_known = false;
    for (const std::string& key : known) is_known = is_known || key == item.key();
    if (!is_known) refuse(below(pointer, item.key()), unknown_name("key", item.key(), known));
  }
}

const Json& JsonSource::require(std::string_view pointer, std::string_view key, std::string_view expected) const {
  const Json& object = at(pointer);
  const auto found = object.find(std::string(key));
  if (found == object.end()) refuse(pointer, fmt::format("the key '{}' is missing; expected {}", key, expected));
  return *found;
}

}  // namespace kreisel::io
