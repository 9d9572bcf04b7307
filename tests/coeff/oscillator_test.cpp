// The spectral radius of one step on the linear oscillator, in closed form where there is one.
#include <gtest/gtest.h>

#include <cmath>

#include "coeff/oscillator.hpp"

namespace {

using namespace kreisel::coeff;

TEST(SpectralRadius, OfImplicitEulerAndTheTrapezoidalRule) {
  for (const double H : {0.1, 1.0, 10.0, 1e3}) {
    EXPECT_NEAR(bdf_spectral_radius(1, H), 1.0 / std::hypot(1.0, H), 1e-12);
    EXPECT_NEAR(adams_moulton_spectral_radius(0, H), 1.0 / std::hypot(1.0, H), 1e-12);
    EXPECT_NEAR(adams_moulton_spectral_radius(1, H), 1.0, 1e-12);
  }
}

TEST(SpectralRadius, OfBdfVanishesAtInfinityAndIsAtMostOneUpToOrder2) {
  for (int k = 1; k <= 6; ++k) {
    EXPECT_LT(bdf_spectral_radius(k, 1e6), 0.15) << k;
    EXPECT_NEAR(bdf_spectral_radius(k, 1e-3), 1.0, 1e-5) << k;
  }
  for (double H = 0.01; H < 100.0; H *= 1.2)
    for (const int k : {1, 2}) EXPECT_LE(bdf_spectral_radius(k, H), 1.0) << H;
  // Order 3 to 6 leave the unit circle near the imaginary axis: no method for undamped oscillations at these hω.
  for (int k = 3; k <= 6; ++k) {
    double largest = 0.0;
    for (double H = 0.01; H < 10.0; H *= 1.05) largest = std::max(largest, bdf_spectral_radius(k, H));
    EXPECT_GT(largest, 1.0) << k;
  }
}

TEST(SpectralRadius, OfGeneralizedAlphaReachesRhoInfAndNeverExceedsOne) {
  for (const double rho : {0.0, 0.3, 0.5, 0.8, 0.9, 1.0}) {
    const GeneralizedAlpha p = GeneralizedAlpha::from_rho_inf(rho);
    // A triple root at infinity: round-off enters with its cube root.
    EXPECT_NEAR(alpha_spectral_radius(p, 1e5), rho, 1e-3) << rho;
    for (double H = 0.01; H < 1e3; H *= 1.3) EXPECT_LE(alpha_spectral_radius(p, H), 1.0 + 1e-9) << rho << " at " << H;
    EXPECT_NEAR(alpha_spectral_radius(p, 1e-2), 1.0, 1e-5) << rho;
  }
}

TEST(SpectralRadius, OfRungeKuttaFollowsTheExponential) {
  for (const Tableau& tableau : runge_kutta_tableaux()) {
    EXPECT_NEAR(runge_kutta_spectral_radius(tableau, 0.1), 1.0, 1e-7) << tableau.name;
    EXPECT_GT(runge_kutta_spectral_radius(tableau, 20.0), 1.0) << tableau.name;
  }
}

}  // namespace
