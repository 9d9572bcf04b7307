// Is a System what it claims to be? Every derivative against differences.
#pragma once

#include <string>
#include <vector>

#include "kreisel/system/system.hpp"

namespace kreisel::system {

/// One law of System at one motion.
struct AuditFinding {
  std::string what;        ///< the law, "K = d force/d q"
  double error = 0.0;      ///< of the worst entry, the one with the largest error/tolerance
  double tolerance = 0.0;  ///< of that entry
  std::string where;       ///< that entry, by element name

  bool ok() const { return error <= tolerance; }  ///< false for NaN
};

/// Compares linearize, mass_and_jacobian, constraint_force and acceleration_gap with differences of residual at m and λ, and
/// constraints and saddle_point with the functions they stand for.
/// m need not satisfy the constraints; a random motion shows more than a start at rest. About 100 nv evaluations.
///
/// Differences are the eight-point stencils of `slope` with the steps 2⁻⁵, 2⁻⁷, …, 2⁻¹⁵ times max(1, |v_i|),
/// max(1, |v̇_i|), max(1, |λ_i|), 1 in q and 1/max(1, |v|, √|v̇|) in time; each entry takes the step at which it
/// changed least. A function that varies over a length of 0.1 is differentiated at 2⁻⁷ with error
/// (2⁻⁷/0.1)⁸/630 = 2e-12, one that varies over 0.02 at 2⁻⁹ with 1e-11, and round-off contributes 2.1 u/2⁻⁹ = 1.2e-13 of
/// the terms of the function per rounding. Hence
///
///     tolerance = 1e-9 · (largest entry of the row) + 1e-11 · (size of the terms of the differentiated function) / scale
///
/// where 1e-11 allows 80 roundings and scale is the factor of the steps. Speeds below
/// 0.1 are judged like 0.1. Laws without differences (F = Bᵀ, M = Mᵀ, …) hold to 1e-12 of the largest entry.
std::vector<AuditFinding> audit(const System& system, const Motion& m, ConstVectorRef lambda);

}  // namespace kreisel::system
