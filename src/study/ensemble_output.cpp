#include "ensemble_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kreisel::study {
namespace {

/// Dots of a scatter plot.
constexpr std::size_t most_dots = 1000;

Json listed(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(io::number_or_null(value));
  return list;
}

std::string percent(double level) { return fmt::format("{:g} %", 100.0 * level); }

Json curve(const std::string& name, Json x, Json y) {
  return {{"name", name}, {"x", std::move(x)}, {"y", std::move(y)}, {"order", Json()}, {"marked", Json::array()}};
}

Json plot(const std::string& kind, const std::string& title, const std::string& x, const std::string& y) {
  return {
      {"title", title},          {"kind", kind},           {"note", ""}, {"x_label", x}, {"y_label", y}, {"log", false},
      {"curves", Json::array()}, {"slopes", Json::array()}};
}

/// A curve per column: its values case by case; marked ones are of cases that failed.
Json matrix_plot(const ScatterMatrix& matrix, const Ensemble& ensemble) {
  const std::size_t count = ensemble.is_failed.size(),
                    stride = std::max<std::size_t>(1, (count + most_dots - 1) / most_dots);
  const bool has_failed = std::any_of(ensemble.is_failed.begin(), ensemble.is_failed.end(), [](bool is) { return is; });
  Json out = plot("matrix", "Scatter matrix", "", "");
  std::string note = "Above the diagonal: correlation of ranks.";
  if (stride > 1) note += fmt::format(" One in {} of {} cases is drawn.", stride, count);
  if (has_failed) note += " Red: cases that failed.";
  if (!matrix.has_all) note += fmt::format(" The {} that matter most.", matrix.names.size());
  out["note"] = note;
  for (std::size_t k = 0; k < matrix.names.size(); ++k) {
    Json values = Json::array(), failed = Json::array();
    for (std::size_t i = 0; i < count; i += stride) {
      values.push_back(io::number_or_null((*matrix.columns[k])[i]));
      if (has_failed) failed.push_back(static_cast<bool>(ensemble.is_failed[i]));
    }
    out["curves"].push_back(curve(matrix.names[k], Json::array(), values));
    out["curves"].back()["marked"] = failed;
  }
  out["correlations"] = listed(matrix.correlations);
  return out;
}

}  // namespace

Json surface_plot(const Surface& s) {
  Json out = plot("heat", fmt::format("{} over {} and {}", s.number, s.x, s.y), s.x, s.y);
  out["note"] = s.is_grid ? "" : "Means over the cases of a cell.";
  out["z_label"] = s.number;
  out["cells"] = {{"x", listed(s.x_edges)}, {"y", listed(s.y_edges)}, {"values", listed(s.means)}};
  return out;
}

Json ensemble_tables(const Ensemble& ensemble) {
  Json columns = {"number", "cases", "mean", "standard deviation", "smallest"}, rows = Json::array();
  for (const double level : statistics_levels) columns.push_back(percent(level));
  columns.push_back("largest");
  for (const NumberStatistics& s : ensemble.statistics) {
    Json cells = {s.name, s.count, io::number_or_null(s.mean), io::number_or_null(s.deviation),
                  io::number_or_null(s.minimum)};
    for (const double value : s.quantiles) cells.push_back(io::number_or_null(value));
    cells.push_back(io::number_or_null(s.maximum));
    rows.push_back(cells);
  }
  Json tables = Json::array({{{"title", "Statistics"}, {"columns", columns}, {"rows", rows}}});
  if (ensemble.indices.empty()) return tables;
  Json indices = Json::array();
  for (const SobolIndex& i : ensemble.indices)
    indices.push_back({i.number, i.parameter, io::number_or_null(i.first), io::number_or_null(i.first_error),
                       io::number_or_null(i.total), io::number_or_null(i.total_error)});
  tables.push_back(
      {{"title", "Sobol indices"},
       {"columns", {"number", "parameter", "first order", "standard error", "total", "standard error of total"}},
       {"rows", indices}});
  return tables;
}

Json ensemble_plots(const Ensemble& ensemble) {
  Json list = Json::array();
  for (const Histogram& h : ensemble.histograms) {
    if (h.counts.empty()) continue;
    Json one = plot("histogram", "Histogram of " + h.name, h.name, "cases");
    Json x = Json::array({h.edges[0]}), y = Json::array({0});
    for (std::size_t i = 0; i < h.counts.size(); ++i)
      for (const std::size_t edge : {i, i + 1}) {
        x.push_back(h.edges[edge]);
        y.push_back(h.counts[i]);
      }
    x.push_back(h.edges.back());
    y.push_back(0);
    one["curves"].push_back(curve(h.name, x, y));
    list.push_back(one);
  }
  for (const Band& band : ensemble.bands) {
    Json one = plot("band", "Quantiles of " + band.name, "time [s]", band.name);
    one["note"] = band.cases_at_end == band.cases
                      ? fmt::format("Of {} cases.", band.cases)
                      : fmt::format("Of {} cases; {} of them reach the end.", band.cases, band.cases_at_end);
    for (std::size_t l = 0; l < band.quantiles.size(); ++l)
      one["curves"].push_back(curve(percent(statistics_levels[l]), listed(band.t), listed(band.quantiles[l])));
    list.push_back(one);
  }
  for (const Surface& s : ensemble.surfaces) list.push_back(surface_plot(s));
  const ScatterMatrix matrix = matrix_of(ensemble);
  if (matrix.names.size() > 1) list.push_back(matrix_plot(matrix, ensemble));
  return list;
}

Json statistics_json(const Ensemble& ensemble) {
  Json numbers = Json::array(), indices = Json::array(), bands = Json::array();
  for (const NumberStatistics& s : ensemble.statistics) {
    Json quantiles = Json::object();
    for (std::size_t l = 0; l < s.quantiles.size(); ++l)
      quantiles[fmt::format("{:g}", statistics_levels[l])] = io::number_or_null(s.quantiles[l]);
    numbers.push_back({{"name", s.name},
                       {"count", s.count},
                       {"mean", io::number_or_null(s.mean)},
                       {"deviation", io::number_or_null(s.deviation)},
                       {"minimum", io::number_or_null(s.minimum)},
                       {"maximum", io::number_or_null(s.maximum)},
                       {"quantiles", quantiles}});
  }
  for (const SobolIndex& i : ensemble.indices)
    indices.push_back({{"number", i.number},
                       {"parameter", i.parameter},
                       {"first", io::number_or_null(i.first)},
                       {"first_error", io::number_or_null(i.first_error)},
                       {"total", io::number_or_null(i.total)},
                       {"total_error", io::number_or_null(i.total_error)}});
  for (const Band& b : ensemble.bands) {
    Json quantiles = Json::object();
    for (std::size_t l = 0; l < b.quantiles.size(); ++l)
      quantiles[fmt::format("{:g}", statistics_levels[l])] = listed(b.quantiles[l]);
    bands.push_back({{"name", b.name},
                     {"cases", b.cases},
                     {"cases_at_end", b.cases_at_end},
                     {"t", listed(b.t)},
                     {"quantiles", quantiles}});
  }
  Json surfaces = Json::array();
  for (const Surface& s : ensemble.surfaces)
    surfaces.push_back({{"number", s.number},
                        {"x", s.x},
                        {"y", s.y},
                        {"x_edges", listed(s.x_edges)},
                        {"y_edges", listed(s.y_edges)},
                        {"means", listed(s.means)}});
  const ScatterMatrix matrix = matrix_of(ensemble);
  return {{"surfaces", surfaces},
          {"correlations", {{"names", matrix.names}, {"ranks", listed(matrix.correlations)}}},
          {"parameters", ensemble.parameters},
          {"numbers", numbers},
          {"sobol_indices", indices},
          {"bands", bands}};
}

Json table_of_failures(const std::vector<Cause>& causes, std::size_t cases) {
  Json rows = Json::array();
  for (const Cause& cause : causes)
    rows.push_back({cause.status, cause.count, 100.0 * static_cast<double>(cause.count) / static_cast<double>(cases),
                    cause.first + 1, cause.message});
  return {{"title", "Failed cases by cause"},
          {"columns", {"status", "cases", {{"name", "of all"}, {"unit", "%"}}, "first case", "what it says"}},
          {"rows", rows}};
}

}  // namespace kreisel::study
