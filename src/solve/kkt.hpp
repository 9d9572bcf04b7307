// The saddle point system [M Bᵀ; B 0] at one configuration: accelerations, projections, constrained parts.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "kreisel/system.hpp"
#include "kreisel/types.hpp"
#include "linear/solver.hpp"
#include "method/parameters.hpp"
#include "system/inputs.hpp"

namespace kreisel::solve {

/// The norm in which a projection moves least.
using method::Metric;

/// Lengths of the rows of B, 1 for rows of zeros: |Φ| over them is a distance in q, whatever a constraint is multiplied by.
/// Translations are counted in `unit`, rotations in radians.
void row_lengths(const system::System& system, const Vector& B, double unit, VectorRef out);
/// The unit of translations in a projection: metres, unless the mechanism is so small or so large that its round-off is
/// below what ends a projection in metres, or above.
double unit_of_projection(double length);
/// The largest entry of q, or of v, translations counted in `unit`.
double largest_position(const lie::Space& space, ConstVectorRef q, double unit);
double largest_velocity(const lie::Space& space, ConstVectorRef v, double unit);

/// M itself is never inverted: singular mass matrices are allowed as long as M > 0 on ker B.
class Kkt {
 public:
  /// `jumps`: for `jump_to` alone. States then stand apart, and the matrix is symmetric unless forces depend on λ.
  enum class Use { all, jumps };
  Kkt(const system::System& system, Counters& counters, std::string_view linear_solver = "automatic",
      Use use = Use::all);
  ~Kkt();

  /// Factorises at (t, q, v) of m. False when M is not positive definite on ker B or B lacks rank.
  [[nodiscard]] bool factorize(const system::Motion& m, Metric metric = Metric::mass);
  int singular_row() const { return solver_->singular_row(); }

  /// v̇ and λ of (t, q, v): M v̇ + g + Bᵀλ = 0, d/dt(B v + Φ_t) = 0. First-order states get their v, index-1 unknowns
  /// their q. Factorises. False when singular or, for forces that depend on λ, not convergent.
  [[nodiscard]] bool accelerate(system::Motion& m, VectorRef lambda);
  /// For a motion whose v̇ and λ balance the forces but may miss the acceleration constraints, as a stage of a Runge-Kutta
  /// method does: moves v onto B v + Φ_t = 0, if requested, and v̇ and λ onto d/dt(B v + Φ_t) = 0, forces balanced as well as
  /// before. Unlike `accelerate` it does not compute v̇ from the forces: errors of q are not magnified by stiff springs.
  [[nodiscard]] bool complete(system::Motion& m, VectorRef lambda, bool moves_velocity);
  /// Forces jump at t, a few units of round-off after m.t: moves there, and v̇, λ and the v of states by what they jump. With the
  /// matrix of m at hand. False: not possible with that matrix; m and λ are unchanged.
  [[nodiscard]] bool jump_to(double t, system::Motion& m, VectorRef lambda);

  /// Moves q onto Φ = 0 and v onto B v + Φ_t = 0 with the matrix at hand. False when the iteration does not contract.
  [[nodiscard]] bool project_position(system::Motion& m);
  [[nodiscard]] bool project_velocity(system::Motion& m);
  /// For a mechanism of this size [m].
  void set_length(double length) {
    unit_ = unit_of_projection(length);
    length_ = length > 0.0 ? length : 1.0;
    has_row_lengths_ = false;
  }
  /// Iterations of the last projection; many indicate that the matrix is outdated.
  int projection_iterations() const { return projection_iterations_; }

  /// out = C l, C = M⁻¹Bᵀ(B M⁻¹Bᵀ)⁻¹B over the position rows, with the matrix at hand.
  void constrained_part(ConstVectorRef l, VectorRef out);
  /// What `project_velocity` would remove, to first order, from an error δv of v where q has an error δq: out with
  /// B(δv - out) + H δq = 0, with the matrix at hand. `at` is a motion, `scratch` another one of the same space.
  void velocity_part(const system::Motion& at, ConstVectorRef dq, ConstVectorRef dv, system::Motion& scratch,
                     VectorRef out);

  /// Velocity jump by an impulse: M jump + Bᵀp = impulse, B jump = 0, with the matrix at hand.
  void jump_by(ConstVectorRef impulse, VectorRef jump);

 private:
  struct Copy {  ///< numbers that are contiguous in the blocks and in the matrix
    int from = 0, to = 0, count = 0;
  };

  void assemble(Metric metric);
  void assemble_symmetric(Metric metric);
  void solve(VectorRef top, VectorRef bottom);  ///< in place
  /// `is_balanced`: the force is target_ already.
  [[nodiscard]] bool balance(system::Motion& m, VectorRef lambda, bool is_balanced);
  /// One correction of `balance` with the matrix at hand, for residual_.force and rows_. Its size, relative to
  /// 1 plus the largest unknown; negative: not finite.
  double correct(system::Motion& m, VectorRef lambda);
  void add_rows(ConstVectorRef x, bool positions_only);
  void measure_rows();                        ///< sets row_lengths_ to those of the matrix at hand
  double distance(const Vector& rows) const;  ///< the largest of `rows` over the lengths of their rows of B

  const system::System& system_;
  Counters& counters_;
  linear::BlockMatrix matrix_;
  std::unique_ptr<linear::Solver> solver_;
  std::vector<int> coupling_entry_, force_entry_, row_entry_;  ///< -1: above the diagonal of a symmetric matrix
  std::vector<Copy> mass_copies_, row_copies_;                 ///< M and B in a symmetric matrix
  system::KktBlocks blocks_;
  system::Residual residual_;
  Vector right_hand_side_, rows_, row_lengths_, step_, zero_lambda_;
  Vector target_;                                     ///< of the force balance
  std::vector<int> unit_entries_;                     ///< of states in a symmetric matrix, whose M is empty
  const system::SystemWithInputs* inputs_ = nullptr;  ///< null: the whole residual says what jumps
  system::Motion before_jump_;
  Vector lambda_before_jump_;
  double unit_ = 1.0;             ///< of translations, in projections
  double length_ = 1.0;           ///< of the mechanism
  bool has_row_lengths_ = false;  ///< row_lengths_ belong to blocks_.B
  bool needs_newton_;
  bool has_algebraic_ = false;  ///< index-1 unknowns, or forces that depend on λ
  int projection_iterations_ = 0;
};

}  // namespace kreisel::solve
