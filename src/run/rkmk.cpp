#include "run/rkmk.hpp"

#include "base/combine.hpp"

namespace kreisel::run {

using system::Motion;

Rkmk::Rkmk(const system::System& system, const coeff::Tableau& tableau, Counters& counters, bool projects,
           std::string_view linear_solver)
    : system_(system),
      tableau_(tableau),
      counters_(counters),
      kkt_(system, counters, linear_solver),
      projects_(projects),
      q_rate_(tableau.stages, Vector::Zero(system.space().nv())),
      v_rate_(q_rate_),
      stage_(system.space()),
      u_(Vector::Zero(system.space().nv())),
      stage_lambda_(Vector::Zero(system.pattern().rows())),
      kept_v_(u_) {}

bool Rkmk::step(const Motion& from, double h, Motion& to, VectorRef lambda, VectorRef omega) {
  const lie::Space& space = system_.space();
  h_ = h;
  q_rate_[0] = from.v;
  v_rate_[0] = from.a;
  stage_lambda_ = lambda;
  stage_.a = from.a;  // the step depends on nothing but its arguments
  if (projects_derivatives_) {
    u_.setZero();
    stage_ = from;
    if (!kkt_.factorize(from) || !set_position_rate(0)) return false;
  }
  if (integrates_work_) work_ = system::Power();
  add_power(0, from, lambda);
  for (int i = 1; i < tableau_.stages; ++i) {
    Combination increment, velocity;
    velocity.add(1.0, from.v);
    for (int j = 0; j < i; ++j) {
      const double weight = h * tableau_.a[i][j];
      if (weight == 0.0) continue;
      increment.add(weight, q_rate_[j]);
      velocity.add(weight, v_rate_[j]);
    }
    increment.assign_to(u_);
    velocity.assign_to(stage_.v);
    stage_.t = from.t + tableau_.c[i] * h;
    ++counters_.exponentials;
    space.move(from.q, u_, stage_.q);
    if (!kkt_.accelerate(stage_, stage_lambda_)) return false;
    v_rate_[i] = stage_.a;
    if (!set_position_rate(i)) return false;
    add_power(i, stage_, stage_lambda_);
  }
  Combination increment, velocity;
  velocity.add(1.0, from.v);
  for (int i = 0; i < tableau_.stages; ++i) {
    if (tableau_.b[i] == 0.0) continue;
    increment.add(h * tableau_.b[i], q_rate_[i]);
    velocity.add(h * tableau_.b[i], v_rate_[i]);
  }
  increment.assign_to(omega);
  velocity.assign_to(to.v);
  to.t = from.t + h;
  ++counters_.exponentials;
  space.move(from.q, omega, to.q);
  if (!to.q.allFinite() || !to.v.allFinite()) return false;
  // The matrix of the last stage, at the same time and an O(h^p) distance, serves the projection.
  if (projects_ && (!kkt_.project_position(to) || !kkt_.project_velocity(to))) return false;
  to.a = stage_.a;
  lambda = stage_lambda_;
  return kkt_.accelerate(to, lambda);
}

bool Rkmk::set_position_rate(int stage) {
  if (projects_derivatives_) kept_v_ = stage_.v;
  if (projects_derivatives_ && !kkt_.project_velocity(stage_)) return false;
  system_.space().tangent_inverse(u_, stage_.v, q_rate_[stage]);
  if (projects_derivatives_) stage_.v = kept_v_;
  return true;
}

void Rkmk::add_power(int stage, const Motion& motion, ConstVectorRef lambda) {
  const double weight = h_ * tableau_.b[stage];
  if (!integrates_work_ || weight == 0.0) return;
  work_->add(weight, system_.power(motion, lambda));
}

void Rkmk::error_estimate(int which, VectorRef q_error, VectorRef v_error) const {
  Combination q, v;
  for (int i = 0; i < tableau_.stages; ++i) {
    const double weight = h_ * tableau_.error[which].weight[i];
    if (weight == 0.0) continue;
    q.add(weight, q_rate_[i]);
    v.add(weight, v_rate_[i]);
  }
  q.assign_to(q_error);
  v.assign_to(v_error);
}

}  // namespace kreisel::run
