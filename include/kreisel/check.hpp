// Checks of a System: every derivative against differences, and the ranks of M and B, which determine whether the equations have
// a unique motion, at one position and along a motion.
#pragma once

#include <string>
#include <vector>

#include "kreisel/system.hpp"

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
/// constraints and saddle_point with the functions they replace.
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
/// where 1e-11 allows 80 roundings and scale is the factor of the steps. Speeds below 0.1 count as 0.1. Laws without differences
/// (F = Bᵀ, M = Mᵀ, …) hold to 1e-12 of the largest entry.
std::vector<AuditFinding> audit(const System& system, const Motion& m, ConstVectorRef lambda);

/// Ranks at one configuration, over the dynamic coordinates. Both matrices are tested after scaling (rows of B to length
/// 1, the diagonal of M to 1), with 1e-10 as zero, so that units do not matter.
struct RankReport {
  int rows = 0, rank_of_B = 0;
  int coordinates = 0, rank_of_M = 0;
  double smallest_mass =
      0.0;                 ///< smallest eigenvalue of NᵀMN, N an orthonormal basis of ker B; infinite if ker B = {0}
  double condition = 0.0;  ///< of [M Bᵀ; B 0] in the 2-norm, scaled alike, infinite when singular
  std::string weakest_block;                 ///< coordinate block that moves most in the direction of that eigenvalue
  std::vector<int> redundant_rows;           ///< can be removed together without changing the rank
  std::vector<std::string> redundant_names;  ///< the same by name

  bool has_mass = false;  ///< M > 0 on ker B
  /// v̇ and λ exist and are unique: B has full rank and M > 0 on ker B.
  bool is_regular = false;
};
RankReport rank_report(const System& system, const Motion& m);

/// Constraints that repeat or contradict each other.
struct Redundancy {
  std::vector<std::string> rows;      ///< redundant_names
  std::vector<std::string> involved;  ///< constraints that depend on each other, by name
  std::vector<std::string> drivers;   ///< those of them that prescribe a motion; all drivers if there are too many
  int driver_rows = 0, freedom = 0;   ///< motions that drivers prescribe, degrees of freedom that joints leave

  bool has_too_many_drivers() const { return driver_rows > freedom; }
  /// Which constraints contradict or repeat each other, and what to do about drivers.
  std::string in_words() const;
};
Redundancy redundancy(const System& system, const Motion& m);

/// Condition of [M F; B 0] in the 2-norm over the dynamic coordinates, F = ∂force/∂λ = Bᵀ + ∂g/∂λ; infinite when B M⁻¹F is
/// singular, that is where forces that depend on λ undo the constraint. Scaled: the diagonal of M and the rows of B to 1.
double multiplier_condition(const System& system, const Motion& m, ConstVectorRef lambda);

/// Smallest singular value of B with rows of length 1: the distance to a position in which constraints lose rank. Infinite
/// without constraints.
double rank_margin(const System& system, const Motion& m);
/// Between two motions, on the geodesic; s from 0 to 1.
Motion between(const System& system, const Motion& from, const Motion& to, double s);

/// The ranks along a motion.
struct Passage {
  struct Singularity {
    double t = 0.0;
    double margin = 0.0;                       ///< rank_margin there
    std::vector<std::string> redundant_names;  ///< rows that can be removed there
  };
  int points = 0;
  double smallest_margin = 0.0, margin_t = 0.0, typical_margin = 0.0;  ///< typical: the median over time
  double largest_condition = 0.0, condition_t = 0.0;                   ///< of [M Bᵀ; B 0]
  double smallest_mass = 0.0, mass_t = 0.0;                            ///< on ker B
  std::vector<Singularity> singularities;  ///< margins below a hundredth of the typical one, by time
};
/// Looks at every motion and, where the margin has a minimum, between them on the geodesic.
Passage examine_passage(const System& system, const std::vector<Motion>& motions);

}  // namespace kreisel::system
