// Crouch–Grossman multistep methods of Adams–Moulton type (Wieloch 2022, definition 9): one exponential per velocity.
#pragma once

#include "method/adams_moulton.hpp"

namespace kreisel::method {

/// The product is that of coeff::CrouchGrossmanRow; its last factor is exp(h β₀ v_{n+1}).
class CrouchGrossman final : public ExponentialProduct {
 public:
  using ExponentialProduct::ExponentialProduct;
  void begin_step(const History& history, double h, int order) override;
};

}  // namespace kreisel::method
