// For which step ratios the errors of generalized-α in constrained directions contract (Wieloch 2022, Table 4.1).
#include <algorithm>
#include <cmath>

#include "coeff/alpha_variable.hpp"
#include "study/analysis.hpp"

namespace kreisel::study {
namespace {

using coeff::AlphaForm;

/// The norm (4.45) as a function of σ_n and σ_{n+1}.
struct Recursion {
  AlphaForm form;
  double rho_inf;
  int approximation;

  double norm(double sigma, double next) const {
    return coeff::amplification_norm(form, rho_inf, approximation, sigma, next);
  }

  /// Largest norm for ratios in [low, high]². In 1/σ_{n+1} the norm is convex, so that its ends decide; in σ_n it is sampled.
  double largest(double low, double high) const {
    constexpr int samples = 200;
    double worst = 0.0;
    for (int i = 0; i <= samples; ++i) {
      const double sigma = low * std::pow(high / low, static_cast<double>(i) / samples);
      worst = std::max({worst, norm(sigma, low), norm(sigma, high)});
    }
    return worst;
  }
};

/// The end of the interval around `inside`, towards `outside`, on which the property holds.
template <class Property>
double boundary(double inside, double outside, const Property& holds) {
  if (holds(outside)) return outside;
  if (!holds(inside)) return inside;
  while (std::abs(outside - inside) > 1e-9 * inside) {
    const double middle = std::sqrt(inside * outside);
    (holds(middle) ? inside : outside) = middle;
  }
  return inside;
}

/// The first end on the way from 1: the property is tested at every hundredth of the way before the end is refined.
template <class Property>
double first_boundary(double outside, const Property& holds) {
  double inside = 1.0;
  for (int i = 1; i <= 400; ++i) {
    const double next = std::pow(outside, i / 400.0);
    if (!holds(next)) return boundary(inside, next, holds);
    inside = next;
  }
  return outside;
}

Numbers evaluate(const ParameterValues& p) {
  const Recursion r{p.word("form") == "index3" ? AlphaForm::index3 : AlphaForm::stabilized_index2, p.number("rho_inf"),
                    static_cast<int>(p.number("approximation"))};
  const auto equal_ratios = [&](double sigma) { return r.norm(sigma, sigma) < 1.0; };
  const double diagonal_min = first_boundary(0.01, equal_ratios), diagonal_max = first_boundary(100.0, equal_ratios);
  // A lower end that was printed with four digits may lie a little below the true one.
  const double low = std::max(p.number("ratio_min"), diagonal_min * (1.0 + 1e-7));
  const double box_max = first_boundary(100.0, [&](double high) { return r.largest(low, high) < 1.0; });
  return {{"symmetric", coeff::ratio_bound(r.form, r.rho_inf, r.approximation)},
          {"diagonal_min", diagonal_min},
          {"diagonal_max", diagonal_max},
          {"box_max", box_max},
          {"norm_of_box", p.number("ratio_max") > 1.0
                              ? r.largest(std::min(p.number("ratio_min"), 1.0), p.number("ratio_max"))
                              : std::nan("")}};
}

}  // namespace

AnalysisInfo step_ratio_bounds() {
  AnalysisInfo info;
  info.name = "step-ratio-bounds";
  info.summary =
      "step ratios for which the error recursion of generalized-alpha contracts: on [1/s, s]^2, for equal ratios, on a "
      "box";
  info.parameters = {
      {.name = "rho_inf",
       .meaning = "spectral radius at infinity",
       .default_number = 0.9,
       .minimum = 0.0,
       .maximum = 0.999},
      {.name = "approximation",
       .meaning = "of the second derivative of v, 1 to 4",
       .default_number = 1,
       .minimum = 1,
       .maximum = 4},
      {.name = "form", .meaning = "of the constraints", .words = {"index3", "stabilized-index2"}},
      {.name = "ratio_min", .meaning = "lower end of the box", .default_number = 0.0, .minimum = 0.0, .maximum = 1.0},
      {.name = "ratio_max",
       .meaning = "upper end of the box of which the largest norm is computed",
       .default_number = 1.0,
       .minimum = 1.0}};
  info.outputs = {"symmetric", "diagonal_min", "diagonal_max", "box_max", "norm_of_box"};
  info.evaluate = evaluate;
  return info;
}

}  // namespace kreisel::study
