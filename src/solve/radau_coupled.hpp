// The linearised equations of the three stages in one matrix, each stage with its own derivatives.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "coeff/radau.hpp"
#include "linear/solver.hpp"
#include "solve/layout.hpp"

namespace kreisel::solve {

/// Where a stiff direction turns during a step, one matrix for all stages is not enough: with rates of c and an angle ε
/// between the stages the iteration contracts by ε√(hc) only. This one is three times as large and does not have this problem.
class CoupledStages {
 public:
  static constexpr int stages = coeff::Radau::stages;
  using Motions = std::array<system::Motion, stages>;
  using Vectors = std::array<Vector, stages>;

  /// System, layout and metric must outlive it.
  CoupledStages(const system::System& system, const FormulationInfo& formulation, const Layout& layout,
                const Vector& metric, std::string_view linear_solver);

  /// Derivatives of one stage, for `factorize`.
  void linearize(int stage, const system::Motion& m, ConstVectorRef lambda);
  /// False when the matrix is singular.
  [[nodiscard]] bool factorize(double h);
  /// Rows (h·force, constraint/h, rate) of the stages become updates of (ζ/h, hλ, η).
  void solve(Vectors& right_hand_sides);

  /// See linear::Solver.
  const Vector* pivot_values() const { return solver_->pivot_values(); }
  void take_pivots(const Vector& values) {
    matrix_.values() = values;
    static_cast<void>(solver_->factorize(matrix_));
  }

 private:
  void add(int entry, int row_stage, int column_stage, int rows, int columns, const double* values, double scale);
  void add_product(int entry, int row_stage, int column_stage, int rows, int inner, int columns, const double* left,
                   const double* right, bool is_transposed, double scale);
  void gather(const Vectors& from);
  void scatter(Vectors& to) const;

  const system::System& system_;
  const FormulationInfo& formulation_;
  const Layout& layout_;
  linear::BlockMatrix matrix_;
  std::unique_ptr<linear::Solver> solver_;
  std::array<system::KktBlocks, stages> blocks_;
  const Vector& metric_;  ///< see stabilization_metric
  Vectors weighed_B_;     ///< B W
  Vectors hat_;
  Vector row_scale_;  ///< of the rows of the dynamics, if has_small_masses_
  Vector work_;
  bool has_small_masses_ = false;
};

}  // namespace kreisel::solve
