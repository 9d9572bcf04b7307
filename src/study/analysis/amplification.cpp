// Powers of the error amplification matrix of generalized-α in index-3 form (Arnold, Brüls, Cardona 2015, section 4.1).
#include <algorithm>
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

/// Largest modulus of an eigenvalue. The second column has only its diagonal entry, which is one eigenvalue; the others
/// are those of the remaining 2x2 matrix. They coincide for parameters from ρ∞, where power iteration is slow.
double spectral_radius(const coeff::SmallMatrix<3>& T) {
  const double half_trace = 0.5 * (T[0][0] + T[2][2]), determinant = T[0][0] * T[2][2] - T[0][2] * T[2][0];
  const double discriminant = half_trace * half_trace - determinant;
  const double other = discriminant < 0.0 ? std::sqrt(determinant) : std::abs(half_trace) + std::sqrt(discriminant);
  return std::max(std::abs(T[1][1]), other);
}

/// Of the 3x3 matrix of theorem 2, blockdiag(-αm/(1-αm), T₊⁻¹T₀) (Arnold, Brüls, Cardona 2015, Remark 4c).
double stabilized_spectral_radius(const coeff::GeneralizedAlpha& parameters) {
  const coeff::SmallMatrix<2> S = coeff::stabilized_error_amplification(parameters);
  return std::max({std::abs(parameters.alpha_m / (1.0 - parameters.alpha_m)), std::abs(S[0][0]), std::abs(S[1][1])});
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
          {"stabilized_spectral_radius", stabilized_spectral_radius(parameters)}};
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
      {.name = "powers", .meaning = "number of powers", .default_number = 1000, .minimum = 1, .maximum = 100000}};
  info.evaluate = evaluate;
  for (const auto& [name, value] : evaluate(ParameterValues(info.parameters))) info.outputs.push_back(name);
  return info;
}

}  // namespace kreisel::study
