// A user-defined system: a few functions become a System; derivatives that are not given are computed.
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
//     const system::Start start{.t_end = 2.0, .q0 = Eigen::Vector2d(length, 0.0), .v0 = Eigen::Vector2d::Zero()};
//     const system::FunctionSystem pendulum(f, start);
//
// Write the return type of each lambda (-> Vector): without it Eigen returns an expression of variables that are gone.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kreisel/system.hpp"

namespace kreisel::system {

struct Derivative;
struct Jacobian;
struct Steps;

/// A number of the motion, by name.
struct OutputFunction {
  std::string name, unit{};
  std::function<double(double t, const Vector& q, const Vector& v)> value;
};

/// The functions of
///
///     M(q) v̇ + g(t,q,v) + r(t,q,v,λ) + B(q,t)ᵀλ₁ + A(q,t)ᵀλ₂ = 0,   Φ(q,t) = 0,   A(q,t) v + a(q,t) = 0
///
/// and, in the rows of blocks that are not dynamic (no mass, no Bᵀλ; see CoordinateKind),
///
///     g + r = v - f(t,q,v,λ)  for a first-order state,   g + r = s(t,q,v,λ)  for an algebraic unknown.
///
/// q has the layout of the factors of `space`: n numbers for rn, quaternion (x, y, z, w) for so3, position and quaternion
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
  /// Numbers that results report by these names, and that a projection may conserve as "output.NAME".
  std::vector<OutputFunction> outputs;

  std::vector<Corner> corners;                  ///< times at which the functions are not smooth, in any order
  std::function<Corner(double t)> next_corner;  ///< the first one after t, where a list would be too long

  /// Hints: the length over which the functions vary, per entry of v, and the time [s]; 1/ω for sin ωt. Without them the
  /// search begins with the sizes of the start.
  Vector scale;
  double time_scale = 0.0;  ///< 0: no hint
};

/// Every block is coupled with every other one: meant for small systems.
///
/// Derivatives that are not given come from eight-point differences. Their steps are found at the start,
/// by search over lengths and times; every derivative is checked when it is used, and where a function varies faster than at the
/// start, a new step is searched. Errors for smooth functions, relative to the function and its derivatives:
///
///     B, rate               2e-13    enter the equations
///     curvature             1e-11    enters the equations of the accelerations
///     D, F, K of M v̇ + g    1e-11    only steer the Newton iteration
///     H, K of Bᵀλ           1e-9     only steer the Newton iteration
///
/// `examine` reports when they are too inaccurate for the tolerances of a run.
/// A residual costs 8 nv + 9 evaluations of Φ, 9 when `jacobian` is given, 1 with `constraint_rate` as well; the curvature
/// is then a first difference of B v + Φ_t and as accurate as the rate. A new search costs about 100 per entry of v.
class FunctionSystem final : public System {
 public:
  /// Throws InvalidInput when a function is missing or a size is wrong. No function is called: lengths and times are taken from
  /// the hints, or 1 without hints, until a run begins with `prepared_for`.
  explicit FunctionSystem(SystemFunctions functions);
  /// As above, and calls every function but `energy` and `outputs` at the start of the run: all must be defined there, of the right size and
  /// finite. The steps of differences are chosen there.
  FunctionSystem(SystemFunctions functions, const Start& start);
  ~FunctionSystem() override;

  void residual(const Motion& m, ConstVectorRef lambda, Residual& out) const override;
  void linearize(const Motion& m, ConstVectorRef lambda, KktBlocks& out) const override;
  void acceleration_gap(const Motion& m, VectorRef out) const override;
  /// Also D, K and F when blocks are not dynamic or forces depend on λ: then the matrix of the accelerations needs them.
  void mass_and_jacobian(const Motion& m, KktBlocks& out) const override;
  void constraint_force(const Motion& m, ConstVectorRef mu, VectorRef out) const override;
  bool is_affine_in_multipliers() const override { return !functions_.multiplier_force; }
  double energy(const Motion& m) const override;
  const std::vector<OutputInfo>& outputs() const override { return outputs_; }
  void evaluate_outputs(const Motion& m, ConstVectorRef lambda, VectorRef out) const override;
  Corner next_corner(double t, double until, double resolution) const override;
  std::string examine(const Motion& m, ConstVectorRef lambda, const Tolerances& tolerances,
                      Residual& out) const override;
  std::shared_ptr<const System> prepared_for(const Start& start) const override;
  std::string remark() const override;

 private:
  // The functions, with sizes checked.
  Matrix mass(const Vector& q) const;
  Vector force(double t, const Vector& q, const Vector& v, const Vector& lambda) const;  ///< g + r
  Vector gap(double t, const Vector& q) const;
  Vector velocity_gap(double t, const Vector& q, const Vector& v) const;

  // Derived from the functions.
  Jacobian position_jacobian(double t, const Vector& q) const;                       ///< B
  Matrix velocity_jacobian(double t, const Vector& q) const;                         ///< A
  Matrix jacobian(double t, const Vector& q) const;                                  ///< B over A
  Derivative gap_rate(double t, const Vector& q, const Jacobian& B) const;           ///< Φ_t
  Vector rate(double t, const Vector& q, const Vector& v, const Jacobian& B) const;  ///< all rows
  Vector rate_along(double t, const Vector& q, const Vector& v) const;
  Derivative position_curvature(double t, const Vector& q, const Vector& v, const Jacobian& B) const;
  Derivative velocity_curvature(double t, const Vector& q, const Vector& v) const;
  Vector constraint_forces(const Matrix& J, const Vector& lambda) const;  ///< Jᵀλ in the dynamic rows
  Vector row_terms(const Vector& q, const Jacobian& B) const;             ///< sizes of the terms of Φ

  Vector moved(const Vector& q, const Vector& x) const;
  bool moves_with_time(double t, const Vector& q) const;  ///< whether Φ does, near t
  double step_along(const Vector& v) const;               ///< so that s v stays within lengths and s within times
  double step_of_move(const Vector& v) const;             ///< so that s v stays within lengths; v ≠ 0
  Steps velocity_steps(const Vector& v) const;
  Steps multiplier_steps(const Vector& lambda) const;

  // Set up.
  void set_ranges(const Start* start);
  void find_steps_at(const Start& start);
  void check_start(const Start& start) const;
  void check_mass_rows(const Matrix& M) const;

  Derivative evaluate(const Motion& m, ConstVectorRef lambda, const Jacobian& B, Residual& out) const;  ///< gives Φ_t
  std::string doubt(const char* derivative, int row, double error, double allowed, double t, const char* remedy) const;
  void note(const char* callback, const Motion& m, const double* values, Eigen::Index count) const;

  SystemFunctions functions_;
  std::vector<OutputInfo> outputs_;
  bool has_start_ = false;
  Vector is_dynamic_row_;
  struct StepsInUse;
  std::unique_ptr<StepsInUse> steps_;  ///< of differences
  mutable std::mutex remark_access_;
  mutable std::string remark_;
};

}  // namespace kreisel::system
