// What a study measures of a run: quantities, and how they become numbers.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"
#include "models/catalogue.hpp"
#include "run/row_map.hpp"
#include "study/reference.hpp"

namespace kreisel::study {

/// Which points of a run count.
enum class Span {
  end,     ///< the last one
  max,     ///< all: the largest value
  min,     ///< all: the smallest value
  first,   ///< the first 3k+3 steps, which isolate the starting transient
  window,  ///< those with Measure::from ≤ t ≤ Measure::to
  local    ///< the first one that the method makes: one step from exact values
};

enum class Scale { absolute, by_exact, by_computed };

/// One quantity as one number per run.
struct Measure {
  std::string name;      ///< as in the study file: "lambda max"
  std::string quantity;  ///< of quantities()
  Span span = Span::max;
  double from = -std::numeric_limits<double>::infinity(), to = std::numeric_limits<double>::infinity();
  Scale scale = Scale::absolute;
  int component = 0;        ///< counts from 1; 0: the norm of all
  bool is_largest = false;  ///< largest absolute entry instead of the Euclidean norm
  bool is_signed = false;   ///< keeps the sign of a single entry
};

/// One quantity over time.
struct Series {
  std::string name, quantity;
  int component = 0;
  double from = -std::numeric_limits<double>::infinity(), to = std::numeric_limits<double>::infinity();
};

struct QuantityInfo {
  std::string_view name, meaning;
  bool needs_reference = false;
  bool has_size = false;  ///< errors of it can be relative
};
const std::vector<QuantityInfo>& quantities();
/// Throws InvalidInput with the nearest match.
const QuantityInfo& find_quantity(std::string_view name);

/// Place of the numbers of "output.NAME", or of one component of it, among all outputs: begin and count. Throws
/// InvalidInput with the nearest match.
std::pair<int, int> output_place(const system::System& system, std::string_view quantity);

/// A point of a run, as a meter sees it.
struct Sample {
  lie::Motion motion;
  Vector lambda, eta, gap, rate;
  double h = 0.0;
  int order = 0;
  long number = 0;
  bool is_start = false;
  const system::System* system = nullptr;  ///< in force at this point
};

struct Value {
  double value = std::numeric_limits<double>::quiet_NaN();
  long at_step = -1;  ///< where a maximum is reached
};

struct Curve {
  std::vector<double> t, y;
  std::string name{};
};

/// Outputs of a model at evenly spaced times, cubic between the points of the run where rates exist.
class Tracks {
 public:
  Tracks(const models::Model& model, const std::vector<std::string>& outputs, int points, double t_end);

  void take(const Sample& sample);
  /// One per number of the outputs; times that the run did not reach are missing.
  std::vector<Curve> curves() const;

 private:
  const models::Model& model_;
  std::vector<int> places_;  ///< among all outputs
  std::vector<double> times_;
  std::vector<Curve> curves_;
  run::OutputsInForce outputs_;
  Vector values_, rates_, values_before_, rates_before_;
  double t_before_ = 0.0;
  bool has_before_ = false;
};

/// Follows one run.
class Meter {
 public:
  /// `exact` may be null when no quantity needs it; `order` counts for Span::first.
  Meter(const models::Model& model, const std::vector<Measure>& measures, const std::vector<Series>& series, int order,
        ExactSolution* exact);

  void take(const Sample& sample);
  /// True when no later point can change a result.
  bool is_done() const { return is_done_; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Curve>& curves() const { return curves_; }

 private:
  /// The quantity at this point, and the norm of the exact or computed one for relative errors.
  void evaluate(const std::string& quantity, const Sample& sample, Vector& out, double& exact_size,
                double& computed_size);
  double largest_size(std::string_view quantity) const;  ///< of the exact solution, over the run
  bool counts(const Measure& measure, const Sample& sample) const;
  bool has_later_points(const Measure& measure, const Sample& sample) const;

  const models::Model& model_;
  const std::vector<Measure>& measures_;
  const std::vector<Series>& series_;
  int order_;
  ExactSolution* exact_;
  bool is_done_ = false, has_local_ = false;
  double energy_initial_ = 0.0;
  std::vector<Value> values_;
  std::vector<Curve> curves_;
  run::OutputsInForce outputs_;
  Vector a_, b_, out_;
};

}  // namespace kreisel::study
