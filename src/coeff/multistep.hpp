// A linear multistep method with user-defined coefficients.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace kreisel::coeff {

/// Σ αᵢ y_{n+1-i} = h Σ βᵢ f_{n+1-i}, i = 0 … k.
struct Multistep {
  int k = 1;
  std::array<double, 7> alpha{}, beta{};
};

/// The largest p with Σ αᵢ (-i)ʲ = j Σ βᵢ (-i)^{j-1} for j = 0 … p; -1: not even constants are preserved.
int order_of(const Multistep& method);

/// Why a method cannot be used, one sentence each; empty: it can. A method must be zero-stable, implicit and consistent.
std::vector<std::string> problems_in(const Multistep& method);

}  // namespace kreisel::coeff
