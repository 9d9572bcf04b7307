// Powers of the error amplification matrix of generalized-α in index-3 form (Arnold, Brüls, Cardona 2015, section 4.1).
#include <cmath>

#include "coeff/generalized_alpha.hpp"
#include "study/analysis.hpp"

namespace kreisel::study {
namespace {

struct Largest {
  double value = 0.0;
  int at = 0;
  void see(double candidate, int n) {
    if (candidate > value) *this = {candidate, n};
  }
};

/// Largest modulus of an eigenvalue, as the limit of ‖Tⁿ‖^(1/n) from two far powers, which cancels the polynomial growth
/// of Jordan blocks up to O(1/n).
double spectral_radius(const coeff::SmallMatrix<3>& T) {
  const double far = coeff::norm2(coeff::power(T, 4000)), near = coeff::norm2(coeff::power(T, 2000));
  return near > 0.0 && far > 0.0 ? std::pow(far / near / 4.0, 1.0 / 2000.0) : 0.0;
}

Numbers evaluate(const ParameterValues& p) {
  const double rho = p.number("rho_inf");
  const coeff::GeneralizedAlpha parameters = coeff::GeneralizedAlpha::from_rho_inf(rho);
  const coeff::SmallMatrix<3> T = coeff::error_amplification(parameters);
  Largest norm;
  std::array<Largest, 3> row;
  const int last = static_cast<int>(p.number("powers"));
  for (int n = 1; n <= last; ++n) {
    const coeff::SmallMatrix<3> power = coeff::power(T, n);
    norm.see(coeff::norm2(power), n);
    for (int j = 0; j < 3; ++j) row[j].see(std::abs(power[1][j]), n);
  }
  const double formula = 0.9 / (1.0 - std::pow(rho, 0.25));  // approximates the largest norm (section 4.1)
  const coeff::SmallMatrix<2> S = coeff::stabilized_error_amplification(parameters);
  return {{"c_inf", coeff::transient_growth(rho)},
          {"norm", norm.value},
          {"norm_at", norm.at},
          {"formula", formula},
          {"formula_error", std::abs(norm.value / formula - 1.0)},
          {"lambda_from_r", row[0].value},
          {"lambda_from_r_at", row[0].at},
          {"lambda_from_lambda", row[1].value},
          {"lambda_from_lambda_at", row[1].at},
          {"lambda_from_a", row[2].value},
          {"lambda_from_a_at", row[2].at},
          {"spectral_radius", spectral_radius(T)},
          {"stabilized_spectral_radius", std::max(std::abs(S[0][0]), std::abs(S[1][1]))}};
}

}  // namespace

AnalysisInfo amplification() {
  AnalysisInfo info;
  info.name = "amplification";
  info.summary = "largest norms and entries of the powers of T+^-1 T0 of generalized-alpha";
  info.parameters = {
      {.name = "rho_inf",
       .meaning = "spectral radius at infinity",
       .default_number = 0.9,
       .minimum = 0.0,
       .maximum = 0.999},
      {.name = "powers", .meaning = "how many powers", .default_number = 1000, .minimum = 1, .maximum = 100000}};
  info.evaluate = evaluate;
  for (const auto& [name, value] : evaluate(ParameterValues(info.parameters))) info.outputs.push_back(name);
  return info;
}

}  // namespace kreisel::study
