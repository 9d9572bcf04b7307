// Statistics over the cases of a study.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "study/row.hpp"

namespace kreisel::study {

/// Of one number over the cases that succeeded.
struct NumberStatistics {
  std::string name;
  std::size_t count = 0;
  double mean = 0.0, deviation = 0.0;  ///< deviation: of the sample, n - 1
  double minimum = 0.0, maximum = 0.0;
  std::vector<double> quantiles;  ///< one per statistics_levels
};
inline constexpr double statistics_levels[] = {0.05, 0.25, 0.5, 0.75, 0.95};

/// How much of the variance of a number comes from a parameter: alone (Saltelli et al. 2010, table 2 b), and with all its
/// interactions (Jansen 1999). The errors are standard errors over ten parts of the sample.
struct SobolIndex {
  std::string number, parameter;
  double first = 0.0, first_error = 0.0, total = 0.0, total_error = 0.0;
};

struct Histogram {
  std::string name;
  std::vector<double> edges;  ///< one more than counts
  std::vector<std::size_t> counts;
};

/// Means of a number over cells of two parameters; NaN where no case lies.
struct Surface {
  std::string number, x, y;
  std::vector<double> x_edges, y_edges;
  std::vector<double> means;  ///< row by row, of increasing y
  bool is_grid = false;       ///< every cell is one pair of values
};

/// What a scatter matrix shows: parameters first, then numbers, at most most_of_matrix of both.
struct ScatterMatrix {
  std::vector<std::string> names;
  std::vector<const std::vector<double>*> columns;  ///< by case, of the ensemble
  std::vector<double> correlations;  ///< of ranks (Spearman 1904), row by row; NaN: of a column that is constant
  bool has_all = true;               ///< no parameter and no number was left out
};
inline constexpr std::size_t most_of_matrix = 8;

/// Cases that failed for the same reason: messages that differ in their numbers alone count as one.
struct Cause {
  std::string status, message;  ///< of the first
  std::size_t count = 0, first = 0;
};
class Causes {
 public:
  void add(std::size_t number, const Row& row);
  /// The most frequent ones first.
  std::vector<Cause> result() const;

 private:
  std::map<std::string, Cause, std::less<>> by_text_;
};

/// Quantiles of an output over time, over all cases.
struct Band {
  std::string name;
  std::vector<double> t;
  std::vector<std::vector<double>> quantiles;  ///< one curve per statistics_levels
  std::size_t cases = 0, cases_at_end = 0;     ///< that count, at most and at the last time
};

struct Ensemble {
  std::vector<std::string> parameters, numbers;
  std::vector<std::vector<double>> inputs, values;  ///< by parameter and case, by number and case; NaN: none
  std::vector<NumberStatistics> statistics;
  std::vector<SobolIndex> indices;
  std::vector<Histogram> histograms;
  std::vector<Surface> surfaces;
  std::vector<Band> bands;
  std::vector<bool> is_failed;  ///< by case
  std::vector<Cause> causes;    ///< of failed cases
};

/// Quantile of sorted values, between neighbours linearly.
double quantile(const std::vector<double>& sorted, double level);

/// Correlation of the ranks of two lists, over places where both are finite; equal values share a rank. Lists with
/// more than 20,000 places are thinned evenly.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// The columns point into the ensemble. Parameters that matter most come first when there are too many.
ScatterMatrix matrix_of(const Ensemble& ensemble);

/// Takes the rows one after the other and keeps their measures only. Trajectories count up to most_of_bands cases,
/// evenly spread.
Ensemble ensemble_of(const Spec& spec, const std::function<Row(std::size_t)>& row_at);
inline constexpr std::size_t most_of_bands = 5000;

}  // namespace kreisel::study
