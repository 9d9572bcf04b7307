// BLieDF in index-3 form on steps of different size: the jumps of the constrained velocity error, taken out of v̇.
#pragma once

#include <array>
#include <vector>

#include "coeff/bdf_variable.hpp"
#include "method/constrained_part.hpp"
#include "method/correction.hpp"
#include "method/history.hpp"
#include "method/variants.hpp"

namespace kreisel::method {

/// The velocity relation gives v_{m+1} an error whose constrained part is C l_m, l_m = a_m v⁽ᵏ⁾ + b_m W. As long as the
/// steps are equal it cancels in Σ αᵢ v_{n+1-i}; else (1/h) Σ γᵢ C(l_{n+1-i} - l_{n-i}) remains, O(h^{k-1}), and costs λ an
/// order. It is subtracted (Wieloch 2022, eq. 5.30, 5.31). C is taken at q_n for all i, which differs by O(h^k).
/// Derivatives of v come from projected velocities: the raw ones contain the error that jumps. `raw-as-printed` uses those, as
/// (Wieloch 2022, eq. 5.34) does; `as-printed` has the powers of step ratios of eq. 5.33.
class VelocityModification {
 public:
  explicit VelocityModification(const lie::Space& space, DefectSource source = DefectSource::corrected);

  /// Adds the compensation of the step of size h to `acceleration`; nothing where the steps are equal or the history is
  /// too short.
  void add_to(Correction& correction, const History& history, double h, int k, const coeff::BdfCoefficients& bdf,
              ConstrainedPart& constrained, VectorRef acceleration);

 private:
  /// h_n, h_{n-1}, …; the oldest known step is used for those before it. False: all are equal.
  [[nodiscard]] bool gather_steps(const History& history, double h, int k);
  void differentiate(const History& history, int k, ConstrainedPart& constrained);

  DefectSource source_;
  std::array<double, 2 * coeff::bdf_max_order> steps_{};
  std::vector<Vector> projected_;   ///< by age
  std::vector<Vector> derivative_;  ///< v, v', …, v⁽ᵏ⁾ at t_n
  Vector bracket_, sum_;            ///< W, and the whole compensation
};

}  // namespace kreisel::method
