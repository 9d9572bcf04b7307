// Small motions about a motion: a linear system without constraints, its eigenvalues and shapes.
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "kreisel/system.hpp"
#include "kreisel/types.hpp"

namespace kreisel::analysis {

/// ẏ = A y for the independent coordinates y = (p, u) of positions and velocities: x = X p and δv = V y, with the
/// left-trivialised perturbation x of q (q∘exp(x)), which satisfies the constraints to first order.
struct Linearization {
  Matrix A;
  Matrix X;  ///< nv x positions, orthonormal columns
  Matrix V;  ///< nv x (positions + velocities)
  /// The coefficients do not change along the motion. Where they do, eigenvalues of frozen ones say nothing about growth and decay.
  bool is_steady = true;
  int positions() const { return static_cast<int>(X.cols()); }
  int velocities() const { return static_cast<int>(A.rows()) - positions(); }
};

/// About m, whose v̇ and λ balance the forces. Throws InvalidInput for systems with
/// algebraic unknowns or without mass on ker B, and for systems too large for full matrices.
Linearization linearize(const system::System& system, const system::Motion& m, const Vector& lambda);

struct Mode {
  std::complex<double> eigenvalue;  ///< 1/s, with the imaginary part not negative: one of a conjugate pair
  Eigen::VectorXcd shape;           ///< x of all coordinates, the largest movement 1
  std::string largest;              ///< the factor that moves most

  double frequency() const;      ///< Hz: |imaginary part|/2π
  double damping_ratio() const;  ///< -Re/|λ|; NaN for 0
};

/// By frequency, then by damping. A mode without motion of positions (a velocity that decays) has the shape of its velocities.
std::vector<Mode> modes_of(const system::System& system, const system::Motion& m, const Linearization& linear);

/// The largest real part; positive beyond round-off: unstable.
struct Stability {
  double growth = 0.0;    ///< 1/s
  bool is_stable = true;  ///< nothing grows
};
Stability stability_of(const std::vector<Mode>& modes);

}  // namespace kreisel::analysis
