// Analyses that need no time: equilibria, their paths over a parameter, small motions about a point.
#pragma once

#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"
#include "kreisel/types.hpp"

namespace kreisel::analysis {

// ---- equilibria: positions and constraint forces at rest, force(q, v = 0, λ) = 0, Φ(q, t) = 0

struct EquilibriumOptions {
  int max_iterations = 5000;
  std::string_view linear_solver = "automatic";
};

struct Equilibrium {
  bool is_found = false;
  /// With the active limits closed; null: the given system. λ refers to its rows.
  std::shared_ptr<const system::System> leaning;
  system::Motion motion;  ///< v = v̇ = 0
  Vector lambda;
  int iterations = 0;   ///< 0: the start is an equilibrium
  std::string message;  ///< why no equilibrium was found
};

/// From the positions of `start`, downhill: implicit steps of M ẍ = force without memory, (s M + K) δ + Bᵀδλ = force, B δ = -Φ,
/// whose s falls to zero where K is positive on ker B (pseudo-transient continuation: Kelley, Keyes 1998). Drivers keep their
/// values at t0. States whose rate depends on positions or states get the value at which it vanishes; states that only accumulate
/// motion, such as a counted angle, follow it. Nonholonomic rows hold along the path. Limits that would be passed are closed, and
/// opened again where they would pull.
Equilibrium find_equilibrium(const system::System& system, const system::Start& start,
                             const EquilibriumOptions& options = {});

// ---- equilibria along a parameter

/// The same mechanism with another value of a parameter.
using Family = std::function<std::shared_ptr<const system::System>(double parameter)>;

struct PathOptions {
  double from = 0.0, to = 1.0;
  int points = 50;        ///< approximate number; more where the path bends sharply
  int max_points = 2000;  ///< limit for paths that do not lead to `to`
};

struct PathPoint {
  double parameter = 0.0;
  std::shared_ptr<const system::System> system;
  system::Motion motion;  ///< v = 0
  Vector lambda;
  bool is_limit = false;     ///< the parameter turns back here
  bool is_critical = false;  ///< stability changes here while the parameter goes on: another path branches off
};

struct StaticPath {
  std::vector<PathPoint> points;
  bool is_complete = false;  ///< the path reached `to`
  std::string message;       ///< why not
};

/// From the equilibrium `first` at options.from. Predictor along the tangent, corrector in the plane across it, for x, λ and the
/// parameter together, so that nothing is singular where the parameter turns (Riks 1979; Keller 1977). Limit points are found to
/// round-off, and so are the points where stability changes while the parameter goes on, as where a straight column buckles: up to
/// 600 coordinates. Throws InvalidInput if the parameter changes the number of coordinates or constraints.
StaticPath follow(const Family& make, const Equilibrium& first, const PathOptions& options);

// ---- small motions about a motion: a linear system without constraints, its eigenvalues and shapes

/// Axes that perturbations of bodies are described in. At rest they give the same eigenvalues; for motions that turn with Ω about
/// an axis, frequencies differ by Ω. A rotor in fixed bearings has constant coefficients in inertial axes, a mechanism on a
/// turntable in those of the bodies.
enum class Axes {
  automatic,  ///< inertial where coefficients are constant in them, else of the bodies
  inertial,
  body,
};

/// ẏ = A y + B δu for the independent coordinates y = (p, w) of positions and velocities: x = X p and δv = V y, with the
/// left-trivialised perturbation x of q (q∘exp(x)), which satisfies the constraints to first order, and inputs u.
struct Linearization {
  Matrix A;
  Matrix B;       ///< one column per input of the system
  Matrix X;       ///< nv x positions, orthonormal columns
  Matrix V;       ///< nv x (positions + velocities)
  Matrix a;       ///< δv̇ of (y, u)
  Matrix lambda;  ///< δλ of (y, u)
  Axes axes = Axes::inertial;
  /// The coefficients do not change along the motion. Where they do, eigenvalues of frozen ones do not determine growth and decay.
  bool is_steady = true;
  int positions() const { return static_cast<int>(X.cols()); }
  int velocities() const { return static_cast<int>(A.rows()) - positions(); }
};

/// Linearised about m, whose v̇ and λ balance the forces. Throws InvalidInput for systems with
/// algebraic unknowns or without mass on ker B, and for systems too large for full matrices.
Linearization linearize(const system::System& system, const system::Motion& m, const Vector& lambda,
                        Axes axes = Axes::automatic);

/// δ(outputs) = C y + D δu.
struct OutputMatrices {
  Matrix C, D;
  std::vector<std::string> columns;  ///< of the outputs: "knee", "foot.x"
};
OutputMatrices output_matrices(const system::System& system, const system::Motion& m, const Vector& lambda,
                               const Linearization& linear);

/// G(iω) = C (iω - A)⁻¹ B + D, one matrix per frequency [rad/s].
std::vector<Eigen::MatrixXcd> frequency_response(const Linearization& linear, const OutputMatrices& outputs,
                                                 const std::vector<double>& frequencies);
/// Enough frequencies to see every resonance: from below the lowest to above the highest |eigenvalue| but zero.
std::vector<double> telling_frequencies(const Linearization& linear);

struct Mode {
  std::complex<double> eigenvalue;  ///< 1/s, with the imaginary part not negative: one of a conjugate pair
  Eigen::VectorXcd shape;           ///< x of all coordinates, scaled so that the largest movement is 1
  std::string largest;              ///< the factor that moves most
  /// By how much round-off may have moved the eigenvalue [1/s]; infinite: not known.
  double round_off = std::numeric_limits<double>::infinity();

  double frequency() const;      ///< Hz: |imaginary part|/2π
  double damping_ratio() const;  ///< -Re/|λ|; NaN for 0
};

/// By frequency, then by damping. A mode without motion of positions (a velocity that decays) has the shape of its velocities.
std::vector<Mode> modes_of(const system::System& system, const system::Motion& m, const Linearization& linear);

/// The largest real part. Unstable if one is positive beyond round-off, which is that of its own eigenvalue at rest: a stiff part
/// elsewhere hides nothing.
struct Stability {
  double growth = 0.0;    ///< 1/s
  bool is_stable = true;  ///< nothing grows
};
Stability stability_of(const std::vector<Mode>& modes);

}  // namespace kreisel::analysis
