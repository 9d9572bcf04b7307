// Munthe-Kaas Adams–Moulton: Adams–Moulton for canonical coordinates about q_n (Wieloch 2022, definition 11).
#pragma once

#include "method/adams_moulton.hpp"
#include "method/canonical.hpp"

namespace kreisel::method {

/// With ω₀ the coordinates of q_{n+1} about q_n, ω₁ = 0, ω₂ = -ω^{(n-1)}, ωᵢ = BCH_k(ω_{i-1}, -ω^{(n+1-i)}):
///   q_{n+1} = q_n∘exp(ω₀),   ω₀ = h Σ_{i=0…k} βᵢ dexp_p⁻¹(-ωᵢ, v_{n+1-i}),   p = k + 1.
/// ωᵢ appears in brackets only, so BCH_k is accurate enough; the printed dexp_k⁻¹ is not: for k = 2, 3, 5 the order
/// would be k (k = 2: local error h³/12 [v, v̇]). The ωᵢ are nested to the right, which needs k - 2 of them for all i.
class Mkam final : public AdamsMoulton {
 public:
  Mkam(const lie::Space& space, Counters& counters, Series dexp = Series::complete);

  void begin_step(const History& history, double h, int order) override;
  bool moves_by_increment() const override { return false; }
  void position(ConstVectorRef x, VectorRef q) override;
  void linearize(ConstVectorRef x, MotionTangent& out) override;
  void record(ConstVectorRef x, Entry& entry) override;

 private:
  int terms() const { return dexp_ == Series::complete ? k_ + 1 : std::max(k_, 1); }  ///< p
  bool has_brackets() const { return terms() >= 3; }     ///< dexp_p⁻¹ is the identity below order 3
  [[nodiscard]] bool solve_for_omega(ConstVectorRef x);  ///< omega_ = known_ + h β₀ dexp_p⁻¹(-omega_, x)

  Series dexp_;
  Canonical canonical_;
  Vector known_;       ///< h Σ_{i≥1} βᵢ dexp_p⁻¹(-ωᵢ, v_{n+1-i})
  Vector omega_, at_;  ///< ω₀ and the x it belongs to
  Vector next_, image_, coordinates_, bracket_;
};

}  // namespace kreisel::method
