// The motion between accepted points, on the group.
#pragma once

#include "method/history.hpp"
#include "method/magnus.hpp"

namespace kreisel::run {

/// Interpolates the newest step of a history, to the order of the method. v, v̇ and λ come from the polynomial through
/// the newest points; q = q_n∘exp(ω(s)) with ω = ∫p + c by the same Magnus formula as BLieDF on [t_n, t_n + s], plus
/// the linear part of what is missing at the end of the step, so that q is continuous.
class DenseOutput {
 public:
  static constexpr int max_points = 7;

  explicit DenseOutput(const lie::Space& space);

  /// `points` newest points are used, at most max_points and at most what the history has; t within the newest step.
  void evaluate(const method::History& history, int points, double t, method::Entry& out);

 private:
  /// ∫p + c over [t_n, t_n + s].
  void increment(const method::History& history, int points, double s, Vector& out);
  /// Values at t_n + s of the polynomials through v and their first derivatives.
  void velocity_at(const method::History& history, int points, double s, Vector& v, Vector* a);

  const lie::Space& space_;
  method::MagnusCommutator commutator_;
  Vector A1_, A2_, A3_, c_, omega_, end_, value_;
};

}  // namespace kreisel::run
