// Commutator corrections of BLieDF: what must be subtracted from the BDF combination of increments to get v_{n+1}.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coeff/brackets.hpp"
#include "kreisel/groups.hpp"
#include "kreisel/types.hpp"
#include "method/history.hpp"

namespace kreisel::method {

/// Data of a step for a correction, beside the history.
enum class CorrectionNeeds { nothing, increment, velocity, both };

class Correction {
 public:
  Correction(const lie::Space& space, Counters& counters) : space_(space), counters_(counters) {}
  virtual ~Correction() = default;
  Correction(const Correction&) = delete;
  Correction& operator=(const Correction&) = delete;

  /// False for coefficient sets that belong to one step size.
  virtual bool serves_variable_steps() const = 0;
  /// Prepares the step; gamma1 is the BDF weight of the new increment. Returns the arguments that `shift` depends on.
  virtual CorrectionNeeds begin(const History& history, double h, int k, double gamma1) = 0;
  /// s in v = (1/h) Σ γᵢ (ω_{n+1-i} - c_{n+1-i})|_{c_n = 0} - s(x, v).
  virtual void shift(ConstVectorRef x, ConstVectorRef v, VectorRef out) = 0;
  /// The commutator part c_n of the accepted increment, `shift` being that of the accepted v; zero for corrections that
  /// do not split increments.
  virtual void commutator_part(ConstVectorRef v, ConstVectorRef shift, VectorRef out);

  /// δs of (δx, δv) at x, v; zero for corrections that are known before the step.
  virtual void shift_derivative(ConstVectorRef /*x*/, ConstVectorRef /*v*/, ConstVectorRef /*dx*/,
                                ConstVectorRef /*dv*/, VectorRef out) {
    out.setZero();
  }

  // ---- derivatives at the accepted v, see Method::begin_tangents

  [[nodiscard]] virtual bool begin_tangents(ConstVectorRef /*v*/) { return false; }
  virtual void move_past(std::span<const PastChange>) {}
  /// δs of δv; not available for corrections that need the increment.
  virtual void shift_tangent(ConstVectorRef /*dv*/, VectorRef out) { out.setZero(); }
  virtual void commutator_tangent(ConstVectorRef /*dv*/, VectorRef out) { out.setZero(); }

  // ---- the transposed of those, see Method::has_transposed

  virtual bool has_transposed() const { return false; }
  /// out = (∂s/∂v)ᵀ z
  virtual void transpose_shift(ConstVectorRef /*z*/, VectorRef out) { out.setZero(); }
  /// out = (∂c_n/∂v)ᵀ z
  virtual void transpose_commutator(ConstVectorRef /*z*/, VectorRef out) { out.setZero(); }
  /// Adds what multiplies δv of the past, where -s is multiplied by `shift` and c_n by `commutator`.
  virtual void transpose_past(ConstVectorRef /*shift*/, ConstVectorRef /*commutator*/,
                              std::span<const PastWeight> /*past*/) {}

  /// Fills Entry::memory of start-up points with their commutator parts.
  virtual void adopt(History&) {}

  /// Whether the leading local error of the velocity relation is known at order k:
  ///   l_m = bdf_defect(steps) v⁽ᵏ⁾ + defect_weight(steps) W,  steps = h_m, h_{m-1}, …
  virtual bool has_defect(int) const { return false; }
  virtual double defect_weight(int, std::span<const double>) const { return 0.0; }
  /// Whether the papers print the leading local error at order k on equal steps (coeff::bliedf_starting_defect).
  virtual bool has_printed_defect(int k) const { return k <= 2; }
  /// W from v, v', …, v⁽ᵏ⁾ at one time.
  virtual void defect_bracket(int, std::span<const Vector>, VectorRef out) { out.setZero(); }

 protected:
  void bracket(ConstVectorRef a, ConstVectorRef b, VectorRef out) {
    ++counters_.brackets;
    space_.bracket(a, b, out);
  }

  const lie::Space& space_;
  Counters& counters_;
};

std::vector<std::string> correction_names();

/// `name` as in `--correction`; `own` is the set of `file:PATH`, already read. Throws InvalidInput when the correction
/// does not exist at one of the orders 3…max_order. On given steps `difference` is another scheme than on constant ones
/// (Wieloch 2022, eq. 5.36b).
std::unique_ptr<Correction> make_correction(std::string_view name, int max_order, const coeff::CorrectionSet* own,
                                            const lie::Space& space, Counters& counters, bool has_given_steps = false);

}  // namespace kreisel::method
