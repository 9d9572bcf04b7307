#include "run/half_explicit.hpp"

namespace kreisel::run {

using system::Motion;

HalfExplicit::HalfExplicit(const system::System& system, const coeff::HalfExplicitTableau& tableau, Counters& counters,
                           bool projects, std::string_view linear_solver)
    : system_(system),
      tableau_(tableau),
      counters_(counters),
      projects_(projects),
      kkt_(system, counters, linear_solver),
      mechanics_(system, counters),
      solver_(system.space().nv() + system.pattern().rows(), linear_solver == "least-squares", counters),
      q_rate_(coeff::HalfExplicitTableau::stages, Vector::Zero(system.space().nv())),
      v_rate_(q_rate_),
      stage_(system.space()),
      next_(system.space()),
      u_(Vector::Zero(system.space().nv())),
      right_hand_side_(Vector::Zero(system.space().nv() + system.pattern().rows())),
      solution_(right_hand_side_) {}

bool HalfExplicit::close_stage(int i, const Motion& from, double h, VectorRef lambda) {
  const int nv = system_.space().nv(), rows = system_.pattern().rows();
  const auto& a = tableau_.a[i + 1];
  u_.setZero();
  next_.v = from.v;
  for (int j = 0; j <= i; ++j) {
    u_ += (h * a[j]) * q_rate_[j];
    if (j < i) next_.v += (h * a[j]) * v_rate_[j];
  }
  next_.t = from.t + tableau_.c[i + 1] * h;
  ++counters_.exponentials;
  system_.space().move(from.q, u_, next_.q);
  if (i > 0) {
    solver_.matrix.setZero();
    mechanics_.set_matrices(next_);
    solver_.matrix.bottomLeftCorner(rows, nv) = mechanics_.B;
    if (rows > 0) {
      mechanics_.evaluate(next_.t, next_.q, next_.v);
      right_hand_side_.tail(rows) = mechanics_.residual.rate / (-h * a[i]);
    }
    mechanics_.set_matrices(stage_);
    solver_.matrix.topLeftCorner(nv, nv) = mechanics_.M;
    solver_.matrix.topRightCorner(nv, rows) = mechanics_.B.transpose();
    mechanics_.evaluate(stage_.t, stage_.q, stage_.v);
    right_hand_side_.head(nv) = -mechanics_.residual.force;
    if (!solver_.factorize()) return false;
    solver_.solve(right_hand_side_, solution_);
    v_rate_[i] = solution_.head(nv);
    lambda = solution_.tail(rows);
  }
  next_.v += (h * a[i]) * v_rate_[i];
  return next_.q.allFinite() && next_.v.allFinite();
}

bool HalfExplicit::step(const Motion& from, double h, Motion& to, VectorRef lambda, VectorRef omega) {
  constexpr int last = coeff::HalfExplicitTableau::stages - 1;
  h_ = h;
  stage_ = from;
  q_rate_[0] = from.v;
  v_rate_[0] = from.a;
  for (int i = 0; i <= last; ++i) {
    if (i > 0) system_.space().tangent_inverse(u_, stage_.v, q_rate_[i]);
    if (i == last) {
      to = stage_;
      omega = u_;
    }
    if (!close_stage(i, from, h, lambda)) return false;
    std::swap(stage_, next_);
  }
  to.t = from.t + h;
  to.a = v_rate_[last];
  if (!projects_ || system_.pattern().position_rows() == 0) return true;
  if (!kkt_.factorize(to)) return false;
  return kkt_.project_position(to) && kkt_.project_velocity(to);
}

void HalfExplicit::error_estimate(int, VectorRef q_error, VectorRef v_error) const {
  q_error.setZero();
  v_error.setZero();
  for (std::size_t i = 0; i < q_rate_.size(); ++i) {
    q_error += (h_ * tableau_.error[i]) * q_rate_[i];
    v_error += (h_ * tableau_.error[i]) * v_rate_[i];
  }
}

}  // namespace kreisel::run
