#include "study/ensemble.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "case_runner.hpp"
#include "grid.hpp"
#include "study/analysis.hpp"

namespace kreisel::study {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::vector<double> finite(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double value : values)
    if (std::isfinite(value)) out.push_back(value);
  return out;
}

NumberStatistics statistics_of(const std::string& name, std::vector<double> values) {
  NumberStatistics out;
  out.name = name;
  out.count = values.size();
  if (values.empty()) {
    out.mean = out.deviation = out.minimum = out.maximum = none;
    out.quantiles.assign(std::size(statistics_levels), none);
    return out;
  }
  std::sort(values.begin(), values.end());
  out.minimum = values.front();
  out.maximum = values.back();
  // Summed relative to the median, so that a small spread around a large mean keeps its digits.
  const double middle = values[values.size() / 2], n = static_cast<double>(values.size());
  double sum = 0.0, squares = 0.0;
  for (const double value : values) sum += value - middle;
  out.mean = middle + sum / n;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.deviation = values.size() > 1 ? std::sqrt(squares / (n - 1.0)) : none;
  for (const double level : statistics_levels) out.quantiles.push_back(quantile(values, level));
  return out;
}

/// As many bins as Freedman and Diaconis (1981) advise, from 5 to 60.
Histogram histogram_of(const std::string& name, std::vector<double> values) {
  Histogram out;
  out.name = name;
  std::sort(values.begin(), values.end());
  const double low = values.front(), high = values.back();
  if (!(high > low)) return out;
  const double width =
      2.0 * (quantile(values, 0.75) - quantile(values, 0.25)) / std::cbrt(static_cast<double>(values.size()));
  const auto bins =
      static_cast<std::size_t>(std::clamp(width > 0.0 ? std::ceil((high - low) / width) : 60.0, 5.0, 60.0));
  for (std::size_t i = 0; i <= bins; ++i)
    out.edges.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(bins));
  out.counts.assign(bins, 0);
  for (const double value : values)
    ++out.counts[std::min(bins - 1,
                          static_cast<std::size_t>((value - low) / (high - low) * static_cast<double>(bins)))];
  return out;
}

/// Sums over A, B and A with one column of B; a base point with a failed case does not count.
struct Estimate {
  double first = none, total = none;
};
Estimate estimate(const std::vector<double>& f, std::size_t dimensions, std::size_t k, std::size_t begin,
                  std::size_t end, double mean, double variance) {
  double first = 0.0, total = 0.0, n = 0.0;
  for (std::size_t i = begin; i < end; ++i) {
    const double* base = &f[i * (dimensions + 2)];
    const double a = base[0] - mean, b = base[1] - mean, mixed = base[2 + k] - mean;
    if (!std::isfinite(a + b + mixed)) continue;
    first += b * (mixed - a);
    total += (a - mixed) * (a - mixed);
    n += 1.0;
  }
  if (n == 0.0 || !(variance > 0.0)) return {};
  return {first / n / variance, 0.5 * total / n / variance};
}

void add_indices(const PointSet& sample, Ensemble& out) {
  const std::size_t d = sample.dimensions(), points = sample.base_points();
  constexpr std::size_t parts = 10;
  for (std::size_t number = 0; number < out.numbers.size(); ++number) {
    const std::vector<double>& f = out.values[number];
    std::vector<double> both;
    for (std::size_t i = 0; i < points; ++i)
      for (std::size_t j = 0; j < 2; ++j)
        if (std::isfinite(f[i * (d + 2) + j])) both.push_back(f[i * (d + 2) + j]);
    const NumberStatistics all = statistics_of("", both);
    const double variance = all.deviation * all.deviation;
    for (std::size_t k = 0; k < d; ++k) {
      const Estimate whole = estimate(f, d, k, 0, points, all.mean, variance);
      std::vector<double> first, total;
      for (std::size_t part = 0; part < parts && points >= 10 * parts; ++part) {
        const Estimate e = estimate(f, d, k, part * points / parts, (part + 1) * points / parts, all.mean, variance);
        if (std::isfinite(e.first)) first.push_back(e.first), total.push_back(e.total);
      }
      const auto error = [](const std::vector<double>& v) {
        return v.size() < 2 ? none : statistics_of("", v).deviation / std::sqrt(static_cast<double>(v.size()));
      };
      out.indices.push_back(
          {out.numbers[number], out.parameters[k], whole.first, error(first), whole.total, error(total)});
    }
  }
}

/// The different values, sorted; empty when there are more than `most`.
std::vector<double> levels_of(const std::vector<double>& values, std::size_t most) {
  std::vector<double> levels;
  for (const double value : values) {
    const auto at = std::lower_bound(levels.begin(), levels.end(), value);
    if (at != levels.end() && *at == value) continue;
    if (levels.size() == most) return {};
    levels.insert(at, value);
  }
  return levels;
}

/// Cells around single values, or equal cells over the range: about five cases lie in each.
std::vector<double> edges_of(const std::vector<double>& values, bool& is_grid) {
  constexpr std::size_t most_levels = 60;
  const auto cells =
      static_cast<std::size_t>(std::clamp(std::sqrt(static_cast<double>(values.size()) / 5.0), 4.0, 24.0));
  std::vector<double> levels = levels_of(values, most_levels), edges;
  // Points of a small sample are no grid: hardly a value occurs twice.
  if (levels.size() > 1 && 2 * levels.size() <= values.size()) {
    edges.push_back(levels[0] - 0.5 * (levels[1] - levels[0]));
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) edges.push_back(0.5 * (levels[i] + levels[i + 1]));
    edges.push_back(levels.back() + 0.5 * (levels.back() - levels[levels.size() - 2]));
    return edges;
  }
  is_grid = false;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (!(*high > *low)) return {};
  for (std::size_t i = 0; i <= cells; ++i)
    edges.push_back(*low + (*high - *low) * static_cast<double>(i) / static_cast<double>(cells));
  edges.back() = *high;
  return edges;
}

/// How much of the variance of y the means over ten parts of x explain.
double influence(const std::vector<double>& x, const std::vector<double>& y) {
  constexpr std::size_t parts = 10;
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  if (!(*high > *low)) return 0.0;
  double sums[parts] = {}, counts[parts] = {}, mean = 0.0, n = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(y[i])) continue;
    const auto part = std::min(parts - 1, static_cast<std::size_t>((x[i] - *low) / (*high - *low) * parts));
    sums[part] += y[i];
    counts[part] += 1.0;
    mean += y[i];
    n += 1.0;
  }
  if (n == 0.0) return 0.0;
  mean /= n;
  double explained = 0.0, variance = 0.0;
  for (std::size_t p = 0; p < parts; ++p)
    if (counts[p] > 0.0) explained += counts[p] * std::pow(sums[p] / counts[p] - mean, 2);
  for (const double value : y)
    if (std::isfinite(value)) variance += (value - mean) * (value - mean);
  return variance > 0.0 ? explained / variance : 0.0;
}

/// Over the two parameters that matter most.
void add_surface(std::size_t number, Ensemble& out) {
  const std::size_t count = out.parameters.size();
  if (count < 2) return;
  std::vector<std::pair<double, std::size_t>> ranking;
  for (std::size_t k = 0; k < count; ++k) {
    const auto is_missing = [](double value) { return std::isnan(value); };
    if (std::any_of(out.inputs[k].begin(), out.inputs[k].end(), is_missing)) continue;
    ranking.emplace_back(-influence(out.inputs[k], out.values[number]), k);
  }
  if (ranking.size() < 2) return;
  std::stable_sort(ranking.begin(), ranking.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::size_t x = std::min(ranking[0].second, ranking[1].second),
                    y = std::max(ranking[0].second, ranking[1].second);
  Surface surface{out.numbers[number], out.parameters[x], out.parameters[y], {}, {}, {}, true};
  surface.x_edges = edges_of(out.inputs[x], surface.is_grid);
  surface.y_edges = edges_of(out.inputs[y], surface.is_grid);
  if (surface.x_edges.size() < 3 || surface.y_edges.size() < 3) return;
  const std::size_t columns = surface.x_edges.size() - 1, lines = surface.y_edges.size() - 1;
  std::vector<double> sums(columns * lines, 0.0), counts(columns * lines, 0.0);
  const auto cell = [](const std::vector<double>& edges, double value) {
    const auto at = std::upper_bound(edges.begin() + 1, edges.end() - 1, value);
    return static_cast<std::size_t>(at - edges.begin()) - 1;
  };
  for (std::size_t i = 0; i < out.values[number].size(); ++i) {
    const double value = out.values[number][i];
    if (!std::isfinite(value)) continue;
    const std::size_t at = cell(surface.y_edges, out.inputs[y][i]) * columns + cell(surface.x_edges, out.inputs[x][i]);
    sums[at] += value;
    counts[at] += 1.0;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    surface.means.push_back(counts[i] > 0.0 ? sums[i] / counts[i] : none);
    surface.is_grid = surface.is_grid && counts[i] <= 1.0;
  }
  out.surfaces.push_back(std::move(surface));
}

/// Collects trajectories. A case counts at the times that it reaches.
class Bands {
 public:
  void add(const std::vector<Curve>& curves) {
    if (tracks_.size() < curves.size()) tracks_.resize(curves.size());
    for (std::size_t k = 0; k < curves.size(); ++k) {
      if (curves[k].t.empty()) continue;
      tracks_[k].name = curves[k].name;
      tracks_[k].curves.push_back({grid_of(curves[k].t), curves[k].y});
    }
  }
  std::vector<Band> result() const {
    std::vector<Band> out;
    if (grids_.empty()) return out;
    // Cases that end at different times are drawn up to the last of them.
    std::size_t longest = 0;
    for (std::size_t g = 1; g < grids_.size(); ++g)
      if (grids_[g].back() > grids_[longest].back()) longest = g;
    for (const Track& track : tracks_) {
      Band band;
      band.name = track.name;
      band.t = grids_[longest];
      band.quantiles.resize(std::size(statistics_levels));
      for (std::size_t i = 0; i < band.t.size(); ++i) {
        std::vector<double> values;
        for (const Kept& curve : track.curves) {
          const double value = curve.grid == longest ? (i < curve.y.size() ? curve.y[i] : none)
                                                     : between(grids_[curve.grid], curve.y, band.t[i]);
          if (std::isfinite(value)) values.push_back(value);
        }
        band.cases = std::max(band.cases, values.size());
        band.cases_at_end = values.size();
        std::sort(values.begin(), values.end());
        for (std::size_t l = 0; l < band.quantiles.size(); ++l)
          band.quantiles[l].push_back(values.empty() ? none : quantile(values, statistics_levels[l]));
      }
      out.push_back(std::move(band));
    }
    return out;
  }

 private:
  struct Kept {
    std::size_t grid = 0;
    std::vector<double> y;
  };
  struct Track {
    std::string name;
    std::vector<Kept> curves;
  };

  /// Runs that end early have the first times of the others.
  std::size_t grid_of(const std::vector<double>& t) {
    for (std::size_t g = 0; g < grids_.size(); ++g) {
      std::vector<double>& grid = grids_[g];
      const std::size_t common = std::min(grid.size(), t.size());
      if (!std::equal(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(common), grid.begin())) continue;
      if (t.size() > common) grid = t;
      return g;
    }
    grids_.push_back(t);
    return grids_.size() - 1;
  }
  /// On the straight line between two points; NaN before the first and after the last one.
  static double between(const std::vector<double>& grid, const std::vector<double>& y, double t) {
    const std::size_t size = std::min(grid.size(), y.size());
    const auto end = grid.begin() + static_cast<std::ptrdiff_t>(size);
    const auto after = static_cast<std::size_t>(std::lower_bound(grid.begin(), end, t) - grid.begin());
    if (after == size || (after == 0 && grid[0] > t)) return none;
    if (grid[after] == t) return y[after];
    const double x = (t - grid[after - 1]) / (grid[after] - grid[after - 1]);
    return y[after - 1] + x * (y[after] - y[after - 1]);
  }

  std::vector<std::vector<double>> grids_;
  std::vector<Track> tracks_;  ///< by output
};

/// Ranks from 1; equal values share their mean rank.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + 1 + end);
    i = end;
  }
  return ranks;
}

bool is_varied(const std::vector<double>& values) {
  const std::vector<double> known = finite(values);
  return std::any_of(known.begin(), known.end(), [&](double value) { return value != known.front(); });
}

}  // namespace

void Causes::add(std::size_t number, const Row& row) {
  if (row.is_success() || row.status == not_run) return;
  // Numbers in messages differ from case to case.
  std::string text = row.status + ' ';
  for (const char c : row.message) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) text += c;
  }
  for (const std::string_view part : {"e-", "e+", ".", "-"})
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
      text.erase(at, part.size());
  Cause& cause = by_text_[text];
  if (cause.count++ > 0) return;
  cause.status = row.status;
  cause.message = row.message;
  cause.first = number;
}

std::vector<Cause> Causes::result() const {
  std::vector<Cause> list;
  for (const auto& [text, cause] : by_text_) list.push_back(cause);
  std::sort(list.begin(), list.end(),
            [](const Cause& a, const Cause& b) { return a.count != b.count ? a.count > b.count : a.first < b.first; });
  return list;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr std::size_t most = 20'000;  // evenly spread; more would only add digits that are not shown
  const std::size_t stride = std::max<std::size_t>(1, (a.size() + most - 1) / most);
  std::vector<double> x, y;
  for (std::size_t i = 0; i < a.size(); i += stride)
    if (std::isfinite(a[i]) && std::isfinite(b[i])) x.push_back(a[i]), y.push_back(b[i]);
  if (x.size() < 2) return none;
  x = ranks_of(x);
  y = ranks_of(y);
  const double mean = 0.5 * static_cast<double>(x.size() + 1);
  double xx = 0.0, yy = 0.0, xy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
  }
  return xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : none;
}

ScatterMatrix matrix_of(const Ensemble& ensemble) {
  constexpr std::size_t most_numbers = most_of_matrix / 2;
  std::vector<std::size_t> numbers, parameters;
  for (std::size_t k = 0; k < ensemble.numbers.size(); ++k)
    if (is_varied(ensemble.values[k])) numbers.push_back(k);
  for (std::size_t k = 0; k < ensemble.parameters.size(); ++k)
    if (is_varied(ensemble.inputs[k])) parameters.push_back(k);
  ScatterMatrix out;
  const std::size_t room = most_of_matrix - std::min(numbers.size(), most_numbers);
  if (parameters.size() > room) {
    std::map<std::size_t, double> weight;
    for (const std::size_t k : parameters)
      for (const std::size_t number : numbers)
        weight[k] = std::max(weight[k], influence(ensemble.inputs[k], ensemble.values[number]));
    std::stable_sort(parameters.begin(), parameters.end(),
                     [&](std::size_t a, std::size_t b) { return weight[a] > weight[b]; });
    parameters.resize(room);
    out.has_all = false;
  }
  const std::size_t left = most_of_matrix - parameters.size();
  if (numbers.size() > left) {
    numbers.resize(left);
    out.has_all = false;
  }
  for (const std::size_t k : parameters) {
    out.names.push_back(ensemble.parameters[k]);
    out.columns.push_back(&ensemble.inputs[k]);
  }
  for (const std::size_t k : numbers) {
    out.names.push_back(ensemble.numbers[k]);
    out.columns.push_back(&ensemble.values[k]);
  }
  const std::size_t size = out.columns.size();
  out.correlations.assign(size * size, 1.0);
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t k = 0; k < i; ++k)
      out.correlations[i * size + k] = out.correlations[k * size + i] =
          rank_correlation(*out.columns[i], *out.columns[k]);
  return out;
}

double quantile(const std::vector<double>& sorted, double level) {
  const double place = level * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double rest = place - static_cast<double>(below);
  return rest == 0.0 ? sorted[below] : sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

Ensemble ensemble_of(const Spec& spec, const std::function<Row(std::size_t)>& row_at) {
  Ensemble out;
  const PointSet* sample = spec.grid->sample();
  // Drawn parameters come first, in the order of the columns of the sample.
  out.parameters = spec.grid->drawn();
  for (const std::string& name : spec.grid->varied_numbers())
    if (std::find(out.parameters.begin(), out.parameters.end(), name) == out.parameters.end())
      out.parameters.push_back(name);
  if (spec.analysis.empty())
    for (const Measure& m : spec.measures) out.numbers.push_back(m.name);
  else
    out.numbers = find_analysis(spec.analysis).outputs;
  const std::size_t count = spec.size();
  out.inputs.assign(out.parameters.size(), std::vector<double>(count, none));
  out.values.assign(out.numbers.size(), std::vector<double>(count, none));
  out.is_failed.assign(count, false);
  Bands bands;
  Causes causes;
  const std::size_t stride = std::max<std::size_t>(1, (count + most_of_bands - 1) / most_of_bands);
  for (std::size_t i = 0; i < count; ++i) {
    const Case c = spec.outline(i);
    for (std::size_t k = 0; k < out.parameters.size(); ++k)
      if (c.coordinates.contains(out.parameters[k]) && c.coordinates[out.parameters[k]].is_number())
        out.inputs[k][i] = c.coordinates[out.parameters[k]].get<double>();
    const Row row = row_at(i);
    causes.add(i, row);
    if (!row.is_success()) {
      out.is_failed[i] = row.status != not_run;
      continue;
    }
    for (std::size_t k = 0; k < out.numbers.size(); ++k) out.values[k][i] = row.number(out.numbers[k]);
    if (i % stride == 0) bands.add(row.trajectories);
  }
  for (std::size_t k = 0; k < out.numbers.size(); ++k) {
    const std::vector<double> values = finite(out.values[k]);
    out.statistics.push_back(statistics_of(out.numbers[k], values));
    if (values.size() > 1) out.histograms.push_back(histogram_of(out.numbers[k], values));
    if (values.size() > 3) add_surface(k, out);
  }
  if (sample != nullptr && sample->kind() == SampleKind::saltelli && count == sample->size()) add_indices(*sample, out);
  out.bands = bands.result();
  out.causes = causes.result();
  return out;
}

}  // namespace kreisel::study
