#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "coeff/bdf_ratios.hpp"
#include "study/analysis.hpp"

namespace {

using namespace kreisel;
using namespace kreisel::study;

double number(const std::string& analysis, std::initializer_list<std::pair<const char*, double>> parameters,
              const std::string& output) {
  const AnalysisInfo& info = find_analysis(analysis);
  ParameterValues values(info.parameters);
  for (const auto& [name, value] : parameters) values.set(info.name, info.parameters, name, Value(value));
  for (const auto& [name, value] : info.evaluate(values))
    if (name == output) return value;
  return std::nan("");
}

// -rho is an eigenvalue of multiplicity three (Arnold, Brüls, Cardona 2015, section 4.1).
TEST(Amplification, SpectralRadiusIsRho) {
  for (const double rho : {0.0, 0.1, 0.3, 0.6, 0.9, 0.91, 0.99})
    EXPECT_NEAR(number("amplification", {{"rho_inf", rho}, {"powers", 1}}, "spectral_radius"), rho, 1e-6) << rho;
}

TEST(Amplification, SpectralRadiusOfTheStabilizedFormIsThatOfRemark4c) {
  for (const double rho : {0.0, 0.1, 0.2, 0.268, 0.3, 0.6, 0.9}) {
    const double expected = std::max({std::abs(2 * rho - 1) / (2 - rho), std::abs(3 * rho - 1) / (3 - rho), rho});
    EXPECT_NEAR(number("amplification", {{"rho_inf", rho}, {"powers", 1}}, "stabilized_spectral_radius"), expected,
                1e-12)
        << rho;
  }
}

// Angles: (Hairer, Wanner 1996, Table V.2.1). Bounds of constant ratios: 1 + √2 and (1 + √5)/2 are exact; the others are those of
// (Calvo, Grande, Grigorieff 1990). Spectral radii: roots of Σ γ ζ, from numpy.
TEST(BdfStability, KnowsThePublishedAnglesAndBounds) {
  const double angle[] = {90, 90, 86.03, 73.35, 51.84, 17.84};
  const double radius[] = {0.0, 1.0 / 3.0, 0.42640143271, 0.56086151609, 0.70871081627, 0.86338026787};
  const double constant_ratio[] = {100.0,        1.0 + std::sqrt(2.0), 0.5 * (1.0 + std::sqrt(5.0)),
                                   1.2807368582, 1.1270911050,         1.0442997773};
  const double any_ratio[] = {100.0, 1.0 + std::sqrt(2.0), 1.2613544594, 1.0871311220, 1.0311664658, 1.0074589761};
  // Of differences divided by their steps, from numpy.
  const double any_ratio_z[] = {100.0, 100.0, 1.7338796621, 1.1578577451, 1.0497834149, 1.0123229304};
  for (int k = 1; k <= 6; ++k) {
    const double order = k;
    EXPECT_NEAR(number("bdf-stability", {{"order", order}}, "any_ratio_z"), any_ratio_z[k - 1], 1e-8) << k;
    EXPECT_NEAR(number("bdf-stability", {{"order", order}}, "angle"), angle[k - 1], 0.006) << k;
    EXPECT_NEAR(number("bdf-stability", {{"order", order}}, "norm_y"), 1.0, 1e-12) << k;
    EXPECT_NEAR(number("bdf-stability", {{"order", order}}, "norm_z"), radius[k - 1], 1e-10) << k;
    EXPECT_NEAR(number("bdf-stability", {{"order", order}}, "constant_ratio"), constant_ratio[k - 1], 1e-8) << k;
    EXPECT_NEAR(number("bdf-stability", {{"order", order}}, "any_ratio"), any_ratio[k - 1], 1e-8) << k;
  }
}

// The table that the controller and the warning about given steps use.
TEST(BdfStability, IsTheTableOfTheController) {
  for (int k = 2; k <= coeff::bdf_max_order; ++k) {
    const double order = k;
    const coeff::RatioBounds& table = coeff::bdf_ratio_bounds[k];
    const auto expect_cut = [&](double cut, const char* name) {
      const double exact = number("bdf-stability", {{"order", order}}, name);
      EXPECT_LE(cut, exact) << name << ' ' << k;
      EXPECT_GT(cut, exact * (1.0 - 1.1e-3)) << name << ' ' << k;
    };
    expect_cut(table.constant, "constant_ratio");
    expect_cut(table.rested, "rested_ratio");
    expect_cut(table.any, "any_ratio");
  }
}

// What a doubling every k+1 steps does to differences of errors, from numpy.
TEST(BdfStability, KnowsWhatDoublingsCost) {
  EXPECT_NEAR(number("bdf-stability", {{"order", 5}}, "doubling_radius"), 1.0006, 1e-4);
  EXPECT_NEAR(number("bdf-stability", {{"order", 6}}, "doubling_radius"), 4.1576, 1e-4);
  EXPECT_GT(number("bdf-stability", {{"order", 4}}, "rested_ratio"), 2.0);
  EXPECT_LT(number("bdf-stability", {{"order", 6}}, "rested_ratio"), 1.4);
}

}  // namespace
