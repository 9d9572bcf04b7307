#include "study/figures.hpp"

#include <algorithm>
#include <cctype>

#include "figure_texts.hpp"
#include "kreisel/error.hpp"

namespace kreisel::study {
namespace {

/// fig-6.9 before fig-6.10.
bool comes_before(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      long x = 0, y = 0;
      while (i < a.size() && digit(a[i])) x = 10 * x + (a[i++] - '0');
      while (j < b.size() && digit(b[j])) y = 10 * y + (b[j++] - '0');
      if (x != y) return x < y;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

io::JsonSource source_of(const Figure& figure) { return {std::string(figure.id) + ".json", std::string(figure.text)}; }

}  // namespace

const std::vector<Figure>& figures() {
  static const std::vector<Figure> list = [] {
    std::vector<Figure> all;
    for (const auto& [id, text] : figure_texts()) all.push_back({id, text});
    std::sort(all.begin(), all.end(), [](const Figure& a, const Figure& b) { return comes_before(a.id, b.id); });
    return all;
  }();
  return list;
}

const Figure& find_figure(std::string_view id) {
  std::vector<std::string> known;
  for (const Figure& figure : figures()) {
    if (figure.id == id) return figure;
    known.emplace_back(figure.id);
  }
  const std::string near = nearest(id, known);
  throw InvalidInput("unknown figure '" + std::string(id) + "'; " +
                     (near.empty() ? "" : "did you mean '" + near + "'? ") +
                     "'kreisel reproduce --list' names them all");
}

FigureSummary summary_of(const Figure& figure) {
  const Json json = Json::parse(figure.text);
  return {json.value("title", ""), json.value("source", ""), json.value("quick", false)};
}

Spec spec_of(const Figure& figure) {
  Spec spec = parse_spec(source_of(figure));
  spec.id = figure.id;
  return spec;
}

}  // namespace kreisel::study
