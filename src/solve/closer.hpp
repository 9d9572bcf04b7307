// Closes a step: finds x, λ (and η) such that the motion of the step map satisfies dynamics and constraints.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "linear/solver.hpp"
#include "method/method.hpp"
#include "solve/formulation.hpp"
#include "solve/layout.hpp"

namespace kreisel::solve {

/// When the iteration matrix is recomputed.
enum class RefreshPolicy {
  every_step,  ///< one factorisation a step: fewest iterations, the choice for constant steps
  when_slow,   ///< kept until convergence slows or the step coefficients drift, where an old matrix serves well
  on_request,  ///< the same wherever it can be kept
};

struct NewtonOptions {
  double tolerance = 1e-10;  ///< weighted update norm at which the iteration stops, > 0
  /// Relative error of λ that is left to the next step. Below 1e-10 its rounding, eps/h² in index-3 form, would keep it
  /// from settling.
  double lambda_tolerance = 1e-10;
  int max_iterations = 25;  ///< per matrix, ≥ 1
  RefreshPolicy refresh = RefreshPolicy::every_step;
  /// Bᵀη moves rotations by 1/length² of its value. 1 is the form of the papers, in which BBᵀ of a mechanism in millimetres has a
  /// condition of 1e7, and η does not converge with a slightly rotated matrix.
  double length = 1.0;
  double baumgarte =
      0.0;  ///< a of Φ̈ + 2aΦ̇ + a²Φ = 0 against λ (Baumgarte 1972), and of d/dt + a for nonholonomic rows [1/s]
  std::string linear_solver = "automatic";
};

enum class CloseStatus { converged, diverged, singular_matrix, not_finite };

struct Closed {
  CloseStatus status = CloseStatus::converged;
  int iterations = 0;
  double update_norm = 0.0;  ///< last weighted update, in multiples of the tolerance
  bool kept_matrix = false;  ///< of an earlier step
};

/// The largest rows of a residual, by element name.
std::string worst_rows(const system::System& system, const FormulationInfo& formulation,
                       const system::Residual& residual);

/// Newton's method on unknowns (x, hλ, η) with rows (h·dynamics, constraint/h, rate): the scaling keeps the condition
/// of the matrix bounded for h → 0 (Arnold, Brüls, Cardona 2015, section 5).
class Closer {
 public:
  Closer(const system::System& system, Formulation formulation, const NewtonOptions& options, Counters& counters);
  ~Closer();

  /// `trial` holds the new t and the guesses of lambda and eta; on success also motion, omega and memory of the new point.
  /// `weight` scales velocity updates per coordinate: 1/weight is the size that counts as one tolerance unit.
  [[nodiscard]] Closed close(method::Method& method, const method::History& history, double h, ConstVectorRef weight,
                             method::Entry& trial);

  /// The unknown of the step that was closed last.
  const Vector& unknown() const { return x_; }

  // ---- derivatives of a step that another closer has closed

  /// Recomputes the matrix at that step. False: it is singular.
  [[nodiscard]] bool linearize_at(method::Method& method, const method::History& history, double h, ConstVectorRef x,
                                  const method::Entry& closed);
  /// q_x of that step, block diagonal.
  const lie::MotionTangent& tangent() const { return tangent_; }
  /// out += the change of the left-hand sides.
  void add_changes(ConstVectorRef dq, ConstVectorRef dv, ConstVectorRef da, ConstVectorRef dlambda,
                   system::Residual& out) const;
  /// out += Bᵀμ over the position rows, at that step.
  void add_constraint_force(ConstVectorRef mu, VectorRef out) const;
  /// Newton's update for these changes of the left-hand sides: the corrections of the changes of x, λ and η.
  void correct(double h, const system::Residual& left, VectorRef dx, VectorRef dlambda, VectorRef deta);
  bool is_rank_revealing() const { return solver_->is_rank_revealing(); }

  // ---- the transposed of that derivative

  /// As linearize_at, but only the transposed matrix is factorised.
  [[nodiscard]] bool linearize_transposed_at(method::Method& method, const method::History& history, double h,
                                             ConstVectorRef x, const method::Entry& closed);
  /// Where the left-hand sides are multiplied by w, subtracts what that multiplies δq, δv, δv̇ and δλ by.
  void subtract_transposed(const system::Residual& w, VectorRef dq, VectorRef dv, VectorRef da,
                           VectorRef dlambda) const;
  /// out += B u, position rows.
  void add_jacobian_product(ConstVectorRef u, VectorRef out) const;
  /// w += Newton's update of the weights of the left-hand sides, from what still multiplies δx, δλ and δη.
  void correct_transposed(double h, ConstVectorRef dx, ConstVectorRef dlambda, ConstVectorRef deta,
                          system::Residual& w);
  /// M, D, K, B, H and F of that step.
  const system::KktBlocks& linearization() const { return blocks_; }
  /// Whether the rows of λ and η are exactly gap and rate of the residual.
  bool closes_with_residuals() const { return formulation_.lambda_row != ConstraintLevel::acceleration; }
  bool has_eta() const { return formulation_.has_eta; }

  /// The rows that kept the last attempt from converging, by element name.
  std::string worst_rows() const { return solve::worst_rows(system_, formulation_, residual_); }

  /// The fastest vibration with little damping, by the diagonals of the newest matrix [rad/s].
  double vibration() const { return vibration_; }
  /// The same in parts of chains whose fastest vibrations are damped.
  double slower_vibration() const { return slower_vibration_; }

  /// The largest ratio of hD + h²K to M, as the newest matrix has it.
  double stiffness() const { return stiffness_; }

  /// Forgets the matrix, as after an event that changed the system.
  void forget_matrix() { has_matrix_ = false; }
  std::string_view linear_solver_name() const { return solver_->name(); }

  /// State that a checkpoint must keep for a bitwise equal continuation: the matrix and the step it was made for.
  struct MatrixState {
    bool has_matrix = false;
    double alpha = 1.0, gamma = 1.0, h = 0.0, rate = 0.0, turned = 0.0, lambda_size = 0.0, stiffness = 0.0,
           vibration = 0.0, slower_vibration = 0.0;
    int age = 0;
    bool has_rate = false;
    Vector values;
    Vector pivot_values;  ///< see linear::Solver; empty: none
  };
  MatrixState matrix_state() const;
  void restore(const MatrixState& state);

 private:
  /// Tried in this order: if one does not converge, the next one starts from the same guess; a smaller step is left to the caller.
  enum class Matrix {
    kept,
    fresh,               ///< made at the guess
    of_every_iteration,  ///< Newton's method proper, as close to a singular position, where a matrix is soon out of date
  };

  void evaluate(method::Method& method, method::Entry& trial);
  /// dv_ = W Bᵀη, W being 1 for translations and 1/length² for rotations.
  void stabilization(const method::Method& method, const method::Entry& trial, ConstVectorRef eta);
  void fill_right_hand_side(double h);
  [[nodiscard]] bool refresh(method::Method& method, double h, const method::Entry& trial);
  /// The values of the matrix.
  void make_matrix(method::Method& method, double h, const method::Entry& trial);
  void assemble(double h);
  /// Sets `stiffness_`, the largest ratio of hD + h²K to M as the step sees them, and `vibration_`, by the
  /// diagonals of the blocks.
  void find_stiffness(double h);
  [[nodiscard]] bool is_stale(double h) const;
  [[nodiscard]] bool stabilizes_at_previous(const method::Method& method) const;
  void take_smallest_multipliers(method::Entry& trial);
  /// A kept matrix with which x converges but λ does not is recomputed during the iteration; `matrix` shows this.
  Closed iterate(method::Method& method, double h, ConstVectorRef weight, Matrix& matrix, method::Entry& trial);
  /// How far B and the directions of forces have turned since the matrix was made, at most 1.
  double turn_of_matrix(Matrix matrix, double h, const method::Entry& trial);
  /// The part of an update of λ that is wrong because B has turned since the matrix was made.
  double lambda_rate(Matrix matrix, double h, const method::Entry& trial);
  /// Rotation of body-fixed directions from q to q∘exp(x) [rad]; translations as seen from the origin.
  double turn_of(ConstVectorRef x, ConstVectorRef q) const;

  const system::System& system_;
  const FormulationInfo& formulation_;
  NewtonOptions options_;
  Counters& counters_;

  Layout layout_;
  linear::BlockMatrix matrix_;
  std::unique_ptr<linear::Solver> solver_;
  struct Transposed;
  std::unique_ptr<Transposed> transposed_;  ///< created when it is needed

  system::KktBlocks blocks_;
  Vector previous_B_;              ///< B(q_n), laid out like blocks_.B
  const double* eta_B_ = nullptr;  ///< B where Bᵀη acts
  lie::MotionTangent tangent_;
  system::Residual residual_;
  Vector x_, x_start_, moved_, lambda_start_, eta_start_, right_hand_side_, dv_, acceleration_gap_;
  Vector metric_;   ///< diagonal of W
  Vector shifted_;  ///< h(M ∂v̇/∂dv + D ∂v/∂dv)W of one coupling
  Vector weighed_;  ///< B W of one touch
  const method::History* history_ = nullptr;

  bool has_matrix_ = false;
  double matrix_alpha_ = 1.0, matrix_gamma_ = 1.0, matrix_h_ = 0.0;
  double alpha_ = 1.0, gamma_ = 1.0;
  double rate_ = 0.0;      ///< of x, seen with this matrix
  bool has_rate_ = false;  ///< and seen above round-off
  double vibration_ = 0.0, slower_vibration_ = 0.0;
  std::vector<bool> is_in_chain_;  ///< blocks that forces join to more than one other
  double stiffness_ = 0.0;         ///< of the matrix, see `stiffness`
  double turned_ = 0.0;            ///< sum of `turn_of` over the steps since the matrix was made
  double lambda_size_ = 0.0;       ///< of recent points
  int age_ = 0;
};

}  // namespace kreisel::solve
