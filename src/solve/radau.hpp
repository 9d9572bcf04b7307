// A step of Radau IIA on the group: three stages solved together by simplified Newton iterations.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "coeff/radau.hpp"
#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "linear/solver.hpp"
#include "solve/closer.hpp"
#include "solve/formulation.hpp"
#include "solve/kkt.hpp"
#include "solve/layout.hpp"

namespace kreisel::solve {

class CoupledStages;

/// The motion over one step: q = q_n∘exp(θ(s)) with the cubics θ through 0 and the stages, v and λ through their values at
/// t_n and at the stages, s = (t - t_n)/h.
struct Collocation {
  static constexpr int stages = coeff::Radau::stages;

  double t = 0.0, h = 0.0;  ///< h = 0: there is none
  Vector q;                 ///< at t
  std::array<Vector, stages> theta;
  std::array<Vector, stages + 1> v, lambda;  ///< the first at t
  std::array<Vector, stages> a, eta;

  Collocation() = default;
  explicit Collocation(const system::System& system);

  /// θ, v and v̇ = v'(s)/h; m.q is not set.
  void velocity_at(double s, VectorRef theta_out, system::Motion& m) const;
  /// All of a motion and λ.
  void at(const lie::Space& space, double s, VectorRef theta_out, system::Motion& m, VectorRef lambda_out) const;
};

/// With θ_i = h Σ a_ij θ'_j, v_i = T(θ_i) θ'_i + Bᵀη_i and v_i = v_n + h Σ a_ij v̇_j every stage satisfies the dynamics and
/// the constraints of the formulation; the last stage is the new point. Unknowns are θ_i, λ_i and η_i. In the coordinates
/// that diagonalise A⁻¹ the linearised equations are those of a step map with v = (μ/h)θ, v̇ = (μ/h)v for each eigenvalue μ:
/// one real and one complex matrix of the size and pattern of `Layout`.
class Radau {
 public:
  Radau(const system::System& system, Formulation formulation, const NewtonOptions& options, Counters& counters);
  ~Radau();

  /// From a motion with v̇ and λ to that at from.t + h. `past` is the step that led to `from`; it gives the guess of the stages
  /// if its h is not zero. `weight` as in Closer. On success `to` holds the motion with v̇, λ, η and ω, and `out` the stages.
  [[nodiscard]] Closed step(const method::Entry& from, double h, const Collocation& past, ConstVectorRef weight,
                            Collocation& out, method::Entry& to);

  /// The stages of a step both ends of which are known.
  [[nodiscard]] Closed restage(const method::Entry& from, const method::Entry& to, ConstVectorRef weight,
                               Collocation& out);

  /// The local errors of an embedded formula of order 3, filtered with the real matrix, of the step just taken, in the Lie
  /// algebra and in v. `is_repeated`: filtered once more, as after a rejection or where a stiff motion begins.
  void error_estimate(const method::Entry& from, const Collocation& step, bool is_repeated, VectorRef q_error,
                      VectorRef v_error);

  /// Forces jump at t, a few units of round-off after `at`, the end of the step just taken: moves there, with v̇, λ and the v of
  /// states as they are behind the jump. `past`, the stages of the step, become those of a motion that leads there with the
  /// forces behind it, up to first order in h. False: the equations of the point itself are needed; nothing has moved.
  [[nodiscard]] bool jump_to(double t, method::Entry& at, Collocation& past);
  /// The end of the step just taken was moved.
  void forget_end() { is_completed_ = false; }

  /// At the stages of a step, v and λ as they are at its end, for output between its ends.
  void refine(Collocation& step);
  /// After a refinement: makes the matrix of the end of the step just taken again, for its error estimate.
  void return_to_end();

  /// Largest angle of a stage of the last attempt, relative to the largest turn of a step.
  double turned() const { return turned_; }
  /// The body that turned most.
  int turned_block() const { return turned_block_; }

  /// Of the step just taken.
  const system::Motion& stage(int i) const { return stage_[i]; }
  /// Difference between λ of the last stage and λ of the new point.
  double lambda_defect() const { return lambda_defect_; }

  /// Iterations with the matrix that solved the last step, without those of failed attempts before it.
  int iterations() const { return iterations_; }
  /// The last observed convergence rate; 0: none yet.
  double rate() const { return rate_; }
  const system::Residual& residual() const { return residual_[2]; }
  std::string worst_rows() const;
  std::string_view linear_solver_name() const { return real_solver_->name(); }
  void forget_matrix() { has_linearization_ = false; }

  /// State for a bitwise equal continuation: where the matrices were made and for which step.
  struct State {
    bool has_linearization = false, has_factors = false, is_completed = false;
    double factors_h = 0.0, rate = 0.0;
    int age = 0, coupled_steps = 0, coupled_patience = 1;
    system::Motion made_at, completed_at;
    Vector made_lambda;
    Vector real_pivots, complex_pivots_real, complex_pivots_imaginary,
        coupled_pivots;  ///< see linear::Solver; empty: none
  };
  State state() const;
  void restore(const State& state);

  /// Largest rotation of a stage: T(θ)⁻¹ becomes singular at 2π.
  static constexpr double largest_turn = 4.7;

 private:
  /// Tried in this order: if one does not converge, the next one starts from the same guess; a smaller step is left to the caller.
  enum class Matrix {
    kept,
    fresh,    ///< made at the guess of the second stage, for all three
    coupled,  ///< every stage has its own
  };
  static constexpr int stages = coeff::Radau::stages;

  void begin(const method::Entry& from, double h, Collocation& out);
  void guess(const method::Entry& from, double h, const Collocation& past, Collocation& out);
  /// Solves for the stages, with the guess in `out`.
  [[nodiscard]] Closed close(const method::Entry& from, double h, ConstVectorRef weight, Collocation& out,
                             method::Entry& to);
  /// Stages from θ and η: q, v, v̇.
  void place(const method::Entry& from, double h, const Collocation& x);
  void evaluate(const method::Entry& from, double h, const Collocation& x);
  [[nodiscard]] bool is_finite() const;
  [[nodiscard]] bool measure_turns(const Collocation& x);
  void linearize(const system::Motion& m, ConstVectorRef lambda);
  [[nodiscard]] bool factorize(double h);
  template <class Scalar>
  void assemble(Scalar mu, double h, linear::BlockMatrixOf<Scalar>& matrix) const;
  void fill_right_hand_sides(double h);
  void solve_stages();
  Closed iterate(const method::Entry& from, double h, ConstVectorRef weight, Matrix matrix, Collocation& x);
  [[nodiscard]] double turn_of_matrix();
  [[nodiscard]] bool prepare(Matrix rung, double h, const Collocation& x);
  [[nodiscard]] bool finish(const method::Entry& from, double h, Collocation& x, method::Entry& to);

  /// out += scale · values(coupling) x.
  void add_coupled(const Vector& values, ConstVectorRef x, double scale, VectorRef out) const;
  /// out += scale · values(touch) x, all rows.
  void add_rows(const Vector& values, ConstVectorRef x, double scale, VectorRef out) const;
  /// out = W Bᵀη with the B of the matrix.
  void stabilization(ConstVectorRef eta, VectorRef out) const;

  const system::System& system_;
  const FormulationInfo& formulation_;
  NewtonOptions options_;
  Counters& counters_;
  Kkt kkt_;

  Layout layout_;
  linear::BlockMatrix real_matrix_;
  linear::ComplexBlockMatrix complex_matrix_;
  std::unique_ptr<linear::Solver> real_solver_;
  std::unique_ptr<linear::ComplexSolver> complex_solver_;
  std::unique_ptr<CoupledStages> coupled_;

  /// An entry of the matrices is μ²X₂ + μh X₁ + h²X₀, μX₁ + hX₀ or X₀, by its degree.
  std::vector<int> degree_;
  Vector X2_, X1_, X0_;
  system::KktBlocks blocks_;
  Vector metric_;     ///< diagonal of W
  Vector weighed_B_;  ///< B W
  Vector hat_;        ///< hat(v) by blocks
  Vector row_scale_;  ///< of the rows of the dynamics in the matrices, if has_small_masses_
  system::Motion made_at_;
  Vector made_lambda_;
  system::Motion completed_at_;  ///< where kkt_ was made, if is_completed_

  std::array<system::Motion, stages> stage_;
  std::array<system::Residual, stages> residual_;
  std::array<Vector, stages> acceleration_gap_, right_hand_side_;
  Eigen::VectorXcd complex_;
  std::array<Vector, stages> rate_of_theta_;
  std::array<Vector, stages> theta_start_, lambda_start_, eta_start_;
  Vector work_, dv_, v_part_, rows_, work_lambda_;
  system::Motion shifted_;
  method::Entry restaged_;
  system::Residual shifted_residual_;

  bool completes_ = false;           ///< v̇ and λ of a new point, from its q and v
  bool completes_velocity_ = false;  ///< v as well, which from the position constraints alone has order 3 only
  bool has_linearization_ = false, has_factors_ = false;
  bool is_completed_ = false;  ///< kkt_ is that of the end of the step just taken
  double factors_h_ = 0.0;
  double rate_ = 0.0;
  int age_ = 0, iterations_ = 0;
  int coupled_steps_ = 0;     ///< that begin with the coupled matrix
  int coupled_patience_ = 1;  ///< how many will, when another step needs it
  double turned_ = 0.0, lambda_defect_ = 0.0;
  int turned_block_ = -1;
  bool has_small_masses_ = false;
};

}  // namespace kreisel::solve
