// Figures and tables of a study for LaTeX: pgfplots and booktabs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>

#include "io/report/report.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

/// Longer curves are lines only.
constexpr std::size_t most_marks = 60;

/// Words that the papers write as letters, and characters that TeX reads as commands.
std::string tex(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> letters[] = {
      {"Φ_t", "$\\Phi_t$"},
      {"t_end", "$t_\\mathrm{end}$"},
      {"‖", "$\\|$"},
      {"∘", "$\\circ$"},
      {"−", "$-$"},
      {"≤", "$\\le$"},
      {"≥", "$\\ge$"},
      {"⁻¹", "$^{-1}$"},
      {"ₙ", "$_n$"},
      {"₀", "$_0$"},
      {"₁", "$_1$"},
      {"₂", "$_2$"},
      {"₃", "$_3$"},
      {"₄", "$_4$"},
      {"₅", "$_5$"},
      {"₆", "$_6$"},
      {"₇", "$_7$"},
      {"₈", "$_8$"},
      {"₉", "$_9$"},
      {"lambda_", "$\\lambda$ "},
      {"lambda", "$\\lambda$"},
      {"rho_inf", "$\\rho_\\infty$"},
      {"rho", "$\\rho$"},
      {"eta", "$\\eta$"},
      {"Phi", "$\\Phi$"},
      {"Omega", "$\\Omega$"},
      {"theta", "$\\theta$"},
      {"λ", "$\\lambda$"},
      {"η", "$\\eta$"},
      {"Φ", "$\\Phi$"},
      {"ρ", "$\\rho$"},
      {"∞", "$\\infty$"},
      {"α", "$\\alpha$"},
      {"·", "$\\cdot$"},
      {"²", "$^2$"},
      {"³", "$^3$"},
      {"R^3xSO(3)", "$\\mathbb{R}^3\\times SO(3)$"}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto letter = std::find_if(std::begin(letters), std::end(letters), [&](const auto& l) {
      // Whole words only: not the "eta" in "beta".
      const bool begins = static_cast<unsigned char>(l.first[0]) >= 0x80 || at == 0 ||
                          !std::isalnum(static_cast<unsigned char>(text[at - 1]));
      const std::size_t end = at + l.first.size();
      const bool ends = static_cast<unsigned char>(l.first[0]) >= 0x80 || l.first.ends_with('_') ||
                        end >= text.size() || !std::isalnum(static_cast<unsigned char>(text[end]));
      return begins && ends && text.substr(at, l.first.size()) == l.first;
    });
    if (letter != std::end(letters)) {
      out += letter->second;
      at += letter->first.size();
      continue;
    }
    const char c = text[at++];
    switch (c) {
      case '\\':
        out += "\\textbackslash{}";
        break;
      case '~':
        out += "\\textasciitilde{}";
        break;
      case '^':
        out += "\\textasciicircum{}";
        break;
      case '<':
      case '>':
        out += fmt::format("${}$", c);
        break;
      case '#':
      case '$':
      case '%':
      case '&':
      case '_':
      case '{':
      case '}':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

/// "1.23\cdot10^{-5}", or the number itself where that is short.
std::string number(double value) {
  if (!std::isfinite(value)) return "--";
  const std::string plain = fmt::format("{:.4g}", value);
  const std::size_t e = plain.find('e');
  if (e == std::string::npos) return fmt::format("${}$", plain);
  return fmt::format("${}\\cdot10^{{{}}}$", plain.substr(0, e), std::stoi(plain.substr(e + 1)));
}

/// Labels of an axis of less than two decades, where pgfplots writes fractional powers of ten; empty: those of pgfplots are fine.
std::string ticks(char axis, double low, double high) {
  if (!(low > 0.0 && high >= low && high < 100.0 * low)) return "";
  std::string places, labels;
  // A little beyond the data, as the axis is.
  for (int power = static_cast<int>(std::floor(std::log10(low))) - 1; power <= std::log10(high) + 1.0; ++power)
    for (const int digit : {1, 2, 5}) {
      const double place = digit * std::pow(10.0, power);
      if (place < 0.8 * low || place > 1.25 * high) continue;
      places += fmt::format("{}{}e{}", places.empty() ? "" : ",", digit, power);
      labels += fmt::format("{}${}10^{{{}}}$", labels.empty() ? "" : ",",
                            digit == 1 ? "" : fmt::format("{}\\cdot ", digit), power);
    }
  return places.empty() ? ""
                        : fmt::format("{0}tick={{{1}}}, {0}ticklabels={{{2}}}, minor {0} tick style={{draw=none}},\n  ",
                                      axis, places, labels);
}

struct Stretch {
  double low = std::numeric_limits<double>::infinity(), high = 0.0;
  void see(double value) {
    if (std::isfinite(value) && value > 0.0) low = std::min(low, value), high = std::max(high, value);
  }
};

std::string ticks(const ReportPlot& plot) {
  if (!plot.is_log) return "";
  Stretch x, y;
  for (const ReportCurve& curve : plot.curves) {
    for (const std::vector<double>* list : {&curve.x, &curve.x_low, &curve.x_high})
      for (const double value : *list) x.see(value);
    for (const double value : curve.y) y.see(value);
  }
  return ticks('x', x.low, x.high) + ticks('y', y.low, y.high);
}

/// A rectangle of one colour per cell.
std::string cells(const ReportPlot& plot) {
  const std::size_t columns = plot.x_edges.size() - 1;
  std::string out = "\\addplot[patch, patch type=rectangle, shader=flat corner, point meta=explicit] coordinates {";
  for (std::size_t i = 0; i < plot.cells.size(); ++i) {
    if (!std::isfinite(plot.cells[i])) continue;
    const std::size_t x = i % columns, y = i / columns;
    out += "\n ";
    for (const auto& [a, b] : {std::pair{x, y}, {x + 1, y}, {x + 1, y + 1}, {x, y + 1}})
      out += fmt::format(" ({:.8g},{:.8g}) [{:.8g}]", plot.x_edges[a], plot.y_edges[b], plot.cells[i]);
  }
  return out + "};\n";
}

/// The same marks and dashes as in the SVG, in black and white or colour according to the document's cycle list.
std::string picture(const ReportPlot& plot) {
  struct Sign {
    const char *name, *options;
  };
  static constexpr Sign marks[] = {
      {"*", ""}, {"square*", ""}, {"triangle*", ""}, {"diamond*", ""}, {"triangle*", ", rotate=180"}};
  static constexpr const char* dashes[] = {"solid",      "dashed",         "dotted",
                                           "dashdotted", "loosely dashed", "densely dotted"};
  static constexpr const char* colors[] = {"blue",   "orange", "green!60!black", "magenta", "olive",
                                           "violet", "red",    "teal",           "gray"};
  std::string out = "% needs \\usepackage{pgfplots} \\pgfplotsset{compat=1.16}\n\\begin{tikzpicture}\n";
  out += fmt::format(
      "\\begin{{axis}}[{}title={{{}}}, xlabel={{{}}}, ylabel={{{}}}, grid=major, legend pos=outer north east,\n"
      "  {}legend cell align=left, width=9cm, height=7cm]\n",
      plot.kind == "heat"
          ? fmt::format("colorbar, colormap/viridis, colorbar style={{ylabel={{{}}}}}, enlargelimits=false, ",
                        tex(plot.z_label))
      : plot.is_log ? "xmode=log, ymode=log, "
                    : "",
      tex(plot.title), tex(plot.x_label), tex(plot.y_label), ticks(plot));
  if (plot.kind == "heat") return out + cells(plot) + "\\end{axis}\n\\end{tikzpicture}\n";
  double low = std::numeric_limits<double>::infinity(), high = 0.0, bottom = low, top = 0.0;
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const ReportCurve& curve = plot.curves[i];
    const std::size_t count = std::min(curve.x.size(), curve.y.size());
    const bool has_marks = count <= most_marks;
    const bool has_bars = !curve.x_low.empty();
    const char* color = colors[i % std::size(colors)];
    const Sign& sign = marks[i % std::size(marks)];
    std::string hollow;
    out += fmt::format("\\addplot[{}, {}{}{}] coordinates {{", color, dashes[i % std::size(dashes)],
                       has_marks ? fmt::format(", mark={}, mark options={{solid{}}}", sign.name, sign.options) : "",
                       has_bars ? ", error bars/.cd, x dir=both, x explicit, error bar style={solid}" : "");
    for (std::size_t k = 0; k < count; ++k) {
      const bool is_drawn = std::isfinite(curve.x[k]) && std::isfinite(curve.y[k]) &&
                            (!plot.is_log || (curve.x[k] > 0.0 && curve.y[k] > 0.0));
      if (!is_drawn) continue;
      const std::string point = fmt::format("({:.8g},{:.8g})", curve.x[k], curve.y[k]);
      out += fmt::format("{}{}", k % 4 == 0 ? "\n  " : " ", point);
      if (has_marks && k < curve.is_marked.size() && curve.is_marked[k]) hollow += " " + point;
      if (has_bars)
        out += curve.has_bar(k) ? fmt::format(" +=({:.4g},0) -=({:.4g},0)", curve.x_high[k] - curve.x[k],
                                              curve.x[k] - curve.x_low[k])
                                : " +=(0,0) -=(0,0)";
      low = std::min(low, curve.x[k]);
      high = std::max(high, curve.x[k]);
      bottom = std::min(bottom, curve.y[k]);
      top = std::max(top, curve.y[k]);
    }
    const std::string name = curve.order ? fmt::format("{} (order {:.2f})", curve.name, *curve.order) : curve.name;
    out += fmt::format("}};\n\\addlegendentry{{{}}}\n", tex(name));
    if (!hollow.empty())
      out += fmt::format(
          "\\addplot[{}, only marks, mark={}, mark options={{solid, fill=white{}}}, forget plot] coordinates {{{}}};\n",
          color, sign.name, sign.options, hollow);
  }
  if (plot.is_log && high > low)
    for (const ReportSlope& slope : plot.slopes) {
      const Eigen::Vector2d from = slope.through.value_or(Eigen::Vector2d(slope.order >= 0.0 ? high : low, 1.5 * top));
      double to = slope.order >= 0.0 ? low : high, end = from.y() * std::pow(to / from.x(), slope.order);
      if (end < bottom && slope.order != 0.0) {  // the line must not stretch the axis
        end = bottom;
        to = from.x() * std::pow(end / from.y(), 1.0 / slope.order);
      }
      out += fmt::format(
          "\\addplot[gray, dashed, forget plot] coordinates {{({:.8g},{:.8g}) ({:.8g},{:.8g})}} node[right] "
          "{{{:g}}};\n",
          from.x(), from.y(), to, end, slope.order);
    }
  return out + "\\end{axis}\n\\end{tikzpicture}\n";
}

std::string tabular(const ReportTable& table) {
  std::string out = "% needs \\usepackage{booktabs}\n\\begin{tabular}{";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_numeric = std::any_of(table.rows.begin(), table.rows.end(),
                                        [&](const Json& row) { return i < row.size() && row[i].is_number(); });
    out += is_numeric ? 'r' : 'l';
  }
  out += "}\n\\toprule\n";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ReportTable::Head& head = table.columns[i];
    out += fmt::format("{}{}", i == 0 ? "" : " & ", tex(head.name));
    if (!head.unit.empty()) out += fmt::format(" [{}]", tex(head.unit));
  }
  out += " \\\\\n\\midrule\n";
  for (const Json& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Json& cell = row[i];
      out += fmt::format("{}{}", i == 0 ? "" : " & ",
                         cell.is_number()    ? number(cell.get<double>())
                         : cell.is_string()  ? tex(cell.get<std::string>())
                         : cell.is_boolean() ? (cell.get<bool>() ? "yes" : "no")
                                             : "--");
    }
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::vector<Path> write_tex(const ReportData& data, const Path& folder) {
  if (data.plots.empty() && data.tables.empty())
    throw InvalidInput("this result has neither plots nor tables of a study; LaTeX is written for studies only");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_file_error("cannot make the folder", folder, error.value());
  std::vector<Path> files;
  const auto write = [&](const std::string& name, const std::string& text) {
    files.push_back(folder / (name + ".tex"));
    write_atomically(files.back(), text);
  };
  std::vector<std::string> names;
  const auto unique = [&](const std::string& name) {
    const std::string base = file_name_of(name);
    std::string out = base;
    for (int i = 2; std::find(names.begin(), names.end(), out) != names.end(); ++i) out = fmt::format("{}-{}", base, i);
    names.push_back(out);
    return out;
  };
  for (const ReportPlot& plot : data.plots)
    if (plot.kind != "matrix")
      write(unique(plot.title), picture(plot));  // "matrix" has thousands of dots and is better as SVG
  for (const ReportTable& table : data.tables) write(unique("table " + table.title), tabular(table));
  return files;
}

}  // namespace kreisel::io
