// Munthe-Kaas BDF: BDF for canonical coordinates about q_n (Wieloch 2022, eq. 3.57).
#pragma once

#include <array>
#include <optional>

#include "coeff/bdf.hpp"
#include "coeff/multistep.hpp"
#include "method/canonical.hpp"
#include "method/differences.hpp"
#include "method/method.hpp"
#include "method/variants.hpp"

namespace kreisel::method {

/// With ω₀ = h x, ω₁ = 0, ω_{i} = BCH_k(-ω^{(n-1)}, BCH_k(-ω^{(n-2)}, …)) the coordinates of q_{n+1-i} about q_n:
///   (1/h) Σ αᵢ ωᵢ = dexp_k⁻¹(-ω₀, v - dv),   v̇ = (1/h) Σ αᵢ v_{n+1-i}.   Constant steps.
/// With user-defined coefficients it is the general multistep method (Wieloch 2022, definition 11), β₀ ≠ 0, with all terms of
/// the series:
///   (1/h) Σ αᵢ ωᵢ = Σ βᵢ dexp⁻¹(-ωᵢ, v_{n+1-i}),   (1/h) Σ αᵢ v_{n+1-i} = Σ βᵢ v̇_{n+1-i}.
class Mkbdf final : public Method {
 public:
  struct Variant {
    Recursion recursion = Recursion::nested_right;  ///< of starting points
    Series bch = Series::complete;
    Linearization linearization = Linearization::leading;
  };
  Mkbdf(const lie::Space& space, Counters& counters, const Variant& variant);
  Mkbdf(const lie::Space& space, Counters& counters, const coeff::Multistep& coefficients);

  int points_needed(int order) const override { return own_ ? own_->k : order; }
  int memory_size() const override { return (max_order - 2) * space_.nv(); }
  void begin_step(const History& history, double h, int order) override;
  void guess(VectorRef x) override;
  void velocity(ConstVectorRef x, ConstVectorRef dv, Motion& trial) override;
  void linearize(ConstVectorRef x, MotionTangent& out) override;
  void record(ConstVectorRef x, Entry& entry) override;
  void adopt(History& history) override;
  bool leading_defect(int order, double h, std::span<const Vector> derivatives, bool as_printed,
                      VectorRef out) override;

 private:
  void add_own_terms();
  void solve_for_velocity(VectorRef v);  ///< dexp_k⁻¹(-omega0_, v) = rate_
  void linearize_completely(double alpha0, MotionTangent& out);

  static constexpr int max_order = 6;

  double alpha(int i) const { return own_ ? own_->alpha[i] : coeff::bdf_alpha(k_, i); }
  double beta0() const { return own_ ? own_->beta[0] : 1.0; }
  int series() const { return own_ ? max_order : k_; }  ///< terms of BCH and dexp⁻¹

  /// In the memory of a point: coordinates of the points before the one before it about that one.
  Eigen::VectorBlock<Vector> coordinates_in(Entry& entry, int i) const {
    return entry.memory.segment(i * space_.nv(), space_.nv());
  }

  Variant variant_;
  std::optional<coeff::Multistep> own_;
  Canonical canonical_;
  Differences differences_;
  int k_ = 1;
  std::array<Vector, max_order - 1> coordinates_;  ///< of q_{n-1}, q_{n-2}, … about q_n
  Vector known_rate_, known_a_, omega0_, rate_, image_, bracket_, argument_;
  Vector hat_rate_, hat_omega_, hat_inner_;
  Vector v_, left_blocks_;  ///< of the complete derivative
};

}  // namespace kreisel::method
