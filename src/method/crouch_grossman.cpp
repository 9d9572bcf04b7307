#include "method/crouch_grossman.hpp"

#include "coeff/crouch_grossman.hpp"

namespace kreisel::method {

void CrouchGrossman::begin_step(const History& history, double h, int order) {
  begin_product(history, h, order);
  const coeff::CrouchGrossmanRow& row = coeff::crouch_grossman_table[k_];
  for (int j = row.blocks - 1; j >= 0; --j)
    for (int i = k_; i >= 1; --i) {
      if (row.beta[j][i] == 0.0) continue;
      factor_ = (h * row.beta[j][i]) * past_velocity(i);
      append(factor_);
    }
}

}  // namespace kreisel::method
