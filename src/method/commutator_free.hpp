// Commutator-free multistep methods of Adams–Moulton type (Wieloch 2022, definition 10): few exponentials of combinations.
#pragma once

#include "method/adams_moulton.hpp"

namespace kreisel::method {

/// The product is that of coeff::CommutatorFreeRow.
class CommutatorFree final : public ExponentialProduct {
 public:
  using ExponentialProduct::ExponentialProduct;
  void begin_step(const History& history, double h, int order) override;

 private:
  /// out = h Σ_{i≥1} βᵢʲ v_{n+1-i}
  void combine(int j, Vector& out) const;
};

}  // namespace kreisel::method
