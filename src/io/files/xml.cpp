#include "io/files/xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <pugixml.hpp>
#include <utility>

#include "base/text.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr int max_depth = 200;

/// Lines and columns of growing offsets; a column is a character of UTF-8.
class Position {
 public:
  explicit Position(std::string_view text) : text_(text) {}

  void move_to(std::size_t offset) {
    offset = std::min(offset, text_.size());
    if (offset < at_) at_ = 0, line = 1, column = 1;
    for (; at_ < offset; ++at_) {
      if (text_[at_] == '\n') ++line, column = 0;
      if ((static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) ++column;
    }
  }

  int line = 1, column = 1;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

class Converter {
 public:
  Converter(std::string_view name, std::string_view text) : name_(name), text_(text), position_(text) {}

  XmlElement document() {
    pugi::xml_document document;
    const pugi::xml_parse_result result =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!result) {
      std::string what = result.description();
      what.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(what.front())));
      const std::size_t offset =
          std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(result.offset, 0)), text_.size());
      const std::string_view rest = text_.substr(offset), here = rest.substr(0, rest.find('\n'));
      refuse(offset, here.empty() ? what : fmt::format("{} at '{}'", what, clipped(here, 40)));
    }
    const auto is_element = [](const pugi::xml_node& node) { return node.type() == pugi::node_element; };
    const pugi::xml_node root = document.document_element();
    for (pugi::xml_node next = root.next_sibling(); next; next = next.next_sibling())
      if (is_element(next)) refuse(offset_of(next), fmt::format("<{}> after the last element", next.name()));
    return element(root, 0);
  }

 private:
  [[noreturn]] void refuse(std::size_t offset, std::string_view message) {
    position_.move_to(offset);
    throw InvalidInput(fmt::format("{}:{}:{}: not valid XML: {}", name_, position_.line, position_.column, message));
  }
  /// Of its '<'.
  static std::size_t offset_of(const pugi::xml_node& node) {
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(node.offset_debug() - 1, 0));
  }

  XmlElement element(const pugi::xml_node& node, int depth) {
    if (depth > max_depth) refuse(offset_of(node), fmt::format("elements are nested deeper than {} levels", max_depth));
    XmlElement out;
    out.name = node.name();
    position_.move_to(offset_of(node));
    out.line = position_.line;
    out.column = position_.column;
    for (const pugi::xml_attribute& attribute : node.attributes())
      if (!out.attributes.insert({attribute.name(), attribute.value()}).second)
        refuse(offset_of(node), fmt::format("<{}> has the attribute '{}' twice", node.name(), attribute.name()));
    for (const pugi::xml_node& child : node.children())
      if (child.type() == pugi::node_element) out.children.push_back(element(child, depth + 1));
    return out;
  }

  std::string_view name_, text_;
  Position position_;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view wanted) const {
  for (const XmlElement& element : children)
    if (element.name == wanted) return &element;
  return nullptr;
}

XmlElement parse_xml(std::string_view name, std::string_view text) { return Converter(name, text).document(); }

}  // namespace kreisel::io
