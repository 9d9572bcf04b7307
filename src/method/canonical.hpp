// Truncated series of canonical coordinates, as the Munthe-Kaas methods use them.
#pragma once

#include <vector>

#include "kreisel/groups.hpp"
#include "kreisel/types.hpp"
#include "method/variants.hpp"

namespace kreisel::method {

/// Owns its scratch storage: nothing is allocated in a step.
class Canonical {
 public:
  Canonical(const lie::Space& space, Counters& counters, Series bch = Series::complete);

  /// BCH_k(a, b); out may be a or b.
  void combine(int k, ConstVectorRef a, ConstVectorRef b, VectorRef out);
  /// dexp_k⁻¹(-omega, v) ≈ T(omega)⁻¹ v; out is neither.
  void dexp_inverse(int k, ConstVectorRef omega, ConstVectorRef v, VectorRef out);
  /// Its change with omega in the direction domega; out is none of them.
  void dexp_inverse_derivative(int k, ConstVectorRef omega, ConstVectorRef v, ConstVectorRef domega, VectorRef out);

 private:
  void bracket(ConstVectorRef a, ConstVectorRef b, VectorRef out) {
    ++counters_.brackets;
    space_.bracket(a, b, out);
  }

  const lie::Space& space_;
  Series bch_;
  Counters& counters_;
  Vector power_, bracket_, change_, term_;
  std::vector<Vector> node_;
};

}  // namespace kreisel::method
