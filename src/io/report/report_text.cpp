// Curves as text, for terminals: every letter of the Braille block is a grid of 2 by 4 dots.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/report/report.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr std::size_t most_plots = 4;
constexpr std::size_t most_curves = 8;
constexpr int least_margin = 11;  ///< letters of the axis

/// A canvas of dots.
class Dots {
 public:
  Dots(int width, int height) : width_(width), height_(height), cells_(static_cast<std::size_t>(width * height), 0) {}

  int columns() const { return 2 * width_; }
  int rows() const { return 4 * height_; }
  void set(int x, int y) {
    if (x < 0 || y < 0 || x >= columns() || y >= rows()) return;
    static constexpr unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cells_[static_cast<std::size_t>(y / 4 * width_ + x / 2)] |= bits[y % 4][x % 2];
  }
  /// A line of letters; U+2800 and on, blanks where there is nothing.
  std::string line(int row) const {
    std::string out;
    for (int i = 0; i < width_; ++i) {
      const unsigned char cell = cells_[static_cast<std::size_t>(row * width_ + i)];
      if (cell == 0) {
        out += ' ';
        continue;
      }
      out += static_cast<char>(0xe2);
      out += static_cast<char>(0xa0 | cell >> 6);
      out += static_cast<char>(0x80 | (cell & 63));
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }

 private:
  int width_, height_;
  std::vector<unsigned char> cells_;
};

std::string title_of(const ReportSeries& series) {
  return fmt::format("{}{}{}{}", series.of, series.of.empty() ? "" : ".", series.name,
                     series.unit.empty() ? "" : fmt::format(" [{}]", series.unit));
}

/// Labels of an axis that differ where the values do.
std::array<std::string, 3> labels_of(double high, double middle, double low, bool is_log) {
  for (int digits = 4;; ++digits) {
    std::array<std::string, 3> out;
    for (std::size_t i = 0; const double y : {high, middle, low})
      out[i++] = is_log ? fmt::format("{:.1e}", std::pow(10.0, y)) : fmt::format("{:.{}g}", y, digits);
    if (is_log || digits == 12 || (out[0] != out[1] && out[1] != out[2])) return out;
  }
}

/// One plot per curve: text has no colours to distinguish curves.
std::string plot(const ReportData& data, const ReportSeries& series, bool is_log, int width, int height) {
  const auto value = [&](std::size_t i) {
    const double y = series.values[i];
    if (!is_log) return y;
    return y != 0.0 ? std::log10(std::abs(y)) : std::nan("");
  };
  double low = INFINITY, high = -INFINITY;
  for (std::size_t i = 0; i < series.values.size(); ++i)
    if (const double y = value(i); std::isfinite(y)) low = std::min(low, y), high = std::max(high, y);
  std::string out = fmt::format("{}{}\n", title_of(series), is_log ? ", magnitude" : "");
  if (!(low <= high)) return out + "  (no values)\n";
  const double size = std::max(std::abs(low), std::abs(high));
  if (!(high - low > 1e-12 * size)) low -= size > 0.0 ? 0.1 * size : 1.0, high += size > 0.0 ? 0.1 * size : 1.0;
  const int middle = height / 2;
  const std::array<std::string, 3> labels =
      labels_of(high, high - (high - low) * (4.0 * middle + 1.5) / (4.0 * height - 1.0), low, is_log);
  int margin = least_margin;
  for (const std::string& text : labels) margin = std::max(margin, static_cast<int>(text.size()) + 2);
  Dots dots(std::max(10, width - margin), height);
  const double begin = data.time.front(), span = std::max(data.time.back() - begin, 1e-300);
  int last_x = 0, last_y = 0;
  bool is_down = false;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const double y = value(i);
    if (!std::isfinite(y)) {
      is_down = false;
      continue;
    }
    const int px = static_cast<int>(std::lround((data.time[i] - begin) / span * (dots.columns() - 1)));
    const int py = static_cast<int>(std::lround((high - y) / (high - low) * (dots.rows() - 1)));
    const int steps = is_down ? std::max(std::abs(px - last_x), std::abs(py - last_y)) : 0;
    for (int k = 0; k <= steps; ++k) {
      const double s = steps == 0 ? 1.0 : static_cast<double>(k) / steps;
      dots.set(static_cast<int>(std::lround(steps == 0 ? px : last_x + s * (px - last_x))),
               static_cast<int>(std::lround(steps == 0 ? py : last_y + s * (py - last_y))));
    }
    last_x = px, last_y = py, is_down = true;
  }
  for (int row = 0; row < height; ++row) {
    const std::string text = row == 0 ? labels[0] : row == height - 1 ? labels[2] : row == middle ? labels[1] : "";
    out += fmt::format("{:>{}} ┤{}\n", text, margin - 2, dots.line(row));
  }
  const std::string from = fmt::format("{:.4g}", begin), to = fmt::format("{:.4g} s", data.time.back());
  out += fmt::format("{:>{}} └", "", margin - 2);
  for (int i = 0; i < width - margin; ++i) out += "─";
  out += fmt::format("\n{:>{}}{}{:>{}}\n", "", margin, from, to,
                     std::max<int>(1, width - margin - static_cast<int>(from.size())));
  return out;
}

bool is_log(const ReportData& data, const ReportSeries& series) {
  const auto panel = std::ranges::find(data.panels, series.panel, &ReportPanel::name);
  return panel != data.panels.end() && panel->is_log;
}

}  // namespace

std::string report_text(const ReportData& data, const std::vector<std::string>& names, int width, int height) {
  if (data.time.empty() || data.series.empty()) throw InvalidInput("--terminal: the result has no trajectory to plot");
  std::vector<const ReportSeries*> chosen;
  const auto key = [](const ReportSeries& s) { return s.of.empty() ? s.name : s.of + "." + s.name; };
  for (const std::string& name : names) {
    const std::size_t before = chosen.size();
    for (const ReportSeries& series : data.series)
      if (key(series) == name || series.source == name || series.name == name || series.of == name ||
          series.panel == name)
        chosen.push_back(&series);
    if (chosen.size() > before) continue;
    std::vector<std::string> known;
    for (const ReportSeries& series : data.series) known.push_back(key(series));
    for (const ReportPanel& panel : data.panels) known.push_back(panel.name);
    throw InvalidInput(unknown_name("column", name, known));
  }
  if (names.empty()) {
    std::size_t plots = 0;
    for (const ReportPanel& panel : data.panels) {
      if (!panel.is_open || plots == most_plots) continue;
      ++plots;
      const std::string* of = nullptr;
      for (const ReportSeries& series : data.series) {
        if (series.panel != panel.name || (of != nullptr && series.of != *of)) continue;
        of = &series.of;
        if (chosen.size() < most_curves) chosen.push_back(&series);
      }
    }
  }
  std::string out = fmt::format("{}, {} points\n", data.title, data.time.size());
  for (const ReportSeries* series : chosen)
    out += "\n" + plot(data, *series, is_log(data, *series), std::max(width, least_margin + 20), std::max(height, 3));
  return out;
}

}  // namespace kreisel::io
