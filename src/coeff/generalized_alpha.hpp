// The generalized-α family: parameters, their conditions, and how they amplify errors of constrained systems.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace kreisel::coeff {

/// (1-αm) a_{n+1} + αm a_n = (1-αf) v̇_{n+1} + αf v̇_n,  a_n ≈ v̇(t_n + Δα h)
/// (Arnold, Brüls, Cardona 2015, eq. 9; Wieloch 2022, eq. 2.18).
struct GeneralizedAlpha {
  double alpha_m;
  double alpha_f;
  double beta;
  double gamma;

  /// Second order with spectral radius ρ∞ ∈ [0, 1] at infinite frequency, the least damping of low
  /// frequencies for that ρ∞ (Arnold, Brüls, Cardona 2015, eq. 52; Wieloch 2022, eq. 2.20).
  static constexpr GeneralizedAlpha from_rho_inf(double rho_inf) {
    const double alpha_m = (2.0 * rho_inf - 1.0) / (rho_inf + 1.0);
    const double alpha_f = rho_inf / (rho_inf + 1.0);
    const double gamma = 0.5 + alpha_f - alpha_m;
    const double root = 0.5 * (gamma + 0.5);
    return {alpha_m, alpha_f, root * root, gamma};
  }

  /// Δα = αm - αf, the offset of a_n from t_n in steps (Wieloch 2022, eq. 2.19).
  constexpr double delta() const { return alpha_m - alpha_f; }

  /// h³-coefficient of the local position error: l^q = (C_q/6) h³ v̈ + …, C_q = 1 - 6β - 3Δα
  /// (Arnold, Brüls, Cardona 2015, eq. 17, Example 2).
  constexpr double position_error() const { return 1.0 - 6.0 * beta - 3.0 * delta(); }

  /// h³-coefficient of the local velocity error, l^v = C_v h³ v⃛ + …: a_n = v̇(t_n + Δα h) + c h² v⃛ + … with the c that
  /// the recursion of a reproduces, put into v_{n+1} = v_n + (1-γ)h a_n + γh a_{n+1}.
  constexpr double velocity_error() const {
    const double d = delta(), e = 1.0 + d;
    const double c = 0.5 * (1.0 - alpha_f - (1.0 - alpha_m) * e * e - alpha_m * d * d);
    return c + 0.5 * ((1.0 - gamma) * d * d + gamma * e * e) - 1.0 / 6.0;
  }
};

/// The stability required of the parameters.
enum class AlphaStability {
  unconditional,  ///< ODE, any h ω: αm ≤ αf ≤ 1/2, β ≥ 1/4 + (αf - αm)/2
  contractive,    ///< constrained systems: the same with < and >, so that ρ∞ < 1
};

/// Each violated condition as one sentence with its values, empty if none:
/// γ = 1/2 + αf - αm (eq. 12) and the stability conditions (Arnold, Brüls, Cardona 2015, eq. 50).
std::vector<std::string> violated_conditions(const GeneralizedAlpha& parameters, AlphaStability stability,
                                             double tolerance = 1e-12);

template <int N>
using SmallMatrix = std::array<std::array<double, N>, N>;

/// T₊⁻¹T₀ of the index-3 form, acting on (r^B, e^{Sλ}, e^{Ba}) (Arnold, Brüls, Cardona 2015, eq. 46).
SmallMatrix<3> error_amplification(const GeneralizedAlpha& parameters);

/// T₊⁻¹T₀ of the stabilized index-2 form (Arnold, Brüls, Cardona 2015, eq. 59).
SmallMatrix<2> stabilized_error_amplification(const GeneralizedAlpha& parameters);

/// T^n for n ≥ 0.
SmallMatrix<3> power(const SmallMatrix<3>& T, int n);

/// Largest singular value.
double norm2(const SmallMatrix<3>& T);

/// c∞ = max_n n(n-1) ρ∞^{n-2} / 2, a lower bound of max_n ‖J^n‖ for the Jordan block J of T₊⁻¹T₀;
/// requires 0 ≤ ρ∞ < 1 (Arnold, Brüls, Cardona 2015, section 4.1).
double transient_growth(double rho_inf);

}  // namespace kreisel::coeff
