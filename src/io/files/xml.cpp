#include "io/files/xml.hpp"

#include <fmt/format.h>

#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr int max_depth = 200;

class XmlParser {
 public:
  XmlParser(std::string_view name, std::string_view text) : name_(name), text_(text) {}

  XmlElement document() {
    skip_between();
    if (!is("<")) refuse("expected an element <...>");
    XmlElement root = element(0);
    skip_between();
    if (at_ < text_.size()) refuse("text after the last element");
    return root;
  }

 private:
  [[noreturn]] void refuse(std::string_view message) const {
    int line = 1, column = 1;
    for (const char c : text_.substr(0, at_)) {
      if (c == '\n') ++line, column = 0;
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
    }
    throw InvalidInput(fmt::format("{}:{}:{}: not valid XML: {}", name_, line, column, message));
  }
  bool is(std::string_view word) const { return text_.substr(at_, word.size()) == word; }
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == ':' || (static_cast<unsigned char>(c) & 0x80) != 0;
  }
  /// Counts lines on the way.
  void advance(std::size_t count) {
    for (const char c : text_.substr(at_, count)) {
      if (c == '\n') ++line_, column_ = 0;
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column_;
    }
    at_ += count;
  }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) advance(1);
  }
  void skip_past(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) refuse(fmt::format("'{}' is missing", end));
    advance(found + end.size() - at_);
  }
  /// Text, comments, declarations, document types.
  void skip_between() {
    while (at_ < text_.size()) {
      if (is("<!--"))
        skip_past("-->");
      else if (is("<![CDATA["))
        skip_past("]]>");
      else if (is("<?"))
        skip_past("?>");
      else if (is("<!"))
        skip_past(">");
      else if (is("<"))
        return;
      else
        advance(1);
    }
  }
  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) advance(1);
    if (at_ == begin) refuse("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string value() {
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '"' && quote != '\'') refuse("expected a value in quotes");
    const std::size_t begin = at_ + 1, end = text_.find(quote, begin);
    if (end == std::string_view::npos) refuse("the quote is not closed");
    const std::string_view raw = text_.substr(begin, end - begin);
    std::string out;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '<') refuse("'<' inside a value");
      if (raw[i] != '&') {
        out += raw[i];
        continue;
      }
      struct Entity {
        std::string_view name;
        char letter;
      };
      bool is_known = false;
      for (const Entity& e : {Entity{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}, {"&quot;", '"'}, {"&apos;", '\''}})
        if (raw.substr(i, e.name.size()) == e.name) {
          out += e.letter;
          i += e.name.size() - 1;
          is_known = true;
          break;
        }
      if (!is_known) refuse("unknown entity; known are &lt; &gt; &amp; &quot; &apos;");
    }
    advance(end + 1 - at_);
    return out;
  }

  XmlElement element(int depth) {
    if (depth > max_depth) refuse(fmt::format("elements nest more than {} deep", max_depth));
    XmlElement out;
    out.line = line_;
    out.column = column_;
    advance(1);
    out.name = word();
    for (skip_space(); !is(">") && !is("/>"); skip_space()) {
      if (at_ >= text_.size()) refuse(fmt::format("<{}> is not closed", out.name));
      const std::string key = word();
      skip_space();
      if (!is("=")) refuse(fmt::format("expected = after '{}'", key));
      advance(1);
      skip_space();
      if (!out.attributes.insert({key, value()}).second) refuse(fmt::format("'{}' is given twice", key));
    }
    if (is("/>")) {
      advance(2);
      return out;
    }
    advance(1);
    for (skip_between(); !is("</"); skip_between()) {
      if (at_ >= text_.size()) refuse(fmt::format("</{}> is missing", out.name));
      out.children.push_back(element(depth + 1));
    }
    advance(2);
    if (const std::string end = word(); end != out.name)
      refuse(fmt::format("</{}> where </{}> was expected", end, out.name));
    skip_space();
    if (!is(">")) refuse("expected >");
    advance(1);
    return out;
  }

  std::string_view name_, text_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  for (const XmlElement& element : children)
    if (element.name == wanted) return &element;
  return nullptr;
}

XmlElement parse_xml(std::string_view name, std::string_view text) { return XmlParser(name, text).document(); }

}  // namespace kreisel::io
