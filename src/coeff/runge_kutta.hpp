// Explicit Runge–Kutta tableaux with embedded error estimates.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace kreisel::coeff {

inline constexpr int runge_kutta_max_stages = 12;

/// Weights of one error estimate, h Σ weight[i] kᵢ = O(h^{order+1}).
struct ErrorWeights {
  int order;  ///< of the embedded formula, b - weight
  std::array<double, runge_kutta_max_stages> weight;
};

/// kᵢ = f(t + cᵢh, y + h Σ_{j<i} aᵢⱼ kⱼ),  y₊ = y + h Σ bᵢ kᵢ.
struct Tableau {
  std::string_view name;
  int stages;
  int order;
  bool reuses_last_stage;  ///< the last stage is f(t + h, y₊), the first of the next step
  std::array<std::array<double, runge_kutta_max_stages>, runge_kutta_max_stages> a;  ///< zero for j ≥ i
  std::array<double, runge_kutta_max_stages> b;
  std::array<double, runge_kutta_max_stages> c;
  int error_count;                    ///< 1 or 2
  std::array<ErrorWeights, 2> error;  ///< first the sharper one
};

/// Order 5 with an embedded order 4, 7 stages (Dormand, Prince 1980; Hairer, Nørsett, Wanner 1993, table II.5.2).
const Tableau& dormand_prince_5();

/// Order 8 with embedded orders 5 and 3, 12 stages (Hairer, Nørsett, Wanner 1993, section II.5). With the
/// norms e₅, e₃ of the two estimates its error is e₅²/√(e₅² + e₃²/100), of size O(h^8).
const Tableau& dop853();

/// Both of the above.
std::span<const Tableau> runge_kutta_tableaux();

/// By name, "dormand-prince-5" or "dop853"; nullptr if there is none.
const Tableau* find_tableau(std::string_view name);

}  // namespace kreisel::coeff
