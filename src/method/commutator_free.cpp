#include "method/commutator_free.hpp"

#include "base/combine.hpp"
#include "coeff/commutator_free.hpp"

namespace kreisel::method {

void CommutatorFree::begin_step(const History& history, double h, int order) {
  begin_product(history, h, order);
  for (int j = coeff::commutator_free_table[k_].exponentials - 1; j >= 1; --j) {
    combine(j, factor_);
    append(factor_);
  }
  combine(0, tail_);
}

void CommutatorFree::combine(int j, Vector& out) const {
  Combination sum;
  for (int i = 1; i <= k_; ++i) sum.add(h_ * coeff::commutator_free_table[k_].beta(j, i), past_velocity(i));
  sum.assign_to(out);
}

}  // namespace kreisel::method
