// Result of one case of a study.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/measure.hpp"
#include "study/spec.hpp"

namespace kreisel::study {

/// Status of a case whose errors cannot be measured: the exact solution is missing.
inline constexpr const char* no_reference = "no-reference";

struct Row {
  std::string status = "success";  ///< or the id of an error
  std::string message;
  std::map<std::string, Value, std::less<>> numbers;  ///< measures and statistics by name
  std::map<std::string, double, std::less<>> floors;  ///< below these the reference or round-off counts, by measure
  std::vector<Curve> curves;                          ///< one per series of the study
  std::vector<Curve> trajectories;                    ///< one per number of the outputs that are kept

  bool is_success() const { return status == "success"; }
  /// NaN when there is none.
  double number(std::string_view name) const;
  /// Whether the error is that of the reference or of round-off, not of the method.
  bool is_marked(std::string_view name) const;
};

/// What every run has besides its measures: step, counts, CPU time, residuals, energy.
const std::vector<std::string>& statistics_names();

/// A unit for tables and axes, empty for pure numbers.
std::string unit_of(std::string_view name);

/// The abscissa of a case: a number of its row or a coordinate.
double abscissa(const std::string& x, const Case& a_case, const Row& row);

/// Whether it is a measured time, which differs from run to run.
bool is_of_the_clock(std::string_view name);

/// As in study.json, without curves.
Json to_json(const Row& row);

}  // namespace kreisel::study
