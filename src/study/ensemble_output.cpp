#include "ensemble_output.hpp"

#include <fmt/format.h>

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

}  // namespace

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
    Json one = plot("line", "Histogram of " + h.name, h.name, "cases");
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
    one["note"] = fmt::format("Of {} cases.", band.cases);
    for (std::size_t l = 0; l < band.quantiles.size(); ++l)
      one["curves"].push_back(curve(percent(statistics_levels[l]), listed(band.t), listed(band.quantiles[l])));
    list.push_back(one);
  }
  for (const Surface& s : ensemble.surfaces) {
    // Cuts through the surface: enough of them show its form.
    constexpr std::size_t most_cuts = 8;
    const std::size_t columns = s.x_edges.size() - 1, lines = s.y_edges.size() - 1;
    Json one = plot("line", fmt::format("{} over {} and {}", s.number, s.x, s.y), s.x, s.number);
    one["note"] = fmt::format("Cuts through the response surface at values of {}{}.", s.y,
                              s.is_grid ? "" : "; means over the cases of a cell");
    const std::size_t stride = (lines + most_cuts - 1) / most_cuts;
    for (std::size_t line = stride / 2; line < lines; line += stride) {
      Json x = Json::array(), y = Json::array();
      for (std::size_t i = 0; i < columns; ++i) {
        x.push_back(0.5 * (s.x_edges[i] + s.x_edges[i + 1]));
        y.push_back(io::number_or_null(s.means[line * columns + i]));
      }
      one["curves"].push_back(
          curve(fmt::format("{} = {:.4g}", s.y, 0.5 * (s.y_edges[line] + s.y_edges[line + 1])), x, y));
    }
    list.push_back(one);
  }
  for (std::size_t n = 0; n < ensemble.numbers.size(); ++n)
    for (std::size_t p = 0; p < ensemble.parameters.size(); ++p) {
      Json x = Json::array(), y = Json::array();
      const std::size_t count = ensemble.values[n].size(), stride = std::max<std::size_t>(1, count / most_dots);
      for (std::size_t i = 0; i < count; i += stride) {
        if (!std::isfinite(ensemble.values[n][i]) || !std::isfinite(ensemble.inputs[p][i])) continue;
        x.push_back(ensemble.inputs[p][i]);
        y.push_back(ensemble.values[n][i]);
      }
      if (x.size() < 2) continue;
      Json one = plot("points", fmt::format("{} over {}", ensemble.numbers[n], ensemble.parameters[p]),
                      ensemble.parameters[p], ensemble.numbers[n]);
      one["curves"].push_back(curve(ensemble.numbers[n], x, y));
      list.push_back(one);
    }
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
    bands.push_back({{"name", b.name}, {"cases", b.cases}, {"t", listed(b.t)}, {"quantiles", quantiles}});
  }
  Json surfaces = Json::array();
  for (const Surface& s : ensemble.surfaces)
    surfaces.push_back({{"number", s.number},
                        {"x", s.x},
                        {"y", s.y},
                        {"x_edges", listed(s.x_edges)},
                        {"y_edges", listed(s.y_edges)},
                        {"means", listed(s.means)}});
  return {{"surfaces", surfaces},
          {"parameters", ensemble.parameters},
          {"numbers", numbers},
          {"sobol_indices", indices},
          {"bands", bands}};
}

Json table_of_failures(const Tally& tally) {
  Json rows = Json::array();
  for (const auto& [status, count] : tally.failures) rows.push_back({status, count});
  return {{"title", "Failed cases"}, {"columns", {"status", "cases"}}, {"rows", rows}};
}

}  // namespace kreisel::study
