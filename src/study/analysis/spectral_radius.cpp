// How much of an oscillation of frequency ω a step keeps.
#include "coeff/oscillator.hpp"
#include "kreisel/error.hpp"
#include "study/analysis.hpp"

namespace kreisel::study {
namespace {

Numbers evaluate(const ParameterValues& p) {
  const std::string& method = p.word("method");
  const int order = static_cast<int>(p.number("order"));
  const double h_omega = p.number("h_omega");
  const auto within = [&](int low, int high) {
    if (order < low || order > high)
      throw InvalidInput("spectral-radius: " + method + " has orders " + std::to_string(low) + " to " +
                         std::to_string(high));
  };
  if (method == "generalized-alpha")
    return {{"spectral_radius",
             coeff::alpha_spectral_radius(coeff::GeneralizedAlpha::from_rho_inf(p.number("rho_inf")), h_omega)}};
  if (method == "rkmk")
    return {{"spectral_radius",
             coeff::runge_kutta_spectral_radius(order == 5 ? coeff::dormand_prince_5() : coeff::dop853(), h_omega)}};
  if (method == "adams-moulton") {
    within(2, 6);
    return {{"spectral_radius", coeff::adams_moulton_spectral_radius(order - 1, h_omega)}};
  }
  within(1, 6);
  return {{"spectral_radius", coeff::bdf_spectral_radius(order, h_omega)}};
}

}  // namespace

AnalysisInfo spectral_radius() {
  AnalysisInfo info;
  info.name = "spectral-radius";
  info.summary = "spectral radius of one step for the linear oscillator, over h times omega";
  info.parameters = {
      {.name = "h_omega", .meaning = "step times frequency", .default_number = 1.0, .minimum = 0.0},
      {.name = "method", .meaning = "family", .words = {"bdf", "generalized-alpha", "adams-moulton", "rkmk"}},
      {.name = "order", .meaning = "of bdf, adams-moulton, rkmk", .default_number = 2, .minimum = 1, .maximum = 8},
      {.name = "rho_inf", .meaning = "of generalized-alpha", .default_number = 0.9, .minimum = 0.0, .maximum = 1.0}};
  info.outputs = {"spectral_radius"};
  info.evaluate = evaluate;
  return info;
}

}  // namespace kreisel::study
