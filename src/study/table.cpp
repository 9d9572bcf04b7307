#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kreisel/error.hpp"

namespace kreisel::study {
namespace {

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  return begin == std::string_view::npos ? ""
                                         : std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

/// Cells may be enclosed in double quotes, which are doubled inside.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false, was_quoted = false;
  const auto end = [&] {
    if (!was_quoted) cells.back() = trimmed(cells.back());
    was_quoted = false;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (line[i] == '"' && (is_quoted || trimmed(cells.back()).empty())) {
      if (!is_quoted) cells.back().clear();
      is_quoted = !is_quoted;
      was_quoted = true;
    } else if (line[i] == ',' && !is_quoted) {
      end();
      cells.emplace_back();
    } else if (!(was_quoted && !is_quoted)) {
      cells.back() += line[i];
    }
  }
  end();
  return cells;
}

io::Json value_of(const std::string& text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number)) return number;
  if (text == "true" || text == "false") return text == "true";
  return text;
}

}  // namespace

Table read_table(const io::Path& path) {
  const std::string text = io::read_text(path, "table of cases", std::size_t{1} << 30);
  Table table;
  std::size_t line_number = 0;
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // spreadsheets write it
  for (std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++line_number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = cells_of(line);
    if (table.names.empty()) {
      table.names = cells;
      table.columns.resize(cells.size());
      for (std::size_t i = 0; i < cells.size(); ++i)
        if (cells[i].empty() || std::count(cells.begin(), cells.end(), cells[i]) > 1)
          throw InvalidInput(fmt::format("'{}', line {}: column {} has {}", path.string(), line_number, i + 1,
                                         cells[i].empty() ? "no name" : "a duplicate name"));
      continue;
    }
    if (cells.size() != table.names.size())
      throw InvalidInput(fmt::format("'{}', line {}: {} cells, expected {}", path.string(), line_number, cells.size(),
                                     table.names.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty())
        throw InvalidInput(
            fmt::format("'{}', line {}: the cell of '{}' is empty", path.string(), line_number, table.names[i]));
      table.columns[i].push_back(value_of(cells[i]));
    }
  }
  if (table.names.empty() || table.columns[0].empty())
    throw InvalidInput(
        fmt::format("'{}' has no case: expected a line of names and a line of values per case", path.string()));
  return table;
}

}  // namespace kreisel::study
