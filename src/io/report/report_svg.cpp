// Still pictures for papers: the plots of a report as SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "io/report/report.hpp"
#include "kreisel/error.hpp"

namespace kreisel::io {
namespace {

constexpr double width = 640.0, height = 400.0;
constexpr double left = 76.0, right = 16.0, bottom = 48.0;
constexpr double legend_line = 18.0;
constexpr Eigen::Index points_per_curve = 4000;
/// Longer curves are lines only.
constexpr std::size_t most_markers = 60;
/// Magnitudes over time dip towards zero wherever they change sign; what lies further below the largest is not shown.
constexpr double shown_ratio = 1e8;
// The light colours of viewer/src/style.css.
constexpr const char* colors[] = {"#1f6fb8", "#d2691e", "#2b8a57", "#a63a8e", "#8a6d00",
                                  "#5a54b8", "#c2334d", "#12808a", "#6b6f76"};

/// Curves are distinguishable in black and white too: by dashes, and by marks where there are points.
constexpr const char* dashes[] = {"none", "7 3", "2 2.5", "8 3 2 3", "12 3", "4 2 1 2 1 2"};
enum class Mark { circle, square, triangle, diamond, wedge };
constexpr int mark_count = 5;

/// About (x, y); those of curves with the same colour differ, since 9 colours and 5 marks have no common factor.
std::string mark_at(std::size_t curve, double x, double y, const char* stroke, const char* fill) {
  const auto path = [&](const char* shape) {
    return fmt::format("<path d=\"M{:.2f} {:.2f}{}z\" stroke=\"{}\" fill=\"{}\"/>", x, y, shape, stroke, fill);
  };
  switch (static_cast<Mark>(curve % mark_count)) {
    case Mark::circle:
      break;
    case Mark::square:
      return path("m-2.8 -2.8h5.6v5.6h-5.6");
    case Mark::triangle:
      return path("m0 -3.8l3.6 6.2h-7.2");
    case Mark::diamond:
      return path("m0 -4l3.4 4l-3.4 4l-3.4 -4");
    case Mark::wedge:
      return path("m0 3.8l3.6 -6.2h-7.2");
  }
  return fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3\" stroke=\"{}\" fill=\"{}\"/>", x, y, stroke, fill);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;  // XML has no control characters
    }
  }
  return out;
}

std::string superscript(int number) {
  static constexpr const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string out = number < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(number))) out += digits[c - '0'];
  return out;
}

struct Tick {
  double value;
  std::string label;
};

/// Maps an interval of numbers, linearly or logarithmically, to an interval of the picture.
class Axis {
 public:
  Axis(double low, double high, bool is_log, double from, double to)
      : is_log_(is_log), from_(from), to_(to), low_(scaled(low)), high_(scaled(high)) {}

  double place(double value) const { return from_ + (scaled(value) - low_) / (high_ - low_) * (to_ - from_); }
  double value_at(double place) const {
    const double value = low_ + (place - from_) / (to_ - from_) * (high_ - low_);
    return is_log_ ? std::pow(10.0, value) : value;
  }
  std::vector<Tick> ticks() const { return is_log_ ? powers() : steps(); }

 private:
  double scaled(double value) const { return is_log_ ? std::log10(value) : value; }

  std::vector<Tick> powers() const {
    std::vector<Tick> out;
    const int every = std::max(1, static_cast<int>(std::ceil((high_ - low_) / 7.0)));
    for (int power = static_cast<int>(std::ceil(low_ - 1e-9)); power <= high_ + 1e-9; ++power)
      if (power % every == 0) out.push_back({std::pow(10.0, power), "10" + superscript(power)});
    // Less than two decades have at most two such labels, too few to read values between them.
    if (high_ - low_ < 2.0)
      for (int power = static_cast<int>(std::floor(low_)); power <= high_; ++power)
        for (const int digit : {2, 5})
          if (const double place = power + std::log10(digit); place >= low_ && place <= high_)
            out.push_back({std::pow(10.0, place), fmt::format("{}·10{}", digit, superscript(power))});
    return out;
  }

  std::vector<Tick> steps() const {
    const double rough = (high_ - low_) / 5.0, power = std::pow(10.0, std::floor(std::log10(rough)));
    const double step = power * (rough / power > 5.0   ? 10.0
                                 : rough / power > 2.0 ? 5.0
                                 : rough / power > 1.0 ? 2.0
                                                       : 1.0);
    std::vector<Tick> out;
    for (double k = std::ceil(low_ / step); k * step <= high_ + 1e-9 * step && out.size() < 20; ++k) {
      const double value = k == 0.0 ? 0.0 : k * step;
      out.push_back({value, fmt::format("{:.6g}", value)});
    }
    return out;
  }

  bool is_log_;
  double from_, to_, low_, high_;
};

/// Viridis (Smith and van der Walt 2015) at equal distances: equal steps look equal, also without colours. The same colours
/// are in viewer/src/heat.ts.
constexpr int viridis[][3] = {{68, 1, 84},    {71, 45, 123}, {59, 82, 139},  {44, 114, 142}, {33, 145, 140},
                              {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37}};

/// part: from 0 to 1.
std::string heat(double part) {
  const double place = std::clamp(part, 0.0, 1.0) * (std::size(viridis) - 1);
  const auto below = std::min(static_cast<std::size_t>(place), std::size(viridis) - 2);
  const double rest = place - static_cast<double>(below);
  const auto mixed = [&](int c) {
    return static_cast<int>(std::lround((1.0 - rest) * viridis[below][c] + rest * viridis[below + 1][c]));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(0), mixed(1), mixed(2));
}

/// The points to draw: finite, and positive on logarithmic axes; NaN separates pieces.
struct Trace {
  std::string name;
  std::vector<double> x, y;
  std::vector<bool> is_hollow;
  std::vector<std::pair<double, double>> bars{};  ///< ends of x by point; NaN: none
};

struct Drawing {
  std::string title, x_label, y_label;
  bool is_x_log = false, is_y_log = false, has_points = false;
  std::vector<Trace> traces;
  std::vector<ReportSlope> slopes;
  std::string kind{};  ///< of ReportPlot
  const ReportPlot* plot = nullptr;
};

class Painter {
 public:
  explicit Painter(const Drawing& drawing)
      : drawing_(drawing),
        top_(30.0 + legend_line * static_cast<double>(legend_rows())),
        x_(make_axis(true)),
        y_(make_axis(false)) {}

  std::string paint() {
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#1d1f21\">\n",
        width, height, width, height);
    add("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", width, height);
    paint_frame();
    // A nested svg clips without an id, which several pictures on one page would share.
    const double w = width - left - right, h = height - bottom - top_;
    add("<svg x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3:.1f}\" viewBox=\"{0} {1:.1f} {2} {3:.1f}\" "
        "fill=\"none\" "
        "stroke-width=\"1.4\" stroke-linejoin=\"round\">\n",
        left, top_, w, h);
    if (drawing_.kind == "band" && !drawing_.traces.empty()) paint_bands();
    if (drawing_.plot != nullptr && drawing_.kind == "heat") paint_cells(*drawing_.plot);
    for (const ReportSlope& slope : drawing_.slopes) paint_slope(slope);
    for (std::size_t i = 0; i < drawing_.traces.size(); ++i) paint_trace(drawing_.traces[i], i);
    add("</svg>\n");
    if (drawing_.plot != nullptr && drawing_.kind == "heat")
      paint_scale(*drawing_.plot);
    else
      paint_legend();
    add("</svg>\n");
    return std::move(out_);
  }

 private:
  static const char* color(std::size_t i) { return colors[i % std::size(colors)]; }
  static const char* dash(std::size_t i) { return dashes[i % std::size(dashes)]; }
  bool has_marks(const Trace& trace) const {
    return drawing_.kind.empty() && drawing_.has_points && trace.x.size() <= most_markers;
  }

  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_ += fmt::format(format, std::forward<Arguments>(arguments)...);
  }

  // ---- legend: entries in rows below the title

  double entry_width() const {
    std::size_t longest = 0;
    for (const Trace& trace : drawing_.traces) longest = std::max(longest, trace.name.size());
    return 34.0 + 7.0 * static_cast<double>(std::min<std::size_t>(longest, 60));
  }
  std::size_t entries_per_row() const {
    return std::max<std::size_t>(1, static_cast<std::size_t>((width - left - right) / entry_width()));
  }
  std::size_t legend_rows() const {
    if (drawing_.kind == "heat") return 1;
    return (drawing_.traces.size() + entries_per_row() - 1) / entries_per_row();
  }

  void paint_legend() {
    for (std::size_t i = 0; i < drawing_.traces.size(); ++i) {
      const double x = left + entry_width() * static_cast<double>(i % entries_per_row());
      const double y = 36.0 + legend_line * static_cast<double>(i / entries_per_row());
      add("<path d=\"M{:.1f} {:.1f}h20\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>", x, y - 4.0,
          color(i), dash(i));
      if (has_marks(drawing_.traces[i])) add("{}", mark_at(i, x + 10.0, y - 4.0, color(i), color(i)));
      add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 26.0, y, escaped(drawing_.traces[i].name));
    }
  }

  // ---- axes

  Axis make_axis(bool is_x) const {
    if (drawing_.plot != nullptr && drawing_.kind == "heat") {
      const std::vector<double>& edges = is_x ? drawing_.plot->x_edges : drawing_.plot->y_edges;
      return is_x ? Axis(edges.front(), edges.back(), false, left, width - right)
                  : Axis(edges.front(), edges.back(), false, height - bottom, top_);
    }
    const bool is_log = is_x ? drawing_.is_x_log : drawing_.is_y_log;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Trace& trace : drawing_.traces)
      for (std::size_t i = 0; i < trace.x.size(); ++i) {
        if (!is_drawn(trace.x[i], trace.y[i])) continue;
        const double value = is_x ? trace.x[i] : trace.y[i];
        const bool has_bar = is_x && i < trace.bars.size() && std::isfinite(trace.bars[i].first);
        low = std::min(low, has_bar ? trace.bars[i].first : value);
        high = std::max(high, has_bar ? trace.bars[i].second : value);
      }
    if (!(low <= high)) low = is_log ? 0.1 : -1.0, high = 1.0;
    if (is_log && !drawing_.has_points) low = std::max(low, high / shown_ratio);
    const double part = is_x && !drawing_.has_points ? 0.0 : 0.05;
    if (is_log) {
      const double factor =
          std::max(high / low < 10.0 ? std::sqrt(12.0 * low / high) : 1.0, std::pow(high / low, part));
      low /= factor;
      high *= factor;
    } else {
      const double size = std::max(std::abs(low), std::abs(high));
      const double air = high - low > 1e-12 * size ? part * (high - low) : size > 0.0 ? 0.1 * size : 1.0;
      low -= air;
      high += air;
    }
    return is_x ? Axis(low, high, is_log, left, width - right) : Axis(low, high, is_log, height - bottom, top_);
  }

  bool is_drawn(double x, double y) const {
    return std::isfinite(x) && std::isfinite(y) && (!drawing_.is_x_log || x > 0.0) && (!drawing_.is_y_log || y > 0.0);
  }

  void paint_frame() {
    add("<text x=\"{}\" y=\"18\" font-weight=\"600\" font-size=\"13\">{}</text>\n", left, escaped(drawing_.title));
    add("<g stroke=\"#e2e2de\">");
    for (const Tick& tick : x_.ticks())
      add("<path d=\"M{:.1f} {:.1f}V{}\"/>", x_.place(tick.value), top_, height - bottom);
    for (const Tick& tick : y_.ticks()) add("<path d=\"M{} {:.1f}H{}\"/>", left, y_.place(tick.value), width - right);
    add("</g>\n<g fill=\"#55595e\" font-size=\"11\">");
    for (const Tick& tick : x_.ticks())
      add("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x_.place(tick.value), height - bottom + 16.0,
          tick.label);
    for (const Tick& tick : y_.ticks())
      add("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 6.0, y_.place(tick.value) + 4.0,
          tick.label);
    add("</g>\n<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#9a9da2\"/>\n", left,
        top_, width - left - right, height - bottom - top_);
    add("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", 0.5 * (left + width - right), height - 12.0,
        escaped(drawing_.x_label));
    add("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        0.5 * (top_ + height - bottom), escaped(drawing_.y_label));
  }

  // ---- curves

  void paint_trace(const Trace& trace, std::size_t curve) {
    const char* stroke = color(curve);
    if (drawing_.kind == "points") {
      add("<g stroke=\"none\" fill=\"{}\" fill-opacity=\"0.6\">", stroke);
      for (std::size_t i = 0; i < trace.x.size(); ++i)
        if (is_drawn(trace.x[i], trace.y[i]))
          add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.8\"/>", x_.place(trace.x[i]), y_.place(trace.y[i]));
      add("</g>\n");
      return;
    }
    if (drawing_.kind == "histogram")
      add("<path stroke=\"{0}\" fill=\"{0}\" fill-opacity=\"0.25\" d=\"", stroke);
    else
      add("<path stroke=\"{}\" stroke-dasharray=\"{}\" d=\"", stroke, dash(curve));
    bool is_pen_down = false;
    for (std::size_t i = 0; i < trace.x.size(); ++i) {
      const bool draws = is_drawn(trace.x[i], trace.y[i]);
      if (draws) add("{}{:.2f} {:.2f}", is_pen_down ? "L" : "M", x_.place(trace.x[i]), y_.place(trace.y[i]));
      is_pen_down = draws;
    }
    add("\"/>\n");
    if (!has_marks(trace)) return;
    for (std::size_t i = 0; i < trace.x.size(); ++i) {
      if (!is_drawn(trace.x[i], trace.y[i])) continue;
      if (i < trace.bars.size() && std::isfinite(trace.bars[i].first))
        add("<path class=\"spread\" stroke=\"{0}\" stroke-width=\"1\" d=\"M{1:.2f} {3:.2f}v7M{2:.2f} {3:.2f}v7M{1:.2f} "
            "{4:.2f}H{2:.2f}\"/>",
            stroke, x_.place(trace.bars[i].first), x_.place(trace.bars[i].second), y_.place(trace.y[i]) - 3.5,
            y_.place(trace.y[i]));
      const bool is_hollow = i < trace.is_hollow.size() && trace.is_hollow[i];
      add("{}", mark_at(curve, x_.place(trace.x[i]), y_.place(trace.y[i]), stroke, is_hollow ? "#ffffff" : stroke));
    }
    add("\n");
  }

  void paint_cells(const ReportPlot& plot) {
    const auto [low, high] = range_of(plot.cells);
    const std::size_t columns = plot.x_edges.size() - 1;
    for (std::size_t i = 0; i < plot.cells.size(); ++i) {
      if (!std::isfinite(plot.cells[i])) continue;
      const std::size_t column = i % columns, line = i / columns;
      const double x = x_.place(plot.x_edges[column]), y = y_.place(plot.y_edges[line + 1]);
      // A little larger, so that no gaps appear between them.
      add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>", x, y,
          x_.place(plot.x_edges[column + 1]) - x + 0.3, y_.place(plot.y_edges[line]) - y + 0.3,
          heat(high > low ? (plot.cells[i] - low) / (high - low) : 0.5));
    }
    add("\n");
  }

  /// The scale of the colours, in place of a legend.
  void paint_scale(const ReportPlot& plot) {
    const auto [low, high] = range_of(plot.cells);
    constexpr int pieces = 64;
    constexpr double bar = 160.0;
    const std::string from = fmt::format("{}: {:.4g}", plot.z_label, low);
    const double begin = left + 8.0 + 6.6 * static_cast<double>(from.size());
    add("<text x=\"{}\" y=\"36\">{}</text>", left, escaped(from));
    for (int i = 0; i < pieces; ++i)
      add("<rect x=\"{:.2f}\" y=\"27\" width=\"{:.2f}\" height=\"10\" fill=\"{}\"/>", begin + bar * i / pieces,
          bar / pieces + 0.3, heat((i + 0.5) / pieces));
    add("<text x=\"{:.1f}\" y=\"36\">{:.4g}</text>\n", begin + bar + 8.0, high);
  }

  static std::pair<double, double> range_of(const std::vector<double>& values) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : values)
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    return {low, high};
  }

  /// Between the first and the last curve, then between the next ones inwards; all have the same abscissae.
  void paint_bands() {
    for (std::size_t low = 0, high = drawing_.traces.size() - 1; low < high; ++low, --high) {
      const Trace &from = drawing_.traces[low], &to = drawing_.traces[high];
      add("<path stroke=\"none\" fill=\"{}\" fill-opacity=\"0.18\" d=\"", color(0));
      bool is_pen_down = false;
      for (const Trace* trace : {&from, &to})
        for (std::size_t k = 0; k < trace->x.size(); ++k) {
          const std::size_t i = trace == &from ? k : trace->x.size() - 1 - k;
          if (!is_drawn(trace->x[i], trace->y[i])) continue;
          add("{}{:.2f} {:.2f}", is_pen_down ? "L" : "M", x_.place(trace->x[i]), y_.place(trace->y[i]));
          is_pen_down = true;
        }
      add("Z\"/>\n");
    }
  }

  void paint_slope(const ReportSlope& slope) {
    if (!drawing_.is_x_log || !drawing_.is_y_log) return;
    double low = std::numeric_limits<double>::infinity(), high = 0.0, top = 0.0;
    for (const Trace& trace : drawing_.traces)
      for (std::size_t i = 0; i < trace.x.size(); ++i) {
        if (!is_drawn(trace.x[i], trace.y[i])) continue;
        low = std::min(low, trace.x[i]);
        high = std::max(high, trace.x[i]);
        top = std::max(top, trace.y[i]);
      }
    if (high == 0.0) return;
    const Eigen::Vector2d from = slope.through.value_or(Eigen::Vector2d(slope.order >= 0.0 ? high : low, 1.5 * top));
    double to_x = slope.order >= 0.0 ? low : high, to_y = from.y() * std::pow(to_x / from.x(), slope.order);
    if (!is_drawn(to_x, to_y)) return;
    const double floor = height - bottom - 4.0;
    if (y_.place(to_y) > floor && slope.order != 0.0) {  // the label is placed where the line leaves the picture
      to_y = y_.value_at(floor);
      to_x = from.x() * std::pow(to_y / from.y(), 1.0 / slope.order);
    }
    add("<path stroke=\"#8d9095\" stroke-width=\"1\" stroke-dasharray=\"5 4\" d=\"M{:.2f} {:.2f}L{:.2f} {:.2f}\"/>",
        x_.place(from.x()), y_.place(from.y()), x_.place(to_x), y_.place(to_y));
    add("<text fill=\"#63676c\" font-size=\"11\" x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n", x_.place(to_x),
        y_.place(to_y) - 5.0, slope.order);
  }

  const Drawing& drawing_;
  double top_;
  Axis x_, y_;
  std::string out_;
};

/// Every pair of columns: dots below the diagonal, histograms on it, correlations above.
class MatrixPainter {
 public:
  explicit MatrixPainter(const ReportPlot& plot) : plot_(plot) {}

  std::string paint() {
    const std::size_t count = plot_.curves.size();
    side_ = (size - margin - 8.0) / static_cast<double>(count);
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"11\" fill=\"#1d1f21\">\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"#ffffff\"/>\n<text x=\"8\" y=\"18\" font-weight=\"600\" font-size=\"13\">{2}</text>\n",
        size, size + top, escaped(plot_.title));
    for (std::size_t line = 0; line < count; ++line)
      for (std::size_t column = 0; column < count; ++column) {
        const double x = margin + side_ * static_cast<double>(column), y = top + side_ * static_cast<double>(line);
        if (column < line)
          paint_dots(column, line, x, y);
        else if (column == line)
          paint_histogram(line, x, y);
        else
          paint_number(plot_.correlations[line * count + column], x, y);
      }
    for (std::size_t i = 0; i < count; ++i) {
      const double middle = side_ * (static_cast<double>(i) + 0.5);
      const std::string name = escaped(shortened(plot_.curves[i].name));
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", margin + middle,
          size + top - margin + 26.0, name);
      add("<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n", top + middle,
          name);
    }
    add("</svg>\n");
    return std::move(out_);
  }

 private:
  static constexpr double size = 640.0, margin = 40.0, top = 26.0, air = 4.0;

  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    out_ += fmt::format(format, std::forward<Arguments>(arguments)...);
  }
  std::string shortened(const std::string& name) const {
    const auto room = static_cast<std::size_t>(side_ / 6.0);
    return name.size() > room ? name.substr(0, room > 1 ? room - 1 : 1) + "…" : name;
  }
  void frame(double x, double y) {
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" stroke=\"#c8c9c6\"/>", x, y,
        side_ - 2.0, side_ - 2.0);
  }
  static std::pair<double, double> range_of(const ReportCurve& column) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : column.y)
      if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
    return high > low ? std::pair{low, high} : std::pair{low - 1.0, low + 1.0};
  }
  void paint_dots(std::size_t column, std::size_t line, double x, double y) {
    frame(x, y);
    const ReportCurve &a = plot_.curves[column], &b = plot_.curves[line];
    const auto [a_low, a_high] = range_of(a);
    const auto [b_low, b_high] = range_of(b);
    const double room = side_ - 2.0 - 2.0 * air;
    for (const bool is_failed : {false, true}) {
      add("<g fill=\"{}\" fill-opacity=\"0.55\">", is_failed ? "#b3261e" : colors[0]);
      for (std::size_t i = 0; i < std::min(a.y.size(), b.y.size()); ++i)
        if ((i < a.is_marked.size() && a.is_marked[i]) == is_failed && std::isfinite(a.y[i]) && std::isfinite(b.y[i]))
          add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"1.2\"/>", x + air + room * (a.y[i] - a_low) / (a_high - a_low),
              y + air + room * (b_high - b.y[i]) / (b_high - b_low));
      add("</g>\n");
    }
  }
  void paint_histogram(std::size_t column, double x, double y) {
    frame(x, y);
    constexpr std::size_t bins = 16;
    const auto [low, high] = range_of(plot_.curves[column]);
    std::size_t counts[bins] = {}, most = 1;
    for (const double value : plot_.curves[column].y)
      if (std::isfinite(value))
        ++counts[std::min(bins - 1, static_cast<std::size_t>((value - low) / (high - low) * bins))];
    for (const std::size_t count : counts) most = std::max(most, count);
    const double room = side_ - 2.0 - 2.0 * air, one = room / bins;
    for (std::size_t i = 0; i < bins; ++i) {
      const double tall = room * static_cast<double>(counts[i]) / static_cast<double>(most);
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" fill-opacity=\"0.45\"/>",
          x + air + one * static_cast<double>(i), y + air + room - tall, one, tall, colors[0]);
    }
    add("\n");
  }
  void paint_number(double correlation, double x, double y) {
    if (!std::isfinite(correlation)) return;
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"{:.1f}\" "
        "fill-opacity=\"{:.2f}\">{:.2f}</text>\n",
        x + 0.5 * side_, y + 0.5 * side_ + 4.0, 11.0 + 5.0 * std::abs(correlation), 0.45 + 0.55 * std::abs(correlation),
        correlation);
  }

  const ReportPlot& plot_;
  double side_ = 0.0;
  std::string out_;
};

std::string spelled_out(std::string text) {
  for (const auto& [letter, word] : {std::pair{"λ", "lambda"},
                                     {"η", "eta"},
                                     {"Φ", "Phi"},
                                     {"α", "alpha"},
                                     {"ρ", "rho"},
                                     {"∞", "inf"},
                                     {"θ", "theta"},
                                     {"Ω", "Omega"},
                                     {"₀", "-0"},
                                     {"₁", "-1"},
                                     {"₂", "-2"},
                                     {"₃", "-3"},
                                     {"₄", "-4"},
                                     {"₅", "-5"},
                                     {"₆", "-6"},
                                     {"₇", "-7"},
                                     {"₈", "-8"},
                                     {"₉", "-9"}})
    for (std::size_t at = text.find(letter); at != std::string::npos; at = text.find(letter))
      text.replace(at, std::string_view(letter).size(), word);
  return text;
}

}  // namespace

std::string file_name_of(const std::string& name) {
  const std::string text = spelled_out(name);
  std::string out;
  for (const char c : text) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_kept)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-' && static_cast<unsigned char>(c) < 0x80)
      out += '-';
    if (out.size() > 80) break;
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "plot" : out;
}

namespace {

Trace trace_of(const ReportSeries& series, Column time, bool is_log) {
  Trace trace{series.name, {}, {}, {}};
  for (const Eigen::Index index : indices_with_extrema(series.values, points_per_curve)) {
    const auto i = static_cast<std::size_t>(index);
    trace.x.push_back(time[i]);
    trace.y.push_back(is_log ? std::abs(series.values[i]) : series.values[i]);
  }
  return trace;
}

std::string with_unit(const std::string& name, const std::string& unit) {
  return unit.empty() ? name : fmt::format("{} [{}]", name, unit);
}

/// Distinct names, also where file_name_of maps two of them to one.
void add_picture(const std::string& name, std::string svg, std::vector<Picture>& pictures) {
  const std::string base = file_name_of(name);
  std::string unique = base;
  const auto is_taken = [&] {
    return std::any_of(pictures.begin(), pictures.end(),
                       [&](const Picture& picture) { return picture.name == unique; });
  };
  for (int i = 2; is_taken(); ++i) unique = fmt::format("{}-{}", base, i);
  pictures.push_back({unique, std::move(svg)});
}

void add_run(const ReportData& data, std::vector<Picture>& pictures) {
  for (const ReportPanel& panel : data.panels) {
    std::vector<std::string> subjects;
    for (const ReportSeries& series : data.series)
      if (series.panel == panel.name && std::find(subjects.begin(), subjects.end(), series.of) == subjects.end())
        subjects.push_back(series.of);
    for (const std::string& subject : subjects) {
      Drawing drawing;
      drawing.title = subject.empty() ? panel.name : fmt::format("{}: {}", panel.name, subject);
      drawing.x_label = "t [s]";
      drawing.is_y_log = panel.is_log;
      std::string first;
      for (const ReportSeries& series : data.series) {
        if (series.panel != panel.name || series.of != subject) continue;
        if (drawing.traces.empty()) first = series.name, drawing.y_label = with_unit(panel.name, series.unit);
        drawing.traces.push_back(trace_of(series, data.time, panel.is_log));
      }
      // The panel's name may consist of symbols only; then the column's name identifies it.
      const std::string stem = first.substr(0, first.find_first_of("0123456789"));
      const bool is_symbol = std::any_of(panel.name.begin(), panel.name.end(),
                                         [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
      add_picture(fmt::format("{} {}", is_symbol ? stem : panel.name, subject), Painter(drawing).paint(), pictures);
    }
  }
}

std::vector<std::pair<double, double>> bars_of(const ReportCurve& curve) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<double, double>> bars;
  for (std::size_t i = 0; i < curve.x_low.size(); ++i)
    bars.emplace_back(curve.has_bar(i) ? curve.x_low[i] : none, curve.has_bar(i) ? curve.x_high[i] : none);
  return bars;
}

void add_study(const ReportData& data, std::vector<Picture>& pictures) {
  for (const ReportPlot& plot : data.plots) {
    if (plot.kind == "matrix") {
      add_picture(plot.title, MatrixPainter(plot).paint(), pictures);
      continue;
    }
    Drawing drawing{plot.title, plot.x_label, plot.y_label, plot.is_log, plot.is_log,
                    true,       {},           plot.slopes,  plot.kind,   &plot};
    for (const ReportCurve& curve : plot.curves) {
      const std::string name = curve.order ? fmt::format("{} (order {:.2f})", curve.name, *curve.order) : curve.name;
      const std::size_t count = std::min(curve.x.size(), curve.y.size());
      drawing.traces.push_back({name,
                                {curve.x.begin(), curve.x.begin() + static_cast<std::ptrdiff_t>(count)},
                                {curve.y.begin(), curve.y.begin() + static_cast<std::ptrdiff_t>(count)},
                                curve.is_marked,
                                bars_of(curve)});
    }
    add_picture(plot.title, Painter(drawing).paint(), pictures);
  }
}

}  // namespace

std::vector<Picture> report_pictures(const ReportData& data) {
  std::vector<Picture> pictures;
  add_run(data, pictures);
  add_study(data, pictures);
  return pictures;
}

std::vector<Path> write_pictures(const ReportData& data, const Path& folder) {
  const std::vector<Picture> pictures = report_pictures(data);
  if (pictures.empty())
    throw InvalidInput("this result has no plot; with 'kreisel reproduce' the folder of each figure holds its plots");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw_file_error("cannot make the folder", folder, error.value());
  std::vector<Path> files;
  for (const Picture& picture : pictures) {
    files.push_back(folder / (picture.name + ".svg"));
    write_atomically(files.back(), picture.svg);
  }
  return files;
}

}  // namespace kreisel::io
