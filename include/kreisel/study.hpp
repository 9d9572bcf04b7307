// Studies from programs: errors, orders and costs over a grid of runs, of built-in models, model files and systems of the program.
//
//     kreisel::StudyRequest request;
//     request.spec = R"({"model": "mine", "method": "bliedf", "order": [2, 3], "step": [0.02, 0.01, 0.005], "measures": ["q max"]})";
//     request.models = {{"mine", problem}};
//     for (const kreisel::StudyCurve& curve : run_study(request).curves) std::cout << curve.label << " " << *curve.order << "\n";
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/problem.hpp"

namespace kreisel::study {

/// q, v and λ at t, in the layout of the system. Called from several threads.
using ExactMotion = std::function<void(double t, Vector& q, Vector& v, Vector& lambda)>;

/// A CSV with columns t, q1, …, v1, …, lambda1, … and rows at the times of the runs; it does not interpolate. Throws InvalidInput when
/// it cannot be read, and from the motion at times without a row.
ExactMotion motion_of_csv(const std::string& path);

struct StudyRequest {
  std::string spec;  ///< JSON, as `kreisel study` takes it
  std::map<std::string, run::Problem>
      models{};           ///< systems of the program, by the names that `spec` has for them; without events
  ExactMotion exact{};    ///< instead of one that is computed
  double accuracy = 0.0;  ///< of `exact`; smaller errors are marked and not used for orders
  int jobs = 0;           ///< threads; 0: one per core
  std::string folder{};   ///< gets study.csv, study.json and report.html; empty: none
};

/// One number over the abscissa, by decreasing abscissa.
struct StudyCurve {
  std::string label, number;  ///< `number`: a measure, such as "q max", or a cost
  std::vector<double> x, y;
  std::vector<bool> is_marked;  ///< round-off, error of the exact motion, or a failed run: not used for the order
  std::optional<double> order;  ///< slope by least squares
};

struct StudyTable {
  std::vector<StudyCurve> curves;
  std::vector<std::string> failures;  ///< messages of runs that did not succeed
  bool is_as_expected = true;         ///< no expectation of `spec` was missed
  std::string json;                   ///< everything, as in study.json

  /// Throws InvalidInput when there is no such curve.
  const StudyCurve& curve(std::string_view label, std::string_view number) const;
};

/// A run that fails is one of `failures`. Throws InvalidInput when the request cannot be served.
StudyTable run_study(const StudyRequest& request);

}  // namespace kreisel::study
