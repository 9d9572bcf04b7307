// Positions of the linearised equations in Newton's matrix.
#pragma once

#include <vector>

#include "kreisel/system.hpp"
#include "linear/block_matrix.hpp"
#include "solve/formulation.hpp"

namespace kreisel::solve {

/// The matrix of unknowns (x, hλ, η) against the rows (h·force, constraint/h, rate), for any step map and scalar.
struct Layout {
  struct Product {  ///< entry += left(coupling or touch) · right(touch)ᵀ
    int left = 0, right = 0, entry = 0;
  };

  Layout(const system::System& system, const FormulationInfo& formulation);

  linear::BlockPattern pattern;
  std::vector<int> coupling_entry;             ///< (x_i, x_j), by coupling of the system
  std::vector<int> force_entry, lambda_entry;  ///< (x_j, λ_r), (λ_r, x_j), by touch
  std::vector<int> rate_entry;                 ///< (η_r, x_j), by touch; -1 for velocity rows
  std::vector<Product> eta_column, eta_diagonal;
};

/// Diagonal of W in v = … + W Bᵀη: 1 for translations, 1/length² for rotations, see NewtonOptions::length.
Vector stabilization_metric(const lie::Space& space, double length);
/// out = B W, by touches as B is.
void weigh_columns(const system::System& system, const Vector& B, const Vector& W, Vector& out);

}  // namespace kreisel::solve
