// XML input with errors that give line and column, read by pugixml. Elements and attributes only: text between
// elements, comments, declarations and document types are skipped; there are no external entities.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kreisel::io {

struct XmlElement {
  std::string name;
  int line = 1, column = 1;
  std::map<std::string, std::string, std::less<>> attributes;
  std::vector<XmlElement> children;

  const XmlElement* child(std::string_view name) const;  ///< the first of that name, nullptr: none
};

/// Throws InvalidInput "NAME:3:14: what is wrong". Elements nest at most 200 deep.
XmlElement parse_xml(std::string_view name, std::string_view text);

}  // namespace kreisel::io
