// A system of the user's own: a few functions become a System, every derivative that is not given is computed.
//
//     using namespace kreisel;
//     const double mass = 1.0, length = 1.0, gravity = 9.81;
//     system::SystemFunctions f;
//     f.name = "pendulum";
//     f.space = {{lie::GroupId::rn, 2}};
//     f.position_rows = 1;
//     f.mass = [=](const Vector&) -> Matrix { return mass * Matrix::Identity(2, 2); };
//     f.force = [=](double, const Vector&, const Vector&) -> Vector { return Eigen::Vector2d(0.0, mass * gravity); };
//     f.constraint = [=](double, const Vector& q) -> Vector {
//       return Vector::Constant(1, 0.5 * (q.squaredNorm() - length * length));
//     };
//     const system::FunctionSystem pendulum(f);
//
// Write the return type of each lambda (-> Vector): without it Eigen returns an expression of variables that are gone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kreisel/system/system.hpp"

namespace kreisel::system {

/// The functions of
///
///     M(q) v̇ + g(t,q,v) + r(t,q,v,λ) + B(q,t)ᵀλ₁ + A(q,t)ᵀλ₂ = 0,   Φ(q,t) = 0,   A(q,t) v + a(q,t) = 0
///
/// and, in the rows of blocks that are not dynamic (no mass, no Bᵀλ; see CoordinateKind),
///
///     g + r = v - f(t,q,v,λ)  for a first-order state,   g + r = s(t,q,v,λ)  for an algebraic unknown.
///
/// q is laid out as the factors of `space` say: n numbers for rn, quaternion (x, y, z, w) for so3, position and quaternion
/// else. The functions must not keep state: they are called in any order, many times per step, and from several threads
/// if several runs share the system.
struct SystemFunctions {
  std::string name = "user system";      ///< for messages
  std::vector<lie::Factor> space;        ///< at least one
  std::vector<CoordinateKind> kinds;     ///< per factor; empty: all dynamic
  std::vector<std::string> block_names;  ///< per factor; may be empty
  int position_rows = 0;                 ///< rows of Φ
  int velocity_rows = 0;                 ///< rows of A v + a
  std::vector<std::string> row_names;    ///< per row, position rows first; equal neighbours form a group; may be empty

  std::function<Matrix(const Vector& q)> mass;                              ///< M, symmetric, nv x nv
  std::function<Vector(double t, const Vector& q, const Vector& v)> force;  ///< g, nv numbers
  std::function<Vector(double t, const Vector& q)> constraint;              ///< Φ, when position_rows > 0
  std::function<Vector(double t, const Vector& q, const Vector& v)> velocity_constraint;  ///< A v + a, affine in v

  // Optional.
  std::function<Vector(double t, const Vector& q, const Vector& v, const Vector& lambda)> multiplier_force;  ///< r
  std::function<Matrix(double t, const Vector& q)> jacobian;         ///< B, position_rows x nv: d/ds Φ(q∘exp(s e_i))
  std::function<Vector(double t, const Vector& q)> constraint_rate;  ///< Φ_t, zeros if Φ does not depend on t
  std::function<Vector(double t, const Vector& q, const Vector& v)> curvature;  ///< Ḃ v + Φ̇_t of the position rows
  std::function<double(double t, const Vector& q, const Vector& v)> energy;

  std::vector<Corner> corners;  ///< times at which the functions are not smooth, in any order
  std::function<Corner(double t)> next_corner;  ///< the first one after t, where a list would be too long

  /// The length over which the functions vary, per entry of v: 1 suits angles and bodies of 0.1 m to 10 m; a mechanism of
  /// millimetres in ℝ³ wants 1e-3. Empty: all 1.
  Vector scale;
  double time_scale = 1.0;  ///< the same for t [s]; a driver sin(ωt) with ω > 10 wants 1/ω
};

/// Every block coupled with every other, so meant for small systems.
///
/// What is not given comes from the eight-point differences of system/check.hpp. Errors for functions that vary over 0.1
/// to 1 times `scale`, measured, relative to the functions and their derivatives (for the curvature at speeds of `scale`
/// per `time_scale` and more):
///
///     B, rate               step 5e-3               2e-13    enter the equations
///     curvature             step 8e-2 to 2.5e-3     1e-11    enters the equations of the accelerations
///     D, F, K of M v̇ + g    step 2e-4               3e-12    only steer the Newton iteration
///     H, K of Bᵀλ           step 1e-2               6e-11    only steer the Newton iteration
///
/// A function that varies over 0.05 `scale` is still differentiated to 2e-11, over 0.02 `scale` to 2e-8.
/// A residual costs 8 nv + 9 evaluations of Φ, 9 when `jacobian` is given, 1 with `constraint_rate` as well; the curvature
/// is then a first difference of B v + Φ_t and as accurate as the rate.
class FunctionSystem final : public System {
 public:
  /// Throws InvalidInput when a function or a size is missing or wrong. To see sizes it calls each function but `energy` at
  /// the identity with t = 0, v = 0, λ = 0; the values do not matter, save that M has no rows outside dynamic blocks.
  explicit FunctionSystem(SystemFunctions functions);

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override;
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override;
  void acceleration_gap(const Motion& m, VectorRef out) const override;
  /// Also D, K and F when blocks are not dynamic or forces depend on λ: then the matrix of the accelerations needs them.
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override;
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override;
  bool is_affine_in_multipliers() const override { return !functions_.multiplier_force; }
  double energy(const Motion& m) const override;
  Corner next_corner(double t, double until, double resolution) const override;

 private:
  // The functions, with sizes checked.
  Matrix mass(const Vector& q) const;
  Vector force(double t, const Vector& q, const Vector& v, const Vector& lambda) const;  ///< g + r
  Vector gap(double t, const Vector& q) const;
  Vector velocity_gap(double t, const Vector& q, const Vector& v) const;

  // What the functions imply.
  Matrix position_jacobian(double t, const Vector& q) const;                       ///< B
  Matrix velocity_jacobian(double t, const Vector& q) const;                       ///< A
  Matrix jacobian(double t, const Vector& q) const;                                ///< B over A
  Vector gap_rate(double t, const Vector& q) const;                                ///< Φ_t
  Vector rate(double t, const Vector& q, const Vector& v, const Matrix& J) const;  ///< all rows
  Vector rate_along(double t, const Vector& q, const Vector& v) const;
  Vector position_curvature(double t, const Vector& q, const Vector& v) const;
  Vector velocity_curvature(double t, const Vector& q, const Vector& v) const;
  Vector constraint_forces(const Matrix& J, const Vector& lambda) const;  ///< Jᵀλ in the dynamic rows

  Vector moved(const Vector& q, const Vector& x) const;
  double time_step_scale(const Vector& v) const;  ///< so that s v stays within `scale` and t + s within `time_scale`
  void check_sizes() const;
  void check_mass_rows(const Matrix& M) const;

  SystemFunctions functions_;
  Vector scale_, is_dynamic_row_;
};

}  // namespace kreisel::system
