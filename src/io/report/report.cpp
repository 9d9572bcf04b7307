#include "io/report/report.hpp"

#include <fmt/format.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "io/json/base64.hpp"
#include "io/trajectory/long_trajectory.hpp"
#include "kreisel/version.hpp"
#include "viewer_page.hpp"

namespace kreisel::io {
namespace {

constexpr int data_format = 1;
constexpr std::string_view empty_block = R"(<script type="application/json" id="kreisel-data">null</script>)";

std::string dumped(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

using Index = Eigen::Index;

/// JSON text that grows. Numbers have as many digits as a plot can show.
class JsonText {
 public:
  void raw(std::string_view text) { out_.append(text); }
  void key(std::string_view name) {
    separate();
    out_ += fmt::format("\"{}\":", name);
    needs_comma_ = false;
  }
  void text(const std::string& value) { item(dumped(value)); }
  void json(const Json& value) { item(dumped(value)); }
  void flag(bool value) { item(value ? "true" : "false"); }
  void whole(Index value) {
    separate();
    out_ += fmt::format("{}", value);
  }
  void number(double value, int digits = 7) {
    separate();
    if (!std::isfinite(value)) return raw("null");
    if (value == 0.0) return raw("0");
    out_ += fmt::format("{:.{}g}", value, digits);
  }
  void open(char bracket) {
    separate();
    out_.push_back(bracket);
    needs_comma_ = false;
  }
  void close(char bracket) {
    out_.push_back(bracket);
    needs_comma_ = true;
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (needs_comma_) out_.push_back(',');
    needs_comma_ = true;
  }
  void item(std::string_view value) {
    separate();
    raw(value);
  }

  std::string out_;
  bool needs_comma_ = false;
};

/// Increments instead of indices: short numbers.
void write_indices(const std::vector<Index>& indices, JsonText& out) {
  out.open('[');
  Index before = 0;
  for (const Index index : indices) {
    out.whole(index - before);
    before = index;
  }
  out.close(']');
}

void write_text_field(std::string_view name, const std::string& value, JsonText& out) {
  if (value.empty()) return;
  out.key(name);
  out.text(value);
}

/// Lists shorter than this stay readable; others are bytes in base 64.
constexpr std::size_t readable = 64;

/// Little endian, whatever the machine.
template <class Number, class Bits>
void append_bytes(Number value, std::string& out) {
  Bits bits = 0;
  static_assert(sizeof bits == sizeof value);
  std::memcpy(&bits, &value, sizeof bits);
  for (std::size_t i = 0; i < sizeof bits; ++i) out += static_cast<char>(bits >> (8U * i) & 255U);
}
void append_single(double value, std::string& out) {
  append_bytes<float, std::uint32_t>(static_cast<float>(value), out);
}

Index points_per_series(const ReportData& data, const ReportLimits& limits) {
  const auto count = std::max<Index>(1, static_cast<Index>(data.series.size()));
  return std::clamp<Index>(limits.series_values / count, 8, std::max<Index>(8, limits.values_per_series));
}

Index frame_limit(const ReportData& data, const ReportLimits& limits) {
  std::size_t along = 0;
  for (const ReportRod& rod : data.rods)
    for (const ReportRod::Quantity& quantity : rod.quantities) along += quantity.columns.size();
  const auto per_frame = static_cast<Index>(5 * data.bodies.size() + 6 * data.forces.size() + along);
  return std::clamp<Index>(limits.pose_numbers / std::max<Index>(1, per_frame), 8, std::max<Index>(8, limits.frames));
}

/// The local server can give the extremes of any column, so the page requests those it shows.
bool lacks_values(const ReportData& data, const ReportSeries& series) {
  return data.is_served && data.points > 0 && series.column >= 0 && !series.values.empty() &&
         data.pieces->has_extremes();
}

/// Which points of a run are shown.
struct Selection {
  std::vector<std::vector<Index>> series;
  std::vector<Index> frames;
  std::vector<Index> times;  ///< all of the above
  std::vector<Index> place;  ///< in `times`, per point; -1: not there

  Selection(const ReportData& data, const ReportLimits& limits) : place(data.time.size(), -1) {
    for (const ReportSeries& one : data.series)
      series.push_back(indices_with_extrema(one.values, points_per_series(data, limits)));
    if (!data.bodies.empty()) frames = indices_evenly_spaced(data.time, frame_limit(data, limits));
    for (const auto& indices : series) mark(indices);
    mark(frames);
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (place[i] < 0) continue;
      place[i] = static_cast<Index>(times.size());
      times.push_back(static_cast<Index>(i));
    }
  }

  std::vector<Index> places_of(const std::vector<Index>& indices) const {
    std::vector<Index> out;
    for (const Index i : indices) out.push_back(place[static_cast<std::size_t>(i)]);
    return out;
  }

 private:
  void mark(const std::vector<Index>& indices) {
    for (const Index i : indices) place[static_cast<std::size_t>(i)] = 0;
  }
};

/// Values on a grid of 2^20 steps over their range, as differences of differences in one to four bytes: half as long as single precision.
/// Null: one of them is no number, or the range cannot be parted.
Json on_grid(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  const double step = (most - least) / (1 << 20);
  const bool is_known = std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
  if (!is_known || !(step == 0.0 || std::isnormal(step))) return nullptr;
  std::vector<std::int64_t> whole;
  for (const double value : values) whole.push_back(step > 0.0 ? std::llround((value - least) / step) : 0);
  std::string shortest;
  int order = 0;
  for (int k = 1; k <= 3; ++k) {
    for (std::size_t i = whole.size(); i-- > 1;) whole[i] -= whole[i - 1];
    std::string bytes;
    for (const std::int64_t difference : whole) {
      auto rest = static_cast<std::uint64_t>(difference < 0 ? -2 * difference - 1 : 2 * difference);
      for (; rest > 127; rest >>= 7U) bytes += static_cast<char>(128U | (rest & 127U));
      bytes += static_cast<char>(rest);
    }
    if (order > 0 && bytes.size() >= shortest.size()) continue;
    shortest = std::move(bytes);
    order = k;
  }
  return {{"low", least}, {"step", step}, {"order", order}, {"bytes", base64(shortest)}};
}

/// Single precision counts from the first value, so that small changes of large values are kept. On logarithmic axes small values matter as
/// much as large ones.
void write_values(Column values, const std::vector<Index>& indices, bool is_log, JsonText& out) {
  const auto value = [&](Index i) { return values[static_cast<std::size_t>(i)]; };
  if (indices.size() <= readable) {
    out.key("values");
    out.open('[');
    for (const Index i : indices) out.number(value(i));
    return out.close(']');
  }
  // Plane mechanisms have many: a third of the numbers of some pages.
  if (const double constant = value(indices.front());
      std::isfinite(constant) && std::ranges::all_of(indices, [&](Index i) { return value(i) == constant; })) {
    out.key("constant");
    return out.number(constant, 17);
  }
  std::vector<double> chosen;
  for (const Index i : indices) chosen.push_back(value(i));
  if (const Json grid = is_log ? Json() : on_grid(chosen); !grid.is_null()) {
    out.key("values");
    return out.json(grid);
  }
  const auto first = std::ranges::find_if(indices, [&](Index i) { return std::isfinite(value(i)); });
  const double base = first == indices.end() ? 0.0 : value(*first);
  std::string bytes;
  bytes.reserve(4 * indices.size());
  for (const Index i : indices) append_single(value(i) - base, bytes);
  out.key("base");
  out.number(base, 17);
  out.key("values");
  out.json(base64(bytes));
}

void write_series(const ReportData& data, const Selection& selection, JsonText& out) {
  out.key("series");
  out.open('[');
  for (std::size_t k = 0; k < data.series.size(); ++k) {
    const ReportSeries& series = data.series[k];
    const std::vector<Index>& indices = selection.series[k];
    out.open('{');
    write_text_field("group", series.group, out);
    write_text_field("panel", series.panel, out);
    write_text_field("of", series.of, out);
    write_text_field("name", series.name, out);
    write_text_field("unit", series.unit, out);
    if (lacks_values(data, series)) {
      out.key("column");
      out.whole(series.column);
      const auto [low, high] = data.pieces->range(series.column);
      out.key("range");
      out.open('[');
      for (const double value : {series.values.front(), low, high, series.values.back()}) out.number(value);
      out.close(']');
      out.close('}');
      continue;
    }
    if (indices.size() < selection.times.size()) {
      out.key("at");
      write_indices(selection.places_of(indices), out);
    }
    if (data.is_served && series.column >= 0 && (data.points > 0 || indices.size() < series.values.size())) {
      out.key("column");
      out.whole(series.column);
    }
    const auto panel = std::ranges::find(data.panels, series.panel, &ReportPanel::name);
    write_values(series.values, indices, panel != data.panels.end() && panel->is_log, out);
    out.close('}');
  }
  out.close(']');
}

/// `width` numbers per frame.
template <class Values>
void write_rows(std::size_t width, const std::vector<Index>& frames, int digits, const Values& values, JsonText& out) {
  if (frames.size() <= readable) {
    out.open('[');
    for (const Index i : frames) {
      out.open('[');
      for (std::size_t k = 0; k < width; ++k) out.number(values(k, i), digits);
      out.close(']');
    }
    return out.close(']');
  }
  std::vector<std::vector<double>> columns(width);
  for (const Index i : frames)
    for (std::size_t k = 0; k < width; ++k) columns[k].push_back(values(k, i));
  Json grids = Json::array();
  for (const std::vector<double>& column : columns) grids.push_back(on_grid(column));
  if (width > 0 && std::ranges::none_of(grids, [](const Json& grid) { return grid.is_null(); })) return out.json(grids);
  std::string bytes;
  bytes.reserve(4 * width * frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i)
    for (std::size_t k = 0; k < width; ++k) append_single(columns[k][i], bytes);
  out.json(base64(bytes));
}

/// Unit quaternions x, y, z, w in 16 bits each: within 3e-5 rad.
std::string turns_of(const ReportBody& body, const std::vector<Index>& frames) {
  std::string bytes;
  for (const Index i : frames) {
    Matrix3 R;
    for (std::size_t k = 0; k < 9; ++k)
      R(static_cast<Index>(k / 3), static_cast<Index>(k % 3)) = body.R[k][static_cast<std::size_t>(i)];
    const Eigen::Quaterniond q = Eigen::Quaterniond(R).normalized();
    for (const double part : {q.x(), q.y(), q.z(), q.w()}) {
      const double whole = std::isfinite(part) ? std::round(32767.0 * part) : 0.0;
      append_bytes<std::int16_t, std::uint16_t>(static_cast<std::int16_t>(whole), bytes);
    }
  }
  return base64(bytes);
}

void write_bodies(const ReportData& data, const std::vector<Index>& frames, JsonText& out) {
  if (!data.up.isZero()) {
    out.key("up");
    out.json({data.up.x(), data.up.y(), data.up.z()});
  }
  if (data.gravity > 0.0) {
    out.key("gravity");
    out.number(data.gravity);
  }
  out.key("bodies");
  out.open('[');
  for (const ReportBody& body : data.bodies) {
    out.open('{');
    out.key("name");
    out.text(body.name);
    out.key("shape");
    out.json(body.shape);
    out.key("x");
    write_rows(
        3, frames, 6, [&](std::size_t k, Index i) { return body.x[k][static_cast<std::size_t>(i)]; }, out);
    if (frames.size() <= readable) {
      out.key("R");
      const auto entry = [&](std::size_t k, Index i) {
        return std::round(body.R[k][static_cast<std::size_t>(i)] * 1e6) * 1e-6;
      };
      write_rows(9, frames, 6, entry, out);
    } else {
      out.key("Q");
      out.json(turns_of(body, frames));
    }
    out.close('}');
  }
  out.close(']');
}

/// Values per quantity, frame and place where they are known.
void write_rods(const ReportData& data, const std::vector<Index>& frames, JsonText& out) {
  if (data.rods.empty()) return;
  out.key("rods");
  out.open('[');
  for (const ReportRod& rod : data.rods) {
    out.open('{');
    write_text_field("name", rod.name, out);
    Json axis = Json::array(), turned = Json::array();
    for (const Vector3& p : rod.axis) axis.push_back({p.x(), p.y(), p.z()});
    for (const auto& [node, R] : rod.turned) {
      Json entries = Json::array();
      for (int k = 0; k < 9; ++k) entries.push_back(R(k / 3, k % 3));
      turned.push_back({{"node", node}, {"R", entries}});
    }
    out.key("bodies");
    out.json(Json(rod.bodies));
    out.key("at");
    out.json(Json(rod.at));
    out.key("axis");
    out.json(axis);
    out.key("section");
    out.json(rod.section);
    out.key("turned");
    out.json(turned);
    out.key("quantities");
    out.open('[');
    for (const ReportRod::Quantity& quantity : rod.quantities) {
      out.open('{');
      write_text_field("name", quantity.name, out);
      Json places = Json::array();
      for (const auto& known : quantity.columns) places.push_back(known.first);
      out.key("at");
      out.json(places);
      out.key("values");
      const auto value = [&](std::size_t k, Index i) {
        return quantity.columns[k].second[static_cast<std::size_t>(i)];
      };
      write_rows(quantity.columns.size(), frames, 5, value, out);
      out.close('}');
    }
    out.close(']');
    out.close('}');
  }
  out.close(']');
}

void write_forces(const ReportData& data, const std::vector<Index>& frames, JsonText& out) {
  if (data.forces.empty()) return;
  out.key("forces");
  out.open('[');
  for (const ReportForce& force : data.forces) {
    out.open('{');
    out.key("joint");
    out.text(force.joint);
    if (force.kind != "reaction") write_text_field("kind", force.kind, out);
    for (const bool is_point : {true, false}) {
      out.key(is_point ? "at" : "vector");
      const auto entry = [&](std::size_t k, Index i) {
        const ReportForce::Value value = force.value(i);
        return (is_point ? value.at : value.vector)[static_cast<Index>(k)];
      };
      write_rows(3, frames, 5, entry, out);
    }
    out.close('}');
  }
  out.close(']');
}

void write_marks(const ReportData& data, JsonText& out) {
  if (!data.marks.empty()) {
    Json marks = Json::array();
    for (const ReportMark& mark : data.marks) {
      Json places = Json::array();
      for (const ReportMark::Place& place : mark.places)
        places.push_back({{"body", place.body}, {"at", list_of(place.at)}});
      marks.push_back({{"kind", mark.kind}, {"name", mark.name}, {"type", mark.type}, {"places", places}});
      if (!mark.axis.isZero()) marks.back()["axis"] = list_of(mark.axis);
    }
    out.key("marks");
    out.json(marks);
  }
}

void write_run(const ReportData& data, const ReportLimits& limits, JsonText& out) {
  if (data.time.empty()) return;
  const Selection selection(data, limits);
  out.key("time");
  out.open('[');
  for (const Index i : selection.times) out.number(data.time[static_cast<std::size_t>(i)], 9);
  out.close(']');
  out.key("points");
  out.whole(data.points > 0 ? data.points : static_cast<Index>(data.time.size()));
  if (data.points > 0) {
    out.key("sampled");
    out.flag(true);
  }
  write_series(data, selection, out);
  out.key("panels");
  out.open('[');
  for (const ReportPanel& panel : data.panels) {
    out.open('{');
    out.key("name");
    out.text(panel.name);
    out.key("log");
    out.flag(panel.is_log);
    out.key("open");
    out.flag(panel.is_open);
    out.close('}');
  }
  out.close(']');
  if (data.bodies.empty()) return;
  if (selection.frames.size() < selection.times.size()) {
    out.key("frames");
    write_indices(selection.places_of(selection.frames), out);
  }
  write_bodies(data, selection.frames, out);
  write_rods(data, selection.frames, out);
  write_forces(data, selection.frames, out);
  write_marks(data, out);
}

void write_numbers(std::string_view name, const std::vector<double>& values, JsonText& out) {
  out.key(name);
  out.open('[');
  for (const double value : values) out.number(value, 17);
  out.close(']');
}

void write_curve(const ReportCurve& curve, JsonText& out) {
  out.open('{');
  out.key("name");
  out.text(curve.name);
  write_numbers("x", curve.x, out);
  write_numbers("y", curve.y, out);
  if (curve.order) {
    out.key("order");
    out.number(*curve.order);
  }
  if (!curve.is_marked.empty()) {
    out.key("marked");
    out.open('[');
    for (const bool is_marked : curve.is_marked) out.flag(is_marked);
    out.close(']');
  }
  if (!curve.x_low.empty()) write_numbers("x_low", curve.x_low, out);
  if (!curve.x_high.empty()) write_numbers("x_high", curve.x_high, out);
  out.close('}');
}

void write_slope(const ReportSlope& slope, JsonText& out) {
  if (!slope.through) return out.number(slope.order);
  out.open('{');
  out.key("order");
  out.number(slope.order);
  out.key("x");
  out.number(slope.through->x());
  out.key("y");
  out.number(slope.through->y());
  out.close('}');
}

void write_plot(const ReportPlot& plot, JsonText& out) {
  out.open('{');
  write_text_field("title", plot.title, out);
  write_text_field("note", plot.note, out);
  write_text_field("x_label", plot.x_label, out);
  write_text_field("y_label", plot.y_label, out);
  out.key("log");
  out.flag(plot.is_log);
  out.key("curves");
  out.open('[');
  for (const ReportCurve& curve : plot.curves) write_curve(curve, out);
  out.close(']');
  if (!plot.kind.empty()) {
    out.key("kind");
    out.text(plot.kind);
  }
  if (!plot.cells.empty()) {
    write_text_field("z_label", plot.z_label, out);
    out.key("cells");
    out.open('{');
    write_numbers("x", plot.x_edges, out);
    write_numbers("y", plot.y_edges, out);
    write_numbers("values", plot.cells, out);
    out.close('}');
  }
  if (!plot.correlations.empty()) write_numbers("correlations", plot.correlations, out);
  out.key("slopes");
  out.open('[');
  for (const ReportSlope& slope : plot.slopes) write_slope(slope, out);
  out.close(']');
  out.close('}');
}

void write_study(const ReportData& data, JsonText& out) {
  if (!data.plots.empty()) {
    out.key("plots");
    out.open('[');
    for (const ReportPlot& plot : data.plots) write_plot(plot, out);
    out.close(']');
  }
  if (data.tables.empty()) return;
  Json tables = Json::array();
  for (const ReportTable& table : data.tables) {
    Json columns = Json::array();
    for (const ReportTable::Head& head : table.columns) columns.push_back({{"name", head.name}, {"unit", head.unit}});
    tables.push_back({{"title", table.title}, {"columns", columns}, {"rows", table.rows}});
  }
  out.key("tables");
  out.json(tables);
}

void write_data(const ReportData& data, const ReportLimits& limits, JsonText& out) {
  out.open('{');
  out.key("format");
  out.whole(data_format);
  out.key("title");
  out.text(data.title);
  write_text_field("command", data.command, out);
  out.key("program");
  out.text(fmt::format("kreisel {}", version()));
  out.key("summary");
  out.json(data.summary);
  if (!data.notes.empty()) {
    out.key("notes");
    out.json(data.notes);
  }
  if (!data.live.is_null()) {
    out.key("live");
    out.json(data.live);
  }
  write_run(data, limits, out);
  write_study(data, out);
  if (!data.overlay.empty()) {
    out.key("overlay");
    out.open('[');
    for (const ReportData& other : data.overlay) write_data(other, limits, out);
    out.close(']');
  }
  out.close('}');
}

/// In JSON a '<' occurs in strings only.
std::string without_markup(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string as_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

/// What remains without JavaScript: summary, still plots.
std::string still_page(const ReportData& data) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0} - kreisel</title>\n"
      "<style>body{{font:14px "
      "sans-serif;margin:24px;max-width:1400px}}svg{{width:640px;height:400px}}</style></head><body>\n"
      "<h1>{0}</h1>\n<p><code>{1}</code></p>\n<p>This kreisel was built without node, so the plots are static and "
      "animations are missing.</p>\n",
      as_html(data.title), as_html(data.command));
  constexpr std::size_t few = 40;
  const std::vector<Picture> pictures = report_pictures(data);
  for (std::size_t i = 0; i < std::min(few, pictures.size()); ++i) page += pictures[i].svg;
  if (pictures.size() > few) page += fmt::format("<p>{} more plots: kreisel view --svg.</p>\n", pictures.size() - few);
  page += fmt::format("<pre>{}</pre>\n</body></html>\n",
                      as_html(data.summary.dump(2, ' ', false, Json::error_handler_t::replace)));
  return page;
}

}  // namespace

std::vector<Index> indices_with_extrema(Column values, Index limit) {
  const auto count = static_cast<Index>(values.size());
  std::vector<Index> indices;
  if (count <= limit) {
    indices.resize(values.size());
    for (Index i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
    return indices;
  }
  const auto value = [&](Index i) { return values[static_cast<std::size_t>(i)]; };
  const Index buckets = (limit - 2) / 2;
  indices.push_back(0);
  for (Index bucket = 0; bucket < buckets; ++bucket) {
    const Index begin = 1 + bucket * (count - 2) / buckets, end = 1 + (bucket + 1) * (count - 2) / buckets;
    Index low = -1, high = -1;
    for (Index i = begin; i < end; ++i) {
      if (std::isnan(value(i))) continue;
      if (low < 0 || value(i) < value(low)) low = i;
      if (high < 0 || value(i) > value(high)) high = i;
    }
    if (low < 0) low = high = begin;  // nothing but gaps
    indices.push_back(std::min(low, high));
    if (low != high) indices.push_back(std::max(low, high));
  }
  indices.push_back(count - 1);
  return indices;
}

std::vector<std::pair<double, double>> points_between(const ReportData& data, int column, double from, double to,
                                                      Index buckets) {
  buckets = std::clamp<Index>(buckets, 8, 20'000);
  if (data.pieces) return data.pieces->extrema(column, from, to, buckets);
  std::vector<std::pair<double, double>> out;
  const auto series = std::ranges::find(data.series, column, &ReportSeries::column);
  if (series == data.series.end()) return out;
  const auto first = static_cast<std::size_t>(
      std::max<std::ptrdiff_t>(0, std::ranges::lower_bound(data.time, from) - data.time.begin() - 1));
  const auto last = static_cast<std::size_t>(
      std::min<std::ptrdiff_t>(std::ssize(data.time), std::ranges::upper_bound(data.time, to) - data.time.begin() + 1));
  if (last <= first) return out;
  const Column part = series->values.subspan(first, last - first);
  for (const Index i : indices_with_extrema(part, 2 * buckets))
    out.emplace_back(data.time[first + static_cast<std::size_t>(i)], part[static_cast<std::size_t>(i)]);
  return out;
}

std::vector<Index> indices_evenly_spaced(Column times, Index limit) {
  const auto count = static_cast<Index>(times.size());
  std::vector<Index> indices;
  if (count <= limit) {
    for (Index i = 0; i < count; ++i) indices.push_back(i);
    return indices;
  }
  const double begin = times.front(), span = times.back() - times.front();
  auto from = times.begin();
  for (Index k = 0; k < limit; ++k) {
    const double wanted = begin + span * static_cast<double>(k) / static_cast<double>(limit - 1);
    from = std::lower_bound(from, times.end(), wanted);
    auto nearest = from == times.end() ? from - 1 : from;
    if (nearest != times.begin() && wanted - nearest[-1] < *nearest - wanted) --nearest;
    const auto index = static_cast<Index>(nearest - times.begin());
    if (indices.empty() || index > indices.back()) indices.push_back(index);
  }
  if (indices.back() != count - 1) indices.push_back(count - 1);
  return indices;
}

std::string report_json(const ReportData& data, const ReportLimits& limits) {
  JsonText out;
  write_data(data, limits, out);
  return without_markup(out.take());
}

bool has_viewer() { return !viewer_page().empty(); }

std::string report_page(const ReportData& data, const ReportLimits& limits) {
  if (!has_viewer()) return still_page(data);
  const std::string_view page = viewer_page();
  const std::size_t block = page.find(empty_block);
  const std::size_t begin = block + empty_block.find("null");
  ReportLimits now = limits;
  std::string json = report_json(data, now);
  // Some results have longer numbers than others.
  for (int attempt = 0; attempt < 8 && page.size() + json.size() > limits.bytes; ++attempt) {
    const double factor = 0.9 * static_cast<double>(limits.bytes) / static_cast<double>(page.size() + json.size());
    now.series_values = static_cast<Index>(factor * static_cast<double>(now.series_values));
    now.values_per_series = static_cast<Index>(factor * static_cast<double>(now.values_per_series));
    now.pose_numbers = static_cast<Index>(factor * static_cast<double>(now.pose_numbers));
    now.frames = static_cast<Index>(factor * static_cast<double>(now.frames));
    json = report_json(data, now);
  }
  std::string out;
  out.reserve(page.size() + json.size());
  out.append(page.substr(0, begin)).append(json).append(page.substr(begin + 4));
  return out;
}

void write_report(const ReportData& data, const Path& path) { write_atomically(path, report_page(data)); }

}  // namespace kreisel::io
