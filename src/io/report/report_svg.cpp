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

/// Curves are told apart in black and white too: by dashes, and by marks where there are points.
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

/// A stretch of numbers, straight or logarithmic, laid on a stretch of the picture.
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
    // Less than two decades have at most two such labels, which leave values between them to guess.
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

/// What is drawn: finite points, positive ones on logarithmic axes; NaN separates pieces.
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
    // A picture in the picture clips without a name that several pictures on one page would share.
    const double w = width - left - right, h = height - bottom - top_;
    add("<svg x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3:.1f}\" viewBox=\"{0} {1:.1f} {2} {3:.1f}\" "
        "fill=\"none\" "
        "stroke-width=\"1.4\" stroke-linejoin=\"round\">\n",
        left, top_, w, h);
    if (drawing_.kind == "band" && !drawing_.traces.empty()) paint_bands();
    for (const ReportSlope& slope : drawing_.slopes) paint_slope(slope);
    for (std::size_t i = 0; i < drawing_.traces.size(); ++i) paint_trace(drawing_.traces[i], i);
    add("</svg>\n");
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
  std::size_t legend_rows() const { return (drawing_.traces.size() + entries_per_row() - 1) / entries_per_row(); }

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

std::string spelled_out(std::string text) {
  for (const auto& [letter, word] :
       {std::pair{"λ", "lambda"}, {"η", "eta"}, {"Φ", "Phi"}, {"α", "alpha"}, {"ρ", "rho"}, {"∞", "inf"}})
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

/// Names that differ, whatever file_name_of made of them.
void add_picture(const std::string& name, const Drawing& drawing, std::vector<Picture>& pictures) {
  const std::string base = file_name_of(name);
  std::string unique = base;
  const auto is_taken = [&] {
    return std::any_of(pictures.begin(), pictures.end(),
                       [&](const Picture& picture) { return picture.name == unique; });
  };
  for (int i = 2; is_taken(); ++i) unique = fmt::format("{}-{}", base, i);
  pictures.push_back({unique, Painter(drawing).paint()});
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
      // The panel's name may be all mathematics: the column's name then says which it is.
      const std::string stem = first.substr(0, first.find_first_of("0123456789"));
      const bool is_symbol = std::any_of(panel.name.begin(), panel.name.end(),
                                         [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
      add_picture(fmt::format("{} {}", is_symbol ? stem : panel.name, subject), drawing, pictures);
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
    Drawing drawing{plot.title, plot.x_label, plot.y_label, plot.is_log, plot.is_log, true, {}, plot.slopes, plot.kind};
    for (const ReportCurve& curve : plot.curves) {
      const std::string name = curve.order ? fmt::format("{} (order {:.2f})", curve.name, *curve.order) : curve.name;
      const std::size_t count = std::min(curve.x.size(), curve.y.size());
      drawing.traces.push_back({name,
                                {curve.x.begin(), curve.x.begin() + static_cast<std::ptrdiff_t>(count)},
                                {curve.y.begin(), curve.y.begin() + static_cast<std::ptrdiff_t>(count)},
                                curve.is_marked,
                                bars_of(curve)});
    }
    add_picture(plot.title, drawing, pictures);
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
    throw InvalidInput(
        "this result has no plot; the folder of each figure of 'kreisel reproduce' has those of its own");
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
