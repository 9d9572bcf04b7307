#include "study/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "ensemble_output.hpp"
#include "io/result/summary.hpp"
#include "kreisel/version.hpp"
#include "study/analysis.hpp"
#include "trajectory_store.hpp"

namespace kreisel::study {
namespace {

constexpr const char *csv_name = "study.csv", *page_name = "report.html";

std::string cell_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

/// The step in use may differ from the requested one.
std::string heading_of(const std::string& coordinate) { return coordinate == "step" ? "asked step" : coordinate; }

/// Slopes by case, each from the case before on its curve; NaN: none.
class Slopes {
 public:
  explicit Slopes(const StudyResult& result) {
    if (is_over_work(result.spec)) return;
    for (const ObservedCurve& curve : result.curves) {
      std::vector<double>& list = by_measure_[curve.number];
      list.resize(result.rows.size(), std::numeric_limits<double>::quiet_NaN());
      for (std::size_t k = 0; k < curve.cases.size(); ++k) list[curve.cases[k]] = curve.pairwise[k];
    }
  }
  double at(const std::string& measure, std::size_t i) const {
    const auto found = by_measure_.find(measure);
    return found == by_measure_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second[i];
  }

 private:
  std::map<std::string, std::vector<double>> by_measure_;
};

Json coordinate(const Case& c, const std::string& key) {
  return c.coordinates.contains(key) ? c.coordinates[key] : Json();
}

bool varies(const Spec& spec, const std::string& key) {
  std::set<std::string> values;
  for (const Case& c : spec.cases) values.insert(coordinate(c, key).dump());
  return values.size() > 1;
}

Json table_of_runs(const StudyResult& result) {
  const Spec& spec = result.spec;
  Json columns = Json::array({"curve"}), rows = Json::array();
  std::vector<std::string> coordinates;
  for (const std::string& key : spec.coordinate_names())
    if (varies(spec, key)) coordinates.push_back(key);
  for (const std::string& key : coordinates) columns.push_back(heading_of(key));
  const std::vector<std::string> numbers = spec.number_names();
  const bool has_orders = !spec.is_ensemble() && !is_over_work(spec);
  for (const std::string& name : numbers) {
    columns.push_back({{"name", name}, {"unit", unit_of(name)}});
    const bool is_measure =
        std::any_of(spec.measures.begin(), spec.measures.end(), [&](const Measure& m) { return m.name == name; });
    if (is_measure && has_orders) columns.push_back("order of " + name);
  }
  columns.push_back("status");
  columns.push_back("message");
  const Slopes slopes(result);
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const Row& row = result.rows[i];
    Json cells = Json::array({spec.cases[i].label});
    for (const std::string& key : coordinates) cells.push_back(coordinate(spec.cases[i], key));
    for (const std::string& name : numbers) {
      cells.push_back(io::number_or_null(row.number(name)));
      const bool is_measure =
          std::any_of(spec.measures.begin(), spec.measures.end(), [&](const Measure& m) { return m.name == name; });
      if (is_measure && has_orders) cells.push_back(io::number_or_null(slopes.at(name, i)));
    }
    cells.push_back(row.status);
    cells.push_back(row.message);
    rows.push_back(cells);
  }
  return {{"title", spec.analysis.empty() ? "Runs" : "Results"}, {"columns", columns}, {"rows", rows}};
}

Json table_of_verdicts(const StudyResult& result) {
  Json rows = Json::array();
  for (const Verdict& v : result.verdicts)
    rows.push_back({v.quantity, v.says, v.expected, v.measured, v.word(), v.explanation, v.note});
  return {{"title", "Expectations"},
          {"columns", {"quantity", "paper", "expected", "measured", "verdict", "explanation", "note"}},
          {"rows", rows}};
}

std::string label_of_x(const std::string& x) {
  if (x == "step") return "step h [s]";
  if (x == "seconds") return "CPU time [s]";
  if (x == "seconds_per_step") return "CPU time per step [s]";
  std::string text = x;
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string subscript(int number) {
  static constexpr const char* digits[] = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
  std::string out;
  for (const char c : std::to_string(number)) out += digits[c - '0'];
  return out;
}

/// " [N or N m]" and the like; the norm of entries of both units is taken of their numbers. Relative errors have none.
std::string unit_of(std::string_view quantity) {
  static const std::map<std::string_view, std::string_view> units{{"q", "m or 1"},
                                                                  {"q-value", "m or 1"},
                                                                  {"q-lie", "m or rad"},
                                                                  {"v", "m/s or rad/s"},
                                                                  {"v-value", "m/s or rad/s"},
                                                                  {"lambda", "N or N m"},
                                                                  {"lambda-value", "N or N m"},
                                                                  {"position-residual", "m or rad"},
                                                                  {"velocity-residual", "m/s or rad/s"},
                                                                  {"energy", "J"},
                                                                  {"step-size", "s"}};
  const auto found = units.find(quantity);
  return found == units.end() ? "" : fmt::format(" [{}]", found->second);
}

/// In the notation of the papers: what is measured, and over which points.
std::string label_of(const Measure& m) {
  static const std::map<std::string_view, std::string_view> errors{{"q", "q"}, {"v", "v"}, {"lambda", "λ"}},
      values{{"q-value", "q"}, {"v-value", "v"},   {"lambda-value", "λ"},
             {"eta", "η"},     {"step-size", "h"}, {"order", "k"}},
      others{{"q-lie", "log(qₙ⁻¹∘q(tₙ))"},
             {"position-residual", "Φ(qₙ)"},
             {"velocity-residual", "B(qₙ)vₙ + Φ_t"},
             {"energy", "Eₙ − E₀"}};
  const std::string index = m.component > 0 ? subscript(m.component) : "";
  std::string what = m.quantity, exact, symbol;
  bool has_entries = true;
  if (const auto error = errors.find(m.quantity); error != errors.end()) {
    symbol = fmt::format("{}{}", error->second, index);
    exact = fmt::format("{}(tₙ)", symbol);
    what = fmt::format("{}ₙ − {}", symbol, exact);
  } else if (const auto value = values.find(m.quantity); value != values.end()) {
    symbol = fmt::format("{}{}", value->second, index);
    what = fmt::format("{}ₙ", symbol);
    has_entries = m.quantity != "step-size" && m.quantity != "order";
  } else if (const auto other = others.find(m.quantity); other != others.end()) {
    what = index.empty() ? std::string(other->second) : fmt::format("({}){}", other->second, index);
  } else {
    constexpr std::string_view output = "output.";
    return m.quantity.starts_with(output) ? m.quantity.substr(output.size()) : m.quantity;
  }
  const bool is_single = m.component > 0 || m.quantity == "energy";
  const std::string bar = is_single ? "|" : "‖", end = m.is_largest && !is_single ? "‖∞" : bar;
  std::string text = has_entries ? bar + what + end : what;
  if (m.scale == Scale::by_exact) text += "/" + bar + exact + end;
  if (m.scale == Scale::by_computed) text += "/" + bar + symbol + "ₙ" + end;
  const bool is_relative = m.scale == Scale::by_exact || m.scale == Scale::by_computed;
  const std::string unit = is_relative ? "" : unit_of(m.quantity);
  switch (m.span) {
    case Span::max:
      return "max " + text + unit;
    case Span::min:
      return "min " + text + unit;
    case Span::end:
      return text + " at t_end" + unit;
    case Span::first:
      return "max " + text + ", first steps" + unit;
    case Span::local:
      return text + " after one step" + unit;
    case Span::window:
      break;
  }
  return fmt::format("max {}, {}{}", text,
                     std::isfinite(m.from) && std::isfinite(m.to) ? fmt::format("{:g} ≤ t ≤ {:g}", m.from, m.to)
                     : std::isfinite(m.from)                      ? fmt::format("t ≥ {:g}", m.from)
                                                                  : fmt::format("t ≤ {:g}", m.to),
                     unit);
}

std::string label_of_y(const Spec& spec, const std::string& name) {
  for (const Measure& m : spec.measures)
    if (m.name == name) return label_of(m);
  return label_of_x(name);
}

Json json_of(const ObservedCurve& curve, const std::vector<double>& x, const std::string& name, bool has_order) {
  Json xs = Json::array(), ys = Json::array(), marked = Json::array();
  for (std::size_t k = 0; k < x.size(); ++k) {
    xs.push_back(io::number_or_null(x[k]));
    ys.push_back(io::number_or_null(curve.y[k]));
    marked.push_back(static_cast<bool>(curve.is_marked[k]));
  }
  // Errors fall with the work: that slope is not an order.
  const bool shows_order = has_order && curve.order && *curve.order > 0.0;
  return {
      {"name", name}, {"x", xs}, {"y", ys}, {"order", shows_order ? Json(*curve.order) : Json()}, {"marked", marked}};
}

/// Spread of the CPU times of the same run, in words; empty: each was measured once.
std::string words_of_spread(const StudyResult& result, const PlotSpec& plot) {
  double low = 1.0, high = 1.0;
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    const double seconds = result.rows[i].number("seconds");
    if (!matches(plot.where, result.spec.cases[i]) || !(seconds > 0.0)) continue;
    low = std::min(low, result.rows[i].number("seconds_low") / seconds);
    high = std::max(high, result.rows[i].number("seconds_high") / seconds);
  }
  if (result.spec.repeat < 2) return "";
  return fmt::format("CPU times are medians of {} runs, which took {:.2f} to {:.2f} times as long.", result.spec.repeat,
                     low, high);
}

/// CPU times of repeated runs, per step if that is drawn, at an end of their list: "seconds_low" or "seconds_high".
Json ends_of(const StudyResult& result, const ObservedCurve& curve, const std::string& x_name, const char* end) {
  Json list = Json::array();
  for (const std::size_t i : curve.cases) {
    const Row& row = result.rows[i];
    const double part = x_name == "seconds_per_step" ? std::max(1.0, row.number("steps")) : 1.0;
    list.push_back(io::number_or_null(row.number(end) / part));
  }
  return list;
}

/// The letters of the papers: "lambda_3 max" becomes "λ₃ max".
std::string in_letters(const std::string& text) {
  static const std::vector<std::pair<std::string_view, std::string_view>> letters = {
      {"lambda", "λ"}, {"rho_inf", "ρ∞"}, {"rho", "ρ"}, {"eta", "η"},
      {"theta", "θ"},  {"Omega", "Ω"},    {"Phi", "Φ"}, {"alpha", "α"}};
  static const std::array<std::string_view, 10> subscripts = {"₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || (!is_letter(text[at - 1]) && text[at - 1] != '_' && text[at - 1] != '-');
    const auto found = std::find_if(letters.begin(), letters.end(), [&](const auto& letter) {
      const std::size_t end = at + letter.first.size();
      return begins && text.compare(at, letter.first.size(), letter.first) == 0 &&
             (end >= text.size() || (!is_letter(text[end]) && text[end] != '-'));
    });
    if (found == letters.end()) {
      out += text[at++];
      continue;
    }
    out += found->second;
    at += found->first.size();
    if (at + 1 < text.size() && text[at] == '_' && is_digit(text[at + 1]))
      for (++at; at < text.size() && is_digit(text[at]); ++at)
        out += subscripts[static_cast<std::size_t>(text[at] - '0')];
  }
  return out;
}

Json plot_of(const StudyResult& result, const PlotSpec& plot) {
  const Spec& spec = result.spec;
  const std::string x_name = plot.x.empty() ? spec.x : plot.x;
  const bool is_over_abscissa = x_name == spec.x && plot.is_log;
  Json curves = Json::array();
  std::set<double> slopes(plot.slopes.begin(), plot.slopes.end());
  for (const std::string& y : plot.y)
    for (const ObservedCurve& curve : observe(spec, result.rows, y, plot.where)) {
      std::vector<double> x;
      for (const std::size_t i : curve.cases) x.push_back(abscissa(x_name, spec.cases[i], result.rows[i]));
      curves.push_back(json_of(curve, x, plot.y.size() > 1 ? y + ", " + curve.label : curve.label, is_over_abscissa));
      if (spec.repeat > 1 && (x_name == "seconds" || x_name == "seconds_per_step")) {
        curves.back()["x_low"] = ends_of(result, curve, x_name, "seconds_low");
        curves.back()["x_high"] = ends_of(result, curve, x_name, "seconds_high");
      }
      if (is_over_abscissa && plot.slopes.empty() && curve.order && *curve.order > 0.5)
        slopes.insert(std::round(*curve.order));
    }
  const std::string y_label = plot.y.size() == 1 ? label_of_y(spec, plot.y.front()) : "";
  std::string note = plot.note;
  if (is_of_the_clock(x_name))
    if (const std::string spread = words_of_spread(result, plot); !spread.empty())
      note += (note.empty() ? "" : " ") + spread;
  return {{"title",
           in_letters(plot.title.empty()
                          ? fmt::format("{} over {}", fmt::format("{}", fmt::join(plot.y, ", ")), label_of_x(x_name))
                          : plot.title)},
          {"note", note},
          {"x_label", label_of_x(x_name)},
          {"y_label", y_label},
          {"log", plot.is_log},
          {"curves", curves},
          {"slopes", is_over_abscissa ? slopes : std::set<double>()}};
}

std::vector<PlotSpec> plots_of(const Spec& spec) {
  if (!spec.plots.empty() || !spec.analysis.empty() || spec.is_ensemble()) return spec.plots;
  std::vector<PlotSpec> plots;
  const bool has_abscissa = spec.cases.size() > 1;
  for (const Measure& m : spec.measures)
    if (has_abscissa) plots.push_back({.title = m.name, .y = {m.name}});
  if (has_abscissa && !spec.measures.empty())
    plots.push_back({.title = spec.measures.front().name + " against work",
                     .x = "residual_evaluations",
                     .y = {spec.measures.front().name}});
  return plots;
}

bool has_positive_values(const Json& plot) {
  for (const Json& curve : plot["curves"])
    for (const Json& y : curve["y"])
      if (y.is_number() && y.get<double>() > 0.0) return true;
  return false;
}

Json plots(const StudyResult& result) {
  Json list = Json::array();
  for (const PlotSpec& plot : plots_of(result.spec)) {
    Json json = plot_of(result, plot);
    if (!plot.is_log || has_positive_values(json)) list.push_back(std::move(json));
  }
  std::map<std::string, std::size_t> labels;
  for (const Case& c : result.spec.cases) ++labels[c.label];
  if (result.ensemble)
    for (Json& plot : ensemble_plots(*result.ensemble)) list.push_back(std::move(plot));
  for (const Surface& surface : result.surfaces) list.push_back(surface_plot(surface));
  for (std::size_t s = 0; s < result.spec.series.size(); ++s) {
    Json curves = Json::array();
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      if (s >= result.rows[i].curves.size() || !matches(result.spec.series_where[s], result.spec.cases[i])) continue;
      const Curve& curve = result.rows[i].curves[s];
      Json y = Json::array();
      for (const double value : curve.y) y.push_back(io::number_or_null(value));
      const Case& c = result.spec.cases[i];
      const double x = abscissa(result.spec.x, c, result.rows[i]);
      const bool is_alone = labels[c.label] == 1;
      curves.push_back({{"name", is_alone ? c.label : fmt::format("{}, {:.4g}", c.label, x)},
                        {"x", curve.t},
                        {"y", y},
                        {"order", Json()},
                        {"marked", Json::array()}});
    }
    list.push_back({{"title", in_letters(result.spec.series[s].name)},
                    {"note", ""},
                    {"x_label", "time [s]"},
                    {"y_label", in_letters(result.spec.series[s].name) + unit_of(result.spec.series[s].quantity)},
                    {"log", false},
                    {"curves", curves},
                    {"slopes", Json::array()}});
  }
  return list;
}

std::vector<Cause> causes_of(const StudyResult& result) {
  if (result.ensemble) return result.ensemble->causes;
  Causes causes;
  for (std::size_t i = 0; i < result.rows.size(); ++i) causes.add(i, result.rows[i]);
  return causes.result();
}

std::string status_of(const StudyResult& result) {
  if (result.is_interrupted) return "interrupted";
  if (!result.verdicts.empty()) return result.is_as_expected() ? "passed" : "missed";
  return result.has_success() ? "success" : "failed";
}

std::vector<std::string> notes_of(const StudyResult& result) {
  std::vector<std::string> notes;
  if (!result.spec.source.empty()) notes.push_back(result.spec.source);
  if (!result.spec.says.empty()) notes.push_back("The paper: " + result.spec.says);
  notes.insert(notes.end(), result.spec.notes.begin(), result.spec.notes.end());
  for (const ReferenceUse& r : result.references)
    notes.push_back(fmt::format(
        "Exact solution of {} up to {:g} s: {}, by at most {:.1e} in q, {:.1e} in v, {:.1e} in lambda. Hollow points "
        "lie below ten "
        "times that or in the round-off of the method.",
        r.model, r.t_end,
        r.nodes > 0
            ? fmt::format(
                  "extrapolation in quadruple precision at {} points, on which two resolutions agree to 1e-18, "
                  "and DOP853 in double precision between them with h = {:.4g}, which deviates from the next of them",
                  r.nodes + 1, r.step)
            : fmt::format("DOP853 with projection, h = {:.4g}; its error, twice the difference from half as many "
                          "steps, is bounded",
                          r.step),
        r.accuracy.q, r.accuracy.v, r.accuracy.lambda));
  const std::size_t missing = result.spec.size() - result.tally.done;
  if (const std::size_t failed = result.tally.failed + missing; failed > 0)
    notes.push_back(
        fmt::format("{} of {} runs did not succeed; the table has their messages.", failed, result.spec.size()));
  const std::size_t succeeded = result.tally.done - result.tally.failed;
  if (result.ensemble)
    for (const NumberStatistics& s : result.ensemble->statistics)
      if (s.count < succeeded)
        notes.push_back(
            fmt::format("'{}' is not a finite number in {} of {} successful runs; statistics leave them out.", s.name,
                        succeeded - s.count, succeeded));
  if (!result.spec.is_listed())
    notes.push_back(fmt::format("{} cases: their rows are in study.csv.", result.spec.size()));
  return notes;
}

/// Heads the columns of study.csv and writes its lines.
class CsvLines {
 public:
  explicit CsvLines(const StudyResult& result)
      : result_(result),
        coordinates_(result.spec.coordinate_names()),
        numbers_(result.spec.number_names()),
        slopes_(result) {}

  std::string head() const {
    std::vector<std::string> head{"curve"};
    for (const std::string& key : coordinates_) head.push_back(csv_cell(heading_of(key)));
    head.push_back("status");
    for (const std::string& name : numbers_) head.push_back(csv_cell(name));
    for (const Measure& m : result_.spec.measures) {
      head.push_back(csv_cell("order of " + m.name));
      head.push_back(csv_cell("below floor: " + m.name));
      head.push_back(csv_cell("at step: " + m.name));
    }
    head.push_back("message");
    return fmt::format("{}\n", fmt::join(head, ","));
  }

  void append(std::size_t i, std::string& out) const {
    const Case c = result_.spec.outline(i);
    const Row row = result_.row(i);
    const auto number = [&](double value) {
      out += ',';
      if (std::isfinite(value)) fmt::format_to(std::back_inserter(out), "{:.17g}", value);
    };
    out += csv_cell(c.label);
    for (const std::string& key : coordinates_) {
      out += ',';
      if (c.coordinates.contains(key)) out += csv_cell(cell_text(c.coordinates[key]));
    }
    out += ',';
    out += row.status;
    for (const std::string& name : numbers_) number(row.number(name));
    for (const Measure& m : result_.spec.measures) {
      number(slopes_.at(m.name, i));
      out += row.is_marked(m.name) ? ",true," : ",false,";
      const auto at = row.numbers.find(m.name);
      if (at != row.numbers.end()) fmt::format_to(std::back_inserter(out), "{}", at->second.at_step);
    }
    out += ',';
    out += csv_cell(row.message);
    out += '\n';
  }

 private:
  const StudyResult& result_;
  std::vector<std::string> coordinates_, numbers_;
  Slopes slopes_;
};

}  // namespace

bool is_over_work(const Spec& spec) {
  const std::vector<std::string>& counts = statistics_names();
  return spec.analysis.empty() && spec.x != "step" && std::find(counts.begin(), counts.end(), spec.x) != counts.end();
}

std::string study_csv(const StudyResult& result) {
  const CsvLines lines(result);
  std::string out = lines.head();
  for (std::size_t i = 0; i < result.spec.size(); ++i) lines.append(i, out);
  return out;
}

Json study_json(const StudyResult& result, const std::string& command) {
  const Spec& spec = result.spec;
  Json tables = Json::array(), rows = Json::array(), references = Json::array(), verdicts = Json::array(),
       curves = Json::array();
  if (!result.verdicts.empty()) tables.push_back(table_of_verdicts(result));
  if (result.ensemble)
    for (Json& table : ensemble_tables(*result.ensemble)) tables.push_back(std::move(table));
  if (const std::vector<Cause> causes = causes_of(result); !causes.empty())
    tables.push_back(table_of_failures(causes, spec.size()));
  if (!result.rows.empty() && spec.is_listed()) tables.push_back(table_of_runs(result));
  for (std::size_t i = 0; i < spec.cases.size(); ++i) {
    Json row = to_json(result.rows[i]);
    row["label"] = spec.cases[i].label;
    row["coordinates"] = spec.cases[i].coordinates;
    rows.push_back(row);
  }
  if (!is_over_work(spec))
    for (const ObservedCurve& curve : result.curves)
      curves.push_back(
          {{"measure", curve.number}, {"label", curve.label}, {"order", curve.order ? Json(*curve.order) : Json()}});
  for (const ReferenceUse& r : result.references)
    references.push_back({{"model", r.model},
                          {"t_end", r.t_end},
                          {"step", r.step},
                          {"nodes", r.nodes},
                          {"accuracy", {{"q", r.accuracy.q}, {"v", r.accuracy.v}, {"lambda", r.accuracy.lambda}}}});
  for (const Verdict& v : result.verdicts) verdicts.push_back(to_json(v));
  return {{"format", 1},
          {"title", spec.title},
          {"command", command},
          {"program", fmt::format("kreisel {}", version())},
          {"commit", commit()},
          {"summary",
           {{"status", status_of(result)},
            {"id", spec.id},
            {"source", spec.source},
            {"key", spec.key},
            {"cases", spec.size()},
            {"done", result.tally.done},
            {"failed", result.tally.failed + spec.size() - result.tally.done},
            {"failures", result.tally.failures}}},
          {"notes", notes_of(result)},
          {"plots", plots(result)},
          {"tables", tables},
          {"orders", curves},
          {"verdicts", verdicts},
          {"references", references},
          {"statistics", result.ensemble ? statistics_json(*result.ensemble) : Json()},
          {"rows", rows}};
}

namespace {

void write_csv(const StudyResult& result, const io::Path& path) {
  const CsvLines lines(result);
  io::PartFile file(path);
  std::string text = lines.head();
  for (std::size_t i = 0; i < result.spec.size(); ++i) {
    lines.append(i, text);
    if (text.size() < (1u << 16)) continue;
    file.append(text);
    text.clear();
  }
  file.append(text);
  file.commit();
}

}  // namespace

void write_study(const StudyResult& result, const std::string& command, const io::Path& folder) {
  write_csv(result, folder / csv_name);
  io::write_atomically(folder / study_json_name, io::to_text(study_json(result, command)));
  io::write_report(io::read_report_data(folder), folder / page_name);
  if (!result.spec.trajectories.outputs.empty())
    write_trajectories(result.spec, JournalIndex(result.spec, folder), folder);
  // The journals of an ensemble are kept: --retry and a sample with more points use them.
  if (result.is_interrupted || result.spec.is_ensemble()) return;
  std::error_code error;
  for (const io::Path& journal : journals_in(folder)) std::filesystem::remove(journal, error);
}

void refuse_to_overwrite(const std::vector<run::SourceFile>& inputs, const io::Path& folder) {
  std::vector<io::Path> written = journals_in(folder);
  for (const char* name : {csv_name, study_json_name, page_name, journal_name}) {
    written.push_back(folder / name);
    written.push_back(io::part_of(folder / name));
  }
  for (const io::Path& path : written) io::refuse_to_overwrite(inputs, path, "out");
}

}  // namespace kreisel::study
