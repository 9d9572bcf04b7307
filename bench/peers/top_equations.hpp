// The heavy top, with or without the bushing of stiff-top, in the coordinates of the peers: centre of mass x, quaternion
// p = (w, x, y, z), inertial velocity v, body angular velocity Ω. The tip is held by Φ = x - R X.
#pragma once

#include "peers/sundials.hpp"
#include "support/problem.hpp"

namespace bench {

/// y = (x, p, v, Ω | λ, μ, ε): stabilized index-2 form (Gear, Gupta, Leimkuhler) with quaternions,
///   ẋ = v - μ,  ṗ = ½ p∘(Ω + X x Rᵀμ) - ε p,  m v̇ = m g - λ,  J Ω̇ = JΩ x Ω + X x Rᵀλ + τ,
///   Φ = 0,  Φ̇ = 0,  |p|² = 1.
class TopDae final : public DaeProblem {
 public:
  explicit TopDae(const Top& top) : top_(top) {}
  void set(const Top& top) { top_ = top; }
  int size() const override { return 20; }
  void start(double* y, double* y_dot) const override;
  bool is_algebraic(int i) const override { return i >= 13; }
  /// With one tolerance for all IDA fails at 1e-10; between 1 and 1e4 the cost hardly changes.
  double looseness() const override { return 1e4; }
  void residual(const double* y, const double* y_dot, double* r) const override;
  void jacobian(const double* y, double c, double* columns) const override;
  std::vector<bool> jacobian_pattern() const override;

 private:
  Top top_;
};

/// y = (x, p, v, Ω): index-1 form, λ eliminated. The projection is the Euclidean one in (δx, δθ) and (v, Ω).
class TopOde final : public OdeProblem {
 public:
  explicit TopOde(const Top& top) : top_(top) {}
  int size() const override { return 13; }
  void start(double* y) const override;
  void rate(const double* y, double* f) override;
  bool project(const double* y, double* correction, double* error) override;

 private:
  Top top_;
};

/// y = (p, Ω): the top about its tip, without constraints. No code for constrained systems can be expected to beat it.
class ReducedTopOde final : public OdeProblem {
 public:
  explicit ReducedTopOde(const Top& top);
  int size() const override { return 7; }
  void start(double* y) const override;
  void rate(const double* y, double* f) override;

 private:
  Top top_;
  Vector3 J_;  ///< about the tip
};

/// x and R from the first entries of y, the quaternion normalised.
TopState state_of(const std::vector<double>& y);
TopState reduced_state_of(const std::vector<double>& y, const Top& top);

}  // namespace bench
