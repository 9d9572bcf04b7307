#include "support/order.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <cmath>

#include "method/catalogue.hpp"

namespace kreisel::support {
namespace {

/// Errors nearer to round-off than this are not measured.
constexpr double floor_distance = 3.0;

struct Pair {
  Errors coarse, fine;
};

void expect_slope(const char* what, double coarse, double fine, double floor, double expected) {
  if (std::isnan(expected)) return;
  ASSERT_GT(fine, floor_distance * floor) << what << ": round-off floor, choose a larger step";
  ASSERT_LT(coarse, 1e4 * (1.0 + fine)) << what << ": the coarse run is unstable, choose a smaller step";
  EXPECT_NEAR(std::log2(coarse / fine), expected, slope_tolerance) << what << ", errors " << coarse << " and " << fine;
}

}  // namespace

std::string name_of(const OrderCase& c) {
  std::string name = c.method + "_" + std::to_string(c.order) + "_" + c.group + "_" + c.formulation + "_" + c.starting;
  if (c.method == "bliedf") name += "_" + c.correction;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
}

void PrintTo(const OrderCase& c, std::ostream* out) { *out << name_of(c); }

Experiment experiment_of(const OrderCase& c) {
  Experiment e;
  e.group = c.group;
  e.options.method = c.method;
  e.options.order = c.order;
  e.options.formulation = c.formulation;
  e.options.starting = c.starting;
  e.options.correction = c.correction;
  e.options.t_end = c.grid.t_end;
  if (c.method == "projected-bdf") {
    // In the mass metric the leading error of the heavy top nearly vanishes and slopes wander; the Euclidean one shows k.
    e.options.method.set("metric", "euclidean");
    e.options.newton_tolerance = 1e-13;
  }
  return e;
}

Errors roundoff_floor(const OrderCase& c, double h) {
  if (c.method == "rkmk") return {1e-13, 1e-12, 5e-11};
  // Index-3: rounding of q enters v as eps/h and λ as eps/h². Else λ follows the Newton tolerance.
  if (c.formulation == "index3") return {1e-16 / h, 1e-14 / h, 1.8e-12 / (h * h)};
  return {1e-16 / h, 1e-15 / h, 1.25e-12 / h};
}

void expect_orders(const OrderCase& c) {
  Experiment e = experiment_of(c);
  const models::Model model = make_model(e);
  const Trajectory& exact = reference(e, 2 * c.grid.steps);
  Pair all, end, first;
  for (const long refinement : {1, 2}) {
    e.options.step = c.grid.t_end / static_cast<double>(refinement * c.grid.steps);
    const Trajectory run = integrate(model, e.options);
    ASSERT_EQ(run.report.status, run::Status::success) << run.report.message;
    ASSERT_EQ(static_cast<long>(run.points.size()), refinement * c.grid.steps + 1);
    (refinement == 1 ? all.coarse : all.fine) = errors_of(model, run, exact, {Entries::euclidean, Span::all});
    (refinement == 1 ? end.coarse : end.fine) = errors_of(model, run, exact, {Entries::euclidean, Span::end});
    (refinement == 1 ? first.coarse : first.fine) = errors_of(model, run, exact, {Entries::euclidean, Span::first});
  }
  const Errors floor = roundoff_floor(c, e.options.step);
  expect_slope("q, maximum over time", all.coarse.q, all.fine.q, floor.q, c.q);
  expect_slope("q at the end", end.coarse.q, end.fine.q, floor.q, c.q);
  expect_slope("v, maximum over time", all.coarse.v, all.fine.v, floor.v, c.v);
  expect_slope("v at the end", end.coarse.v, end.fine.v, floor.v, c.v);
  if (model.system->pattern().rows() == 0 || std::isnan(c.lambda)) return;

  expect_slope("lambda at the end", end.coarse.lambda, end.fine.lambda, floor.lambda, c.lambda);
  if (std::isinf(c.first_lambda)) {
    expect_slope("lambda, maximum over time", all.coarse.lambda, all.fine.lambda, floor.lambda, c.lambda);
    // The first errors are often of one order more and then below round-off, where nothing can be said.
    if (first.fine.lambda > floor_distance * floor.lambda) {
      EXPECT_GT(std::log2(first.coarse.lambda / first.fine.lambda), c.lambda - slope_tolerance)
          << "lambda, first steps, errors " << first.coarse.lambda << " and " << first.fine.lambda;
    }
  } else {
    expect_slope("lambda, first steps", first.coarse.lambda, first.fine.lambda, floor.lambda, c.first_lambda);
    EXPECT_GT(std::log2(all.coarse.lambda / all.fine.lambda), c.first_lambda - slope_tolerance);
  }
}

Grid grid_for(int order, const std::string& group, const std::string& formulation) {
  const bool is_index3 = formulation == "index3";
  switch (order) {
    case 1:
      return {0.1, 5000};  // h = 2e-5: the error of q grows like t³ and must stay below 1
    case 2:
    case 3:
      return {0.25, 500};
    case 4:
      return {0.25, is_index3 ? 400 : 500};
    case 5:
      return {0.25, 250};
    case 6:
      // Little room between round-off (index-3), the Newton tolerance (λ elsewhere) and the terms of order 7.
      if (group == "se3") return is_index3 ? Grid{0.22, 280} : Grid{0.25, 400};
      if (is_index3) return {0.2, 160};
      if (formulation == "projected") return {0.25, 500};
      return {0.25, formulation == "index1" ? 250 : 300};
    default:
      return {0.25, 50};
  }
}

}  // namespace kreisel::support
